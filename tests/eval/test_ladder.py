import itertools
from collections.abc import Sequence

import pytest

from eval.elo import PairResult, expected_score, fit_ratings
from eval.ladder import (
    LIKELY_SCORES,
    NUM_OPPONENTS,
    Standings,
    checkpoint_name,
    choose_opponent,
    describe_alarm,
    find_alarm,
    find_falls,
    guess_ratings,
    is_beyond,
    plan_anchors,
    plan_round,
    spread_steps,
    steps_every,
)
from tests.eval.simulated_pool import SimulatedPool

ANCHORS = {"random": 0.0, "weak": 300.0, "middle": 700.0, "good": 1000.0, "strong": 1300.0}


def names(num: int) -> list[str]:
    return [checkpoint_name(100 * number) for number in range(num)]


# --- which checkpoints ---


@pytest.mark.parametrize(
    ("steps", "num", "chosen", "expected"),
    [
        ([0, 10, 20, 30, 40], 2, [], [0, 40]),
        ([0, 10, 20, 30, 40], 3, [], [0, 20, 40]),
        ([0, 10, 20, 30, 40], 9, [], [0, 10, 20, 30, 40]),
        ([0, 1, 2, 30, 40], 3, [], [0, 30, 40]),  # by steps, not by number
        ([0, 10, 20, 30, 40], 2, [10, 30], [0, 10, 30, 40]),  # what was rated stays
        ([10, 20, 30, 40], 4, [0, 22], [10, 40]),  # the others were rated and are gone
        ([7], 12, [], [7]),
    ],
)
def test_checkpoints_are_spread_over_the_run(
    steps: list[int], num: int, chosen: list[int], expected: list[int]
) -> None:
    assert spread_steps(steps, num=num, chosen=chosen) == expected


def test_checkpoints_at_an_interval() -> None:
    steps = [0, 8, 10, 19, 21, 35, 38]
    assert steps_every(steps, interval=10) == [0, 10, 21, 35, 38]
    assert steps_every(steps, interval=10, chosen=[19, 99]) == [0, 10, 19, 21, 35, 38]


# --- who plays whom ---


def standing(
    elo: float,
    *,
    met: Sequence[str] = (),
    asked: int = 0,
    others: dict[str, float] | None = None,
    margin: float = 0.0,
) -> Standings:
    ratings = {**ANCHORS, "step=9": elo, **(others or {})}
    span = (elo - margin, elo + margin)
    return Standings(ratings, {"step=9": span}, {"step=9": set(met)}, {"step=9": asked})


def choose(standings: Standings, *, earlier: Sequence[str] = ()) -> str | None:
    return choose_opponent("step=9", anchors=list(ANCHORS), earlier=earlier, standings=standings)


def test_the_nearest_in_strength_tells_most() -> None:
    assert choose(standing(720)) == "middle"
    assert choose(standing(720, met=["middle"])) == "good"
    assert choose(standing(5000)) == "strong"


def test_two_anchors_come_first_then_checkpoints_too() -> None:
    others = {"step=3": 990.0, "step=5": 800.0, "step=7": 880.0}
    earlier = list(others)
    assert choose(standing(900, others=others), earlier=earlier) == "good"
    assert choose(standing(900, met=["good"], others=others), earlier=earlier) == "middle"
    met = ["good", "middle"]
    assert choose(standing(900, met=met, others=others), earlier=earlier) == "step=7"  # before it
    met += ["step=7"]
    assert choose(standing(900, met=met, others=others), earlier=earlier) == "step=3"  # strongest
    met += ["step=3"]
    assert choose(standing(900, met=met, others=others), earlier=earlier) == "strong"


def test_who_is_certain_to_win_or_lose_is_left_out_after_two_anchors() -> None:
    low, high = LIKELY_SCORES
    elo = 1000.0
    assert not low <= expected_score(elo - 300) <= high
    assert low <= expected_score(elo - 700) <= high
    met = ["good", "strong"]
    assert choose(standing(elo, met=met)) == "middle"
    assert choose(standing(elo, met=[*met, "middle"])) is None
    assert choose(standing(2500, met=met)) is None
    assert choose(standing(2500, met=["good"])) == "strong"  # it has met but one


def test_certain_is_what_holds_in_the_whole_interval() -> None:
    # Two anchors were beaten in all games: the rating is high, but how high nobody knows.
    met, others = ["good", "strong"], {"step=7": 1500.0}
    assert choose(standing(2200, met=met, others=others), earlier=["step=7"]) is None
    standings = standing(2200, met=met, others=others, margin=400)
    assert choose(standings, earlier=["step=7"]) == "step=7"


def test_a_checkpoint_asks_for_so_many_matches_and_no_more() -> None:
    assert choose(standing(900, asked=NUM_OPPONENTS - 1)) == "good"
    assert choose(standing(900, asked=NUM_OPPONENTS)) is None


def test_a_ladder_of_one_anchor_is_enough() -> None:
    elo = {"random": 0.0, "a": 10.0, "b": 50.0}
    standings = Standings(elo, {"b": (0.0, 90.0)}, {"b": {"random"}}, {})
    arguments = {"anchors": ["random"], "earlier": ["a"], "standings": standings}
    assert choose_opponent("b", **arguments) == "a"


def test_guesses_come_from_the_neighbours() -> None:
    anchors = ["x", "y", "z"]
    assert guess_ratings(["a", "b"], anchors, {"x": 0.0}) == {
        "x": 0,
        "y": 200,
        "z": 400,
        "a": 200,
        "b": 200,
    }
    guesses = guess_ratings(["a", "b", "c", "d"], ["x"], {"x": 0.0, "b": 50.0, "d": 90.0})
    assert [guesses[name] for name in "abcd"] == [50, 50, 50, 90]


def test_a_round_has_one_match_for_each_checkpoint_that_needs_one() -> None:
    standings = standing(900, asked=NUM_OPPONENTS)
    assert plan_round(["step=5", "step=9"], list(ANCHORS), standings) == [("step=5", "good")]
    first = plan_round(names(3), list(ANCHORS), Standings(ANCHORS, {}, {}, {}))
    assert first == [(name, "middle") for name in names(3)]


def test_anchors_without_ratings_play_those_before_them() -> None:
    assert plan_anchors("abc", is_fixed=lambda name: name == "a", reach=1) == [
        ("b", "a"),
        ("c", "b"),
    ]
    assert plan_anchors("abc", is_fixed=lambda name: name in "ab", reach=2) == [
        ("c", "b"),
        ("c", "a"),
    ]
    assert plan_anchors("abc", is_fixed=lambda name: True, reach=2) == []


@pytest.mark.parametrize("draw_share", [0.0, 0.3])
def test_the_ladder_finds_the_strength_of_simulated_checkpoints(draw_share: float) -> None:
    strengths = dict(zip(names(6), [40, 350, 820, 1050, 1400, 1650], strict=True))
    num_inside = num_ratings = 0
    for seed in range(15):
        pool = SimulatedPool(ANCHORS | strengths, list(ANCHORS), seed=seed, draw_share=draw_share)
        ratings = pool.climb(list(strengths))
        assert 3 * len(strengths) <= len(pool.results) <= NUM_OPPONENTS * len(strengths)
        assert len({(r.first, r.second) for r in pool.results}) == len(pool.results)
        for rating in ratings.ratings:
            if not rating.is_anchor:
                num_ratings += 1
                num_inside += rating.low <= strengths[rating.player] <= rating.high
                assert abs(rating.elo - strengths[rating.player]) < 250
    assert num_ratings == 90
    assert num_inside / num_ratings > 0.88


def test_only_a_new_checkpoint_plays_when_the_run_goes_on() -> None:
    strengths = dict(zip(names(5), [200, 500, 700, 800, 850], strict=True))
    pool = SimulatedPool(ANCHORS | strengths, list(ANCHORS), seed=1)
    pool.climb(names(4))
    num_before = len(pool.results)
    assert plan_round(names(4), list(ANCHORS), pool.standings()) == []
    pool.climb(names(5))
    new = pool.results[num_before:]
    assert {result.first for result in new} == {"step=400"}
    assert 3 <= len(new) <= NUM_OPPONENTS


# --- whether strength has fallen ---


def share_of_alarms(strengths: Sequence[float], *, num: int) -> float:
    """Returns how often ladders of three anchors and the checkpoint before raise an alarm."""
    checkpoints, num_alarms = names(len(strengths)), 0
    true = ANCHORS | dict(zip(checkpoints, strengths, strict=True))
    for seed in range(num):
        pool = SimulatedPool(true, list(ANCHORS), seed=seed, draw_share=0.1)
        for before, checkpoint in itertools.pairwise(["weak", *checkpoints]):
            for opponent in ("middle", "good", "strong", before):
                pool.play(checkpoint, opponent)
        ratings = pool.rate()
        falls = find_falls(ratings, checkpoints)
        num_alarms += find_alarm(falls, ratings, checkpoints) is not None
    return num_alarms / num


def test_constant_strength_raises_next_to_no_alarm() -> None:
    assert share_of_alarms([900.0] * 8, num=200) <= 0.05


def test_growing_strength_raises_no_alarm() -> None:
    assert share_of_alarms([0, 600, 850, 940, 980], num=20) <= 0.05


def test_a_checkpoint_that_is_really_weaker_raises_it() -> None:
    assert share_of_alarms([0, 600, 850, 940, 700], num=20) >= 0.9


def ratings_of(games: dict[tuple[str, str], tuple[int, int]]) -> list[PairResult]:
    return [PairResult(*pair, wins, 0, losses) for pair, (wins, losses) in games.items()]


def test_an_alarm_is_over_once_the_run_is_stronger_than_before() -> None:
    games = {
        ("step=0", "random"): (50, 50),
        ("step=100", "random"): (75, 25),
        ("step=200", "random"): (40, 60),
    }
    checkpoints = names(3)
    ratings = fit_ratings(ratings_of(games), anchors={"random": 0.0})
    falls = find_falls(ratings, checkpoints)
    (fall,) = falls
    assert (fall.checkpoint, fall.best_before) == ("step=200", "step=100")
    assert find_alarm(falls, ratings, checkpoints) == fall
    assert describe_alarm(fall).startswith(
        "strength has fallen: step=200 is 261 Elo weaker than step=100 (standard error "
    )
    games["step=300", "random"] = (80, 20)
    checkpoints = names(4)
    ratings = fit_ratings(ratings_of(games), anchors={"random": 0.0})
    assert [fall.checkpoint for fall in find_falls(ratings, checkpoints)] == ["step=200"]
    assert find_alarm(find_falls(ratings, checkpoints), ratings, checkpoints) is None


def test_a_run_without_results_has_no_alarm() -> None:
    ratings = fit_ratings([], anchors={"random": 0.0})
    assert find_falls(ratings, names(3)) == []
    assert find_alarm([], ratings, names(3)) is None


def test_beyond_all_anchors_is_where_games_with_them_tell_little() -> None:
    assert not is_beyond(1300 + 500, ANCHORS)
    assert is_beyond(1300 + 700, ANCHORS)
