"""Looking a fixed number of plies ahead: negamax with alpha-beta pruning."""

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.players.player import SeededPlayer, legal_actions_to_choose
from alphago.players.scores import WIN, expand
from alphago.types import States


class AlphaBetaPlayer(SeededPlayer):
    """Plays the best move as far as it can see; beyond its horizon everything is a draw.

    Equals are decided at random by seed.
    """

    def __init__(self, game: Game, *, depth: int, seed: int) -> None:
        """Keeps the depth.

        Args:
            game: the rules.
            depth: plies to look ahead, at least 1.
            seed: decides between equally good moves.

        Raises:
            PlayerError: if the depth is below 1.
        """
        if depth < 1:
            raise PlayerError(f"alphabeta: depth: got {depth}, allowed: an integer of at least 1")
        self.game = game
        self.depth = depth
        self.name = f"alphabeta:depth={depth}"
        self.reseed(seed)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`."""
        legal_actions_to_choose(self.game, states)
        chosen = [
            self._rng.choice(self.best_actions(states[row : row + 1])) for row in range(len(states))
        ]
        return np.array(chosen, dtype=np.int64)

    def best_actions(self, state: States) -> list[int]:
        """Returns all equally good best actions of one unfinished position [1]."""
        children = expand(self.game, state)
        best, best_actions = -2 * WIN, list[int]()
        for child in np.argsort(-children.final_scores, kind="stable").tolist():
            score = int(children.final_scores[child])
            if not children.is_over[child] and self.depth > 1:
                # One below the best so far: an equal score has to come out exactly.
                score = self._child_score(
                    children.states[child : child + 1],
                    depth=self.depth - 1,
                    alpha=best - 1,
                    beta=2 * WIN,
                    sign=int(children.signs[child]),
                )
            if score > best:
                best, best_actions = score, []
            if score == best:
                best_actions.append(int(children.actions[child]))
        return best_actions

    def _score(self, state: States, *, depth: int, alpha: int, beta: int) -> int:
        """Returns the score of one unfinished position [1] in the view of its player to move.

        Exact if within (alpha, beta); otherwise a bound on the same side of the window as the
        score.
        """
        children = expand(self.game, state)
        if depth == 1:
            return int(children.final_scores.max())
        finished = children.final_scores[children.is_over]
        best = int(finished.max(initial=-2 * WIN))
        if best == WIN - 1:
            return best  # nothing is better than winning at once
        for child in np.flatnonzero(~children.is_over).tolist():
            if best >= beta:
                break
            score = self._child_score(
                children.states[child : child + 1],
                depth=depth - 1,
                alpha=max(alpha, best),
                beta=beta,
                sign=int(children.signs[child]),
            )
            best = max(best, score)
        return best

    def _child_score(self, state: States, *, depth: int, alpha: int, beta: int, sign: int) -> int:
        """Returns the score of a child [1], and takes a window, in its parent's view."""
        alpha, beta = _nearer(alpha), _nearer(beta)
        if sign > 0:
            return _further(self._score(state, depth=depth, alpha=alpha, beta=beta))
        return -_further(self._score(state, depth=depth, alpha=-beta, beta=-alpha))


def _further(score: int) -> int:
    """Returns a score as it looks from one ply earlier."""
    return score - (score > 0) + (score < 0)


def _nearer(score: int) -> int:
    """Returns the bound for a child that stands for this bound on `_further` of its score."""
    return score + (score > 0) - (score < 0)
