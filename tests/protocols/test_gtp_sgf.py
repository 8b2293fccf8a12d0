"""GTP and SGF agree: what `printsgf` writes and `loadsgf` reads is what a replay says."""

import os
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.go import RULE_SETS
from alphago.protocols.sgf import SgfGame, read_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_sgf
from tests.protocols.gtp_helpers import Gtp, network
from tests.search.evaluators import HashEvaluator

SSK = "(;SZ[5]KM[0.5]AB[ad][bd]AW[be][cd][de];W[ae];B[ce];W[be];B[ca];W[ea])"


def for_5x5_only(game: Game) -> HashEvaluator:
    """Returns an evaluator, as a network of one size does."""
    if game.spec.name != "go_5x5":
        raise PlayerError("5x5 only")
    return HashEvaluator(game)


def replayed_score(sgf: SgfGame) -> str:
    """Returns the score at the end of a file as GTP writes it."""
    game = go_of_sgf(sgf)
    points = float(game.score(replay_sgf(game, sgf).states[-1])[0])
    return f"{'B' if points > 0 else 'W'}+{abs(points):.1f}"


@pytest.mark.parametrize(
    ("size", "stones", "white", "result"),
    [
        (5, "C3 B2", "D4", "W+1.5"),  # 2 stones to 1, komi 0.5, two points for the stones
        (9, "A1 B1 C1 D1 E1 F1 G1 H1 J1 A2", "E5", "W+1.5"),  # 10 to 1, komi 0.5 and ten
    ],
)
def test_result_of_printsgf_is_that_of_its_replay(
    size: int, stones: str, white: str, result: str, tmp_path: Path
) -> None:
    gtp = Gtp(size=(size, size))
    gtp("komi 0.5")
    gtp(f"set_free_handicap {stones}")
    gtp.play(f"w {white}", "b pass", "w pass")
    assert gtp("final_score") == result
    path = tmp_path / "game.sgf"
    gtp(f"printsgf {path}")
    (sgf,) = read_sgf(path)
    assert (sgf.handicap, sgf.result, replayed_score(sgf)) == (len(stones.split()), result, result)


@pytest.mark.parametrize(
    ("text", "handicap", "score"),
    [
        ("(;SZ[9]HA[2]KM[0.5];AB[cc];AB[gg];W[ee];B[];W[])", 2, "W+1.5"),
        ("(;SZ[9]HA[2]KM[0.5]AB[aa][bb][cc][dd][ee];W[gg];B[];W[])", 2, "B+1.5"),
        ("(;SZ[9]HA[2]KM[0.5]AB[cc][gg]AW[aa];W[ee];B[];W[])", 2, "W+2.5"),
        ("(;SZ[9]HA[4]KM[0.5];B[ee];W[];B[])", 4, "B+76.5"),
        ("(;SZ[5]HA[2]KM[0.5]AB[bb][dd];W[cc];B[];W[])", 2, "W+1.5"),
        ("(;SZ[9]KM[0.5]AB[cc][gg];W[ee];B[];W[])", 0, "B+0.5"),
        ("(;SZ[9]HA[2]KM[0.5]AB[cc][gg];W[ee];B[dd];AE[ee];W[ff];B[];W[])", 2, "W+0.5"),
    ],
)
def test_handicap_is_the_declared_one_everywhere(
    text: str, handicap: int, score: str, tmp_path: Path
) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(text)
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    (sgf,) = read_sgf(path)
    (printed,) = read_sgf(gtp("printsgf").encode())
    assert gtp("final_score") == score
    assert replayed_score(sgf) == score
    assert replayed_score(printed) == score
    assert (printed.handicap, printed.result) == (handicap, score.removesuffix(".0"))


@pytest.mark.parametrize("rules", sorted(RULE_SETS))
def test_loadsgf_accepts_what_a_replay_accepts(rules: str, tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(SSK)
    gtp = Gtp()
    gtp(f"kata-set-rules {rules}")
    if RULE_SETS[rules].ko == "positional":
        assert "positional superko" in gtp.refusal(f"loadsgf {path}")
    else:
        assert gtp(f"loadsgf {path}") == ""
        assert gtp.stones("b") == {"A2", "B2", "C5"}


@pytest.mark.parametrize("second", ["GM[2]SZ[8]", "SZ[30]", "SZ[9];B[zz]", "KM[0];B[aa];W[aa]"])
def test_first_game_of_a_collection_is_loaded_whatever_the_others_are(
    second: str, tmp_path: Path
) -> None:
    path = tmp_path / "game.sgf"
    path.write_text(f"(;SZ[5];B[aa])(;{second})")
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    assert gtp.stones("b") == {"A5"}
    path.write_text(f"(;SZ[30];B[aa])(;{second})")
    assert f"{path}, game 1 of 2: got SZ '30'" in gtp.refusal(f"loadsgf {path}")


def test_a_ko_that_its_taker_fills_at_once_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    gtp = Gtp(size=(5, 5))
    gtp.play("b B5", "w C5", "b A4", "w D4", "b B3", "w C3", "b C4", "w B4", "w C4")
    gtp(f"printsgf {path}")
    stones = gtp.stones("w")
    gtp(f"loadsgf {path}")
    assert gtp.stones("w") == stones
    gtp("undo")
    assert gtp.stones("w") == stones - {"C4"}


@pytest.mark.parametrize("rules", ["chinese", "aga", "japanese"])
@pytest.mark.parametrize("seed", range(5))
def test_any_session_is_read_back(seed: int, rules: str, tmp_path: Path) -> None:
    """Colours and vertices are drawn at random, passes and moves after two of them included."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "game.sgf"
    gtp, other = Gtp(size=(4, 4)), Gtp()
    for one in (gtp, other):
        one(f"kata-set-rules {rules}")
    for _ in range(80):
        color = "bw"[int(rng.integers(2))]
        vertex = "pass" if rng.random() < 0.2 else "ABCD"[rng.integers(4)] + "1234"[rng.integers(4)]
        gtp.raw(f"play {color} {vertex}")
    gtp(f"printsgf {path}")
    other(f"loadsgf {path}")
    assert len(gtp.session.board.moves) > 20
    assert other.session.board.moves == gtp.session.board.moves
    for line in ("list_stones b", "list_stones w", "captures b", "captures w", "final_score"):
        assert other(line) == gtp(line)
    assert other.session.board.to_play == gtp.session.board.to_play


def test_prisoners_from_before_a_set_up_count(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5]KM[0];B[ba];W[aa];B[ab];W[ee];AE[ee];B[cc])")
    gtp = Gtp(size=(5, 5), rules=RULE_SETS["japanese"])
    gtp(f"loadsgf {path}")
    assert gtp("captures b") == "1"
    assert gtp("final_score") == "B+23.0"  # 22 points and a prisoner
    gtp.play(*["w pass", "b pass"] * 80)  # the game gets more room, and is played again
    assert gtp("captures b") == "1"
    gtp("clear_board")
    assert gtp("captures b") == "0"


def test_name_of_a_player_that_is_no_utf_8(tmp_path: Path) -> None:
    gtp = Gtp("random", size=(5, 5))
    gtp.session.name = os.fsdecode(b"runs/caf\xe9")
    gtp("genmove b")
    gtp(f"printsgf {tmp_path / 'game.sgf'}")
    (sgf,) = read_sgf(tmp_path / "game.sgf")
    assert sgf.black_name == r"runs/caf\udce9"


def test_side_to_move_after_the_last_move_survives(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5]KM[0.5];B[aa];W[bb];PL[W])")
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    gtp(f"printsgf {path}")
    assert path.read_text().endswith(";B[aa]\n;W[bb]\n;PL[W]\n)\n")
    gtp(f"loadsgf {path}")
    assert gtp.session.board.to_play == 1


def test_black_first_in_a_handicap_game_without_moves_survives(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[9]HA[2]AB[cc][gg]PL[B])")
    gtp = Gtp()
    for _ in range(2):
        gtp(f"loadsgf {path}")
        assert gtp.session.board.to_play == 0
        gtp(f"printsgf {path}")


@pytest.mark.parametrize("text", ["(;SZ[9]KM[6.3];B[ee])", "(;SZ[9]KM[1000]HA[2];W[ee])"])
def test_komi_that_cannot_be_played_names_the_file(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.sgf").write_text(text)
    assert Gtp().refusal("loadsgf game.sgf").startswith("cannot load file: game.sgf: komi: got ")


def test_size_that_the_player_cannot_play_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("game.sgf").write_text("(;SZ[9];B[ee])")
    gtp = Gtp(network(evaluator=for_5x5_only), size=(5, 5))
    reason = "cannot load file: game.sgf: unacceptable size: 5x5 only"
    assert gtp.refusal("loadsgf game.sgf") == reason


def test_long_game_leaves_room_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "game.sgf"
    path.write_text("(;SZ[5]" + ";B[];W[]" * 90 + ";B[aa])")
    gtp = Gtp()
    gtp(f"loadsgf {path}")
    gtp.play(*["w pass", "b pass"] * 60, "w B2")
    assert (gtp.stones("b"), gtp.stones("w")) == ({"A5"}, {"B2"})
