"""Games of Go as SGF files (FF[4]): the data, the reader and the writer.

`sgf_text` knows the syntax. A game is its main line; variations are left out. What a file cannot do
without is read strictly: a point off the board or a size that is none is an error that names file,
game and move. A header that cannot be read, such as `KM[?]`, counts as absent. Whether the moves
are legal is asked in `sgf_games`.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from alphago.errors import SgfError
from alphago.files import MIB, read_file, reason
from alphago.protocols.colors import COLOR_LETTERS
from alphago.protocols.sgf_text import (
    GameText,
    Properties,
    decode,
    escape,
    parse_games,
    unescape,
)
from alphago.types import Int8Array

MAX_SIZE = 25
_MOST_BYTES = 16 * MIB  # of a file
_DEFAULT_SIZE = 19
_LARGEST_SIZE_WITH_TT = 19  # up to here [tt] is a pass, by FF[3]; beyond it is a point
_LETTERS = "abcdefghijklmnopqrstuvwxy"  # columns from the left, rows from the top
_SET_UP = ("AB", "AW", "AE")
# Properties of the whole game; some programs write them elsewhere than at the root.
_HEADER = frozenset(["GM", "SZ", "KM", "RU", "HA", "PB", "BR", "PW", "WR", "RE", "DT", "GN"])
_RESULT = re.compile(
    r"(?P<winner>[bw])\s*\+\s*"
    r"(?:(?P<how>[rtf])[a-z .()-]*|(?P<points>\d{1,5}(?:[.,]\d{0,5})?|[.,]\d{1,5})[a-z .()-]*)?",
    re.ASCII,
)
_DRAW = re.compile(r"0([.,]0*)?|draw|jigo|tie", re.ASCII)
# Komi as Chinese servers write it, but no other number, which is as it says.
_HUNDREDTHS = ("275", "325", "375", "450", "550", "650", "750")
_STONES = (2.75, 3.25, 3.75)  # each of them worth two points


class SgfMove(NamedTuple):
    """A move of the file, whoever's turn it was."""

    player: int  # 0 Black, 1 White
    action: int  # row * width + column; height * width for a pass


class SgfNode(NamedTuple):
    """One node of the main line. Set-up comes first, then the move; points are actions."""

    black: tuple[int, ...] = ()  # stones put on the board without a move
    white: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()  # points cleared
    to_play: int | None = None  # who moves next, where the file says so
    move: SgfMove | None = None
    comment: str = ""

    @property
    def is_set_up(self) -> bool:
        """Whether the node changes the board without a move."""
        return bool(self.black or self.white or self.empty)


@dataclass(frozen=True, kw_only=True)
class SgfGame:
    """One game.

    Attributes:
        width: columns of the board, 1 to 25.
        height: rows of the board, 1 to 25.
        nodes: the main line, the root first.
        komi: points for White, None where the file does not tell.
        rules: the rule set in the file's own words, "" where it does not tell.
        handicap: the number of handicap stones as declared, 0 for none; the stones themselves are
            set-up stones.
        black_name: Black's name, and so on for White and the ranks.
        white_name: see above.
        black_rank: see above.
        white_rank: see above.
        result: "B+6.5", "W+R" (resigned), "B+T" (time), "W+F" (forfeit), "B+" (won, no more is
            known), "0" for a draw, "Void"; None where the file does not tell.
        date: as in the file.
        name: name of the game.
        source: where the game comes from, for messages; no part of what is written.
    """

    width: int
    height: int
    nodes: tuple[SgfNode, ...]
    komi: float | None = None
    rules: str = ""
    handicap: int = 0
    black_name: str = ""
    white_name: str = ""
    black_rank: str = ""
    white_rank: str = ""
    result: str | None = None
    date: str = ""
    name: str = ""
    source: str = ""

    @property
    def pass_action(self) -> int:
        """The action that passes."""
        return self.height * self.width

    @property
    def moves(self) -> list[SgfMove]:
        """The moves of the main line."""
        return [node.move for node in self.nodes if node.move is not None]


# ----- reading


def read_sgf(file: str | Path | bytes) -> list[SgfGame]:
    """Reads all games of a file.

    Args:
        file: path of the file, or its content.

    Returns:
        At least one game.

    Raises:
        SgfError: if it cannot be read, holds no game, or one of another kind than Go, or one with a
            size or a point that is none.
    """
    return list(iterate_sgf(file))


def iterate_sgf(file: str | Path | bytes) -> Iterator[SgfGame]:
    """Yields the games of a file one by one; what is wrong with one is told when it is its turn.

    Args:
        file: path of the file, or its content.

    Raises:
        SgfError: as in `read_sgf`.
    """
    if isinstance(file, bytes):
        data, source = file, "SGF"
    else:
        source = str(file)
        try:
            data = read_file(file, at_most=_MOST_BYTES)
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise SgfError(f"{source}: cannot be read: {why}") from error
    found = parse_games(decode(data))
    if not found:
        raise SgfError(f"{source}: is no SGF file: no game in it, which would begin with '(;'")
    for number, game in enumerate(found, start=1):
        place = source if len(found) == 1 else f"{source}, game {number} of {len(found)}"
        yield _to_game(game, place)


def _to_game(found: GameText, source: str) -> SgfGame:
    header: dict[str, str] = {}
    for node in found.nodes:
        for name, values in node:
            if name in _HEADER and values:
                header.setdefault(name, unescape(values[0]).replace("\n", " "))
    if header.get("GM", "1").strip() not in ("", "1"):
        raise SgfError(f"{source}: got GM {header['GM'][:20]!r}, allowed: 1, which is Go")
    width, height = _read_size(header.get("SZ", ""), source)
    reader = _NodeReader(width, height, source)
    return SgfGame(
        width=width,
        height=height,
        nodes=tuple(node for properties in found.nodes for node in reader.read(properties)),
        komi=_read_komi(header.get("KM", "")),
        rules=header.get("RU", ""),
        handicap=_read_handicap(header.get("HA", "")),
        black_name=header.get("PB", ""),
        white_name=header.get("PW", ""),
        black_rank=header.get("BR", ""),
        white_rank=header.get("WR", ""),
        result=read_result(header.get("RE", "")),
        date=header.get("DT", ""),
        name=header.get("GN", ""),
        source=source,
    )


def _read_size(text: str, source: str) -> tuple[int, int]:
    """Returns columns and rows of `SZ[19]` or `SZ[columns:rows]`; 19 x 19 where it is empty."""
    if not text.strip():
        return _DEFAULT_SIZE, _DEFAULT_SIZE
    match = re.fullmatch(r"\s*([0-9]{1,2})\s*(?::\s*([0-9]{1,2})\s*)?", text)
    if match is not None:
        width = int(match[1])
        height = int(match[2] or match[1])
        if 1 <= width <= MAX_SIZE and 1 <= height <= MAX_SIZE:
            return width, height
    raise SgfError(f"{source}: got SZ {text[:20]!r}, allowed: 1 to {MAX_SIZE}, or columns:rows")


def _read_komi(text: str) -> float | None:
    """Returns points for White, None for what is no number.

    Chinese servers write hundredths of points (650), or of stones (325) of which each is worth two
    points; some write the stones as such (3.25). `650.0` is as it says.
    """
    text = text.strip().replace(",", ".")
    match = re.fullmatch(r"[+-]?(?:[0-9]{1,6}(?:\.[0-9]{0,6})?|\.[0-9]{1,6})", text)
    if match is None:
        return None
    komi = float(text)
    if text.removesuffix(".00") in _HUNDREDTHS:
        komi /= 100
    return 2 * komi if komi in _STONES else komi + 0.0  # so that -0 is 0


def _read_handicap(text: str) -> int:
    return int(text) if re.fullmatch(r"\s*[0-9]{1,3}\s*", text) else 0


def read_result(text: str) -> str | None:
    """Brings a result to the form of `SgfGame.result`; None for words it does not know."""
    text = text.strip().lower()
    if _DRAW.fullmatch(text):
        return "0"
    if text == "void":
        return "Void"
    match = _RESULT.fullmatch(text)
    if match is None:
        return None
    winner = match["winner"].upper()
    points = float((match["points"] or "0").replace(",", "."))
    if points == 0:  # no draw: servers write B+0 where Black won without a count
        return f"{winner}+{(match['how'] or '').upper()}"
    return f"{winner}+{points:g}"


class _NodeReader:
    """Turns the properties of a node into data."""

    def __init__(self, width: int, height: int, source: str) -> None:
        self._width, self._height, self._source = width, height, source
        self._num_moves = 0

    def read(self, properties: Properties) -> Iterator[SgfNode]:
        """Yields one node, or several where a node holds several moves, which FF[4] forbids."""
        moves, comments, to_play = [], [], None
        stones: Int8Array | None = None  # [H, W], place in _SET_UP; a later property wins
        for name, values in properties:
            if name in ("B", "W"):
                moves += [self._read_move(name, value) for value in values]
            elif name in _SET_UP:
                if stones is None:
                    stones = np.full((self._height, self._width), -1, np.int8)
                for value in filter(str.strip, values):  # `AB[]` is how some write no stones
                    stones[self._read_rectangle(name, value)] = _SET_UP.index(name)
            elif name == "PL":
                colours = [value.strip().upper()[:1] for value in values]
                players = (COLOR_LETTERS.index(c) for c in colours if c in COLOR_LETTERS)
                to_play = next(players, to_play)
            elif name == "C":
                comments += [unescape(value) for value in values]
        yield SgfNode(*_points(stones), to_play, moves[0] if moves else None, "\n".join(comments))
        yield from (SgfNode(move=move) for move in moves[1:])

    def _read_move(self, colour: str, value: str) -> SgfMove:
        self._num_moves += 1
        text = value.strip()
        is_small = max(self._width, self._height) <= _LARGEST_SIZE_WITH_TT
        if text == "" or (text == "tt" and is_small):
            action = self._height * self._width
        else:
            action = self._read_point(colour, text)
        return SgfMove(COLOR_LETTERS.index(colour), action)

    def _read_rectangle(self, name: str, value: str) -> tuple[slice, slice]:
        """Returns the rows and columns of the point `aa` or of the rectangle `aa:cc`."""
        corners = [self._read_point(name, corner.strip()) for corner in value.split(":", 1)]
        rows = sorted(corner // self._width for corner in corners)
        columns = sorted(corner % self._width for corner in corners)
        return slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)

    def _read_point(self, name: str, text: str) -> int:
        if len(text) == 2:
            column, row = _LETTERS.find(text[0]), _LETTERS.find(text[1])
            if 0 <= column < self._width and 0 <= row < self._height:
                return row * self._width + column
        last = _LETTERS[self._width - 1] + _LETTERS[self._height - 1]
        raise SgfError(
            f"{self._source}: got {name} {text[:20]!r} at move {self._num_moves},"
            f" allowed: points from aa to {last}"
        )


def _points(stones: Int8Array | None) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Returns the black, white and cleared points of a node as actions."""
    if stones is None:
        return (), (), ()
    black, white, empty = (tuple(np.flatnonzero(stones == i).tolist()) for i in range(3))
    return black, white, empty


# ----- writing


def write_sgf(games: SgfGame | Sequence[SgfGame]) -> str:
    """Writes games as FF[4], to be encoded as UTF-8; `read_sgf` gives back equal games.

    Names keep no line breaks and no text keeps tabs, which the format turns into spaces.
    """
    if isinstance(games, SgfGame):
        games = [games]
    return "\n".join(_game_text(game) for game in games)


def _game_text(game: SgfGame) -> str:
    size = f"{game.width}" if game.width == game.height else f"{game.width}:{game.height}"
    header = {"FF": "4", "CA": "UTF-8", "AP": "alphago", "GM": "1", "SZ": size}
    if game.komi is not None:
        header["KM"] = _komi_text(game.komi)
    if game.handicap:
        header["HA"] = str(game.handicap)
    texts = {
        "RU": game.rules,
        "PB": game.black_name,
        "BR": game.black_rank,
        "PW": game.white_name,
        "WR": game.white_rank,
        "DT": game.date,
        "GN": game.name,
        "RE": game.result or "",
    }
    header |= {name: escape(text.replace("\n", " ")) for name, text in texts.items() if text}
    root = "".join(f"{name}[{value}]" for name, value in header.items())
    nodes = [_node_text(game, node) for node in game.nodes]
    return f"(;{root}{nodes[0]}\n" + "".join(f";{text}\n" for text in nodes[1:]) + ")\n"


def _komi_text(komi: float) -> str:
    """Writes a komi with its decimal point, so that 200.0 is not taken for hundredths."""
    assert math.isfinite(komi), komi
    return f"{komi:.1f}" if (2 * komi).is_integer() else f"{komi:g}"


def _node_text(game: SgfGame, node: SgfNode) -> str:
    parts = [
        _points_text(game, name, points)
        for name, points in zip(_SET_UP, (node.black, node.white, node.empty), strict=True)
    ]
    if node.to_play is not None:
        parts.append(f"PL[{COLOR_LETTERS[node.to_play]}]")
    if node.move is not None:
        point = "" if node.move.action == game.pass_action else _point_text(game, node.move.action)
        parts.append(f"{COLOR_LETTERS[node.move.player]}[{point}]")
    if node.comment:
        parts.append(f"C[{escape(node.comment)}]")
    return "".join(parts)


def _points_text(game: SgfGame, name: str, points: Iterable[int]) -> str:
    values = "".join(f"[{_point_text(game, point)}]" for point in points)
    return name + values if values else ""


def _point_text(game: SgfGame, action: int) -> str:
    row, column = divmod(action, game.width)
    return _LETTERS[column] + _LETTERS[row]
