"""What all players have in common."""

import sys

import pytest

from alphago.errors import StateError
from alphago.games import make_game
from alphago.games.notation import replay
from alphago.players import Advisor, HumanPlayer, make_player
from alphago.players.flat_mc_player import FlatMcPlayer
from alphago.players.minimax import MinimaxPlayer
from alphago.players.network_player import NetworkPlayer
from tests.search.evaluators import UniformEvaluator
from tests.search.positions import search_config

GAME = make_game("tic_tac_toe")
SILENT = {"HumanPlayer('human')"}


def players():
    network = NetworkPlayer(
        GAME,
        UniformEvaluator(GAME),
        search_config=search_config(),
        num_simulations=3,
        name="runs/demo",
        seed=0,
    )
    texts = ("random", "minimax", "alphabeta:depth=2", "flat_mc:playouts=9", "uct:playouts=9")
    kinds = [make_player(text, game=GAME) for text in texts]
    return [*kinds, HumanPlayer(GAME, lines=sys.stdin, screen=sys.stdout), network]


def test_a_printed_player_shows_its_name():
    assert list(map(str, players())) == [
        "RandomPlayer('random')",
        "MinimaxPlayer('minimax')",
        "AlphaBetaPlayer('alphabeta:depth=2')",
        "FlatMcPlayer('flat_mc:playouts=9')",
        "UctPlayer('uct:playouts=9')",
        "HumanPlayer('human')",
        "NetworkPlayer('runs/demo')",
    ]


def test_a_network_player_shows_the_constants_of_its_search():
    assert players()[-1].search_config == search_config()


def advisors():
    return [player for player in players() if isinstance(player, Advisor)]


def test_players_explain_themselves():
    silent = {str(player) for player in players()} - set(map(str, advisors()))
    assert silent == {"HumanPlayer('human')"}


@pytest.mark.parametrize("player", advisors(), ids=str)
def test_advice_is_on_all_legal_moves_and_the_best_is_what_would_be_played(player):
    states = replay(GAME, [0, 3, 1, 4])  # 2 wins
    (advice,) = player.analyse(states)
    legal = GAME.legal_actions(states)[0]
    assert sorted(move.action for move in advice) == [2, 5, 6, 7, 8]
    assert all(legal[move.action] for move in advice)
    assert all(move.move == GAME.action_to_text(move.action) for move in advice)
    shares = [move.visit_share for move in advice]
    assert sum(shares) == pytest.approx(1) or not any(shares)
    if num_visits := sum(move.num_visits for move in advice):
        assert [move.num_visits for move in advice] == pytest.approx(
            [share * num_visits for share in shares]
        )
    assert all(move.value is None or -1 <= move.value <= 1 for move in advice)
    if isinstance(player, FlatMcPlayer | MinimaxPlayer):
        assert advice[0].action == 2


@pytest.mark.parametrize("player", players(), ids=str)
def test_one_state_is_no_batch(player):
    states = GAME.initial_states(2)
    with pytest.raises(StateError, match=r"allowed: shape \(B,\)") as caught:
        player.choose_actions(states[0])
    assert "\n" not in str(caught.value)
    with pytest.raises(StateError, match=r"got states of shape \(1, 2\)"):
        player.choose_actions(states[None])
