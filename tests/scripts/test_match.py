"""Matches against GTP programs, and games as SGF files, through the command line."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from alphago.games import make_game
from alphago.games.notation import replay
from alphago.players.random_player import RandomPlayer
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.sgf import SgfGame, read_sgf
from alphago.types import States
from scripts.main import main

FAKE = Path(__file__).parents[1] / "reference" / "fake_gtp_engine.py"
GO_WORDS = ["game=go_5x5:komi=3", "opening_plies=2", "seed=3"]


def engine(*arguments: str) -> str:
    return f"gtp:{shlex.join([sys.executable, str(FAKE), *arguments])}"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Plays a match; returns the lines of its report."""
    assert main(["match", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def winner_of(game: SgfGame) -> int | None:
    """Counts the last position of a game anew."""
    go = make_game("go_5x5:komi=3")
    score = go.score(replay(go, [move.action for move in game.moves]))[0]
    return None if score == 0 else BLACK if score > 0 else WHITE


def test_results_in_the_files_are_those_of_the_table_by_colour(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "games"
    program = engine("--moves=C3,D2,B4,B2")
    words = ["random", program, "games=12", *GO_WORDS, f"sgf={folder}", "--json"]
    result = json.loads(run(capsys, *words)[0])
    assert result["game"] == "go_5x5:komi=3,max_moves=200"  # 100 and four for each point
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == [f"{number:03}.sgf" for number in range(1, 13)]
    table = {"as_player_0": [0, 0, 0], "as_player_1": [0, 0, 0]}
    for file in files:
        (game,) = read_sgf(file)
        names = (game.black_name, game.white_name)
        assert sorted(names) == sorted(["random", program])
        assert (game.width, game.height, game.komi) == (5, 5, 3.0)
        winner = winner_of(game)
        assert game.result is not None
        assert game.result[0] == {None: "0", BLACK: "B", WHITE: "W"}[winner]
        random_seat = names.index("random")
        row = table["as_player_0" if random_seat == BLACK else "as_player_1"]
        row[1 if winner is None else 0 if winner == random_seat else 2] += 1
    for key, row in table.items():
        assert list(result[key].values()) == row


def test_forfeits_and_scores_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = engine("--flaw=resign:2")
    lines = run(capsys, program, "random", "games=2", *GO_WORDS, f"sgf={tmp_path}")
    assert lines[1].split() == ["as", "Black", "0", "won,", "0", "drawn,", "1", "lost"]
    assert lines[2].split() == ["as", "White", "0", "won,", "0", "drawn,", "1", "lost"]
    assert lines[8] == f"  lost by {program} other than on the board: 2 by resignation"
    results = [read_sgf(tmp_path / f"00{number}.sgf")[0].result for number in (1, 2)]
    assert results == ["W+R", "B+R"]


def test_other_scores_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = engine("--moves=C3", "--score=B+99")
    lines = run(capsys, "random", program, "games=2", *GO_WORDS, f"sgf={tmp_path}")
    assert lines[8] == "  final scores: 0 agreed, 2 not, 0 missing"
    assert lines[9].startswith("    game 1: ")
    assert lines[9].endswith(f" by our count, B+99 by {program}")
    assert lines[11].startswith(f"  {program} never counts as we do: see whether its options")
    assert lines[11].endswith("(GNU Go: --chinese-rules --capture-all-dead)")
    assert len(lines) == 12
    (game,) = read_sgf(tmp_path / "001.sgf")
    assert game.nodes[0].comment == f"{program}: final score B+99"


def test_crashes_are_lost_by_forfeit_in_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = engine("--flaw=crash:1")
    lines = run(capsys, "random", program, "games=2", *GO_WORDS, f"sgf={tmp_path}")
    assert lines[8] == f"  lost by {program} other than on the board: 2 by crash"
    assert "about to crash" in lines[9]
    (game,) = read_sgf(tmp_path / "001.sgf")
    assert game.result == "B+F"
    assert "crash" in game.nodes[0].comment


def test_games_other_than_go_say_who_moves_first(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "random", "random", "game=tic_tac_toe", "games=2")
    assert lines[1].startswith("  moving first   ")
    assert len(lines) == 8


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["random", "gtp:nosuch", "game=go_9x9"], "nosuch: no such program"),
        (["random", "gtp:gnugo"], "which game?"),
        (["random", engine("--flaw=crash-at-start"), *GO_WORDS], "no network file"),
        (["random", engine("--flaw=hang"), *GO_WORDS, "timeout=0"], "timeout: got '0', allowed:"),
        (["random", "random", "game=tic_tac_toe", "sgf=x"], "allowed: games of Go"),
        (["random", "random", "game=go_5x5", f"sgf={FAKE}"], "no folder for games"),
        (["random", "gams=2", "gtp:x y"], "gams=2: both players come before the options"),
        (["random", "games=2", "gtp:x y"], "games=2: both players come before the options"),
        (["game=go_5x5", "random", "random"], "game=go_5x5: both players come before the options"),
        (["minimax", "random", "game=go_5x5"], "positions of go_5x5 can follow"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert expected in err


def test_ctrl_c_keeps_the_games_that_have_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = RandomPlayer.choose_actions

    def choose_until_one_is_left(player: RandomPlayer, states: States) -> npt.NDArray[np.int64]:
        if len(states) == 1:
            raise KeyboardInterrupt
        return choose(player, states)

    monkeypatch.setattr(RandomPlayer, "choose_actions", choose_until_one_is_left)
    assert main(["match", "random", "random", *GO_WORDS, "games=8", f"sgf={tmp_path}"]) == 130
    out, err = capsys.readouterr()
    games = [read_sgf(path) for path in sorted(tmp_path.glob("*.sgf"))]
    assert 1 <= len(games) <= 7
    assert (
        err.splitlines()[0] == f"alphago match: interrupted: {len(games)} of 8 games had finished"
    )
    assert f"  {len(games)} games, " in out
    assert all([move.action for move in game.moves][-2:] == [25, 25] for (game,) in games)


def test_a_folder_with_games_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "old.sgf").write_text("(;)")
    assert main(["match", "random", "random", "game=go_5x5", f"sgf={tmp_path}"]) == 2
    assert "holds old.sgf" in capsys.readouterr().err


def test_an_engine_that_breaks_a_match_off_leaves_the_games_that_had_finished(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def always_pass(player: RandomPlayer, states: States) -> npt.NDArray[np.int64]:
        return np.full(len(states), player.game.spec.pass_action)

    monkeypatch.setattr(RandomPlayer, "choose_actions", always_pass)
    monkeypatch.setattr("selfplay.cpus.usable_cpus", lambda: 1)  # one process
    games = tmp_path / "games"
    # With its sixth move it ends games 2 and 4; it crashes in game 1 and is started for game 3.
    program = engine("--flaw=crash:7", "--moves=C3", f"--once={tmp_path / 'started'}")
    words = ["random", program, "game=go_5x5", "games=4", "opening_plies=0"]
    assert main(["match", *words, f"sgf={games}"]) == 2
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert lines[0] == "alphago match: broken off: 2 of 4 games had finished"
    assert lines[1].startswith("alphago match: error: ")
    assert "refuses 'boardsize 5'" in lines[1]
    assert len(lines) == 2
    assert out.splitlines()[2].split() == ["as", "White", "0", "won,", "0", "drawn,", "2", "lost"]
    assert [read_sgf(file)[0].result for file in sorted(games.iterdir())] == ["B+17.5"] * 2


def test_the_cap_on_moves_of_a_match_with_an_engine_is_the_one_that_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["random", engine(), "game=go_5x5:max_moves=6", "games=2", "--json"]
    result = json.loads(run(capsys, *words)[0])
    assert (result["game"], result["num_truncated"]) == ("go_5x5:max_moves=6", 2)
