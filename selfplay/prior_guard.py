"""Keeps self-play from moves that teach little, by the priors alone: what is legal stays legal.

A network that knows nothing ends most of its first games of Go with two passes on a nearly empty
board. Kept from that, it fills its own eyes until its stones are captured, and the games go on
until their moves run out.
"""

import numpy as np

from alphago.games.eyes import EyeGame
from alphago.games.game import Game
from alphago.types import EMPTY, BoolArray, Evaluation, Evaluator, States

_LOGIT_GAP = np.float32(10.0)  # of a guarded action below the lowest logit: a prior of nearly 0


class PriorGuard:
    """An evaluator that gives no prior to early passes, and to plays that fill an own eye."""

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
        guarded = self._guarded_actions(states)
        if not guarded.any():
            return evaluation
        floors = evaluation.prior_logits.min(axis=1, keepdims=True) - _LOGIT_GAP
        return Evaluation(np.where(guarded, floors, evaluation.prior_logits), evaluation.value)

    def _guarded_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], the actions that get no prior."""
        if self._eye_game is None:
            guarded = np.zeros((len(states), self._game.spec.num_actions), np.bool_)
        else:
            guarded = self._eye_game.own_eyes(states)
        if self._occupied_share > 0:
            cells = self._game.board(states).reshape(len(states), -1)
            # Bytes in any other form, or a mean, take numpy several times as long.
            occupied = np.bitwise_count(np.packbits(cells != EMPTY, axis=1)).sum(axis=1)
            is_early = occupied < self._occupied_share * cells.shape[1]
            guarded[:, self._game.spec.pass_action] |= is_early
        return guarded
