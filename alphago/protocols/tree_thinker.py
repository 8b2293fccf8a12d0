"""`TreeThinker`: a search of one game that keeps its tree from move to move.

Where a move was searched, what lies below it stays when the move is made; the position is compared
in the end, so that a tree is never used for another one. Simulations are made one by one, so that
whoever asks for them can stop at any moment: at a word on the input, or when time is up.
"""

from collections.abc import Sequence

import numpy as np

from alphago.games.go.game import Go
from alphago.protocols.gtp_analysis import MoveInfo, Report, Restriction
from alphago.protocols.gtp_board import Move
from alphago.search.config import SearchConfig
from alphago.search.search import BatchSearch
from alphago.search.tree import NO_PARENT, NO_PRIOR, ROOT, UNVISITED, node_bytes
from alphago.types import BoolArray, Evaluator, States

_MAX_BYTES = 1 << 30  # of a tree, unless one move's budget needs more
_MAX_VISITS = 200_000  # of a tree, likewise
_MOVES_OF_BUDGET = 2  # a tree holds so many budgets: what is kept, and the next one
_LONGEST_VARIATION = 30  # moves
_ROW = 0  # the only one


class TreeThinker:
    """Searches positions of one game without noise."""

    def __init__(
        self,
        game: Go,
        evaluator: Evaluator,
        *,
        search_config: SearchConfig,
        num_simulations: int,
        restrictions: Sequence[Restriction] = (),
    ) -> None:
        """Allocates the tree.

        Args:
            game: the rules.
            evaluator: the network.
            search_config: the constants of the search; its noise is not used.
            num_simulations: of a usual move; the tree is made large enough.
            restrictions: moves that are left out of the search.
        """
        self.game = game
        self._search_config = search_config
        self._evaluator = evaluator
        fitting = min(_MAX_VISITS, _MAX_BYTES // node_bytes(game.spec))
        self.max_visits = max(fitting, _MOVES_OF_BUDGET * num_simulations)
        self._restrictions = restrictions
        self._search: BatchSearch | None = None
        self._states: States | None = None
        self._moves: list[Move] = []

    def forget(self) -> None:
        """Drops the tree."""
        self._states = None

    @property
    def num_visits(self) -> int:
        """Evaluations that went into the position so far, its own included."""
        if self._search is None or self._states is None:
            return 0
        return self._search.root_visits(_ROW)

    def set_position(self, states: States, moves: Sequence[Move]) -> None:
        """Turns to a position, keeping the part of the tree that belongs to it.

        Args:
            states: [1], not over.
            moves: that led there; only where they go on from the last ones is anything kept.

        Raises:
            FinishedGameError: if the position is over.
        """
        if not self._keep(states, moves):
            self._start(states)
        self._states, self._moves = states.copy(), list(moves)

    def simulate(self) -> bool:
        """Makes one simulation; returns False, and makes none, where the tree is full.

        Raises:
            EvaluationError: if the evaluator's answer cannot be used.
        """
        search = self._begun_search()
        if search.root_visits(_ROW) >= self.max_visits:
            return False
        search.resume(_ROW, 1)
        self._run(search)
        return True

    def report(self) -> Report:
        """Returns what was found so far: all legal moves, the most visited first.

        Equals are ordered by value, then by prior, then by action.
        """
        search = self._begun_search()
        edges = search.edges(_ROW, ROOT)
        visits, priors = edges.visits[0], edges.priors[0]
        root_visits = search.root_visits(_ROW)
        root_value = float(search.trees.nodes[_ROW, ROOT]["value_sum"]) / root_visits
        values = np.where(visits > 0, edges.value_sums[0] / np.maximum(visits, 1), root_value)
        legal = np.flatnonzero(edges.legal[0])
        order = np.lexsort((-priors[legal], -values[legal], -visits[legal]))
        moves = [
            MoveInfo(
                move=self.game.action_to_text(int(action)),
                visits=int(visits[action]),
                value=float(values[action]),
                prior=float(priors[action]),
                variation=variation,
                variation_visits=counts,
            )
            for action in legal[order]
            for variation, counts in [self._variation(int(action))]
        ]
        return Report(root_visits, root_value, moves)

    def restricted(self, restrictions: Sequence[Restriction]) -> "TreeThinker":
        """Returns another thinker that leaves moves out of its search."""
        return TreeThinker(
            self.game,
            self._evaluator,
            search_config=self._search_config,
            num_simulations=0,
            restrictions=restrictions,
        )

    def _keep(self, states: States, moves: Sequence[Move]) -> bool:
        """Follows the moves since the last position through the tree; tells if that led here."""
        search, root = self._search, self._states
        if search is None or root is None:
            return False
        num_known = len(self._moves)
        if list(moves[:num_known]) != self._moves:
            return False
        for _, action in moves[num_known:]:
            if not search.advance(_ROW, action):
                return False
            root = self.game.step(root, [action])
        return root.tobytes() == states.tobytes()

    def _start(self, states: States) -> None:
        if self._search is None:
            self._search = BatchSearch(
                self.game,
                self._evaluator,
                self._search_config,
                num_rows=1,
                max_simulations=self.max_visits,
            )
        self._search.start(np.array([_ROW]), states, np.array([0]))

    def _begun_search(self) -> BatchSearch:
        """Returns the search, with the root evaluated."""
        assert self._search is not None, "simulate or report before set_position"
        if self._search.root_visits(_ROW) == 0:
            self._run(self._search)
        return self._search

    def _run(self, search: BatchSearch) -> None:
        """Runs one simulation and leaves the restricted moves out of the node it made, if any."""
        num_nodes = int(search.trees.num_nodes[_ROW])
        search.run_simulation()
        if self._restrictions and search.trees.num_nodes[_ROW] > num_nodes:
            self._restrict(search, num_nodes)

    def _restrict(self, search: BatchSearch, node: int) -> None:
        """Takes the restricted moves off a new node's legal ones, unless nothing would be left."""
        nodes = search.trees.nodes[_ROW]
        if nodes[node]["is_over"]:
            return
        depth, above = 0, node
        while nodes[above]["parent"] != NO_PARENT:
            depth, above = depth + 1, int(nodes[above]["parent"])
        legal = search.edges(_ROW, node).legal[0]
        mover = int(nodes[node]["to_play"])
        remaining = restricted_actions(legal, self._restrictions, color=mover, depth=depth)
        if not remaining.any():
            return
        priors = search.trees.untried_priors[_ROW, node]
        priors[~remaining] = NO_PRIOR
        if not priors[remaining].any():  # rounded to 0 all of them: no descent would try any
            priors[remaining] = 1 / np.count_nonzero(remaining)

    def _variation(self, action: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Returns a move of the root and the most visited moves after it, and their visits."""
        search = self._begun_search()
        texts: list[str] = []
        counts: list[int] = []
        node = ROOT
        while len(texts) < _LONGEST_VARIATION:
            texts.append(self.game.action_to_text(action))
            edges = search.edges(_ROW, node)
            counts.append(int(edges.visits[0, action]))
            node = int(edges.children[0, action])
            if node == UNVISITED or search.trees.nodes[_ROW, node]["is_over"]:
                break
            visits = search.edges(_ROW, node).visits[0]
            action = int(visits.argmax())
            if visits[action] == 0:
                break
        return tuple(texts), tuple(counts)


def restricted_actions(
    legal: BoolArray, restrictions: Sequence[Restriction], *, color: int, depth: int
) -> BoolArray:
    """Returns the legal actions [A] that restrictions leave to a colour at a depth of the search.

    Where several lists of allowed moves hold, a move has to be on one of them.
    """
    holding = [item for item in restrictions if item.color == color and depth < item.until_depth]
    remaining = legal.copy()
    allowed = [action for item in holding if item.is_allowed for action in item.actions]
    if any(item.is_allowed for item in holding):
        remaining[:] = False
        remaining[allowed] = legal[allowed]
    for item in holding:
        if not item.is_allowed:
            remaining[list(item.actions)] = False
    return remaining
