"""Keeps self-play from moves that teach little, by the priors alone: what is legal stays legal.

A network that knows nothing ends most of its first games of Go with two passes on a nearly empty
board. Kept from that, it fills its own eyes until its stones are captured, and the games go on
until their moves run out.
"""

import numpy as np

from alphago.games.eyes import EyeGame
from alphago.games.game import Game
from alphago.types import EMPTY, BoolArray, Evaluation, Evaluator, Int8Array, States

# How far the logit of a guarded pass is below the lowest one, and that of a guarded eye below this:
# in float32 e to it is 0, so that a guarded action has a prior of exactly 0 while another is legal,
# and an eye while a pass is.
_LOGIT_GAP = np.float32(110.0)


class PriorGuard:
    """An evaluator that gives no prior to early passes, and to plays that fill an own eye.

    Where all that is legal is guarded, it is the pass that has the prior, if it is among them.
    """

    def __init__(
        self, game: Game, evaluator: Evaluator, *, occupied_share: float, guards_eyes: bool
    ) -> None:
        """Wraps an evaluator.

        Args:
            game: the rules; without a pass and eyes there is nothing to guard.
            evaluator: whose priors are changed.
            occupied_share: share of the board's cells (0 to 1) that must be occupied before a pass
                has the prior that the network gives it.
            guards_eyes: whether plays that fill an eye of the player to move are guarded.
        """
        self._game = game
        self._evaluator = evaluator
        self._occupied_share = occupied_share if game.spec.pass_action is not None else 0.0
        self._eye_game = game if guards_eyes and isinstance(game, EyeGame) else None

    def evaluate(self, states: States) -> Evaluation:
        """Evaluates a batch, see `Evaluator`."""
        evaluation = self._evaluator.evaluate(states)
        depths = self._guard_depths(states)
        if not depths.any():
            return evaluation
        logits = evaluation.prior_logits
        # Those of illegal actions may be anything, infinite too.
        lowest = np.where(np.isfinite(logits), logits, np.float32(np.inf)).min(axis=1)
        floors = lowest[:, np.newaxis] - depths * _LOGIT_GAP
        return Evaluation(np.where(depths > 0, floors, logits), evaluation.value)

    def _guard_depths(self, states: States) -> Int8Array:
        """Returns int8 [B, A]: 0 for what is not guarded, 1 for an early pass, 2 for an own eye."""
        depths = np.zeros((len(states), self._game.spec.num_actions), np.int8)
        if self._eye_game is not None:
            depths[self._eye_game.own_eyes(states)] = 2
        if self._occupied_share > 0:
            depths[self._are_early(states), self._game.spec.pass_action] = 1
        return depths

    def _are_early(self, states: States) -> BoolArray:
        """Returns bool [B], where a pass is guarded."""
        cells = self._game.board(states).reshape(len(states), -1)
        # Bytes in any other form, or a mean, take numpy several times as long.
        occupied = np.bitwise_count(np.packbits(cells != EMPTY, axis=1)).sum(axis=1)
        are_early: BoolArray = occupied < self._occupied_share * cells.shape[1]
        return are_early
