"""Looking some plies ahead, deeper and deeper: the player on top of `negamax`."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.heuristic import heuristic_of
from alphago.players.negamax import INFINITE, Negamax, OutOfPositionsError
from alphago.players.player import MoveAdvice, SeededPlayer, legal_actions_to_choose
from alphago.players.score_advice import advice_of_scores
from alphago.players.scores import Children, guess_scores, is_decided
from alphago.players.transposition_table import TranspositionTable
from alphago.types import States


class RootScores(NamedTuple):
    """What a search tells about the moves of one position, the M legal ones."""

    actions: list[int]  # [M]
    scores: list[int]  # [M], view of the player to move
    num_positions: list[int]  # [M], positions made below each
    depth: int  # plies looked ahead
    is_proven: bool  # a larger depth would find the same

    def best_actions(self) -> list[int]:
        """Returns all actions with the best score."""
        best = max(self.scores)
        scored = zip(self.actions, self.scores, strict=True)
        return [action for action, score in scored if score == best]


class AlphaBetaPlayer(SeededPlayer):
    """Plays the best move as far as it can see; the game's heuristic guesses what lies beyond.

    It looks one ply ahead, then two, and so on, until the depth is reached, the result is proven,
    or it has looked at as many positions as it may; then the last depth that was finished counts.
    Equals are decided at random by seed. Nothing is remembered from move to move.
    """

    def __init__(self, game: Game, *, depth: int, num_nodes: int, name: str, seed: int) -> None:
        """Keeps everything.

        Args:
            game: the rules.
            depth: plies to look ahead, at least 1.
            num_nodes: positions to look at per move, at least 1.
            name: how the player is called in results.
            seed: decides between equally good moves.

        Raises:
            PlayerError: if depth or number is below 1.
        """
        for key, number in (("depth", depth), ("nodes", num_nodes)):
            if number < 1:
                raise PlayerError(
                    f"alphabeta: {key}: got {number}, allowed: an integer of at least 1"
                )
        self.game = game
        self.depth = depth
        self.num_nodes = num_nodes
        self.name = name
        self.reseed(seed)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`."""
        legal_actions_to_choose(self.game, states)
        chosen = [
            self._rng.choice(self.search(states[row : row + 1]).best_actions())
            for row in range(len(states))
        ]
        return np.array(chosen, dtype=np.int64)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first, all with exact values.

        The share of a move is that of the positions below it. Fewer of them can be pruned than when
        a move is chosen, so that they may be used up at a smaller depth.

        Raises:
            FinishedGameError: if a position is over.
        """
        legal_actions_to_choose(self.game, states)
        advice = []
        for row in range(len(states)):
            root = self.search(states[row : row + 1], all_exact=True)
            total = sum(root.num_positions)
            shares = [num_positions / total for num_positions in root.num_positions]
            advice.append(advice_of_scores(self.game, root.actions, root.scores, shares=shares))
        return advice

    def search(self, state: States, *, all_exact: bool = False) -> RootScores:
        """Looks ahead from one unfinished position [1].

        Args:
            state: the position.
            all_exact: whether each move gets its exact score. Otherwise only the best ones do, and
                that of another one is less than theirs, but may be more than its true score.

        Returns:
            The scores by the last depth that was finished.
        """
        table = TranspositionTable(state.dtype.itemsize)
        negamax = Negamax(self.game, max_positions=self.num_nodes, table=table)
        children = negamax.expand(state)
        scores: list[int] = guess_scores(heuristic_of(self.game), children).tolist()
        is_proven = bool(children.is_over.all()) or (not all_exact and is_decided(max(scores)))
        root = RootScores(children.actions.tolist(), scores, [1] * len(scores), 1, is_proven)
        while root.depth < self.depth and not root.is_proven:
            try:
                root = _look_further(negamax, children, root, all_exact=all_exact)
            except OutOfPositionsError:
                break
        return root


def _look_further(
    negamax: Negamax, children: Children, root: RootScores, *, all_exact: bool
) -> RootScores:
    """Returns what a search tells that looks one ply further than the last one did.

    Raises:
        OutOfPositionsError: if more positions would be needed than may be made.
    """
    scores, num_positions = list(root.scores), list(root.num_positions)
    best, is_proven = -INFINITE, True
    for child in sorted(range(len(scores)), key=lambda child: -root.scores[child]):
        if not children.is_over[child]:
            before = negamax.num_positions
            # One below the best so far: an equal score has to come out exactly.
            window = (-INFINITE if all_exact else best - 1, INFINITE)
            found = negamax.search_child(children, child, depth=root.depth, window=window)
            scores[child] = found.score
            num_positions[child] += negamax.num_positions - before
            is_proven &= found.is_proven
        best = max(best, scores[child])
    is_proven |= not all_exact and is_decided(best)
    return RootScores(root.actions, scores, num_positions, root.depth + 1, is_proven)
