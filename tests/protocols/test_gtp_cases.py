"""Cases from public bug reports of this field, told over GTP."""

import dataclasses
from pathlib import Path

import pytest

from alphago.errors import PlayerError
from alphago.games.go import RULE_SETS, Go
from alphago.players.random_player import RandomPlayer
from tests.protocols.gtp_helpers import Gtp, network

POSITIONAL = RULE_SETS["chinese"]
SIMPLE = dataclasses.replace(POSITIONAL, ko="simple")
# By superko the suicide of all stones played since a position would repeat it.
SUICIDE = dataclasses.replace(SIMPLE, suicide=True)
TAKE_TWO = ("b G8", "w J8", "b F9", "w H8", "b H9", "w E5", "b J9", "w G9")
DEAD_STONES = (
    "(;GM[1]FF[4]SZ[9]KM[0]AB[ed][de][ee][fe][ge][ie][bf][cf][df][ff][gf][hf][if][ag][fg][bh][eh]"
    "[gh][ei][fi][hi]AW[cc][dc][ec][fc][bd][dd][fd][gd][hd][id][ae][be][ce][he][af][dg][eg][gg]"
    "[hg][hh]PL[B];B[];W[])"
)


def test_take_two_take_one_back_is_superko() -> None:
    gtp = Gtp(rules=POSITIONAL)
    gtp.play(*TAKE_TWO)
    before = gtp("showboard")
    assert gtp.refusal("play b H9") == "illegal move"
    assert gtp("showboard") == before
    for _ in range(20):
        assert gtp("genmove b") != "H9"
        gtp("undo")
        assert gtp("showboard") == before


def test_take_two_take_one_back_is_no_simple_ko() -> None:
    gtp = Gtp(rules=SIMPLE)
    gtp.play(*TAKE_TWO, "b H9")


@pytest.mark.parametrize("rules", [SIMPLE, POSITIONAL])
def test_recapture_that_is_no_ko_is_legal(rules: object) -> None:
    gtp = Gtp(size=(5, 5), rules=rules)
    gtp.alternate(
        "B5 B2 E4 B3 E3 B4 E1 E5 pass C2 B1 D2 D3 D1 D4 A5 A4 pass A2 E2 C1 pass C3 A3 C5 pass D5"
    )
    captured = int(gtp("captures w"))
    gtp.play("w A1")
    assert int(gtp("captures w")) == captured + 3
    gtp.play("b B1")


def test_suicide_is_a_setting_and_never_of_one_stone() -> None:
    for rules in (POSITIONAL, SUICIDE):
        gtp = Gtp(rules=rules)
        gtp.play("w A3", "w B2", "w B1", "b A2")
        if rules.suicide:
            gtp.play("b A1")
            assert gtp.stones("b") == set()
            assert gtp("captures w") == "2"
        else:
            assert gtp.refusal("play b A1") == "illegal move"
        gtp("clear_board")
        gtp.play("w A2", "w B1")
        assert gtp.refusal("play b A1") == "illegal move"
        gtp.play("b A3", "b B2", "b C1", "b A1")
        assert gtp.stones("b") == {"A1", "A3", "B2", "C1"}
        assert gtp.stones("w") == set()


def test_score_is_the_same_before_and_after_the_passes(tmp_path: Path) -> None:
    path = tmp_path / "position.sgf"
    path.write_text(DEAD_STONES)
    area, removing = Gtp(), Gtp(remove_dead=True)
    for gtp in (area, removing):
        gtp(f"loadsgf {path}")
    assert area("final_score") == "W+22.0"
    assert "RE[W+22.0]" in area("printsgf")
    assert removing("final_score") == "B+1.0"
    assert "RE[B+1.0]" in removing("printsgf")
    assert set(removing("final_status_list dead").split()) == set(["D3", "E3", "G3", "H3", "H2"])
    area(f"loadsgf {path} 1")  # before the passes
    assert area("final_score") == "W+22.0"


def test_draw_at_an_integer_komi() -> None:
    gtp = Gtp(size=(5, 5))
    gtp.alternate("C1 D1 C2 D2 C3 D3 C4 D4 C5 D5 pass pass")
    for komi, score in (("5", "0"), ("5.5", "W+0.5"), ("4.5", "B+0.5"), ("-3", "B+18.0")):
        gtp(f"komi {komi}")
        expected = "B+8.0" if komi == "-3" else score
        assert gtp("final_score") == expected
        assert f"RE[{expected}]" in gtp("printsgf")


def test_after_two_passes_genmove_passes_and_play_resumes() -> None:
    for player in ("random", network(10)):
        gtp = Gtp(player, size=(5, 5))
        gtp.play("b C3", "w C4", "b pass", "w pass")
        assert gtp("genmove b") == "pass"
        assert gtp("genmove w") == "pass"
        gtp.play("b D4", "w pass", "b pass", "w B2")
        assert gtp.stones("w") == {"C4", "B2"}
        assert gtp("name") == "alphago"


def test_a_third_pass_leaves_the_game_ended() -> None:
    gtp = Gtp(network(10), size=(5, 5))
    gtp.play("b C3", "w pass", "b pass", "w pass")
    assert gtp.session.board.is_over
    assert "RE[B+17.5]" in gtp("printsgf")
    assert gtp("genmove b") == "pass"
    gtp.play("w D4")
    assert not gtp.session.board.is_over
    gtp("clear_board")
    gtp.play("b pass", "b pass")  # White has not agreed
    assert not gtp.session.board.is_over


def test_long_game_gets_more_room_and_stays_the_same() -> None:
    gtp = Gtp(size=(3, 3), rules=RULE_SETS["japanese"])
    room = gtp.session.board.game.spec.max_moves
    gtp.play("b A2", "w A1", "b B1")  # takes A1
    while len(gtp.session.board.moves) <= room:
        gtp.play("w pass", "b pass")
    assert gtp.session.board.game.spec.max_moves == 2 * room
    assert gtp.session.board.is_over
    assert gtp.stones("b") == {"A2", "B1"} and gtp("captures b") == "1"
    for _ in range(room - 1):  # all but two
        gtp("undo")
    assert gtp.stones("w") == {"A1"} and gtp("captures b") == "0"


# --- graphical boards ---


@pytest.mark.parametrize(
    "commands", [("boardsize 9", "clear_board"), ("clear_board", "boardsize 9")]
)
def test_komi_survives_an_empty_board_and_stones_do_not(commands: tuple[str, str]) -> None:
    gtp = Gtp()
    gtp("komi 0.5")
    gtp("boardsize 9")
    gtp.play("b E5")
    for command in commands:
        gtp(command)
    gtp.play("b pass", "w pass")
    assert gtp("final_score") == "W+0.5"


def test_komi_and_rules_survive_each_other_and_every_new_board() -> None:
    gtp = Gtp()
    gtp("komi 0.5")
    gtp("kata-set-rules japanese")
    for line in ("clear_board", "boardsize 7", "rectangular_boardsize 5 7", "set_position"):
        gtp(line)
        assert gtp("get_komi") == "0.5"
        assert '"TERRITORY"' in gtp("kata-get-rules")
        assert gtp("final_score") == "W+0.5"
    gtp("komi -3")
    gtp("kata-set-rules chinese")
    assert (gtp("get_komi"), gtp("final_score")) == ("-3.0", "B+3.0")


def test_boardsize_alone_empties_the_board_and_forgets_superko() -> None:
    gtp = Gtp()
    gtp.play(*TAKE_TWO)
    gtp("boardsize 9")
    assert gtp.stones("b") == gtp.stones("w") == set()
    assert gtp.refusal("undo") == "cannot undo"
    gtp.play(*TAKE_TWO[:-1])


@pytest.mark.parametrize("size", ["50", "0", "-1", "1", "26", "x", "9.5", "", "9 9 9"])
def test_wrong_size_is_refused_and_the_board_stays(size: str) -> None:
    gtp = Gtp()
    gtp.play("b E5")
    assert gtp.refusal(f"boardsize {size}").startswith(("unacceptable size", "syntax error"))
    assert gtp.stones("b") == {"E5"}
    assert gtp("play w A9") == ""


def test_network_of_one_size_refuses_others_with_the_reason() -> None:
    def make(game: Go) -> RandomPlayer:
        if game.spec.name != "go_9x9":
            raise PlayerError(f"net: plays go_9x9, but the game is {game.spec.name}")
        return RandomPlayer(game, seed=1)

    gtp = Gtp(make)
    gtp.play("b E5")
    reason = "unacceptable size: net: plays go_9x9, but the game is go_13x13"
    assert gtp.refusal("boardsize 13") == reason
    assert gtp.refusal("rectangular_boardsize 9 13").startswith("unacceptable size: net")
    assert gtp.stones("b") == {"E5"}
    assert gtp("boardsize 9") == ""


@pytest.mark.parametrize(
    ("command", "size"),
    [
        ("boardsize 2", (2, 2)),
        ("boardsize 25", (25, 25)),
        ("rectangular_boardsize 7 5", (5, 7)),
        ("boardsize 7 5", (5, 7)),
    ],
)
def test_any_size_without_a_network(command: str, size: tuple[int, int]) -> None:
    gtp = Gtp()
    gtp(command)
    assert gtp.session.board.size == size
    assert gtp("genmove b")


def test_final_score_counts_the_area_and_the_record_agrees() -> None:
    gtp = Gtp(size=(7, 7))
    gtp("komi 7")
    gtp.alternate(
        "D4 C4 C3 D3 C2 D5 E4 E5 C5 F4 E3 C6 B5 F3 E2 B6 B4 F2 F1 A6 A5 G2 D6 E6 E1 G1 pass F5"
        " pass pass"
    )
    assert gtp("final_score") == "W+6.0"
    assert "RE[W+6.0]" in gtp("printsgf")


def test_refused_moves_change_nothing() -> None:
    gtp = Gtp(size=(19, 19))
    gtp.play("b e5")
    assert gtp.refusal("play b e5") == "illegal move"
    assert gtp.refusal("play w E5") == "illegal move"
    unicode = ("b \u017f5", "b pa\u017fs", "blac\u212a e4", "b \uff25\uff14")  # S, s, k, E4
    for line in ("b I5", "b U9", "green e4", "b A20", "b A0", "b 55", "b E5x", *unicode):
        assert gtp.refusal(f"play {line}") == "invalid color or coordinate"
    assert gtp.refusal("play b").startswith("syntax error")
    assert gtp.refusal("play").startswith("syntax error")
    assert gtp.stones("b") | gtp.stones("w") == {"E5"}
    gtp.play("w e4", "B PASS", "white d4")


# --- SGF ---


@pytest.mark.parametrize(
    ("sgf", "black", "white", "to_play"),
    [
        ("(;SZ[9]AB[dd];W[ff];B[ee])", {"D6", "E5"}, {"F4"}, 1),
        ("(;SZ[9]AB[dd];B[ff];W[ee])", {"D6", "F4"}, {"E5"}, 0),
        ("(;SZ[9]AB[dd][ff]HA[2]PL[W])", {"D6", "F4"}, set(), 1),
        ("(;SZ[9]AB[dd][ff]HA[2])", {"D6", "F4"}, set(), 1),
        ("(;SZ[9]AB[dd]PL[W])", {"D6"}, set(), 1),
        (
            "(;SZ[9]AB[aa:cc])",
            {"A9", "B9", "C9", "A8", "B8", "C8", "A7", "B7", "C7"},
            set(),
            0,
        ),
        ("(;SZ[9]AB[dd];B[ff];AE[dd]AW[aa];W[ee])", {"F4"}, {"A9", "E5"}, 0),
    ],
)
def test_stones_and_side_to_move_of_a_file(
    sgf: str, black: set[str], white: set[str], to_play: int, tmp_path: Path
) -> None:
    path = tmp_path / "棋 譜" / "a b.sgf"
    path.parent.mkdir()
    path.write_text(sgf)
    gtp = Gtp(size=(19, 19))
    assert gtp(f"loadsgf {path}") == ""
    assert gtp.session.board.size == (9, 9)
    assert gtp.stones("b") == black
    assert gtp.stones("w") == white
    assert gtp.session.board.to_play == to_play
    assert gtp(f"genmove {'bw'[to_play]}")


def test_loadsgf_stops_before_a_move(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[9]KM[0.5];B[ee];W[ff];B[dd])")
    gtp = Gtp()
    gtp(f"loadsgf {path} 2")
    assert gtp.stones("b") == {"E5"}
    assert gtp.stones("w") == set()
    assert gtp("get_komi") == "0.5"
    assert gtp.session.board.to_play == 1
    gtp(f"loadsgf {path} 99")
    assert len(gtp.stones("b")) == 2
    gtp("undo")
    assert len(gtp.stones("b")) == 1


def test_undo_ends_where_the_game_was_set_up(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[9]AB[dd];W[ff];B[ee])")
    gtp = Gtp()
    gtp.play("b A1")
    gtp(f"loadsgf {path}")
    gtp("undo")
    gtp("undo")
    assert gtp.refusal("undo") == "cannot undo"
    gtp("clear_board")
    gtp("set_free_handicap A1 B2")
    gtp.play("w C3")
    gtp("undo")
    assert gtp.refusal("undo") == "cannot undo"
    assert gtp.stones("b") == {"A1", "B2"}


def test_either_colour_moves_and_passes_as_often_as_wanted() -> None:
    gtp = Gtp(network(4), size=(5, 5))
    gtp.play("b pass", "b pass", "b pass")
    assert gtp("genmove b") != "resign"
    gtp("genmove b")
    assert gtp.session.board.moves[-1].color == 0
    assert gtp("genmove w")


def test_player_of_the_move_that_is_left_out_is_to_move(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[9]AB[dd];W[ff];W[ee])")
    gtp = Gtp()
    for stop in (1, 2):
        gtp(f"loadsgf {path} {stop}")
        assert gtp.session.board.to_play == 1


def test_handicap_of_a_file_counts_for_white(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[9]KM[0.5]HA[2]AB[dd][ff];W[];B[])")
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    assert gtp("final_score") == "B+78.5"  # 81, komi 0.5 and two points for two stones
    assert "HA[2]" in gtp("printsgf")


@pytest.mark.parametrize(
    "sgf",
    [
        "(;SZ[9];B[ee];W[ee])",
        "(;SZ[9]AB[aa]AW[ab][ba])",
        "(;SZ[30])",
        "(;GM[2])",
        "no file of games",
    ],
)
def test_file_that_cannot_be_played_changes_nothing(sgf: str, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(sgf)
    gtp = Gtp()
    gtp.play("b A1")
    assert str(path) in gtp.refusal(f"loadsgf {path}")
    assert gtp.refusal(f"loadsgf {tmp_path}/nothing").startswith("cannot load file")
    assert gtp.stones("b") == {"A1"}


def test_printsgf_is_read_back_the_same(tmp_path: Path) -> None:
    gtp = Gtp("random", size=(9, 7))
    gtp("set_free_handicap C3 D4 E5")
    for color in "wbwbwb":
        gtp(f"genmove {color}")
    text = gtp("printsgf")
    assert "PB[the engine]" in text and "PW[the engine]" in text and "SZ[7:9]" in text
    assert "RE[" not in text  # it goes on
    path = tmp_path / "out.sgf"
    assert gtp(f"printsgf {path}") == ""
    other = Gtp()
    other(f"loadsgf {path}")
    for color in "bw":
        assert other.stones(color) == gtp.stones(color)
    assert other("final_score") == gtp("final_score")
    assert gtp.refusal(f"printsgf {tmp_path}/no/such").startswith("cannot save file")


def test_change_of_turn_in_a_file_forgets_neither_moves_nor_captures(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5];B[ba];W[aa];B[ab];PL[B];B[cc])")
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    assert gtp("captures b") == "1"
    for _ in range(4):
        gtp("undo")
    assert gtp.stones("b") == gtp.stones("w") == set()


def test_name_of_a_file_that_is_too_long_is_refused() -> None:
    gtp = Gtp()
    assert "cannot be read" in gtp.refusal(f"loadsgf {'a' * 300} 5")
    assert gtp.refusal(f"printsgf {'a' * 300} 5").startswith("cannot save file")


def test_game_without_room_for_more_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alphago.protocols.gtp_board.MOST_MOVES", 120)
    gtp = Gtp(size=(2, 2))  # has room for 116 moves at first
    gtp.alternate("pass " * 119)
    gtp.play("w A1")
    for line in ("play b pass", "play b B2", "genmove b"):
        assert gtp.refusal(line) == "game too long"
    assert gtp.stones("w") == {"A1"} and gtp.stones("b") == set()
    gtp("undo")
    gtp.play("w B2")
