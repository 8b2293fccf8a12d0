"""Perfect play by looking at everything, for games small enough."""

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.players.player import (
    MoveAdvice,
    SeededPlayer,
    choose_uniformly,
    legal_actions_to_choose,
)
from alphago.players.score_advice import advice_of_scores
from alphago.players.scores import (
    WIN,
    Children,
    ScoredMove,
    Scores,
    best_by_parent,
    expand,
    further,
)
from alphago.players.state_keys import first_occurrences, state_keys
from alphago.types import States

MAX_POSITIONS = 100_000  # about a second; tic-tac-toe has 4,520 unfinished ones
_MAX_BYTES = 1 << 28  # of the positions one move further; a state of Go holds its whole game


class MinimaxPlayer(SeededPlayer):
    """Plays the fastest win, else a draw, else the slowest loss; equals at random by seed.

    Positions are solved level by level, a whole level with one call of the rules, and remembered.
    """

    name = "minimax"

    def __init__(self, game: Game, *, seed: int, max_positions: int = MAX_POSITIONS) -> None:
        """Starts with nothing solved.

        Args:
            game: the rules.
            seed: decides between equally good moves.
            max_positions: the most positions that one call may look at.
        """
        self.game = game
        self.reseed(seed)
        self._max_positions = max_positions
        self._solved: dict[bytes, int] = {}  # score by position, view of its player to move

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`.

        Raises:
            FinishedGameError: if a position is over.
            PlayerError: if too many positions can follow.
        """
        scores = self.action_scores(states)
        return choose_uniformly(scores == scores.max(axis=1, keepdims=True), self._rng)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first.

        Raises:
            FinishedGameError: if a position is over.
            PlayerError: if too many positions can follow.
        """
        legal = legal_actions_to_choose(self.game, states)
        advice = []
        for row, scores in enumerate(self.action_scores(states)):
            actions = np.flatnonzero(legal[row])
            best_first = actions[np.argsort(-scores[actions], kind="stable")]
            moves = [ScoredMove(action, int(scores[action])) for action in best_first.tolist()]
            advice.append(advice_of_scores(self.game, moves))
        return advice

    def action_scores(self, states: States) -> Scores:
        """Returns the exact score of every action, in the view of the player to move.

        Args:
            states: [B] positions, none over.

        Returns:
            int64 [B, A], see `scores`; `-WIN`, less than any loss, where the action is illegal.

        Raises:
            FinishedGameError: if a position is over.
            PlayerError: if too many positions can follow.
        """
        legal_actions_to_choose(self.game, states)
        if len(self._solved) > self._max_positions:
            self._solved.clear()
        self._solve(states)
        children = expand(self.game, states)
        scores = np.full((len(states), self.game.spec.num_actions), -WIN, dtype=np.int64)
        scores[children.parents, children.actions] = self._child_scores(children)
        return scores

    def _solve(self, states: States) -> None:
        """Remembers the scores of positions [B] and of all that can follow."""
        levels = []
        num_positions = 0
        frontier = self._unsolved(states)
        while len(frontier):
            num_positions += len(frontier)
            self._check_size(frontier, num_positions=num_positions)
            children = expand(self.game, frontier)
            levels.append((frontier, children))
            frontier = self._unsolved(children.states[~children.is_over])
        for parents, children in reversed(levels):
            best = best_by_parent(children, self._child_scores(children), num_parents=len(parents))
            self._solved.update(zip(state_keys(parents), best.tolist(), strict=True))

    def _unsolved(self, states: States) -> States:
        """Returns the unknown ones among unfinished positions [B], each once."""
        keys = state_keys(states)
        # Once per level, not once in all: a position that is reached again later must be solved
        # before its parents there.
        firsts = first_occurrences(keys)
        return states[[index for index in firsts if keys[index] not in self._solved]]

    def _child_scores(self, children: Children) -> Scores:
        """Returns the scores [M] of children with solved followers, in their parents' view."""
        scores = children.final_scores.copy()
        open_rows = np.flatnonzero(~children.is_over)
        keys = state_keys(children.states[open_rows])
        own_view = np.array([self._solved[key] for key in keys], dtype=np.int64)
        scores[open_rows] = further(own_view * children.signs[open_rows])
        return scores

    def _check_size(self, frontier: States, *, num_positions: int) -> None:
        """Raises if there are too many positions, before those after the frontier are made."""
        if num_positions > self._max_positions:
            raise self._too_large(str(self._max_positions))
        num_next = int(self.game.legal_actions(frontier).sum())
        if num_next * frontier.dtype.itemsize > _MAX_BYTES:
            raise self._too_large(f"{_MAX_BYTES >> 20} MB of")

    def _too_large(self, amount: str) -> PlayerError:
        return PlayerError(
            f"minimax: more than {amount} positions of {self.game.spec.name} can follow, too many"
            " to look at all of them; use uct:playouts=1000 instead"
        )
