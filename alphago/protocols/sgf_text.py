r"""SGF as text: from bytes to characters, and from these to the nodes of each game's main line.

Nothing here knows Go. The reader forgives what real files do: text before and after a game, a root
without a semicolon, property names with lower-case letters (FF[1] to FF[3]) or in lower case, a
file that ends too early, characters where none belong.

Why no library: sgfmill, the best one at hand, works on bytes, so that a Shift_JIS or GBK character
whose second byte is `\` or `]` breaks it, and it refuses files that are cut off, rectangular sizes
and UTF-16. The tests use it as a second reader of what we write.

The main line is the first variation everywhere, which is all that comes before the first `)`.
"""

import codecs
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

Properties: TypeAlias = list[tuple[str, list[str]]]  # of one node, in the order of the file


class GameText(NamedTuple):
    """The main line of one game as it stands in a file.

    Attributes:
        nodes: at least one; values are still escaped.
        num_faults: how often something stood where the format has no place for it.
        num_values: how many property values were read.
    """

    nodes: list[Properties]
    num_faults: int
    num_values: int


_ROOT_WITH_SEMICOLON = re.compile(r"\(\s*+;")
_GAME_START = re.compile(r"\((?=\s*+(?:;|[A-Z][A-Za-z0-9_]*+\s*+\[))")
# Possessive throughout, and each alternative takes a whole run: no input takes quadratic time. The
# group `value` takes part only where the bracket that closes a value is there.
_TOKEN = re.compile(
    r"""(?:
        (?P<space>\s++)
      | (?P<mark>[();])
      | (?P<name>[A-Za-z][A-Za-z0-9_]*+)\s*+(?=\[)
      | (?P<content>\[(?:[^\]\\]++|\\.)*+)(?P<value>\])?
      | (?P<stray>[A-Za-z][A-Za-z0-9_]*+|[^\s();\[A-Za-z]++)
    )""",
    re.DOTALL | re.VERBOSE,
)
_SURE_NAMES = ("GM", "SZ", "FF")
_MOVE = re.compile(r"\s*+(?:[a-y]{2})?\s*+")  # letters as in a point, or none for a pass
_LOWER_CASE = re.compile("[a-z]+")


def parse_games(text: str) -> list[GameText]:
    """Reads the main line of every game of a file, skipping what lies between games.

    Args:
        text: the whole file.

    Returns:
        The games in the order of the file; none where the text is no SGF.
    """
    games, position = [], 0
    has_usual_root = _ROOT_WITH_SEMICOLON.search(text) is not None
    while start := _GAME_START.search(text, position):
        game, position = _parse_game(text, start.start())
        is_odd = has_usual_root and not _ROOT_WITH_SEMICOLON.match(text, start.start())
        if is_odd and not _is_surely_a_game(game):
            continue  # a word and a bracket in the text before the game
        if game.num_values or not game.num_faults:  # a smiley in a mail looks like a game
            games.append(game)
    return games


def _is_surely_a_game(game: GameText) -> bool:
    """Tells whether a game names its kind, size or format, or has a move."""
    for node in game.nodes:
        for name, values in node:
            if name in _SURE_NAMES or (name in ("B", "W") and any(map(_MOVE.fullmatch, values))):
                return True
    return False


def _parse_game(text: str, start: int) -> tuple[GameText, int]:
    """Reads the game that opens at `start`; also returns where it ends."""
    nodes: list[Properties] = []
    values: list[str] | None = None  # of the property at hand
    depth = num_faults = num_values = 0
    in_main_line = True
    for token in _TOKEN.finditer(text, start):
        kind, shown = token.lastgroup, token.group(token.lastgroup or 0)
        if kind == "mark":
            values = None
            depth += {"(": 1, ")": -1}.get(shown, 0)
            in_main_line = in_main_line and shown != ")"
            if depth == 0:
                return GameText(nodes or [[]], num_faults, num_values), token.end()
            if in_main_line and shown == ";":
                nodes.append([])
        elif kind == "value":
            num_values += 1
            if values is not None:
                values.append(token["content"][1:])
        elif kind == "name":
            values = []
            if not nodes:
                nodes.append([])  # some programs leave out the semicolon of the root
            if in_main_line:
                nodes[-1].append((_LOWER_CASE.sub("", shown) or shown.upper(), values))
        elif kind != "space":
            values = None
            num_faults += 1
    return GameText(nodes or [[]], num_faults + 1, num_values), len(text)


_ESCAPE = re.compile(r"\\(\r\n|\n\r|.)", re.DOTALL)
_LINE_BREAK = re.compile(r"\r\n|\n\r|\r")
_OTHER_SPACE = re.compile(r"[\t\v\f]")


def unescape(value: str) -> str:
    r"""Turns a value into the text it stands for (FF[4], "Text").

    A backslash takes the next character as it is and removes a line break; line breaks become `\n`,
    other white space a space.
    """
    if "\\" in value:
        value = _ESCAPE.sub(lambda match: "" if match[1][0] in "\r\n" else match[1], value)
    return _OTHER_SPACE.sub(" ", _LINE_BREAK.sub("\n", value))


def escape(text: str) -> str:
    """Writes a text so that it can stand between brackets; the inverse of `unescape`.

    Names of files need not be UTF-8: halves of surrogate pairs, which stand for such bytes and
    which no file can hold, are written out.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\\", "\\\\").replace("]", "\\]")


# ----- from bytes to characters

_BYTE_ORDER_MARKS = (  # in this order: the mark of UTF-16 begins that of UTF-32
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CHARSET = re.compile(rb"(?<![A-Za-z])CA\s*\[([^\]\\]{1,40})\]")
_TREE = re.compile(rb"\(\s*;")
_ASCII = bytes(range(32, 127))
# Charsets in which files are written; Python knows codecs besides that are none, such as "idna".
# (ASCII is not among them: what is that never comes so far, and whoever declares it is wrong.)
_FAMILIES = ("utf-8", "iso8859", "cp", "gb", "big5", "shift_jis", "euc", "koi8", "mac")
# Wider tables that hold all of the charset and more; programs that declare the one write the other.
_SUPERSETS = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949"}

# Charsets whose characters are made of ASCII bytes, brackets among them, behind marks that hardly
# stand in a file for anything else; and what to do with bytes that cannot be read.
_SHIFTS = (
    (b"\x1b$)C", "iso2022_kr", "replace"),
    (b"\x1b$", "iso2022_jp_2", "replace"),
    (b"~{", "hz", "strict"),
)


def decode(data: bytes) -> str:
    """Turns the bytes of a file into characters, so that its brackets survive whatever the text.

    A byte order mark decides, else the property CA of each game. Where CA is absent, unknown or
    does not fit the bytes, the charsets that are found in such files are tried (`_decode_part`).
    """
    for mark, codec in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(codec, "replace")
    if b"\0" in data[:2]:  # UTF-16 without a mark: one byte of its "(" is zero
        return data.decode("utf-16-be" if data[0] == 0 else "utf-16-le", "replace")
    if data.isascii() and not any(mark in data for mark, _, _ in _SHIFTS):
        return data.decode("ascii")
    return "".join(_decode_part(part, codec) for part, codec in _split_by_charset(data))


def _split_by_charset(data: bytes) -> Iterator[tuple[bytes, str | None]]:
    """Cuts a collection where a game declares another charset; yields parts and their codecs."""
    begin, search_from, codec = 0, 0, None
    for number, match in enumerate(_CHARSET.finditer(data)):
        declared = _codec(match[1].decode("latin-1"))
        if number > 0 and declared != codec:
            trees = _TREE.finditer(data, search_from, match.start())
            root = max((tree.start() for tree in trees), default=begin)
            yield data[begin:root], codec
            begin = root
        codec, search_from = declared, match.end()
    yield data[begin:], codec


def _codec(charset: str) -> str | None:
    """Returns Python's name of a charset in which ASCII is ASCII, None for any other word."""
    try:
        name = codecs.lookup(charset.strip()).name
    except (LookupError, ValueError):  # ValueError: a NUL in the word
        return None
    name = _SUPERSETS.get(name, name)
    is_known = name.startswith(_FAMILIES) and _ASCII.decode(name, "replace") == _ASCII.decode()
    return name if is_known else None


def _decode_part(data: bytes, declared: str | None) -> str:
    """Decodes by the charset under which the text is best SGF.

    That is the one with the fewest faults, then the most property values: in a wrong charset, or in
    a name that a server cut in the middle of a character, a closing bracket is taken for half of a
    character. Among equals the first wins.
    """
    readings = []
    for codec, errors in _attempts(data, declared):
        try:
            readings.append(data.decode(codec, errors))
        except UnicodeDecodeError:
            continue
        if codec == "utf-8" and len(readings) == 1:
            return readings[0]  # no bracket is part of another character
    return min(readings, key=_badness)


def _attempts(data: bytes, declared: str | None) -> list[tuple[str, str]]:
    """Lists (codec, what to do with bytes it cannot read), the most trusted first."""
    if data.isascii():
        shifted = [(codec, errors) for mark, codec, errors in _SHIFTS if mark in data]
        return [*shifted, ("ascii", "strict")]
    likely = [(codec, "strict") for codec in _likely_codecs(data)]
    if declared not in (None, "utf-8"):
        return [(declared, "strict"), ("utf-8", "strict"), (declared, "replace"), *likely]
    damaged = [("utf-8", "replace")] if _is_damaged_utf8(data) else []
    return [("utf-8", "strict"), *damaged, *likely]


def _badness(text: str) -> tuple[int, int]:
    """Returns a number pair that is lower for a better reading of a file."""
    games = parse_games(text)
    num_faults = sum(game.num_faults for game in games) + (not games)
    return num_faults, -sum(game.num_values for game in games)


def _likely_codecs(data: bytes) -> tuple[str, ...]:
    """Orders the charsets of files by how the bytes beyond ASCII look; the last reads anything."""
    runs = re.findall(rb"[\x80-\xff]+", data)
    if 2 * sum(len(run) == 1 for run in runs) > len(runs):  # letters with accents stand alone
        return "cp1252", "cp932", "gb18030", "latin-1"
    beyond = b"".join(runs)
    # Half of the bytes of kana lie here; of the common Chinese characters in GBK, none.
    num_low = sum(0x81 <= byte <= 0x9F for byte in beyond)
    asian = ("cp932", "gb18030") if 8 * num_low > len(beyond) else ("gb18030", "cp932")
    return *asian, "cp949", "latin-1"


def _is_damaged_utf8(data: bytes) -> bool:
    """Tells whether a text is UTF-8 with a few holes, rather than another charset."""
    text = data.decode("utf-8", "replace")
    num_holes = text.count("\ufffd")
    return sum(not character.isascii() for character in text) > 2 * num_holes
