import json
import math
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import SuiteError
from alphago.games import make_game
from alphago.players import make_player
from alphago.players.network_player import NetworkPlayer
from eval.intervals import wilson_interval
from eval.suites import (
    Answers,
    are_right,
    ask_player,
    game_of_suite,
    load_suite,
    merge_suite_results,
    run_suite,
    score_kinds,
    split_suite,
    suite_summary,
)
from tests.search.evaluators import FixedEvaluator, HashEvaluator, UniformEvaluator
from tests.search.positions import search_config

GAME = make_game("connect_four")
SMALL_SUITE = Path(__file__).parents[1] / "data" / "connect_four_small.json"
GOOD = {"moves": "4", "best": ["4"], "decisive": True}


class Oracle:
    """Plays the first of the best moves in positions it was told, else something else."""

    name = "oracle"

    def __init__(self, suite, num_right):
        self.best = suite.right_actions
        self.num_right = num_right
        self.num_asked = 0

    def choose_actions(self, states):
        rows = np.arange(self.num_asked, self.num_asked + len(states))
        self.num_asked += len(states)
        best = self.best[rows]
        wrong = GAME.legal_actions(states) & ~best
        return np.where(rows < self.num_right, best.argmax(axis=1), wrong.argmax(axis=1))


def network_player(evaluator, num_simulations):
    return NetworkPlayer(
        GAME,
        evaluator,
        search_config=search_config(),
        num_simulations=num_simulations,
        name="network",
        seed=0,
    )


def write(path, positions):
    path.write_text(json.dumps({"about": "a test", "positions": positions}))
    return path


def test_only_decisive_positions_count():
    suite = load_suite(GAME, SMALL_SUITE)
    content = json.loads(SMALL_SUITE.read_text())["positions"]
    decisive = [position for position in content if position["decisive"]]
    assert (len(content), len(decisive), len(suite.states)) == (40, 32, 32)
    assert suite.name == "connect_four_small"
    for mask, position in zip(suite.right_actions, decisive, strict=True):
        assert [str(action + 1) for action in np.flatnonzero(mask)] == position["best"]


def test_the_share_of_right_choices_by_hand():
    suite = load_suite(GAME, SMALL_SUITE)
    result = run_suite(Oracle(suite, 24), suite)
    assert result.choice == (24, 32, 0.75, wilson_interval(24, 32))
    assert result.raw_policy is None
    assert (result.suite, result.player) == ("connect_four_small", "oracle")


def test_one_search_gives_both_numbers_of_a_network():
    suite = load_suite(GAME, SMALL_SUITE)
    calls = []

    class Counting(FixedEvaluator):
        def evaluate(self, states):
            calls.append(len(states))
            return super().evaluate(states)

    logits = [math.log(p) for p in (0.01, 0.02, 0.03, 0.9, 0.02, 0.01, 0.01)]
    result = run_suite(network_player(Counting(logits, 0.0), 30), suite)
    assert calls == [32] * 31  # all positions in one batch, the roots once
    # The raw policy plays column 4 where it can, else the likeliest of the others.
    order = [3, 2, 1, 4, 0, 5, 6]
    legal = GAME.legal_actions(suite.states)
    favourites = [next(a for a in order if legal[row, a]) for row in range(32)]
    right = sum(suite.right_actions[row, action] for row, action in enumerate(favourites))
    assert result.raw_policy.num_correct == right
    assert result.choice.num_positions == 32


def test_search_is_better_than_a_policy_that_knows_nothing():
    suite = load_suite(GAME, SMALL_SUITE)
    result = run_suite(network_player(UniformEvaluator(GAME), 400), suite)
    assert result.choice.share > result.raw_policy.share
    assert result.choice.share > 0.6


def test_without_simulations_both_numbers_are_those_of_the_policy():
    suite = load_suite(GAME, SMALL_SUITE)
    evaluator = FixedEvaluator([0.1, 0.7, 0.3, 0.9, 0.8, 0.2, 0.0], 0.0)
    result = run_suite(network_player(evaluator, 0), suite)
    assert result.choice == result.raw_policy


def test_a_player_without_a_network():
    suite = load_suite(GAME, SMALL_SUITE)
    result = run_suite(make_player("alphabeta:depth=4", game=GAME, seed=1), suite)
    assert result.choice.share > 0.6
    assert json.loads(json.dumps(suite_summary(result)))["raw_policy"] is None


def test_parts_of_a_suite_add_up_to_the_whole():
    suite = load_suite(GAME, SMALL_SUITE)
    player = network_player(HashEvaluator(GAME, 1.0), 20)
    parts = split_suite(suite, 3)
    assert [len(part.states) for part in parts] == [11, 11, 10]
    merged = merge_suite_results([run_suite(player, part) for part in parts])
    assert merged == run_suite(player, suite)
    summary = json.loads(json.dumps(suite_summary(merged)))
    assert summary["choice"]["num_positions"] == 32
    assert len(split_suite(parts[0], 100)) == 11


def test_progress_tells_how_many_positions_are_done():
    suite = load_suite(GAME, SMALL_SUITE)
    told = []
    answers = ask_player(Oracle(suite, 24), suite, lambda done, total: told.append((done, total)))
    assert told == [(0, 32), (16, 32)]
    assert are_right(suite, answers.chosen).tolist() == [True] * 24 + [False] * 8
    assert answers.likeliest is None


def test_kinds_are_counted_apart(tmp_path):
    kinds = ["early", "late", None, "early"]
    positions = [{**GOOD, "kind": kind} if kind else GOOD for kind in kinds]
    suite = load_suite(GAME, write(tmp_path / "kinds.json", positions))
    chosen, likeliest = np.array([3, 0, 3, 0]), np.array([3, 3, 3, 3])
    results = score_kinds(suite, Answers("hand", chosen, likeliest))
    assert list(results) == ["early", "late"]
    assert results["early"].choice[:2] == (1, 2)
    assert results["early"].raw_policy[:2] == (2, 2)
    assert results["late"].choice[:2] == (0, 1)
    assert results["late"].player == "hand"


def test_the_suite_of_the_project_is_found_by_name():
    suite = load_suite(GAME, "connect_four")
    assert len(suite.states) == 593
    random = run_suite(make_player("random", game=GAME, seed=0), suite).choice
    assert random.interval[0] < 0.35 < random.interval[1]


def test_a_file_of_the_caller_goes_before_a_suite_of_the_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "connect_four", [GOOD])
    assert len(load_suite(GAME, "connect_four").states) == 1


def test_a_missing_key_decisive_counts_and_other_keys_do_not_matter(tmp_path):
    path = write(tmp_path / "ä b.json", [{"moves": "", "best": ["4"], "value": "win"}])
    suite = load_suite(GAME, path)
    assert suite.name == "ä b"
    assert np.flatnonzero(suite.right_actions[0]).tolist() == [3]
    assert suite.states.tobytes() == GAME.initial_states(1).tobytes()


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("4", "got '4', allowed: an object with 'moves' and 'best'"),
        ({**GOOD, "moves": None}, "moves: got None, allowed: the moves as one text"),
        ({**GOOD, "moves": "48"}, "moves '48'"),
        ({**GOOD, "moves": "1111111"}, "moves '1111111'"),
        ({**GOOD, "moves": "1212121"}, "the game is over"),
        ({**GOOD, "moves": "12121212"}, "the game is over"),
        ({**GOOD, "best": []}, "best: got [], allowed: a list of at least one move"),
        ({**GOOD, "best": "4"}, "best: got '4', allowed: a list"),
        ({**GOOD, "best": ["9"]}, "best: got '9', allowed: one of 1 2 3 4 5 6 7"),
        ({**GOOD, "best": [4]}, "best: got 4, allowed: one of"),
        (
            {**GOOD, "moves": "111111", "best": ["2", "1"]},
            "best: got '1', allowed: one of 2 3 4 5 6 7",
        ),
        ({**GOOD, "decisive": "yes"}, "decisive: got 'yes', allowed: true or false"),
    ],
)
def test_a_bad_position_is_named_by_file_and_number(tmp_path, position, message):
    path = write(tmp_path / "suite.json", [GOOD, position])
    with pytest.raises(SuiteError) as caught:
        load_suite(GAME, path)
    assert str(caught.value).startswith(f"{path}: position 2 of 2: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "got no JSON"),
        (b'{"positions": [', "got no JSON"),
        (b"\xff\xfe", "got no JSON"),
        (b"[" * 100_000, "got no JSON"),
        (b"[]", "got no list 'positions'"),
        (b'{"positions": []}', "got no list 'positions'"),
        (b'{"position": [1]}', "got no list 'positions'"),
        (b'{"positions": {"moves": ""}}', "got no list 'positions'"),
        (
            b'{"positions": [{"moves": "", "best": ["1"], "decisive": false}]}',
            "got no decisive position",
        ),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_is_no_suite_is_named(tmp_path, content, message):
    path = tmp_path / "suite.json"
    path.write_bytes(content)
    with pytest.raises(SuiteError) as caught:
        load_suite(GAME, path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(SuiteError, match="no such file"):
        load_suite(GAME, tmp_path / "nothing.json")
    with pytest.raises(SuiteError, match="no such file"):
        load_suite(GAME, "x" * 5000)
    with pytest.raises(SuiteError, match="did you mean connect_four"):
        load_suite(GAME, "conect_four")
    with pytest.raises(SuiteError, match="cannot be read"):
        load_suite(GAME, tmp_path)


def test_a_suite_says_which_game_it_is_for(tmp_path):
    assert game_of_suite("connect_four") == "connect_four"
    assert game_of_suite(SMALL_SUITE) is None
    with pytest.raises(SuiteError) as caught:
        load_suite(make_game("tic_tac_toe"), "connect_four")
    message = "suite connect_four is for connect_four, the player plays tic_tac_toe"
    assert str(caught.value) == message
    path = tmp_path / "suite.json"
    path.write_text(json.dumps({"game": 4, "positions": [GOOD]}))
    for read in (game_of_suite, lambda path: load_suite(GAME, path)):
        with pytest.raises(SuiteError, match=r"suite.json: game: got 4, allowed: the name of a"):
            read(path)


def test_a_suite_of_another_game_is_refused():
    with pytest.raises(SuiteError, match="position 1 of 40"):
        load_suite(make_game("tic_tac_toe"), SMALL_SUITE)
