"""What all players have in common."""

import sys

import pytest

from alphago.errors import StateError
from alphago.games import make_game
from alphago.players import HumanPlayer, make_player
from alphago.players.network_player import NetworkPlayer
from tests.search.evaluators import UniformEvaluator
from tests.search.positions import search_config

GAME = make_game("tic_tac_toe")


def players():
    network = NetworkPlayer(
        GAME,
        UniformEvaluator(GAME),
        search_config=search_config(),
        num_simulations=3,
        name="runs/demo",
        seed=0,
    )
    kinds = [make_player(text, game=GAME) for text in ("random", "minimax", "alphabeta:depth=2")]
    return [*kinds, HumanPlayer(GAME, lines=sys.stdin, screen=sys.stdout), network]


def test_a_printed_player_shows_its_name():
    assert list(map(str, players())) == [
        "RandomPlayer('random')",
        "MinimaxPlayer('minimax')",
        "AlphaBetaPlayer('alphabeta:depth=2')",
        "HumanPlayer('human')",
        "NetworkPlayer('runs/demo')",
    ]


def test_a_network_player_shows_the_constants_of_its_search():
    assert players()[-1].search_config == search_config()


@pytest.mark.parametrize("player", players(), ids=str)
def test_one_state_is_no_batch(player):
    states = GAME.initial_states(2)
    with pytest.raises(StateError, match=r"allowed: shape \(B,\)") as caught:
        player.choose_actions(states[0])
    assert "\n" not in str(caught.value)
    with pytest.raises(StateError, match=r"got states of shape \(1, 2\)"):
        player.choose_actions(states[None])
