"""Negamax with alpha-beta pruning: what one position is worth, a number of plies ahead.

Sources: Knuth and Moore 1975, "An analysis of alpha-beta pruning"; fail-soft bounds: Fishburn 1983,
"Another optimization of alpha-beta search"; deepening by iterations, with the best move of the last
one first: Slate and Atkin 1977, "Chess 4.5, the Northwestern University chess program".

Python takes its time for each position that is *expanded*, not for each one that is made: all moves
of a position are played by one call of the rules, and guessed at by one call of the heuristic.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from alphago.games.game import Game
from alphago.games.heuristic import heuristic_of
from alphago.players.scores import (
    WIN,
    Children,
    Scores,
    expand,
    further,
    further_score,
    guess_scores,
    is_decided,
    nearer_score,
)
from alphago.players.transposition_table import Bound, Entry, TranspositionTable
from alphago.types import States

INFINITE = 2 * WIN  # beyond every score
BATCH_SIZE = 256  # positions made by one call of the rules, as long as more make it faster


class OutOfPositionsError(Exception):
    """The search may look at no more positions."""


class Found(NamedTuple):
    """What a search tells about one position."""

    score: int  # exact if inside the window, else a bound on the same side of it as the score
    is_proven: bool  # no guess took part: the same would be found with any larger depth


class Negamax:
    """The search below one position, with all that it remembers.

    Attributes:
        num_positions: how many positions were made so far.
    """

    def __init__(
        self,
        game: Game,
        *,
        max_positions: int,
        table: TranspositionTable,
        should_stop: Callable[[], bool] | None = None,
    ) -> None:
        """Starts with nothing looked at.

        Args:
            game: the rules.
            max_positions: how many positions may be made.
            table: what is remembered, of earlier searches too.
            should_stop: asked, once there are positions, whether no more may be made; None for
                never.
        """
        self._game = game
        self._heuristic = heuristic_of(game)
        self._max_positions = max_positions
        self._table = table
        self._should_stop = should_stop
        self.num_positions = 0

    @property
    def is_spent(self) -> bool:
        """Whether no more positions may be made."""
        if self._should_stop is not None and self.num_positions > 0 and self._should_stop():
            return True
        return self.num_positions >= self._max_positions

    def search(self, state: States, *, depth: int, alpha: int, beta: int) -> Found:
        """Searches one unfinished position [1] so many plies deep, at least one.

        Args:
            state: the position.
            depth: plies to look ahead.
            alpha: scores up to this one need not be told apart.
            beta: nor scores from this one on.

        Returns:
            Its score, in the view of its player to move.

        Raises:
            OutOfPositionsError: if more positions would be needed than may be made.
        """
        known = self._table.get(state)
        if known is not None and known.settles(depth=depth, alpha=alpha, beta=beta):
            return Found(known.score, known.is_proven)
        children = self.expand(state)
        guesses = guess_scores(self._heuristic, children)
        if depth == 1:
            best_child = int(guesses.argmax())
            found = Found(int(guesses[best_child]), bool(children.is_over.all()))
        else:
            order = best_first(guesses, None if known is None else known.best_child)
            best_child, found = self._search_children(
                children, guesses, order, depth=depth, alpha=alpha, beta=beta
            )
        found = found._replace(is_proven=found.is_proven or is_decided(found.score))
        bound = _bound(found.score, alpha=alpha, beta=beta)
        self._table.put(state, Entry(depth, found.score, bound, found.is_proven, best_child))
        return found

    def _search_children(
        self,
        children: Children,
        guesses: Scores,
        order: list[int],
        *,
        depth: int,
        alpha: int,
        beta: int,
    ) -> tuple[int, Found]:
        """Searches the children [M] of one position in some order, until one is good enough.

        Returns:
            The best child, and what is found about the position.
        """
        best_child, best, is_proven = order[0], -INFINITE, True
        batch: dict[int, Found] = {}
        for place, child in enumerate(order):
            if children.is_over[child]:
                found = Found(int(guesses[child]), is_proven=True)
            elif depth == 2 and place > 0:
                # The first child did not prune the others, so that most of them will be needed.
                if child not in batch:
                    batch = self._search_batch(children, order[place:])
                found = batch[child]
            else:
                window = (max(alpha, best), beta)
                found = self.search_child(children, child, depth=depth - 1, window=window)
            if found.score > best:
                best_child, best = child, found.score
            if best >= min(beta, WIN - 1):  # nothing is better than winning at once
                return child, found
            is_proven &= found.is_proven
        return best_child, Found(best, is_proven)

    def _search_batch(self, children: Children, order: list[int]) -> dict[int, Found]:
        """Searches the first unfinished children in an order one ply deep, a batch at once.

        Returns:
            What is found about them, in their parent's view.
        """
        unfinished = [child for child in order if not children.is_over[child]]
        batch = np.array(unfinished[: max(1, BATCH_SIZE // self._game.spec.num_actions)])
        leaves = self.expand(children.states[batch])
        guesses = guess_scores(self._heuristic, leaves)
        starts = np.searchsorted(leaves.parents, np.arange(len(batch)))
        best = further(np.maximum.reduceat(guesses, starts)) * children.signs[batch]
        all_over = np.logical_and.reduceat(leaves.is_over, starts)
        return {
            child: Found(score, is_proven or is_decided(score))
            for child, score, is_proven in zip(
                batch.tolist(), best.tolist(), all_over.tolist(), strict=True
            )
        }

    def search_child(
        self, children: Children, child: int, *, depth: int, window: tuple[int, int]
    ) -> Found:
        """Searches one of the children [M]; window and score are in its parent's view."""
        state = children.states[child : child + 1]
        alpha, beta = nearer_score(window[0]), nearer_score(window[1])
        if children.signs[child] > 0:
            found = self.search(state, depth=depth, alpha=alpha, beta=beta)
            return found._replace(score=further_score(found.score))
        found = self.search(state, depth=depth, alpha=-beta, beta=-alpha)
        return found._replace(score=-further_score(found.score))

    def expand(self, states: States) -> Children:
        """Plays every legal action of unfinished positions [K].

        Raises:
            OutOfPositionsError: if no more positions may be made.
        """
        if self.is_spent:
            raise OutOfPositionsError
        children = expand(self._game, states)
        self.num_positions += len(children.states)
        return children


def best_first(guesses: Scores, best_before: int | None) -> list[int]:
    """Returns the children [M] in the order in which to search them.

    The sooner a good one comes, the more the others are pruned: first the best one of an earlier
    search, if there was any, then by guess. (Killer moves and the history heuristic on top of that
    saved nothing, neither in Connect Four nor in Go.)
    """
    order: list[int] = np.argsort(-guesses, kind="stable").tolist()
    if best_before is not None:
        order.remove(best_before)
        order.insert(0, best_before)
    return order


def _bound(score: int, *, alpha: int, beta: int) -> Bound:
    """Returns what a score tells that was found with this window."""
    if score >= beta:
        return Bound.AT_LEAST
    return Bound.AT_MOST if score <= alpha else Bound.EXACT
