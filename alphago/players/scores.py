"""Scores of the classical players: who wins, and how soon, in one integer.

A score speaks for the player to move. A win in `n` plies scores `WIN - n`, a loss in `n` plies
`n - WIN`, a draw (or the unknown beyond a horizon) 0, so that the largest score is the fastest win
or else the slowest loss.

Seen from one ply earlier a result is one ply further away, and changes its sign if the *player*
changes. That is not every ply: whoever moves twice, because the opponent passes, keeps the sign.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.types import BoolArray, States, value_for

WIN = 1 << 20  # larger than the number of plies of any game

Scores = npt.NDArray[np.int64]


class Children(NamedTuple):
    """All positions one ply after a batch of K positions; M of them."""

    states: States  # [M]
    parents: npt.NDArray[np.int64]  # [M], row of the position before, ascending
    actions: npt.NDArray[np.int64]  # [M], the action that led here
    is_over: BoolArray  # [M]
    final_scores: Scores  # [M], view of the parent's player; 0 where the game goes on
    signs: Scores  # [M], 1 where the parent's player moves again, else -1


def expand(game: Game, states: States) -> Children:
    """Plays every legal action of every position [K], with one call of `step`."""
    parents, actions = np.nonzero(game.legal_actions(states))
    children = game.step(states[parents], actions)
    movers = game.to_play(states)[parents]
    values = value_for(game.returns(children), movers)
    return Children(
        states=children,
        parents=parents,
        actions=actions,
        is_over=game.is_over(children),
        final_scores=further(np.rint(values * WIN).astype(np.int64)),
        signs=np.where(game.to_play(children) == movers, 1, -1),
    )


def further(scores: Scores) -> Scores:
    """Returns scores as they look from one ply earlier, for the same player."""
    return scores - np.sign(scores)


def best_by_parent(children: Children, scores: Scores, *, num_parents: int) -> Scores:
    """Returns the best score [K] of each parent's children, given their scores [M] in its view."""
    best = np.full(num_parents, -WIN, dtype=np.int64)
    np.maximum.at(best, children.parents, scores)
    return best
