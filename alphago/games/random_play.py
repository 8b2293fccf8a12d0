"""Uniformly random play: openings for matches, playouts for players, and games for tests."""

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.types import BoolArray, FloatArray, States


@runtime_checkable
class Playouts(Protocol):
    """How to play a game to its end at random. A game that has these functions is asked itself."""

    def root_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], the candidates where a move is really to be chosen.

        They are some of `playout_actions`, or all of them.
        """
        ...

    def playout_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], the legal actions worth trying; some unless the game is over."""
        ...

    def playout_returns(self, states: States, *, rng: np.random.Generator) -> FloatArray:
        """Plays every game to its end at random, once.

        Args:
            states: [B] states, finished ones too.
            rng: where the randomness comes from.

        Returns:
            float32 [B, P], the results by player id; those of finished games are exact.
        """
        ...


class UniformPlayouts:
    """Playouts of any game, in which every legal action is equally likely."""

    def __init__(self, game: Game) -> None:
        """Keeps the rules."""
        self._game = game

    def root_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], all legal actions."""
        return self._game.legal_actions(states)

    def playout_actions(self, states: States) -> BoolArray:
        """Returns bool [B, A], all legal actions."""
        return self._game.legal_actions(states)

    def playout_returns(self, states: States, *, rng: np.random.Generator) -> FloatArray:
        """Plays every game to its end, see `Playouts`."""
        results = self._game.returns(states)
        rows = np.flatnonzero(~self._game.is_over(states))
        states = states[rows]
        while rows.size:
            actions = random_legal_actions(self._game, states, rng=rng)
            states = self._game.step(states, actions)
            is_over = self._game.is_over(states)
            if is_over.any():
                results[rows[is_over]] = self._game.returns(states[is_over])
                rows, states = rows[~is_over], states[~is_over]
        return results


def playouts_of(game: Game) -> Playouts:
    """Returns the game's own playouts if it has some, else uniform ones."""
    return game if isinstance(game, Playouts) else UniformPlayouts(game)


def random_legal_actions(
    game: Game, states: States, *, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Chooses a legal action in every state, all of them equally likely.

    Args:
        game: the game of the states.
        states: [B] states, none of them over.
        rng: where the randomness comes from.

    Returns:
        int64 [B].
    """
    legal = game.legal_actions(states)
    assert legal.any(axis=1).all(), "a finished game has no legal action"
    # The largest of equally distributed numbers is equally likely to be any of them.
    actions: npt.NDArray[np.int64] = np.where(legal, rng.random(legal.shape), -1.0).argmax(axis=1)
    return actions


def random_actions(game: Game, rng: np.random.Generator, *, num_moves: int) -> list[int]:
    """Plays random moves from the start, as an opening that leaves something to play for.

    Args:
        game: the game to play.
        rng: where the randomness comes from.
        num_moves: how many moves.

    Returns:
        The actions: `num_moves` of them, or fewer when the next one drawn would end the game.
    """
    actions: list[int] = []
    states = game.initial_states(1)
    while len(actions) < num_moves:
        action = random_legal_actions(game, states, rng=rng)
        states = game.step(states, action)
        if game.is_over(states)[0]:
            break
        actions.append(int(action[0]))
    return actions


def random_states(
    game: Game, rng: np.random.Generator, *, num_rows: int, most_moves: int | None = None
) -> States:
    """Returns unfinished positions of random games.

    Args:
        game: the game to play.
        rng: where the randomness comes from.
        num_rows: how many.
        most_moves: each is reached by fewer moves than this; None for as many as there are cells.
    """
    _, height, width = game.spec.observation_shape
    lengths = rng.integers(0, most_moves or height * width, size=num_rows)
    openings = [random_actions(game, rng, num_moves=int(length)) for length in lengths]
    return np.concatenate([replay(game, actions) for actions in openings])


def random_game(game: Game, rng: np.random.Generator) -> list[int]:
    """Plays random moves from the start to the end of the game and returns them."""
    actions: list[int] = []
    states = game.initial_states(1)
    while not game.is_over(states)[0]:
        assert len(actions) < game.spec.max_moves, "the game is longer than its max_moves"
        action = random_legal_actions(game, states, rng=rng)
        states = game.step(states, action)
        actions.append(int(action[0]))
    return actions
