"""Flat Monte Carlo: the same number of random playouts for every move, and no tree.

The oldest Monte-Carlo player, and the plainest measure of a position. Each move is judged by
random play of both sides, so more playouts make it surer of its estimates, not of the best move: it
believes that the opponent answers at random. Sources: Abramson 1990, "Expected-Outcome: A General
Model of Static Evaluation"; Bruegmann 1993, "Monte Carlo Go"; Browne et al. 2012, "A Survey of
Monte Carlo Tree Search Methods", section 2.3.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import PlayerError
from alphago.games.game import Game
from alphago.games.random_play import playouts_of
from alphago.players.player import (
    MoveAdvice,
    SeededPlayer,
    choose_uniformly,
    legal_actions_to_choose,
)
from alphago.search.tree import state_bytes
from alphago.types import BoolArray, Int8Array, States, value_for

_ROWS_AT_ONCE = 512  # playouts in one call; more make none faster

Numbers = npt.NDArray[np.float64]


class Estimates(NamedTuple):
    """What playouts say of the moves of a batch of positions; see `standard_errors`.

    Attributes:
        num_playouts: playouts of each move; 0 where it is illegal, no candidate or ends the game.
        values: their mean results, exact where the move ends the game, in the view of the player to
            move; NaN where nothing is known.
        standard_errors: of the values; 0 where the move ends the game, NaN where nothing is known.
    """

    num_playouts: npt.NDArray[np.int64]  # [B, A]
    values: Numbers  # [B, A]
    standard_errors: Numbers  # [B, A]


class FlatMcPlayer(SeededPlayer):
    """Plays the move that wins most of its random playouts, a draw being half a win.

    The playouts of a move are shared out evenly over its candidates: those that UCT has at its
    root, in Go without own eyes. Those that end the game need none, their result is known. What
    cannot be divided goes to some of them, drawn at random; so with fewer playouts than candidates
    some moves are not tried, and not played. Equals are decided at random by seed.

    Attributes:
        should_stop: asked between playouts whether to answer at once; None for never. For those who
            play against a clock.
    """

    should_stop: Callable[[], bool] | None

    def __init__(self, game: Game, *, num_playouts: int, seed: int) -> None:
        """Keeps everything.

        Args:
            game: the rules.
            num_playouts: playouts per move, at least 1.
            seed: of the playouts, and of the choice between equals.

        Raises:
            PlayerError: if there are no playouts.
        """
        if num_playouts < 1:
            raise PlayerError(
                f"flat_mc: playouts: got {num_playouts}, allowed: an integer of at least 1"
            )
        self.game = game
        self.num_playouts = num_playouts
        self.name = f"flat_mc:playouts={num_playouts}"
        self.should_stop = None
        self._playouts = playouts_of(game)
        self.reseed(seed)

    def choose_actions(self, states: States) -> npt.NDArray[np.int64]:
        """Chooses an action [B] for each position, see `Player`."""
        legal_actions_to_choose(self.game, states)
        values = self.estimate(states).values
        best = np.nanmax(values, axis=1, keepdims=True)
        return choose_uniformly(values == best, self._rng)

    def analyse(self, states: States) -> list[list[MoveAdvice]]:
        """Returns the legal moves of each position [B], the best first, and their estimates.

        Raises:
            FinishedGameError: if a position is over.
        """
        legal = legal_actions_to_choose(self.game, states)
        estimates = self.estimate(states)
        return [
            self._advice(Estimates(*row), legal[b])
            for b, row in enumerate(zip(*estimates, strict=True))
        ]

    def estimate(self, states: States) -> Estimates:
        """Plays out the moves of positions [B], none over."""
        candidates = self._playouts.root_actions(states)
        counts = np.zeros(candidates.shape, np.int64)
        values, errors = np.full(counts.shape, np.nan), np.full(counts.shape, np.nan)
        for b in range(len(states)):  # one by one: a state of Go holds its whole game
            actions = np.flatnonzero(candidates[b])
            found = self._estimate_actions(states[b : b + 1], actions)
            counts[b, actions], values[b, actions], errors[b, actions] = found
        return Estimates(counts, values, errors)

    def _estimate_actions(self, state: States, actions: npt.NDArray[np.int64]) -> Estimates:
        """Plays out actions [K] of one position [1], and returns what that says of each, [K]."""
        children = self.game.step(state.repeat(len(actions)), actions)
        movers = self.game.to_play(state).repeat(len(actions))
        is_over = self.game.is_over(children)
        counts = np.zeros(len(actions), np.int64)
        values, errors = np.full(len(actions), np.nan), np.full(len(actions), np.nan)
        if is_over.any():
            values[is_over] = value_for(self.game.returns(children[is_over]), movers[is_over])
            errors[is_over] = 0.0
        if not is_over.all():
            (counts,) = share_out(~is_over[np.newaxis], self.num_playouts, self._rng)
            tried = np.flatnonzero(counts)
            found = self._play_out(children[tried], movers[tried], counts[tried])
            counts[tried], values[tried], errors[tried] = found
        return Estimates(counts, values, errors)

    def _play_out(
        self, states: States, movers: Int8Array, counts: npt.NDArray[np.int64]
    ) -> Estimates:
        """Plays out positions [K] so many times each, int64 [K], or fewer if it has to stop.

        Returns:
            What that says of each position, [K], in the view of the movers [K].
        """
        sums, squares = np.zeros(len(states)), np.zeros(len(states))
        played = np.zeros(len(states), np.int64)
        places = in_turns(counts)
        rows = state_bytes(states)  # as bytes: numpy copies structured rows field by field
        for start in range(0, len(places), _ROWS_AT_ONCE):
            part = places[start : start + _ROWS_AT_ONCE]
            copies: States = rows[part].view(states.dtype)[:, 0]
            results = value_for(self._playouts.playout_returns(copies, rng=self._rng), movers[part])
            sums += np.bincount(part, results, minlength=len(states))
            squares += np.bincount(part, results**2, minlength=len(states))
            played += np.bincount(part, minlength=len(states))
            if self.should_stop is not None and self.should_stop():
                break
        tried = played > 0
        values, errors = np.full(len(states), np.nan), np.full(len(states), np.nan)
        values[tried] = sums[tried] / played[tried]
        errors[tried] = standard_errors(played[tried], sums[tried], squares[tried])
        return Estimates(played, values, errors)

    def _advice(self, estimates: Estimates, legal: BoolArray) -> list[MoveAdvice]:
        """Returns the legal moves of one position, whose estimates are [A] each."""
        counts, values, errors = estimates
        total = max(1, counts.sum())
        moves = [
            MoveAdvice(
                action=action,
                move=self.game.action_to_text(action),
                visit_share=float(counts[action] / total),
                value=None if np.isnan(values[action]) else float(values[action]),
                prior=0.0,
                standard_error=None if np.isnan(errors[action]) else float(errors[action]),
                num_visits=int(counts[action]),
            )
            for action in np.flatnonzero(legal).tolist()
        ]
        return sorted(moves, key=_rank, reverse=True)


def _rank(move: MoveAdvice) -> float:
    """Returns what orders moves: the value alone, since visits only tell how they were shared."""
    return -math.inf if move.value is None else move.value


def share_out(
    candidates: BoolArray, num_playouts: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Shares playouts out evenly.

    Args:
        candidates: bool [B, A], at least one True per row.
        num_playouts: of each row.
        rng: draws who gets one of the rest.

    Returns:
        int64 [B, A], whose rows sum to `num_playouts`; candidates of a row differ by 1 at most.
    """
    num_candidates = candidates.sum(axis=1, keepdims=True)
    # Candidates in random order: the rank of each among equally distributed numbers.
    order = np.where(candidates, rng.random(candidates.shape), 2.0).argsort(axis=1).argsort(axis=1)
    each, rest = num_playouts // num_candidates, num_playouts % num_candidates
    counts: npt.NDArray[np.int64] = np.where(candidates, each + (order < rest), 0)
    return counts


def in_turns(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Returns int64 [sum of counts], the places 0 to K - 1, each as often as int64 [K] counts say.

    They take turns, so that whoever stops early has played each about equally often.
    """
    places = np.arange(len(counts)).repeat(counts)
    turns = np.arange(len(places)) - (counts.cumsum() - counts).repeat(counts)
    return places[turns.argsort(kind="stable")]


def standard_errors(counts: npt.NDArray[np.int64], sums: Numbers, squares: Numbers) -> Numbers:
    """Returns how far means of random results are off, as a rule.

    It is sqrt(variance / n) of the n results and two more, a win and a loss, which are made up.
    Without these two a move that has won all of its ten playouts would be known for sure; with them
    its error is 0.16 (8 % of a win rate). After hundreds of playouts they hardly matter.

    Args:
        counts: int64 [K], the number of results, from 1 (won) to -1 (lost), at least 1.
        sums: float64 [K], of the results.
        squares: float64 [K], of their squares.

    Returns:
        float64 [K], in the unit of the results; that of a win rate is half as much.
    """
    num_results = counts + 2
    means = sums / num_results
    variances = (squares + 2) / num_results - means**2
    errors: Numbers = np.sqrt(variances / num_results)
    return errors
