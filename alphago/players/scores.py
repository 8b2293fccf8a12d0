"""Scores of the classical players: who wins, and how soon, or a guess, in one integer.

A score speaks for the player to move. A win in `n` plies scores `WIN - n`, a loss in `n` plies
`n - WIN`, a draw 0, so that the largest score is the fastest win or else the slowest loss. What is
guessed beyond a horizon lies in between, from `-LARGEST_GUESS` to `LARGEST_GUESS`.

Seen from one ply earlier a win or loss is one ply further away (`further`; a guess stays what it
is), and a score changes its sign if the *player* changes. That is not every ply: whoever moves
twice, because the opponent passes, keeps the sign.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.games.heuristic import HeuristicGame
from alphago.types import BoolArray, States, value_for

WIN = 1 << 20
LARGEST_GUESS = WIN // 2  # no game has as many plies, so that wins and losses lie beyond it

Scores = npt.NDArray[np.int64]


class ScoredMove(NamedTuple):
    """One legal move and its score."""

    action: int
    score: int  # view of the player to move
    depth: int | None = None  # plies looked ahead; None if to the end of every game
    is_exact: bool = True  # else the true score of this depth may be less, but is not more


class Children(NamedTuple):
    """All positions one ply after a batch of K positions; M of them."""

    states: States  # [M]
    parents: npt.NDArray[np.int64]  # [M], row of the position before, ascending
    actions: npt.NDArray[np.int64]  # [M], the action that led here
    is_over: BoolArray  # [M]
    final_scores: Scores  # [M], view of the parent's player; 0 where the game goes on
    signs: Scores  # [M], 1 where the parent's player moves again, else -1


def expand(game: Game, states: States) -> Children:
    """Plays every legal action of every position [K], with one call of `play`."""
    parents, actions = np.nonzero(game.legal_actions(states))
    # As bytes: numpy copies structured rows field by field.
    rows = np.ascontiguousarray(states).view(np.uint8).reshape(len(states), states.dtype.itemsize)
    children: States = rows[parents].view(states.dtype)[:, 0]
    game.play(children, actions, np.arange(len(children)))
    movers = game.to_play(states)[parents]
    is_over = game.is_over(children)
    final_scores = np.zeros(len(children), np.int64)
    if is_over.any():
        values = value_for(game.returns(children), movers)
        final_scores = further(np.rint(values * WIN).astype(np.int64))
    return Children(
        states=children,
        parents=parents,
        actions=actions,
        is_over=is_over,
        final_scores=final_scores,
        signs=np.where(game.to_play(children) == movers, 1, -1),
    )


def guess_scores(heuristic: HeuristicGame, children: Children) -> Scores:
    """Returns scores [M] in the parents' view: final ones, and guesses where the game goes on."""
    values = heuristic.heuristic_values(children.states)
    guesses = children.signs * np.rint(values * LARGEST_GUESS).astype(np.int64)
    return np.where(children.is_over, children.final_scores, guesses)


def is_decided(score: int) -> bool:
    """Tells whether a score is a win or a loss, and no guess or draw."""
    return abs(score) > LARGEST_GUESS


def is_lost(score: int) -> bool:
    """Tells whether a score is a loss."""
    return score < -LARGEST_GUESS


def plies_to_end(score: int) -> int | None:
    """Returns in how many plies a score says that the game is won or lost, None if in none."""
    return WIN - abs(score) if is_decided(score) else None


def score_value(score: int) -> float:
    """Returns a score as a value in [-1, 1]; decided ones are close to -1 or 1."""
    return score / WIN if is_decided(score) else score / LARGEST_GUESS


def further(scores: Scores) -> Scores:
    """Returns scores as they look from one ply earlier, for the same player."""
    decided: Scores = np.sign(scores) * (np.abs(scores) > LARGEST_GUESS)
    return scores - decided


def further_score(score: int) -> int:
    """Returns a score as it looks from one ply earlier, as `further` does."""
    if is_decided(score):
        return score - 1 if score > 0 else score + 1
    return score


def nearer_score(score: int) -> int:
    """Returns the bound for a child that stands for this bound on `further_score` of its score."""
    if is_decided(score):
        return score + 1 if score > 0 else score - 1
    return score


def best_by_parent(children: Children, scores: Scores, *, num_parents: int) -> Scores:
    """Returns the best score [K] of each parent's children, given their scores [M] in its view."""
    best = np.full(num_parents, -WIN, dtype=np.int64)
    np.maximum.at(best, children.parents, scores)
    return best
