"""The statistics of results: shares, scores and their 95 % intervals, wherever a result is shown.

Both intervals invert a score test: they hold every true value that a two-sided 5 % test would not
reject, with the variance taken under that value. So they stay inside [0, 1] and keep a width at
0 %, at 100 % and when every game is drawn, where "estimate plus or minus two standard errors" has
none.
"""

import math
from collections.abc import Callable

Z_95 = 1.959963984540054  # two-sided 95 % point of the normal distribution
_NUM_BISECTIONS = 60  # beyond the precision of a double


def wilson_interval(num_successes: int, num_trials: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share (Wilson 1927).

    Args:
        num_successes: how often it happened.
        num_trials: how often it could have happened; 0 gives (0, 1), nothing is known.

    Returns:
        The lowest and the highest likely share.
    """
    assert 0 <= num_successes <= num_trials, "more successes than trials"
    if num_trials == 0:
        return 0.0, 1.0
    share = num_successes / num_trials
    pull = Z_95**2 / num_trials
    centre = (share + pull / 2) / (1 + pull)
    margin = math.sqrt(pull * share * (1 - share) + pull**2 / 4) / (1 + pull)
    # At 0 % and 100 % the ends are exact; rounding must not move them.
    low = 0.0 if num_successes == 0 else centre - margin
    high = 1.0 if num_successes == num_trials else centre + margin
    return low, high


def match_score(wins: int, draws: int, losses: int) -> float:
    """Returns the share of the points, a draw counting half; at least one game."""
    return (2 * wins + draws) / (2 * (wins + draws + losses))


def match_interval(wins: int, draws: int, losses: int) -> tuple[float, float]:
    """Returns the 95 % interval of a match's score, with draws.

    The share of wins less that of losses is a difference of two paired shares, for which Tango
    (Statistics in Medicine 1998, 17:891) gives the score interval. Without draws it is Wilson's;
    with more draws it is narrower. Games are taken as independent; two games from one opening with
    the sides swapped tend to cancel, so that the interval is rather too wide than too narrow.

    Args:
        wins: games won.
        draws: games drawn.
        losses: games lost; no games at all give (0, 1).

    Returns:
        The lowest and the highest likely score, each in [0, 1].
    """
    num_games = wins + draws + losses
    if num_games == 0:
        return 0.0, 1.0

    def is_rejected(difference: float) -> bool:
        squared = _squared_deviation(wins, losses, num_games=num_games, difference=difference)
        return squared > Z_95**2

    estimate = (wins - losses) / num_games
    low = -1.0 if losses == num_games else _boundary(is_rejected, inside=estimate, outside=-1.0)
    high = 1.0 if wins == num_games else _boundary(is_rejected, inside=estimate, outside=1.0)
    return (1 + low) / 2, (1 + high) / 2


def _squared_deviation(wins: int, losses: int, *, num_games: int, difference: float) -> float:
    """Returns the squared standardised deviation from an assumed P(win) - P(loss) in [-1, 1]."""
    deviation = wins - losses - num_games * difference
    if deviation == 0:
        return 0.0
    # The likeliest P(loss) under the assumption: the larger root of a x^2 + b x + c.
    a = 2 * num_games
    b = (2 * num_games - wins + losses) * difference - wins - losses
    c = -losses * difference * (1 - difference)
    loss_share = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = num_games * (2 * loss_share + difference * (1 - difference))
    return deviation**2 / variance if variance > 0 else math.inf


def _boundary(is_rejected: Callable[[float], bool], *, inside: float, outside: float) -> float:
    """Returns by bisection where the accepted values, which hold `inside`, end."""
    for _ in range(_NUM_BISECTIONS):
        middle = (inside + outside) / 2
        if is_rejected(middle):
            outside = middle
        else:
            inside = middle
    return inside
