"""From a search's result to a move, and to what the player tells about it."""

import math

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.players.player import MoveAdvice, choose_uniformly
from alphago.types import BoolArray, SearchResult


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
            )
            for action in np.flatnonzero(legal_actions[row]).tolist()
        ]
        advice.append(sorted(moves, key=_rank, reverse=True))
    return advice


def _rank(move: MoveAdvice) -> tuple[float, float, float]:
    """Returns what orders moves: visits, then value, then prior."""
    value = -math.inf if move.value is None else move.value
    return move.visit_share, value, move.prior
