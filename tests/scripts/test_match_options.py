"""Openings, results, workers and sequential tests of `alphago match`, through the command line."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from alphago.games import make_game
from alphago.games.notation import format_moves
from alphago.players.random_player import RandomPlayer
from alphago.protocols.sgf import read_sgf
from alphago.types import States
from eval.match_plan import plan_match
from eval.openings import paired_openings
from scripts.main import main
from tests.scripts.tiny_run import TINY

ALL_KNOWN = "alphago match: all games were in "
RANDOM = ["random", "random", "game=tic_tac_toe", "opening_plies=2"]


def run(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Plays a match; returns its JSON without the times, which are never the same."""
    assert main(["match", *words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "" or err.startswith(ALL_KNOWN)
    result: dict[str, Any] = json.loads(out)
    assert min(result.pop("seconds_per_move")) >= 0
    return result


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Returns the one line that refuses a match."""
    assert main(["match", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def without_times(line: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(line)
    content.pop("thinking", None)
    return content


# --- results


@pytest.fixture
def whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], Path]:
    """A match of three parts that was never stopped, and its file."""
    file = tmp_path / "whole.jsonl"
    return run(capsys, *RANDOM, "games=132", f"results={file}"), file


@pytest.mark.parametrize("num_lines", range(5))
@pytest.mark.parametrize("num_characters", [0, 30])
def test_a_match_that_goes_on_equals_one_that_was_never_stopped(
    whole: tuple[dict[str, Any], Path],
    num_lines: int,
    num_characters: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    result, file = whole
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    cut = tmp_path / "cut.jsonl"
    # The machine stopped in the middle of a line. The first one is written whole or not at all.
    rest = "".join(lines[num_lines:])[:num_characters] if num_lines else ""
    cut.write_text("".join(lines[:num_lines]) + rest)
    assert run(capsys, *RANDOM, "games=132", f"results={cut}") == result
    assert len(caplog.messages) == (1 if rest else 0)
    written = cut.read_text().splitlines()
    assert list(map(without_times, written)) == list(map(without_times, lines))
    assert result == run(capsys, *RANDOM, "games=132")


def test_a_match_of_which_all_games_are_known_says_so(
    whole: tuple[dict[str, Any], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["match", *RANDOM, "games=132", f"results={whole[1]}"]) == 0
    out, err = capsys.readouterr()
    assert err == f"{ALL_KNOWN}{whole[1]}\n"
    assert re.search(r"^  time per move: random [\d.]+ m?s, random [\d.]+ m?s$", out, re.M)


def test_a_part_is_kept_when_the_next_one_is_interrupted(
    whole: tuple[dict[str, Any], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose, file = RandomPlayer.choose_actions, tmp_path / "stopped.jsonl"

    def choose_until_the_second_part_ends(
        player: RandomPlayer, states: States
    ) -> npt.NDArray[np.int64]:
        has_a_part = len(file.read_text().splitlines()) > 1
        if has_a_part and len(states) <= 12:
            raise KeyboardInterrupt
        return choose(player, states)

    with monkeypatch.context() as patch:
        patch.setattr(RandomPlayer, "choose_actions", choose_until_the_second_part_ends)
        assert main(["match", *RANDOM, "games=132", f"results={file}"]) == 130
    out, err = capsys.readouterr()
    num_games = int(err.split()[3])
    assert (
        err.splitlines()[0] == f"alphago match: interrupted: {num_games} of 132 games had finished"
    )
    assert f"  {num_games} games, " in out
    assert len(file.read_text().splitlines()) == 2
    assert 44 < num_games < 88  # the first part, and what had finished of the second
    assert run(capsys, *RANDOM, "games=132", f"results={file}") == whole[0]


def test_another_match_is_refused(
    whole: tuple[dict[str, Any], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = whole[1]
    before = file.read_bytes()
    words = ["games=132", f"results={file}"]
    assert "seed: got 1, the file has 0" in refused(capsys, *RANDOM, *words, "seed=1")
    assert "games: got 130, the file has 132" in refused(
        capsys, *RANDOM, "games=130", f"results={file}"
    )
    assert "opening_plies: got 3, the file has 2" in refused(
        capsys, *RANDOM[:3], "opening_plies=3", *words
    )
    assert 'players: got ["random", "minimax"]' in refused(
        capsys, "random", "minimax", *RANDOM[2:], *words
    )
    assert file.read_bytes() == before
    assert run(capsys, *RANDOM, *words) == whole[0]


def test_games_as_sgf_are_those_of_all_sittings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "games", tmp_path / "results.jsonl"
    words = ["random", "random", "game=go_5x5", "games=66", f"sgf={folder}", f"results={file}"]
    run(capsys, *words)
    lines = file.read_text().splitlines(keepends=True)
    played = [game for line in lines[1:] for game in json.loads(line)["games"]]
    file.write_text("".join(lines[:2]))
    (folder / "067.sgf").write_text("of somebody else")  # a number that this match has not
    run(capsys, *words)
    (folder / "067.sgf").unlink()
    files = sorted(folder.iterdir())
    assert [path.name for path in files] == [f"{number:03}.sgf" for number in range(1, 67)]
    moves = [[move.action for move in read_sgf(path)[0].moves] for path in files]
    assert moves == played
    file.unlink()
    assert "holds 001.sgf" in refused(capsys, *words)


def test_a_new_match_spares_the_files_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "games", tmp_path / "results.jsonl"
    folder.mkdir()
    (folder / "001.sgf").write_text("mine")
    file.touch()
    words = ["random", "random", "game=go_5x5", "games=2", f"sgf={folder}", f"results={file}"]
    for _ in range(2):  # the second one goes on with nothing either
        assert "holds 001.sgf" in refused(capsys, *words)
        assert (folder / "001.sgf").read_text() == "mine"


def test_games_of_an_interrupted_sitting_are_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file = tmp_path / "games", tmp_path / "results.jsonl"
    words = ["random", "random", "game=go_5x5", "games=20", f"sgf={folder}", f"results={file}"]
    choose = RandomPlayer.choose_actions

    def choose_until_some_have_ended(player: RandomPlayer, states: States) -> npt.NDArray[np.int64]:
        if len(states) <= 4:
            raise KeyboardInterrupt
        return choose(player, states)

    with monkeypatch.context() as patch:
        patch.setattr(RandomPlayer, "choose_actions", choose_until_some_have_ended)
        assert main(["match", *words]) == 130
    capsys.readouterr()
    assert 0 < len(list(folder.iterdir())) < 20  # and no part has finished
    run(capsys, *words)
    assert sorted(path.name for path in folder.iterdir()) == [f"{n:03}.sgf" for n in range(1, 21)]


# --- openings


@pytest.fixture
def book(tmp_path: Path) -> Path:
    file = tmp_path / "book.txt"
    file.write_text("# Connect Four\n\n4 4 3  # the middle\n7,1\n 12\n")
    return file


def test_openings_of_a_file_are_played_in_order_from_both_sides(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    words = ["random", "random", "game=connect_four", f"openings={book}"]
    result = run(capsys, *words, f"results={results}")
    assert (result["num_games"], result["openings"]) == (6, str(book))
    games = json.loads(results.read_text().splitlines()[1])["games"]
    expected = [[3, 3, 2], [6, 0], [0, 1]]
    for number, game in enumerate(games):
        opening = expected[number // 2]
        assert game[: len(opening)] == opening
    assert run(capsys, *words, "games=4")["num_games"] == 4
    assert main(["match", *words, "games=4"]) == 0
    assert f"(from {book}, each opening played from both sides)" in capsys.readouterr().out
    message = refused(capsys, *words, "games=8")
    assert f"games: got 8, allowed: at most 6, two for each opening of {book}" in message
    message = refused(capsys, *words, "opening_plies=4")
    assert "opening_plies: got '4', allowed: nothing with a file" in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("12\n18\n", "line 2: move 2 of 2: connect_four: got '8'"),
        ("# a\n\n1111111\n", "line 3: ply 7: connect_four: 1 is illegal here"),
        ("1212121\n", "line 1: ends the game"),
        ("12\n34\n143 # x\n341\n", "line 4: leads to the same position as line 3"),
        ("# nothing\n", "holds no opening, allowed: moves, one opening in each line"),
        ("", "holds no opening"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_a_line_that_is_no_opening_is_named(
    content: str | bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "book.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    results = tmp_path / "results"
    words = ["random", "random", "game=connect_four", f"openings={file}", f"results={results}"]
    error = refused(capsys, *words)
    assert str(file) in error
    assert message in error
    assert not results.exists()


def test_openings_that_are_nowhere_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["random", "random", "game=connect_four"]
    assert "no-such-book: cannot be read" in refused(capsys, *words, "openings=no-such-book")
    assert "since neither player is a network" in refused(capsys, *words, "openings=policy")


def test_the_policy_of_a_network_gives_openings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "run", tmp_path / "results"
    assert main(["train", *TINY, f"run_dir={folder}"]) == 0
    capsys.readouterr()
    words = ["random", f"{folder}:simulations=4", "openings=policy", "opening_plies=3", "games=40"]
    result = run(capsys, *words, f"results={file}")
    header, *lines = map(json.loads, file.read_text().splitlines())
    games = [game for line in lines for game in line["games"]]
    openings = [tuple(game[:3]) for game in games]
    assert openings[::2] == openings[1::2]
    assert len(set(openings)) == 20
    assert header["networks"][0] is None
    assert len(header["networks"][1]) == 64
    assert (header["openings"], result["openings"]) == ("policy", "policy")
    # The same text, another network: the match would not be the one that was begun.
    changed = json.loads(file.read_text().splitlines()[0]) | {"networks": [None, "0" * 64]}
    file.write_text(json.dumps(changed) + "\n")
    assert "networks: got [null, " in refused(capsys, *words, f"results={file}")


# --- the sequential test


def test_a_test_that_is_fed_copies_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["alphabeta:depth=2", "alphabeta:depth=1", "game=tic_tac_toe", "opening_plies=1"]
    words += ["games=64", "elo0=0"]
    result = run(capsys, *words)
    num_games, num_repeated = (result["sprt"][key] for key in ("num_games", "num_repeated_games"))
    assert num_repeated == num_games - result["num_distinct_games"] > 0
    assert main(["match", *words]) == 0
    line = f"  {num_repeated} of these games repeat others move by move, and count as new:"
    assert line in capsys.readouterr().out


def test_a_stronger_player_is_found_out_early(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["minimax", *RANDOM[1:], "games=400"]
    result = run(capsys, *words, "elo1=35")
    test = result["sprt"]
    assert test["decision"] == "H1"
    assert test["llr"] >= test["upper"] == pytest.approx(np.log(0.95 / 0.05))
    assert result["num_games"] == test["num_games"] < 200
    assert main(["match", *words, "elo0=-10", "alpha=0.1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (line,) = (line for line in lines if "SPRT" in line)
    assert line.startswith(
        "  SPRT of Elo -10 (H0) against +35 (H1), alpha 0.1, beta 0.05: H1 accepted after "
    )


def test_equal_players_accept_h0(capsys: pytest.CaptureFixture[str]) -> None:
    result = run(capsys, *RANDOM, "elo0=0", "elo1=100")
    assert result["sprt"]["decision"] == "H0"
    assert result["sprt"]["llr"] <= result["sprt"]["lower"]


def test_a_test_that_cannot_decide_plays_all_games(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*RANDOM, "games=64", "elo1=5"]
    result = run(capsys, *words)
    assert (result["num_games"], result["sprt"]["decision"]) == (64, None)
    assert main(["match", *words]) == 0
    assert "undecided after 64 games" in capsys.readouterr().out


def test_parts_beyond_the_decision_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Workers finish parts in any order: here all are there, but for the one that would decide.
    file = tmp_path / "results"
    words = ["minimax", *RANDOM[1:], "games=400", f"results={file}"]
    assert run(capsys, *words)["num_games"] == 400
    header, *parts = file.read_text().splitlines(keepends=True)
    decided = run(capsys, *words, "elo1=15")
    ends = np.cumsum([len(json.loads(part)["games"]) for part in parts])
    num_parts = ends.tolist().index(decided["num_games"]) + 1
    assert 1 < num_parts < len(parts) == 7
    file.write_text("".join([header, *reversed(parts[:1] + parts[2:])]))
    assert run(capsys, *words, "elo1=15") == decided
    assert len(file.read_text().splitlines()) == 8


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["alpha=0.1"], "alpha: needs elo0 or elo1, which turn the test on"),
        (["elo0=40"], " elo1: got 35.0, allowed: more than 40.0"),
        (["elo0=nan"], "elo0: got 'nan', allowed: a number"),
        (["elo0=0", "beta=0.6"], "beta: got 0.6, allowed:"),
        (["workers=0"], "workers: got '0', allowed: an integer of at least 1"),
        (["workers=2.5"], "workers: got '2.5'"),
        (["sgf="], "sgf: got '', allowed: a folder"),
        (["results="], "results: got '', allowed: a file"),
    ],
)
def test_wrong_options_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refused(capsys, *RANDOM, *words)


# --- workers


def test_more_workers_than_parts_are_not_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("scripts.workers.RayWorkers")
    words = [*RANDOM, "games=32"]
    assert run(capsys, *words, "workers=8") == run(capsys, *words)


def test_two_workers_play_the_same_match(
    whole: tuple[dict[str, Any], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result, file = whole
    other = tmp_path / "other.jsonl"
    words = [*RANDOM, "games=132", "workers=2", f"results={other}"]
    assert run(capsys, *words) == result
    header, *parts = map(without_times, other.read_text().splitlines())
    expected = list(map(without_times, file.read_text().splitlines()))
    assert [header, *sorted(parts, key=lambda part: part["part"])] == expected


def test_the_games_are_those_of_the_parts_in_order(
    whole: tuple[dict[str, Any], Path],
) -> None:
    game = make_game("tic_tac_toe")
    parts = plan_match(paired_openings(game, num_pairs=66, num_plies=2, seed=0), seed=0)
    lines = list(map(json.loads, whole[1].read_text().splitlines()[1:]))
    assert [line["part"] for line in lines] == [part.number for part in parts]
    for line, part in zip(lines, parts, strict=True):
        begun = [format_moves(game, actions[:2]) for actions in line["games"]]
        assert begun == [format_moves(game, opening) for opening in part.openings for _ in "ab"]
