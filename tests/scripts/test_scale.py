"""How many games a second a run takes in: sound games, sums that add up, and sleeping actors."""

import json
from typing import Any

import numpy as np
import pytest

from alphago.games import make_game
from scripts import scale
from scripts.composition import compose_config, to_run_config
from scripts.speed import take_in
from scripts.speed.sleeping_actor import SleepingActor
from scripts.speed.take_in import SleepingSetup
from tests.train.tiny import actor_setup, streams, tiny_config
from train.targets import rows_from_records

TTT = make_game("tic_tac_toe")


@pytest.mark.parametrize("game", ["tic_tac_toe", "go_5x5"])
def test_ready_made_games_are_sound_and_have_the_targets_of_a_run(game: str) -> None:
    config = to_run_config(compose_config([f"game={game}"]))
    records = take_in.sample_records(make_game(config.game.text), config)
    rows = rows_from_records(make_game(config.game.text), records)
    share = len(rows.value_targets) / sum(len(record.actions) for record in records)
    assert share == pytest.approx(config.selfplay.full_search_probability, abs=0.1)
    assert len({tuple(record.actions.tolist()) for record in records}) > 1


def test_simulations_of_a_move_by_hand() -> None:
    changes = {
        "selfplay.num_simulations": 100,
        "selfplay.fast_num_simulations": 20,
        "selfplay.full_search_probability": 0.25,
    }
    assert take_in.simulations_per_move(tiny_config(changes)) == 40.0


def test_what_is_taken_in_is_on_the_disk_and_in_the_window() -> None:
    with take_in.run_at_rest(tiny_config()) as run:
        records = take_in.sample_records(TTT, run.session.config)
        found = take_in.measure_take_in(run, records, num_reports=3, seconds=0.05)
        stored = list(run.session.store.since(0))
        assert len(stored) == run.session.store.num_games >= 6
        assert len(set(streams(stored))) == len(stored)
        assert run.session.learner.buffer.positions_seen > 0
        assert run.session.counters.iteration > 1  # as in a run, which forgets its totals
    assert found.num_reports == 3
    assert found.games_per_s > 0
    assert 0 < found.store_share < 1
    assert found.bytes_per_game > 50


def test_a_sleeping_actor_hands_over_ever_new_games_at_its_pace() -> None:
    records = take_in.sample_records(TTT, tiny_config())
    setup = take_in.sleeping_setup(actor_setup(), records, games_per_s=1000.0)
    assert isinstance(setup, SleepingSetup)
    actor = SleepingActor(setup, 7)
    reports = [actor.play(40) for _ in range(2)]
    played = [record for report in reports for record in report.records]
    assert streams(played) == [(1, 7, number) for number in range(80)]
    assert all(report.stats.seconds == pytest.approx(0.04) for report in reports)
    np.testing.assert_array_equal(played[64].actions, records[0].actions)


RESULTS: dict[str, Any] = {
    "game": "tic_tac_toe",
    "actors": 2,
    "moves_per_game": 7.6,
    "evaluations_per_game": 100.0,
    "alone": [
        {"num_reports": 1, "games_per_s": 500.0, "store_share": 0.5, "bytes_per_game": 300.0}
    ],
    "with_actors": [
        {
            "offered_per_s": 250.0,
            "games_per_s": 249.0,
            "busy_share": 0.25,
            "most_waiting": 3,
            "bound": 4,
            "growth_mb": 0.5,
        }
    ],
    "games_per_s": 500.0,
    "evaluations_per_s": 50_000.0,
    "gpu_evaluations_per_s": 40_000.0,
    "gpus": 1.25,
}


def test_results_are_told_in_games_and_gpus() -> None:
    text = scale.describe(RESULTS)
    assert "500 games/s, which is 50,000 evaluations/s: 1.2 GPUs of 40,000" in text
    assert "249" in text


@pytest.mark.parametrize(
    ("words", "named"),
    [(["actors=0"], "actors: got '0'"), (["game=chess"], "chess"), (["x"], "x")],
)
def test_wrong_words_are_one_line(
    words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert scale.main(words) == 2
    output, errors = capsys.readouterr()
    assert (output, errors.count("\n")) == ("", 1)
    assert named in errors


@pytest.mark.slow
def test_actors_that_offer_too_much_are_made_to_wait(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["game=tic_tac_toe", "network=tiny", "suite.file=null", "actors=2", "seconds=2"]
    assert scale.main([*words, "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert all(each["most_waiting"] <= each["bound"] for each in results["with_actors"])
    assert results["gpus"] > 0
