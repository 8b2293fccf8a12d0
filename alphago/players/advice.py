"""From a search's result to a move, and to what the player tells about it."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.players.player import MoveAdvice, choose_uniformly
from alphago.types import BoolArray, SearchResult

# The lead of the first move over the second, as a share of all visits, above which a search counts
# as converged. If it went on for half as long again, and every further visit went to the second
# move, the first would still be the most visited one.
CONVERGED_LEAD = 0.5

# Where moves are compared by estimates, the lead that tells the first from the second, in standard
# errors. If the two were equally good, chance would lead as far in one case of twenty at most.
CONVERGED_ERRORS = 2.0


def most_visited(result: SearchResult, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Returns the action [B] of each row with the largest policy target, the most visited one.

    With few simulations several are often visited equally: the value decides, then the seed.
    """
    target = result.policy_target
    most = target == target.max(axis=1, keepdims=True)
    values = np.where(most, result.action_values, -np.inf)
    return choose_uniformly(values == values.max(axis=1, keepdims=True), rng)


def advice_of(game: Game, result: SearchResult, legal_actions: BoolArray) -> list[list[MoveAdvice]]:
    """Returns the legal moves of each position [B], the best first, as `most_visited` has it."""
    totals = np.maximum(result.visit_counts.sum(axis=1, keepdims=True), 1)
    shares = result.visit_counts / totals
    advice = []
    for row in range(len(legal_actions)):
        moves = [
            MoveAdvice(
                action=action,
                move=game.action_to_text(action),
                visit_share=float(shares[row, action]),
                value=float(result.action_values[row, action]) if shares[row, action] else None,
                prior=float(result.priors[row, action]),
                num_visits=int(result.visit_counts[row, action]),
            )
            for action in np.flatnonzero(legal_actions[row]).tolist()
        ]
        advice.append(sorted(moves, key=_rank, reverse=True))
    return advice


def _rank(move: MoveAdvice) -> tuple[float, float, float]:
    """Returns what orders moves: visits, then value, then prior."""
    value = -math.inf if move.value is None else move.value
    return move.visit_share, value, move.prior


# --- what is shown ---


def advice_table(advice: Sequence[MoveAdvice], *, num_moves: int = 5) -> str:
    """Returns the best moves of one position as lines of text, with a heading.

    Columns that tell nothing of any move are left out. Where values have standard errors they are
    shown as win rates, a draw being half a win. Where only a bound of a value is known it begins
    with "<="; known wins and losses are shown with the plies until then. The shares of the moves
    shown sum to less than 1 where the list is cut; a line then tells what the others have. The last
    line tells how far the search has converged, of players for whom that means something.

    Args:
        advice: all legal moves of the position, the best first.
        num_moves: the most moves to show.
    """
    shown = advice[:num_moves]
    has_errors = any(move.standard_error is not None for move in advice)
    columns = [("move", 6, [move.move for move in shown])]
    if any(move.num_visits or move.visit_share for move in advice):
        columns.append(("visits", 7, [f"{move.visit_share:.1%}" for move in shown]))
    if any(move.value is not None for move in advice):
        heading, width, text = ("win rate", 14, _win_rate) if has_errors else ("value", 6, _value)
        columns.append((heading, width, [text(move) for move in shown]))
    if any(move.prior for move in advice):
        columns.append(("prior", 6, [f"{move.prior:.1%}" for move in shown]))
    if any(move.depth for move in advice):
        columns.append(
            ("depth", 5, ["" if move.depth is None else str(move.depth) for move in shown])
        )
    padded = [
        [cell.rjust(max([width, *map(len, cells)])) for cell in (heading, *cells)]
        for heading, width, cells in columns
    ]
    lines = [" ".join(row) for row in zip(*padded, strict=True)]
    return "\n".join([*lines, *_rest(advice[num_moves:]), *_convergence(advice)])


def is_converged(advice: Sequence[MoveAdvice]) -> bool | None:
    """Tells whether more of the same search would hardly lead to another first move.

    It says nothing of whether that move is good: a search that is wrong may be so for long.

    Args:
        advice: all legal moves of the position, the best first.

    Returns:
        Of simulations or playouts, whether the first move leads by more than `CONVERGED_LEAD` of
        them; where values have standard errors, whether it leads by `CONVERGED_ERRORS` or is the
        only one that was tried; None of a player that has neither.
    """
    first = advice[0]
    if first.standard_error is not None:
        lead, error = _lead_in_value(advice)
        return lead > 0 and lead >= CONVERGED_ERRORS * error
    if first.num_visits == 0:
        return None
    return _lead_in_visits(advice) > CONVERGED_LEAD


def _value(move: MoveAdvice) -> str:
    if move.value is None:
        return "-"
    if move.plies_to_end is not None:
        return f"{'win' if move.value > 0 else 'loss'} in {move.plies_to_end}"
    return f"{'<=' if move.is_bound else ''}{move.value:+.2f}"


def _win_rate(move: MoveAdvice) -> str:
    """Returns a value from -1 to 1 as a win rate, with its standard error if that is known."""
    if move.value is None:
        return "-"
    error = "" if move.standard_error is None else f" ± {move.standard_error / 2:.1%}"
    return f"{(1 + move.value) / 2:.1%}{error}"


def _rest(hidden: Sequence[MoveAdvice]) -> list[str]:
    """Returns the line about the moves that are not shown, if there are any."""
    if not hidden:
        return []
    share = sum(move.visit_share for move in hidden)
    visits = f": {share:.1%} of the visits" if share else ""
    return [f"{len(hidden)} more{visits}"]


def _convergence(advice: Sequence[MoveAdvice]) -> list[str]:
    """Returns the line about convergence, if there is any."""
    converged = is_converged(advice)
    if converged is None:
        return []
    verdict = "converged" if converged else "not converged"
    if advice[0].standard_error is None:
        return [
            f"first move ahead by {_lead_in_visits(advice):.1%} of the visits: {verdict}"
            f" (above {CONVERGED_LEAD:.0%})"
        ]
    lead, error = _lead_in_value(advice)
    if lead == math.inf:
        return [f"first move alone: {verdict}"]
    return [
        f"first move ahead by {lead / 2:.1%} ± {error / 2:.1%}: {verdict}"
        f" (from {CONVERGED_ERRORS:g} standard errors on)"
    ]


def _lead_in_visits(advice: Sequence[MoveAdvice]) -> float:
    """Returns the lead of the first move over the second, as a share of all visits."""
    first, second = (*(move.num_visits for move in advice[:2]), 0)[:2]
    return (first - second) / sum(move.num_visits for move in advice)


def _lead_in_value(advice: Sequence[MoveAdvice]) -> tuple[float, float]:
    """Returns the lead of the first move's value, infinite without a second, and its error."""
    tried = [move for move in advice if move.value is not None]
    if len(tried) < 2:
        return math.inf, 0.0
    errors = [move.standard_error or 0.0 for move in tried[:2]]
    assert tried[0].value is not None and tried[1].value is not None, "both were tried"
    return tried[0].value - tried[1].value, math.hypot(*errors)
