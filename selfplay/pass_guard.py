"""Keeps early self-play from passing, by the priors alone: what is legal stays legal.

A network that knows nothing ends most of its first games of Go with two passes on a nearly empty
board, and learns little from them.
"""

import numpy as np

from alphago.games.game import Game
from alphago.types import EMPTY, Evaluation, Evaluator, States

_LOGIT_GAP = np.float32(10.0)  # of a guarded pass below the lowest logit: a prior of nearly 0


class PassGuard:
    """An evaluator that gives a pass no prior while too many cells are empty."""

    def __init__(self, game: Game, evaluator: Evaluator, *, occupied_share: float) -> None:
        """Wraps an evaluator.

        Args:
            game: the rules; without a pass there is nothing to guard.
            evaluator: whose priors are changed.
            occupied_share: share of the board's cells (0 to 1) that must be occupied before a pass
                has the prior that the network gives it.
        """
        self._game = game
        self._evaluator = evaluator
        self._occupied_share = occupied_share

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates a batch, see `Evaluator`."""
        evaluation = self._evaluator.evaluate(states)
        pass_action = self._game.spec.pass_action
        if pass_action is None:
            return evaluation
        cells = self._game.board(states).reshape(len(states), -1)
        # Bytes in any other form, or a mean, take numpy several times as long.
        occupied = np.bitwise_count(np.packbits(cells != EMPTY, axis=1)).sum(axis=1)
        guarded = np.flatnonzero(occupied < self._occupied_share * cells.shape[1])
        if guarded.size == 0:
            return evaluation
        logits = evaluation.prior_logits.copy()
        logits[guarded, pass_action] = logits[guarded].min(axis=1) - _LOGIT_GAP
        return Evaluation(logits, evaluation.value)
