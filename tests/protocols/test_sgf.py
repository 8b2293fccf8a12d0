"""Reading games: syntax, sizes, points, header, charsets."""

from pathlib import Path

import pytest

from alphago.errors import SgfError
from alphago.protocols.sgf import SgfGame, SgfMove, read_result, read_sgf


def read(text: str) -> SgfGame:
    (game,) = read_sgf(text.encode())
    return game


@pytest.mark.parametrize(
    ("text", "num_nodes", "comment", "num_moves"),
    [
        (r"(;C[\];B[aa];W[bb])", 2, "];B[aa", 1),
        (r"(;C[\\];B[aa];W[bb])", 3, "\\", 2),
        (r"(;C[\\\];B[aa];W[bb])", 2, "\\];B[aa", 1),
    ],
)
def test_backslash_takes_the_next_character(
    text: str, num_nodes: int, comment: str, num_moves: int
) -> None:
    game = read(text)
    assert len(game.nodes) == num_nodes
    assert game.nodes[0].comment == comment
    assert len(game.moves) == num_moves


def test_brackets_in_a_name() -> None:
    game = read(r"(;SZ[9]PB[name [3d\]];B[ee])")
    assert game.black_name == "name [3d]"
    assert game.moves == [SgfMove(0, 40)]


def test_line_breaks_in_texts() -> None:
    game = read("(;PB[two\r\nwords]C[one \\\nline\r\nnext\rand\ttab\\:colon])")
    assert game.black_name == "two words"
    assert game.nodes[0].comment == "one line\nnext\nand tab:colon"


def test_first_variation_is_the_main_line() -> None:
    game = read("(;SZ[9](;B[aa](;W[ba];B[ca])(;W[bb]))(;B[cc]))")
    assert [move.action for move in game.moves] == [0, 1, 2]


def test_deep_nesting_needs_no_stack() -> None:
    game = read("(;SZ[9]" + "(;B[];W[]" * 20_000 + ")" * 20_001)
    assert len(game.moves) == 40_000


def test_collection_keeps_order_and_its_errors_tell_the_game() -> None:
    games = read_sgf(b"mail (;-) text (;SZ[9];B[aa]) more (text) (;SZ[5];W[bb]) bye :-)")
    assert [game.width for game in games] == [9, 5]
    with pytest.raises(SgfError, match=r"SGF, game 2 of 2: got GM '2', allowed: 1"):
        read_sgf(b"(;SZ[9];B[aa])(;GM[2]SZ[8])")


@pytest.mark.parametrize(
    ("size", "width", "height"),
    [("", 19, 19), ("SZ[]", 19, 19), ("SZ[25]", 25, 25), ("SZ[9:9]", 9, 9), ("SZ[7:5]", 7, 5)],
)
def test_sizes(size: str, width: int, height: int) -> None:
    game = read(f"(;{size})")
    assert (game.width, game.height) == (width, height)


@pytest.mark.parametrize("size", ["0", "26", "x", "-9", "9:", "9:0", "9:9:9", "1e1", "99999999999"])
def test_sizes_that_are_none(size: str) -> None:
    with pytest.raises(SgfError, match=r"SGF: got SZ .*, allowed: 1 to 25"):
        read(f"(;SZ[{size}])")


def test_points_are_columns_then_rows_from_the_top() -> None:
    game = read("(;SZ[7:5];B[gb];W[ae];B[];W[tt])")
    assert game.moves == [SgfMove(0, 13), SgfMove(1, 28), SgfMove(0, 35), SgfMove(1, 35)]


def test_tt_is_a_point_on_large_boards() -> None:
    assert read("(;SZ[19];B[tt])").moves == [SgfMove(0, 361)]
    assert read("(;SZ[21];B[tt])").moves == [SgfMove(0, 19 * 21 + 19)]


@pytest.mark.parametrize("point", ["zz", "a", "aaa", "jj", "D4", "AA", "é", "aa:bb"])
def test_points_off_the_board(point: str) -> None:
    with pytest.raises(SgfError, match=r"SGF: got W .* at move 2, allowed: points from aa to ii"):
        read(f"(;SZ[9];B[aa];W[{point}])")


def test_set_up_stones_at_any_node() -> None:
    game = read("(;SZ[9]AB[aa:cc];W[ee];AE[bb]AW[ii][hi]PL[B];B[bb])")
    root, _, later, _ = game.nodes
    assert root.black == (0, 1, 2, 9, 10, 11, 18, 19, 20)
    assert (later.empty, later.white, later.to_play, later.move) == ((10,), (79, 80), 0, None)
    assert [node.is_set_up for node in game.nodes] == [True, False, True, False]


def test_set_up_of_no_stones() -> None:
    game = read("(;SZ[9]AB[]AW[ ]AE[][aa];B[ee])")
    assert (game.nodes[0].black, game.nodes[0].empty) == ((), (0,))
    assert game.moves == [SgfMove(0, 40)]


def test_rectangle_by_any_corners_and_points_named_twice() -> None:
    assert read("(;SZ[9]AB[bb:aa][aa])").nodes[0].black == (0, 1, 9, 10)
    node = read("(;SZ[9]AB[aa]AW[aa])").nodes[0]  # the later one wins
    assert (node.black, node.white) == ((), (0,))


def test_several_moves_in_a_node_are_several_nodes() -> None:
    game = read("(;SZ[9]AB[cc]B[aa]W[bb]C[x];B[dd])")
    assert game.moves == [SgfMove(0, 0), SgfMove(1, 10), SgfMove(0, 30)]
    assert (len(game.nodes), game.nodes[0].comment) == (3, "x")


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        ("6.5", 6.5),
        ("7", 7.0),
        ("0", 0.0),
        ("-3", -3.0),
        ("5,5", 5.5),
        ("+0.50", 0.5),
        ("3.75", 7.5),  # stones
        ("2.75", 5.5),
        ("325", 6.5),
        ("375", 7.5),
        ("375.00", 7.5),
        ("650", 6.5),
        ("750", 7.5),
        ("450", 4.5),
        ("3.25", 6.5),
        ("550", 5.5),
        ("275", 5.5),
        ("650.0", 650.0),  # our own way to write it
        ("100", 100.0),
        ("200", 200.0),
        ("300", 300.0),
        ("1000", 1000.0),
        ("-100", -100.0),
        ("6.25", 6.25),
        ("361", 361.0),
        ("", None),
        ("?", None),
        ("nan", None),
        ("inf", None),
        ("1e99", None),
    ],
)
def test_komi(text: str, komi: float | None) -> None:
    assert read(f"(;KM[{text}])").komi == komi


def test_komi_has_no_negative_zero() -> None:
    assert str(read("(;KM[-0])").komi) == "0.0"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("B+R", "B+R"),
        ("W+Resign", "W+R"),
        ("b+res.", "B+R"),
        ("W+6.5", "W+6.5"),
        ("W+6.50", "W+6.5"),
        ("B+22.0", "B+22"),
        ("B+2,5", "B+2.5"),
        ("B+T", "B+T"),
        ("W+Time", "W+T"),
        ("W+F", "W+F"),
        ("B+Forfeit", "B+F"),
        ("B+", "B+"),
        ("W+0", "W+"),
        ("B + 6.5", "B+6.5"),
        ("W+.5", "W+0.5"),
        ("W+R (time)", "W+R"),
        ("W+Time-out", "W+T"),
        ("0", "0"),
        ("0.0", "0"),
        ("draw", "0"),
        ("Draw", "0"),
        ("jigo", "0"),
        ("Jigo", "0"),
        ("Void", "Void"),
        ("?", None),
        ("", None),
        ("Black won", None),
    ],
)
def test_result(text: str, result: str | None) -> None:
    assert read_result(text) == result


def test_header_of_a_later_node_and_of_odd_numbers() -> None:
    game = read("(;SZ[9]HA[x];B[aa]RE[B+T]PB[late])")
    assert (game.handicap, game.result, game.black_name) == (0, "B+T", "late")


def test_missing_file_and_folder(tmp_path: Path) -> None:
    with pytest.raises(SgfError, match=r"none\.sgf: cannot be read: No such file"):
        read_sgf(tmp_path / "none.sgf")
    with pytest.raises(SgfError, match="cannot be read"):
        read_sgf(str(tmp_path))


# ----- charsets

MOVES = b";B[pd];W[dp];B[dd])"


def names(data: bytes) -> tuple[str, str]:
    """Returns the names, after checking that no move is lost."""
    (game,) = read_sgf(data)
    assert [move.action for move in game.moves] == [72, 288, 60]
    return game.black_name, game.white_name


@pytest.mark.parametrize("charset", ["GBK", "gb2312", "Shift_JIS", "Big5", "UTF-8", "EUC-JP"])
def test_declared_charset(charset: str) -> None:
    header = f"(;CA[{charset}]PB[白番]PW[本表]".encode(charset)
    assert names(header + MOVES) == ("白番", "本表")


def test_undeclared_charsets_are_guessed() -> None:
    assert names("(;PB[柯洁九段]PW[芈昱廷]".encode("gbk") + MOVES) == ("柯洁九段", "芈昱廷")
    assert names("(;PB[ソフト表]PW[あいだ]".encode("cp932") + MOVES) == ("ソフト表", "あいだ")
    assert names("(;PB[柯洁]PW[é]".encode() + MOVES) == ("柯洁", "é")
    assert names("(;PB[André]PW[Müller]".encode("latin-1") + MOVES) == ("André", "Müller")


@pytest.mark.parametrize(
    ("charset", "text"),
    [("ISO-2022-JP", "ポフォ"), ("ISO-2022-KR", "李白王"), ("HZ-GB-2312", "容旦败被")],
)
@pytest.mark.parametrize("is_declared", [True, False])
def test_charsets_that_write_characters_in_ascii_bytes(
    charset: str, text: str, is_declared: bool
) -> None:
    declaration = f"CA[{charset}]" if is_declared else ""
    data = f"(;{declaration}PB[{text}]PW[x]C[{text}\n{text}];B[pd];W[dp];B[dd])".encode(charset)
    assert data.isascii()
    assert names(data) == (text, "x")


def test_escapes_and_tildes_that_begin_no_character() -> None:
    assert names(b"(;PB[~{a~}]PW[~{ ~]C[\x1b$ $]" + MOVES) == ("~{a~}", "~{ ~")


@pytest.mark.parametrize("charset", ["foo", "", "idna", "utf-7", "unicode_escape", "hex", "cp037"])
def test_unknown_charset_is_as_none(charset: str) -> None:
    header = f"(;CA[{charset}]PB[柯洁九段]PW[x]"
    assert names(header.encode("gbk") + MOVES)[1] == "x"
    assert names(header.encode() + MOVES) == ("柯洁九段", "x")


def test_declared_charset_that_is_not_true() -> None:
    assert names("(;CA[UTF-8]PB[柯洁九段]PW[x]".encode("gbk") + MOVES)[1] == "x"
    assert names("(;CA[GBK]PB[柯洁九]PW[x]".encode() + MOVES) == ("柯洁九", "x")
    assert names("(;CA[US-ASCII]PB[柯洁九]PW[x]".encode("gbk") + MOVES) == ("柯洁九", "x")


@pytest.mark.parametrize("declared", [b"CA[GBK]", b"CA[UTF-8]", b"CA[Shift_JIS]", b""])
def test_name_cut_in_the_middle_of_a_character(declared: bytes) -> None:
    # Half of a GBK character and the bracket after it would be one character.
    header = b"(;" + declared + b"PB[\xbf\xc2\xbd]PW[x]"
    assert names(header + MOVES)[1] == "x"


def test_byte_order_mark_of_utf_8() -> None:
    assert names(b"\xef\xbb\xbf" + "(;CA[GBK]PB[柯洁]PW[x]".encode() + MOVES) == ("柯洁", "x")


def test_collection_in_two_charsets() -> None:
    first = "(;CA[GBK]PB[柯洁];B[aa])".encode("gbk")
    second = "(;PW[x]CA[Shift_JIS]PB[表];B[aa](;W[bb]))".encode("cp932")
    assert [game.black_name for game in read_sgf(first + b"\n" + second)] == ["柯洁", "表"]


def test_path_with_characters_and_spaces(tmp_path: Path) -> None:
    path = tmp_path / "棋谱 und Spiele" / "a b.sgf"
    path.parent.mkdir()
    path.write_bytes(b"(;SZ[9];B[aa])")
    assert len(read_sgf(str(path))[0].moves) == 1
