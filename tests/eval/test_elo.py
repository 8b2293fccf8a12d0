import math
import time
from itertools import combinations, permutations

import numpy as np
import pytest

from eval.elo import EloError, PairResult, RatingList, elo_of_score, expected_score, fit_ratings
from eval.intervals import match_interval
from tests.reference.pool_likelihood import BruteForcePool, Result

# So many games that the prior, of an eighth of a game, moves no rating by a hundredth of an Elo.
MANY = 100_000


def fit(*results: Result, **anchors: float) -> RatingList:
    return fit_ratings([PairResult(*result) for result in results], anchors=anchors)


def elos(ratings: RatingList) -> dict[str, float]:
    return {rating.player: rating.elo for rating in ratings.ratings}


def spans(ratings: RatingList) -> dict[str, tuple[float, float, float]]:
    return {rating.player: (rating.low, rating.elo, rating.high) for rating in ratings.ratings}


# ----- by hand


def test_three_wins_in_four_are_191_elo() -> None:
    # 400 log10(3) = 190.85
    ratings = fit(("a", "b", 3 * MANY, 0, MANY), b=0)
    assert elos(ratings) == pytest.approx({"a": 190.849, "b": 0}, abs=0.01)
    assert ratings.draw_elo == 0


@pytest.mark.parametrize(
    ("wins", "draws", "losses", "difference"),
    [
        (30, 20, 10, 120.412),  # two points of three: 400 log10(2)
        (50, 50, 0, 190.849),  # three of four, whatever the draws
        (25, 50, 25, 0.0),
        (0, 20, 10, -120.412),  # one of three
    ],
)
def test_a_match_has_the_elo_of_its_score(
    wins: int, draws: int, losses: int, difference: float
) -> None:
    ratings = fit(("a", "b", wins * MANY, draws * MANY, losses * MANY), b=0)
    assert elos(ratings)["a"] == pytest.approx(difference, abs=0.02)
    score = (wins + draws / 2) / (wins + draws + losses)
    assert elo_of_score(score) == pytest.approx(difference, abs=0.001)
    assert expected_score(difference) == pytest.approx(score, abs=1e-6)


def test_the_draw_elo_tells_how_often_equals_draw() -> None:
    # Half of the games: (x - 1) / (x + 1) = 1/2 at x = 3, and 400 log10(3) = 190.85.
    assert fit(("a", "b", MANY, 2 * MANY, MANY), b=0).draw_elo == pytest.approx(190.849, abs=0.01)
    # P(draw)^2 / (P(win) P(loss)) is the same for all pairs: 0.4^2 / (0.4 * 0.2) = 2, and between
    # equals (s / ((1 - s) / 2))^2 = 2 at s = 0.41421, x = (1 + s) / (1 - s) = 1 + sqrt(2).
    uneven = fit(("a", "b", 2 * MANY, 2 * MANY, MANY), b=0)
    assert uneven.draw_elo == pytest.approx(400 * math.log10(1 + math.sqrt(2)), abs=0.01)


def test_three_that_beat_each_other_in_a_circle_are_equal() -> None:
    circle = fit(("a", "b", 20, 3, 5), ("b", "c", 20, 3, 5), ("c", "a", 20, 3, 5), c=150)
    # The prior is around the anchor, so that it moves nothing.
    assert elos(circle) == pytest.approx({"a": 150, "b": 150, "c": 150}, abs=1e-6)
    # Turned round, the circle is the same with a and b exchanged.
    (a_low, _, a_high), (b_low, _, b_high) = (spans(circle)[player] for player in "ab")
    assert (a_low - 150, a_high - 150) == pytest.approx((150 - b_high, 150 - b_low), abs=1e-3)


def test_a_chain_adds_up() -> None:
    chain = fit(("a", "b", 2 * MANY, 0, MANY), ("b", "c", 3 * MANY, 0, MANY), c=1000)
    assert elos(chain)["b"] == pytest.approx(1190.849, abs=0.02)
    assert elos(chain)["a"] == pytest.approx(1311.261, abs=0.02)
    assert [rating.player for rating in chain.ratings] == ["a", "b", "c"]


def test_a_rating_tells_games_and_score() -> None:
    ratings = fit(("a", "b", 5, 2, 1), ("c", "a", 4, 0, 0), b=0, unused=77)
    facts = {
        rating.player: (rating.num_games, rating.score, rating.is_anchor)
        for rating in ratings.ratings
    }
    assert facts == {
        "a": (12, 0.5, False),
        "b": (8, 0.25, True),
        "c": (4, 1.0, False),
        "unused": (0, None, True),
    }
    assert spans(ratings)["unused"] == (77, 77, 77)


def test_elo_of_score_at_the_ends() -> None:
    assert elo_of_score(0) == -math.inf
    assert elo_of_score(1) == math.inf
    assert elo_of_score(0.5) == 0
    assert expected_score(-20_000) == 0
    assert expected_score(20_000) == 1


# ----- against brute force

POOLS: list[tuple[list[Result], dict[str, float]]] = [
    ([("a", "b", 30, 20, 10)], {"b": 0}),
    ([("a", "b", 5, 0, 0)], {"b": 200}),
    ([("a", "b", 1, 7, 0)], {"b": 0}),
    ([("a", "b", 0, 9, 0)], {"b": 0}),
    ([("a", "b", 6, 3, 2), ("a", "c", 2, 1, 12)], {"b": 0, "c": 300}),
    ([("a", "b", 10, 0, 4), ("b", "c", 3, 0, 7), ("c", "a", 2, 0, 6)], {"c": 100}),
    ([("a", "b", 10, 6, 4), ("b", "c", 3, 5, 7)], {"c": -50}),
]


@pytest.mark.parametrize(("results", "anchors"), POOLS, ids=range(len(POOLS)))
def test_estimates_and_intervals_are_those_of_brute_force(
    results: list[Result], anchors: dict[str, float]
) -> None:
    expected = BruteForcePool(results, anchors)
    ratings = fit(*results, **anchors)
    for place, player in enumerate(expected.free):
        low, elo, high = spans(ratings)[player]
        assert elo == pytest.approx(expected.best[place], abs=0.01)
        assert (low, high) == pytest.approx(expected.interval(player), abs=0.01)


# ----- what must not matter

RESULTS = [
    ("a", "b", 7, 2, 3),
    ("b", "c", 5, 4, 5),
    ("c", "d", 9, 1, 2),
    ("d", "a", 1, 1, 8),
    ("e", "b", 4, 0, 6),
    ("e", "d", 6, 3, 3),
]


def test_neither_order_nor_entries_of_the_results_matter() -> None:
    expected = fit(*RESULTS, b=0, d=-100)
    others = [
        list(reversed(RESULTS)),
        [(second, first, losses, draws, wins) for first, second, wins, draws, losses in RESULTS],
        [("a", "b", 3, 2, 0), *RESULTS[1:], ("b", "a", 3, 0, 4)],
        [*RESULTS, ("a", "b", 0, 0, 0)],
    ]
    for results in others:
        ratings = fit(*results, d=-100, b=0)
        assert ratings.ratings == expected.ratings  # to the last bit
        assert ratings.draw_elo == expected.draw_elo
        assert (ratings.covariance == expected.covariance).all()


def test_swapping_the_players_negates() -> None:
    for wins, draws, losses in ((7, 2, 3), (40, 0, 0), (11, 0, 3), (0, 30, 1)):
        low, elo, high = spans(fit(("a", "b", wins, draws, losses), b=0))["a"]
        swapped = spans(fit(("a", "b", losses, draws, wins), b=0))["a"]
        assert swapped == pytest.approx((-high, -elo, -low), abs=1e-4)


def test_the_anchors_shift_everything() -> None:
    ratings = fit(*RESULTS, b=0, d=-100)
    shifted = fit(*RESULTS, b=1500, d=1400)
    assert shifted.draw_elo == pytest.approx(ratings.draw_elo, abs=1e-6)
    for player, span in spans(ratings).items():
        assert np.subtract(spans(shifted)[player], 1500) == pytest.approx(span, abs=1e-3)


# ----- intervals and differences


def test_all_games_won_give_a_finite_lopsided_interval() -> None:
    for num_games in (1, 10, 1000):
        low, elo, high = spans(fit(("a", "b", num_games, 0, 0), b=0))["a"]
        assert 0 < elo < high < 3_500
        assert high - elo > elo - low > 0
    lows = [spans(fit(("a", "b", num, 0, 0), b=0))["a"][0] for num in (1, 10, 100, 1000)]
    assert lows == sorted(lows)


def test_all_games_drawn_give_an_interval_as_a_match_has() -> None:
    low, elo, high = spans(fit(("a", "b", 0, 40, 0), b=0))["a"]
    assert elo == pytest.approx(0, abs=1e-6)
    assert high == pytest.approx(-low, abs=1e-4)
    assert 10 < high < elo_of_score(match_interval(0, 40, 0)[1])


def test_with_many_games_all_intervals_agree() -> None:
    ratings = fit(("a", "b", 900, 600, 500), b=0)
    low, elo, high = spans(ratings)["a"]
    difference = ratings.difference("a", "b")
    assert difference.elo == elo
    assert (low, high) == pytest.approx(
        (elo - 1.96 * difference.standard_error, elo + 1.96 * difference.standard_error), abs=0.3
    )
    ends = [elo_of_score(end) for end in match_interval(900, 600, 500)]
    assert (low, high) == pytest.approx(ends, abs=0.6)


def test_a_difference_is_known_better_than_the_ratings() -> None:
    # a and b have met often, and only a has met the anchor, a few times.
    ratings = fit(("a", "b", 300, 0, 200), ("a", "anchor", 4, 0, 4), anchor=0)
    difference = ratings.difference("a", "b")
    # By hand: 1 / sqrt(500 games * 0.6 * 0.4) logits of 173.7 Elo.
    assert difference.standard_error == pytest.approx(173.72 / math.sqrt(500 * 0.24), rel=0.01)
    assert difference.elo == pytest.approx(400 * math.log10(1.5), abs=0.5)
    assert ratings.difference("a", "anchor").standard_error > 100
    reverse = ratings.difference("b", "a")
    assert reverse == pytest.approx((-difference.elo, difference.standard_error))
    assert ratings.difference("a", "a") == (0, 0)


def test_anchors_have_no_error_and_are_no_estimates() -> None:
    ratings = fit(("a", "b", 0, 0, 30), ("a", "c", 3, 3, 4), a=0, b=50, c=0)
    assert spans(ratings) == {"a": (0, 0, 0), "b": (50, 50, 50), "c": (0, 0, 0)}
    assert ratings.difference("b", "a") == (50, 0)
    assert ratings.draw_elo > 0  # estimated from games of anchors all the same
    assert [rating.player for rating in ratings.ratings] == ["b", "a", "c"]


def test_without_a_game_there_are_only_anchors() -> None:
    ratings = fit(a=3, b=5)
    assert elos(ratings) == {"b": 5, "a": 3}
    assert ratings.draw_elo == 0


def test_a_player_without_connection_to_an_anchor_is_known_by_the_prior_alone() -> None:
    ratings = fit(("a", "b", 8, 2, 8), ("x", "y", 60, 10, 30), b=200, c=400)
    for player in "xy":
        low, elo, high = spans(ratings)[player]
        assert abs(elo - 300) < 100  # around the mean of the anchors
        assert 1_200 < elo - low < 2_000
        assert 1_200 < high - elo < 2_000
    # Their difference is known as well as that of any other two.
    difference = ratings.difference("x", "y")
    assert difference.elo == pytest.approx(elo_of_score(0.65), abs=2)
    assert difference.standard_error < 50


def test_every_wild_pool_has_ratings() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        results = [
            (*rng.permutation(list("abcde"))[:2], *rng.choice([0, 0, 1, 8, 900, 80_000], size=3))
            for _ in range(rng.integers(1, 8))
        ]
        anchors = {"a": 0.0, "b": float(rng.choice([-2000, 0, 3, 500]))}
        for rating in fit(*results, **anchors).ratings:
            assert rating.low <= rating.elo <= rating.high
            assert math.isfinite(rating.low) and math.isfinite(rating.high)


def test_impossible_results_have_ratings() -> None:
    # The weaker by 20,000 Elo wins and draws.
    ratings = fit(("a", "b", 9, 5, 0), ("b", "c", 0, 5, 7), ("c", "a", 2, 2, 2), a=-1e4, b=1e4)
    assert -1e4 < elos(ratings)["c"] < 1e4


def test_forty_players_take_less_than_two_seconds() -> None:
    rng = np.random.default_rng(2)
    pairs = rng.permutation(list(combinations(range(40), 2)))[:300]
    results = [(f"p{i}", f"p{j}", *rng.multinomial(20, [0.5, 0.2, 0.3]).tolist()) for i, j in pairs]
    begin = time.process_time()
    ratings = fit(*results, p0=0, p1=100)
    assert time.process_time() - begin < 2
    assert len(ratings.ratings) == 40


# ----- wrong input


@pytest.mark.parametrize(
    ("results", "anchors", "message"),
    [
        ([("a", "b", 1, 0, 0)], {}, r"^no anchor: "),
        ([], {}, r"^no anchor: "),
        ([], {"a": math.nan}, r"^anchor 'a': Elo is nan, allowed: a number from -10000 "),
        ([], {"a": math.inf}, r"^anchor 'a': Elo is inf, "),
        ([], {"a": -10_001}, r"^anchor 'a': Elo is -10001, "),
        ([], {"a": "100"}, r"^anchor 'a': Elo is '100', "),
        ([], {"a": True}, r"^anchor 'a': Elo is True, "),
        ([("a", "a", 1, 0, 0)], {"a": 0}, r"^result of 'a' against itself: "),
        (
            [("b", "a", 1, -2, 3)],
            {"a": 0},
            r"^result of 'b' against 'a': got 1 wins, -2 draws and 3 losses, allowed: integers of ",
        ),
        ([("b", "a", 1, 0, 0.5)], {"a": 0}, r"allowed: integers of at least 0$"),
    ],
)
def test_wrong_input_is_told(
    results: list[Result], anchors: dict[str, float], message: str
) -> None:
    with pytest.raises(EloError, match=message):
        fit(*results, **anchors)


def test_a_player_who_is_not_there_is_told() -> None:
    with pytest.raises(EloError, match=r"^no player 'x' in the ratings, only: a, b$"):
        fit(("a", "b", 3, 0, 1), b=0).difference("a", "x")


def test_every_order_of_three_players_gives_the_same_ratings() -> None:
    results = [("x", "y", 5, 2, 2), ("y", "z", 1, 2, 6), ("z", "x", 3, 0, 3)]
    expected = elos(fit(*results, y=0))
    for names in permutations("xyz"):
        renamed = dict(zip("xyz", names, strict=True))
        others = [(renamed[first], renamed[second], *rest) for first, second, *rest in results]
        ratings = elos(fit(*others, **{renamed["y"]: 0}))
        for player, elo in expected.items():
            assert ratings[renamed[player]] == pytest.approx(elo, abs=1e-4)
