import math

import numpy as np
import pytest

from eval.intervals import Z_95, match_interval, match_score, wilson_interval

# Newcombe, Statistics in Medicine 1998, 17:857, table I: the score method without correction.
PUBLISHED = [
    (81, 263, 0.2553, 0.3662),
    (15, 148, 0.0624, 0.1605),
    (0, 20, 0.0, 0.1611),
    (1, 29, 0.0061, 0.1718),
]


@pytest.mark.parametrize(("successes", "trials", "low", "high"), PUBLISHED)
def test_wilson_gives_the_published_numbers(successes, trials, low, high):
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=5e-5)


def test_wilson_by_hand():
    # z^2 = 3.841459; 5 of 10: 0.5 -+ sqrt(0.3841459 / 4 + 0.3841459^2 / 4) / 1.3841459.
    assert wilson_interval(5, 10) == pytest.approx((0.236593, 0.763407), abs=1e-6)
    # 0 of 10: from 0 to z^2 / (10 + z^2).
    assert wilson_interval(0, 10) == pytest.approx((0.0, 0.277533), abs=1e-6)
    assert wilson_interval(10, 10) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson_interval(0, 0) == (0.0, 1.0)


def test_score_counts_a_draw_half():
    assert match_score(3, 2, 5) == 0.4
    assert match_score(0, 7, 0) == 0.5


@pytest.mark.parametrize(("wins", "losses"), [(22, 18), (0, 40), (40, 0), (1, 0), (7, 3)])
def test_without_draws_the_interval_is_wilsons(wins, losses):
    expected = wilson_interval(wins, wins + losses)
    assert match_interval(wins, 0, losses) == pytest.approx(expected, abs=1e-9)


def test_if_every_game_is_drawn_the_interval_still_has_a_width():
    # 40 draws: the difference of shares is at most z^2 / (40 + z^2), the score half of that off.
    assert match_interval(0, 40, 0) == pytest.approx((0.456189, 0.543811), abs=1e-6)


@pytest.mark.parametrize(
    ("wins", "draws", "losses"), [(12, 20, 8), (0, 5, 5), (3, 1, 0), (1, 98, 1)]
)
def test_swapping_the_players_mirrors_the_interval(wins, draws, losses):
    low, high = match_interval(wins, draws, losses)
    assert match_interval(losses, draws, wins) == pytest.approx((1 - high, 1 - low), abs=1e-9)
    assert 0 <= low <= match_score(wins, draws, losses) <= high <= 1


@pytest.mark.parametrize(("wins", "draws", "losses"), [(12, 20, 8), (5, 30, 5), (3, 6, 1)])
def test_the_ends_are_where_a_score_test_rejects(wins, draws, losses):
    num_games = wins + draws + losses
    for end in match_interval(wins, draws, losses):
        difference = 2 * end - 1
        # The likeliest shares with this difference, by trying many.
        loss_shares = np.linspace(max(0, -difference), (1 - difference) / 2, 400_001)[1:-1]
        win_shares = loss_shares + difference
        likelihoods = (
            wins * np.log(win_shares)
            + losses * np.log(loss_shares)
            + draws * np.log(1 - win_shares - loss_shares)
        )
        best = likelihoods.argmax()
        variance = (win_shares[best] + loss_shares[best] - difference**2) / num_games
        deviation = (wins - losses) / num_games - difference
        assert abs(deviation) / math.sqrt(variance) == pytest.approx(Z_95, rel=1e-3)


def test_more_draws_make_a_narrower_interval():
    widths = [np.diff(match_interval(n, 40 - 2 * n, n))[0] for n in (20, 10, 5, 0)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("shares", "lowest", "highest"),
    [
        ((0.3, 0.5, 0.2), 0.93, 0.97),
        ((0.9, 0.05, 0.05), 0.92, 0.99),
        # Hardly ever a decision in 40 games: nobody can be exact here, only careful.
        ((0.02, 0.96, 0.02), 0.95, 1.0),
    ],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(shares, lowest, highest):
    rng = np.random.default_rng(1)
    truth = shares[0] + shares[1] / 2
    held = 0
    for wins, draws, losses in rng.multinomial(40, shares, size=1000).tolist():
        low, high = match_interval(wins, draws, losses)
        held += low <= truth <= high
    assert lowest <= held / 1000 <= highest


def test_no_games_tell_nothing():
    assert match_interval(0, 0, 0) == (0.0, 1.0)
