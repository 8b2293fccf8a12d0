"""Odd and broken files: those of `tests/data/sgf_odd`, and others that are made here."""

import json
import time
from pathlib import Path

import pytest

from alphago.errors import SgfError
from alphago.protocols.sgf import SgfGame, SgfMove, read_sgf

FOLDER = Path(__file__).parent.parent / "data" / "sgf_odd"
CASES = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
READ = [case for case in CASES if not case["refused"]]
REFUSED = [case for case in CASES if case["refused"]]
LETTERS = "abcdefghijklmnopqrstuvwxy"


def move_text(game: SgfGame, move: SgfMove) -> str:
    """Writes a move as the file does: `B dd`, `W ` for a pass."""
    row, column = divmod(move.action, game.width)
    point = "" if move.action == game.pass_action else LETTERS[column] + LETTERS[row]
    return f"{'BW'[move.player]} {point}"


def long_game(num_moves: int, *, size: int = 19) -> str:
    """Returns moves on different points, row after row; whether they are legal does not matter."""
    points = [LETTERS[i % size] + LETTERS[i // size] for i in range(num_moves)]
    return "".join(f"\n;{'BW'[i % 2]}[{point}]" for i, point in enumerate(points))


@pytest.mark.parametrize("case", READ, ids=lambda case: case["file"])
def test_file_is_read_as_expected(case: dict) -> None:
    games = read_sgf(FOLDER / case["file"])
    game = games[0]
    assert len(games) == case["num_games"]
    assert [game.width, game.height] == case["size"]
    assert len(game.moves) == case["num_moves"]
    first = [move_text(game, move) for move in game.moves]
    assert first[: len(case["first_moves"])] == case["first_moves"]
    assert sum(len(node.black) for node in game.nodes) == case["num_black"]
    assert sum(len(node.white) for node in game.nodes) == case["num_white"]
    for field in ("black_name", "white_name", "result", "komi"):
        if field in case:
            assert getattr(game, field) == case[field]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["file"])
def test_file_is_refused_in_one_line_that_names_it(case: dict) -> None:
    with pytest.raises(SgfError) as caught:
        read_sgf(FOLDER / case["file"])
    assert case["file"] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_survive_backslash_bytes_without_a_charset() -> None:
    (game,) = read_sgf(FOLDER / "enc_sjis_backslash_trail.sgf")
    assert (game.black_name, game.white_name, game.black_rank) == ("表ソ", "白番", "九段")


def test_utf_16_with_and_without_a_mark() -> None:
    text = "(;GM[1]SZ[19]PB[黒番]RU[Japanese]KM[0]" + long_game(164) + ")"
    for data in (text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-16-be")):
        (game,) = read_sgf(data)
        assert len(game.moves) == 164
        assert (game.black_name, game.komi) == ("黒番", 0.0)


def test_server_record_with_broken_names_and_handicap_in_the_second_node() -> None:
    data = (
        b"(;GM[1]FF[4]  SZ[19]  GN[game]  PB[\xe7\xb4\xab\xef\xbf]  PW[\xe8\x89]  "
        b"BR[9\xe6\xae\xb5]  WR[P9\xe6\xae\xb5]  KM[0]HA[3]RU[Japanese]AP[GNU Go:3.8]RE[W+R]"
        b"TM[600]TC[3]TT[30]AP[foxwq]  ;AB[pd][dp][dd];W[pp];B[jd])"
    )
    (game,) = read_sgf(data)
    assert (game.handicap, len(game.nodes[1].black), game.result) == (3, 3, "W+R")
    assert [move_text(game, move) for move in game.moves] == ["W pp", "B jd"]
    assert (game.black_rank, game.white_rank) == ("9段", "P9段")


def test_game_that_was_never_started() -> None:
    (game,) = read_sgf(
        b"(;GM[1]\nFF[4]\nSZ[19]\nKM[0.50]\nHA[2]RU[Chinese]CA[UTF-8]AB[pd][dp]\n)\n"
    )
    assert (game.moves, game.result, game.handicap, game.komi) == ([], None, 2, 0.5)
    assert game.nodes[0].black == (3 * 19 + 15, 15 * 19 + 3)


def test_pass_written_as_tt_and_empty_values() -> None:
    (game,) = read_sgf(b"(;GM[1]FF[3]\nCA[ASCII]\nBR[]WR[]SZ[9]KM[6.5]\n;B[ee];W[tt];\nB[tt]\n)")
    assert [move_text(game, move) for move in game.moves] == ["B ee", "W ", "B "]


def test_file_without_its_end_gives_what_is_there() -> None:
    text = "(;SZ[19]RE[W+2.5]" + long_game(331)
    (game,) = read_sgf(text.encode())
    assert len(game.moves) == 331
    cut_in_a_value = text.encode()[:-2]
    assert len(read_sgf(cut_in_a_value)[0].moves) == 330  # half a point is no point


def test_comment_of_a_megabyte() -> None:
    comment = r"analysis \] text \\ with: escapes; and (brackets) [ 0123456789 " * 17_000
    text = f"(;SZ[19]KM[650]\n;C[{comment}]{long_game(331)})"
    start = time.process_time()
    (game,) = read_sgf(text.encode())
    assert time.process_time() - start < 2.0
    assert len(text) > 1_000_000
    assert len(game.moves) == 331
    assert game.nodes[1].comment == comment.replace(r"\]", "]").replace(r"\\", "\\")


def test_names_in_lower_case() -> None:
    (game,) = read_sgf(b"(;sz[9]km[5.5]ab[aa]pb[a];b[ee];w[cc])")
    assert (game.width, game.komi, game.black_name) == (9, 5.5, "a")
    assert game.nodes[0].black == (0,)
    assert [move_text(game, move) for move in game.moves] == ["B ee", "W cc"]
    (game,) = read_sgf(b"(;SiZe[9];Black[ee];White[cc])")  # FF[1]: capitals alone count
    assert (game.width, len(game.moves)) == (9, 2)


@pytest.mark.parametrize(
    "text",
    [
        "Hello (See [1]) (;SZ[9];B[ee];W[dd])",
        "(White [Lee], Black [Cho])\n(;SZ[9];B[ee];W[dd])",
        "(;SZ[9];B[ee];W[dd]) (See [1])",
    ],
)
def test_words_and_brackets_around_a_game_are_no_game(text: str) -> None:
    (game,) = read_sgf(text.encode())
    assert (game.width, [move.action for move in game.moves]) == (9, [40, 30])


def test_roots_without_a_semicolon_beside_one_that_has_it() -> None:
    games = read_sgf(b"(GM[1]SZ[9];B[ee])(;SZ[9];B[dd])(PB[a];B[cc])")
    assert [game.moves[0].action for game in games] == [40, 30, 40]
    (game,) = read_sgf(b"(PB[a]PW[b])")
    assert (game.black_name, game.white_name) == ("a", "b")
