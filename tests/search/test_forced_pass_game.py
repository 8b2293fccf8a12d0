"""The made-up game of the tests is a proper game and has the features it was made for."""

import numpy as np
import pytest

from alphago.errors import IllegalActionError
from alphago.games.conformance import check_game
from tests.reference.forced_pass_game import (
    EMPTY,
    PASS,
    ForcedPassGame,
    Position,
    position_of,
    solve,
)
from tests.search.positions import random_states, state_after


def test_contract() -> None:
    """Every identity of the `Game` protocol holds."""
    check_game(ForcedPassGame(), seed=91, num_games=30)


def test_random_play_meets_every_feature() -> None:
    """Forced passes, second moves, both winners and draws."""
    game = ForcedPassGame()
    states = random_states(game, np.random.default_rng(90), num_states=400)
    positions = [position_of(state) for state in states]
    assert any(position.legal_actions() == [PASS] for position in positions)
    after = [(p, p.after(a)) for p in positions for a in p.legal_actions()]
    assert any(following.to_play == position.to_play for position, following in after)
    results = {following.result() for _, following in after if following.is_over()}
    assert results == {-1, 0, 1}


def test_a_game_with_a_pass_and_a_second_move() -> None:
    """Player 1 fills the first column and moves again.

    X . . .      X . . .      X . . O
    . . . .  ->  O . . .  ->  O . . .    and it is X's turn.
    """
    game = ForcedPassGame()
    state = state_after(game, [0])
    assert np.flatnonzero(game.legal_actions(state)[0]).tolist() == [1, 2, 3, 4, 5, 6, 7]
    state = game.step(state, [4])
    assert game.to_play(state).tolist() == [1]
    state = game.step(state, [3])
    assert game.to_play(state).tolist() == [0]
    assert game.render(state[0]) == "X . . O\nO . . ."
    with pytest.raises(IllegalActionError):
        game.step(state, [1])  # touches X
    with pytest.raises(IllegalActionError):
        game.step(state, [PASS])  # other moves exist


def test_end_and_result() -> None:
    """A full checkerboard is over: 2 + 3 + 2 + 4 points against 1 + 1 + 1 + 1."""
    board = (0, 1, 0, 1, 1, 0, 1, 0)
    position = Position(board, 1)
    assert position.is_over()
    assert position.result() == 1
    assert position.legal_actions() == []
    assert not Position((0, *[EMPTY] * 7), 1).is_over()
    assert solve(Position((*board[:7], EMPTY), 0), 0) == 1
