"""Looking some plies ahead, deeper and deeper: the player on top of `negamax`."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.heuristic import heuristic_of
from alphago.players.negamax import INFINITE, Negamax, OutOfPositionsError
from alphago.players.player import MoveAdvice, SeededPlayer, legal_actions_to_choose
from alphago.players.score_advice import advice_of_scores
from alphago.players.scores import Children, ScoredMove, guess_scores, is_decided, is_lost
from alphago.players.transposition_table import TranspositionTable
from alphago.types import States


class RootScores(NamedTuple):
    """What a search tells about the M legal moves of one position."""

    moves: list[ScoredMove]  # [M], by action
    depth: int  # plies looked ahead, at least for those moves that were tried first
    is_proven: bool  # a larger depth would find the same

    def best_first(self) -> list[ScoredMove]:
        """Returns the moves [M], the best first."""
        return sorted(self.moves, key=_rank, reverse=True)

    def best_actions(self) -> list[int]:
        """Returns the actions of all moves that are as good as the best one."""
        best = max(map(_rank, self.moves))
        return [move.action for move in self.moves if _rank(move) == best]


def _rank(move: ScoredMove) -> tuple[bool, int, int]:
    """Returns what orders moves; the larger, the better.

    Scores of different depths cannot be compared, and what was looked at deeper had the better
    score before. Unless it is lost: then anything else is better.
    """
    assert move.depth is not None, "a search knows how deep it looked"
    if is_lost(move.score):
        return False, 0, move.score
    return True, move.depth, move.score


class AlphaBetaPlayer(SeededPlayer):
    """Plays the best move as far as it can see; the game's heuristic guesses what lies beyond.

    It looks one ply ahead, then two, and so on, until the depth is reached, the result is proven,
    or it has looked at as many positions as it may; then those moves count that it has finished at
    the last depth. Equals are decided at random by seed. Nothing is remembered from move to move.

    Attributes:
        should_stop: asked before each position is expanded whether to answer at once; None for
            never. For those who play against a clock.
    """

    should_stop: Callable[[], bool] | None

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
        self.should_stop = None
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
        """Returns the legal moves of each position [B], one that would be played first.

        Choosing a move tells of most others only that they are worse. So as many positions again
        go into exact values of the same depth; where they do not suffice, bounds remain.

        Raises:
            FinishedGameError: if a position is over.
        """
        legal_actions_to_choose(self.game, states)
        roots = [
            self.search(states[row : row + 1], score_others=True) for row in range(len(states))
        ]
        return [advice_of_scores(self.game, root.best_first()) for root in roots]

    def search(self, state: States, *, score_others: bool = False) -> RootScores:
        """Looks ahead from one unfinished position [1].

        Args:
            state: the position.
            score_others: whether to look at as many positions again for exact scores of the moves
                that are not the best. The best ones stay the same.

        Returns:
            The scores by the last depth that was finished, and by the next one of those moves that
            it has finished, if it could compare any.
        """
        table = TranspositionTable(state.dtype.itemsize)
        negamax = Negamax(
            self.game, max_positions=self.num_nodes, table=table, should_stop=self.should_stop
        )
        children = negamax.expand(state)
        scores: list[int] = guess_scores(heuristic_of(self.game), children).tolist()
        moves = [
            ScoredMove(action, score, depth=1)
            for action, score in zip(children.actions.tolist(), scores, strict=True)
        ]
        is_proven = bool(children.is_over.all()) or is_decided(max(scores))
        root = RootScores(moves, 1, is_proven)
        while root.depth < self.depth and not root.is_proven and not negamax.is_spent:
            root = _look_further(negamax, children, root)
        if score_others:
            again = Negamax(self.game, max_positions=self.num_nodes, table=table)
            root = _score_others(again, children, root)
        return root


def _look_further(negamax: Negamax, children: Children, root: RootScores) -> RootScores:
    """Returns what a search tells that looks one ply further than the last one did.

    Where positions run out, the moves that it has finished have the new depth. A single one counts
    for nothing: it was the best before, nothing better is known, and its equals should stay equal.
    """
    depth = root.depth + 1
    moves = list(root.moves)
    best, is_proven = -INFINITE, True
    for place, child in enumerate(sorted(range(len(moves)), key=lambda child: -moves[child].score)):
        if children.is_over[child]:
            moves[child] = moves[child]._replace(depth=depth)
        else:
            # One below the best so far: an equal score has to come out exactly.
            window = (best - 1, INFINITE)
            try:
                found = negamax.search_child(children, child, depth=root.depth, window=window)
            except OutOfPositionsError:
                return root if place < 2 else RootScores(moves, depth, is_proven=False)
            is_exact = found.score > window[0]
            moves[child] = ScoredMove(moves[child].action, found.score, depth, is_exact)
            is_proven &= found.is_proven
        best = max(best, moves[child].score)
    return RootScores(moves, depth, is_proven or is_decided(best))


def _score_others(negamax: Negamax, children: Children, root: RootScores) -> RootScores:
    """Returns what is known with exact scores of other moves than the best, the better first.

    Each is looked at as deep as before. Where positions run out, the rest keep their bounds.
    """
    moves, best_actions = list(root.moves), root.best_actions()
    for move in root.best_first():
        if move.is_exact or move.action in best_actions:
            continue
        assert move.depth is not None, "a search knows how deep it looked"
        child = moves.index(move)
        window = (-INFINITE, move.score + 1)
        try:
            found = negamax.search_child(children, child, depth=move.depth - 1, window=window)
        except OutOfPositionsError:
            break
        moves[child] = move._replace(score=found.score, is_exact=True)
    return root._replace(moves=moves)
