import time

import numpy as np
import pytest

from alphago.errors import PlayerError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions
from alphago.players.alphabeta import AlphaBetaPlayer
from alphago.players.minimax import MinimaxPlayer
from alphago.players.scores import expand
from tests.reference.forced_pass_game import ForcedPassGame

CONNECT_FOUR = make_game("connect_four")


def plain_score(game, states, depth):
    """Returns the score of a position by looking at everything down to a depth."""
    children = expand(game, states)
    scores = []
    for row in range(len(children.states)):
        score = int(children.final_scores[row])
        if not children.is_over[row] and depth > 1:
            child = plain_score(game, children.states[row : row + 1], depth - 1)
            score = int(children.signs[row]) * (child - int(np.sign(child)))
        scores.append(score)
    return max(scores)


def plain_best_actions(game, states, depth):
    """Returns the best actions by looking at everything down to a depth."""
    scores = {}
    children = expand(game, states)
    for row, action in enumerate(children.actions.tolist()):
        score = int(children.final_scores[row])
        if not children.is_over[row] and depth > 1:
            child = plain_score(game, children.states[row : row + 1], depth - 1)
            score = int(children.signs[row]) * (child - int(np.sign(child)))
        scores[action] = score
    return sorted(action for action in scores if scores[action] == max(scores.values()))


@pytest.mark.parametrize(
    ("game", "depth", "num_moves"),
    [
        (make_game("tic_tac_toe"), 3, 6),
        (CONNECT_FOUR, 3, 24),
        (CONNECT_FOUR, 4, 36),
        (ForcedPassGame(), 3, 5),
    ],
    ids=lambda value: getattr(getattr(value, "spec", None), "name", None),
)
def test_prunes_nothing_that_matters(game, depth, num_moves):
    rng = np.random.default_rng(depth)
    player = AlphaBetaPlayer(game, depth=depth, seed=0)
    for _ in range(12):
        actions = random_actions(game, rng, num_moves=int(rng.integers(0, num_moves)))
        states = replay(game, actions)
        assert sorted(player.best_actions(states)) == plain_best_actions(game, states, depth)


@pytest.mark.parametrize("game", [make_game("tic_tac_toe"), ForcedPassGame()])
def test_sees_everything_within_its_horizon(game):
    rng = np.random.default_rng(3)
    exact = MinimaxPlayer(game, seed=0)
    player = AlphaBetaPlayer(game, depth=game.spec.max_moves, seed=0)
    for _ in range(25):
        states = replay(game, random_actions(game, rng, num_moves=int(rng.integers(2, 6))))
        scores = exact.action_scores(states)[0]
        best = np.flatnonzero(scores == scores.max()).tolist()
        assert sorted(player.best_actions(states)) == best


@pytest.mark.parametrize(
    ("moves", "depth", "best"),
    [
        ("4 1 4 1 4 1", 1, [3]),  # wins at once
        ("4 1 4 1 4", 2, [3]),  # has to block
        ("1 4 7 5", 4, [1, 2, 5]),  # or two stones become three with two open ends
    ],
)
def test_connect_four_tactics(moves, depth, best):
    states = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, moves))
    assert sorted(AlphaBetaPlayer(CONNECT_FOUR, depth=depth, seed=0).best_actions(states)) == best


def test_equal_moves_are_drawn_by_seed():
    states = CONNECT_FOUR.initial_states(70)
    actions = AlphaBetaPlayer(CONNECT_FOUR, depth=2, seed=1).choose_actions(states)
    again = AlphaBetaPlayer(CONNECT_FOUR, depth=2, seed=1).choose_actions(states)
    assert (actions == again).all()
    assert set(actions.tolist()) == set(range(7))


def test_depth_6_on_connect_four_takes_far_less_than_a_second():
    player = AlphaBetaPlayer(CONNECT_FOUR, depth=6, seed=0)
    states = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 4 3 5"))
    player.choose_actions(states)
    start = time.process_time()  # what others do on the machine does not count
    player.choose_actions(states)
    assert time.process_time() - start < 1.0


def test_refuses_a_depth_of_nothing():
    with pytest.raises(PlayerError, match="depth: got 0"):
        AlphaBetaPlayer(CONNECT_FOUR, depth=0, seed=0)
