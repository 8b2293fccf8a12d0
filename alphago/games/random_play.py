"""Uniformly random play: openings for matches, and games for tests."""

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.types import States


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
