import numpy as np
import pytest

from alphago.errors import ConfigError, FinishedGameError, StateError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions
from alphago.search.uct import run_uct
from alphago.search.uct_kernels import ucb1_score
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.plain_uct import plain_uct

GAMES = [
    make_game("tic_tac_toe"),
    make_game("connect_four"),
    ForcedPassGame(),
    make_game("go_3x3:komi=0.5"),
]


def search(game, states, num_playouts=100, exploration=0.5, seed=0):
    return run_uct(
        game,
        states,
        num_playouts=num_playouts,
        exploration=exploration,
        rng=np.random.default_rng(seed),
    )


def test_ucb1_by_hand():
    # Three wins of four, ln N = 2: 0.75 + 0.4 * sqrt(2 / 4).
    assert ucb1_score(0.5, 4, 2.0, 0.4) == pytest.approx(0.75 + 0.4 * 0.5**0.5)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.spec.name)
@pytest.mark.parametrize("exploration", [0.3, 1.4])
def test_grows_the_tree_of_the_textbook(game, exploration):
    rng = np.random.default_rng(11)
    for seed in range(4):
        states = replay(game, random_actions(game, rng, num_moves=int(rng.integers(0, 5))))
        expected = plain_uct(
            game,
            states,
            num_playouts=150,
            exploration=exploration,
            rng=np.random.default_rng(seed),
        )
        result = search(game, states, 150, exploration, seed)
        visits, values = result.visit_counts[0], result.action_values[0]
        assert {a: visits[a] for a in np.flatnonzero(visits)} == {
            action: count for action, (count, _) in expected.items()
        }
        for action, (_, share) in expected.items():
            assert values[action] == pytest.approx(2 * share - 1, abs=1e-5)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.spec.name)
def test_visits_add_up_and_none_is_illegal(game):
    rng = np.random.default_rng(5)
    positions = [random_actions(game, rng, num_moves=int(rng.integers(0, 8))) for _ in range(9)]
    states = np.concatenate([replay(game, actions) for actions in positions])
    result = search(game, states, 60)
    legal = game.legal_actions(states)
    assert (result.visit_counts.sum(axis=1) == 60).all()
    assert not result.visit_counts[~legal].any()
    assert not result.priors[~legal].any()
    assert np.allclose(result.priors.sum(axis=1), 1)
    assert np.allclose(result.policy_target, result.visit_counts / 60)
    assert (np.abs(result.action_values) <= 1).all()
    assert np.allclose(
        result.root_values, (result.policy_target * result.action_values).sum(axis=1)
    )


def test_results_of_finished_nodes_are_exact():
    """The first player wins at 6."""
    game = make_game("tic_tac_toe")
    states = replay(game, parse_moves(game, "0 1 3 4 8 5"))
    result = search(game, states, 200)
    winning = 6
    assert result.action_values[0, winning] == 1.0
    assert result.visit_counts[0].argmax() == winning


def test_the_last_move_is_searched_too():
    game = make_game("tic_tac_toe")
    states = replay(game, parse_moves(game, "0 1 2 4 3 6 7 5"))
    result = search(game, states, 7)
    assert result.visit_counts[0].sum() == 7
    assert np.count_nonzero(result.visit_counts) == 1


def test_the_same_seed_gives_the_same_search():
    game = make_game("connect_four")
    states = game.initial_states(3)
    first, again, other = (search(game, states, 80, seed=seed) for seed in (1, 1, 2))
    assert (first.visit_counts == again.visit_counts).all()
    assert (first.visit_counts != other.visit_counts).any()


def test_refuses_what_cannot_be_searched():
    game = make_game("tic_tac_toe")
    with pytest.raises(ConfigError, match="num_playouts"):
        search(game, game.initial_states(1), 0)
    with pytest.raises(StateError):
        search(game, make_game("connect_four").initial_states(1))
    over = replay(game, parse_moves(game, "0 1 3 4 6"))
    with pytest.raises(FinishedGameError):
        search(game, over)
