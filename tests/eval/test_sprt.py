import math

import numpy as np
import pytest

from alphago.errors import ConfigError
from eval.elo import expected_score
from eval.sprt import SprtConfig, sprt
from tests.eval.simulated_pairs import decide, decide_often, pair_shares
from tests.reference.pool_likelihood import highest_likelihood

FIELDS = {"elo0": 0.0, "elo1": 35.0, "alpha": 0.05, "beta": 0.05}


def config(**changes: object) -> SprtConfig:
    return SprtConfig(**{**FIELDS, **changes})  # type: ignore[arg-type]


# ----- by hand


def test_the_bounds_are_walds() -> None:
    state = sprt([0, 0, 0, 0, 0], config(alpha=0.05, beta=0.1))
    assert state.lower == pytest.approx(math.log(0.1 / 0.95))
    assert state.upper == pytest.approx(math.log(0.9 / 0.05))
    assert (state.llr, state.decision) == (0, None)


def test_pairs_all_split_speak_for_equality() -> None:
    # A score of 1/2 + e needs a share of 2 e pairs of two points: n log(1 - 2 e), by hand.
    expected = math.log(1 - 2 * (expected_score(35) - 0.5))
    for num_pairs in (10, 100, 1000):
        llr = sprt([0, 0, num_pairs, 0, 0], config()).llr
        assert llr / num_pairs == pytest.approx(expected, abs=0.002)
    assert sprt([0, 0, 20, 0, 0], config()).decision is None
    assert sprt([0, 0, 40, 0, 0], config()).decision == "H0"


def test_two_results_alone_leave_one_share_to_estimate() -> None:
    # Pairs of 0 and of 2 points: under a score s the likeliest share of the latter is s itself.
    wins, losses = 30, 20
    s0, s1 = expected_score(0), expected_score(35)
    expected = wins * math.log(s1 / s0) + losses * math.log((1 - s1) / (1 - s0))
    assert sprt([losses, 0, 0, 0, wins], config()).llr == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    "counts", [[5, 10, 20, 12, 8], [0, 3, 9, 0, 1], [0, 0, 0, 4, 0], [7, 0, 0, 0, 0]]
)
@pytest.mark.parametrize(("elo0", "elo1"), [(0.0, 35.0), (-100.0, 20.0)])
def test_the_ratio_is_that_of_brute_force(counts: list[int], elo0: float, elo1: float) -> None:
    padded = [count + 1e-3 for count in counts]
    expected = highest_likelihood(padded, mean=expected_score(elo1)) - highest_likelihood(
        padded, mean=expected_score(elo0)
    )
    llr = sprt(counts, config(elo0=elo0, elo1=elo1)).llr
    assert llr == pytest.approx(expected, abs=1e-3)


# ----- what has to hold


@pytest.mark.parametrize("counts", [[5, 10, 20, 12, 8], [0, 0, 9, 0, 0], [0, 0, 0, 0, 30]])
def test_swapping_players_and_hypotheses_negates(counts: list[int]) -> None:
    state = sprt(counts, config(elo0=-10, elo1=40, alpha=0.1, beta=0.02))
    swapped = sprt(counts[::-1], config(elo0=-40, elo1=10, alpha=0.02, beta=0.1))
    assert swapped.llr == pytest.approx(-state.llr, abs=1e-6)
    assert (swapped.lower, swapped.upper) == pytest.approx((-state.upper, -state.lower))


def test_more_points_speak_for_the_first_player() -> None:
    ratios = [
        sprt(counts, config()).llr
        for counts in ([3, 5, 9, 5, 3], [3, 5, 8, 6, 3], [3, 5, 8, 5, 4], [2, 5, 8, 5, 5])
    ]
    assert ratios == sorted(ratios)
    assert len(set(ratios)) == len(ratios)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("num_pairs", [1, 100, 1_000_000])
def test_pairs_all_alike_have_a_ratio(place: int, num_pairs: int) -> None:
    counts = [0] * 5
    counts[place] = num_pairs
    for elos in ({}, {"elo0": -2000, "elo1": 2000}, {"elo0": 5, "elo1": 5.5}):
        assert math.isfinite(sprt(counts, config(**elos)).llr)


# ----- decisions of whole matches


def test_equal_players_are_found_equal() -> None:
    shares = pair_shares(0, draws=0.6)
    decisions = decide_often(shares, config(elo1=60), num_tests=200, rng=np.random.default_rng(1))
    assert None not in decisions
    assert decisions.count("H1") <= 18  # 5 % are 10, with a standard deviation of 3


def test_a_stronger_player_is_found_stronger() -> None:
    shares = pair_shares(50, draws=0.3)
    decisions = decide_often(shares, config(), num_tests=60, rng=np.random.default_rng(2))
    assert decisions.count("H1") >= 57


def test_a_wrong_equality_is_as_rare_as_stated() -> None:
    shares = pair_shares(60, draws=0.3, one_sided=200)
    decisions = decide_often(shares, config(elo1=60), num_tests=200, rng=np.random.default_rng(3))
    assert None not in decisions
    assert decisions.count("H0") <= 18


def test_a_large_difference_ends_a_match_early() -> None:
    rng = np.random.default_rng(4)
    near, far = (
        np.mean([decide(pair_shares(elo, draws=0.3), config(), rng=rng)[1] for _ in range(20)])
        for elo in (35, 300)
    )
    assert far < near / 3


# ----- wrong input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"elo0": 35}, r"^elo1: got 35\.0, allowed: more than 35 \(elo0\)$"),
        ({"elo0": math.nan}, r"^elo0: got nan, allowed: a number from -2000 to 2000$"),
        ({"elo1": "35"}, r"^elo1: got '35', allowed: a number from"),
        ({"elo1": 2001}, r"^elo1: got 2001, "),
        ({"alpha": 0}, r"^alpha: got 0, allowed: a number above 0 and below 0\.5$"),
        ({"beta": 0.5}, r"^beta: got 0\.5, "),
        ({"beta": True}, r"^beta: got True, "),
    ],
)
def test_wrong_settings_are_told(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config(**changes)
