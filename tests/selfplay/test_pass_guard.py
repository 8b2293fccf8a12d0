"""The guard against early passes: priors change while the board is empty, legality never."""

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.notation import replay
from alphago.search import run_search
from selfplay.pass_guard import PassGuard
from tests.search.positions import search_config
from tests.selfplay.fake_network import FakeNetwork, make_selfplay

GO = make_game("go_3x3:komi=0.5")
PASS = 9


def test_pass_has_no_prior_before_the_share_is_reached() -> None:
    guarded = PassGuard(GO, FakeNetwork(GO, spread=1.0), occupied_share=2 / 9)
    plain = FakeNetwork(GO, spread=1.0)
    one, two = replay(GO, [4]), replay(GO, [4, 1])  # one and two stones on nine points
    assert guarded.evaluate(one).prior_logits[0, PASS] == pytest.approx(
        plain.evaluate(one).prior_logits[0].min() - 10, abs=1e-5
    )
    np.testing.assert_array_equal(
        guarded.evaluate(one).prior_logits[0, :PASS], plain.evaluate(one).prior_logits[0, :PASS]
    )
    both = np.concatenate([one, two])
    np.testing.assert_array_equal(
        guarded.evaluate(both).prior_logits[1], plain.evaluate(both).prior_logits[1]
    )
    np.testing.assert_array_equal(guarded.evaluate(both).value, plain.evaluate(both).value)


def test_a_pass_that_is_the_only_legal_action_is_still_made() -> None:
    """On one point a stone is suicide: only the pass is legal, whatever the guard says."""
    game = make_game("go_1x1")
    guarded = PassGuard(game, FakeNetwork(game, spread=1.0), occupied_share=1.0)
    states = game.initial_states(1)
    result = run_search(game, guarded, states, search_config(), num_simulations=4)
    assert result.visit_counts[0].tolist() == [0, 4]


def test_games_without_a_pass_are_left_alone() -> None:
    game = make_game("tic_tac_toe")
    guarded = PassGuard(game, FakeNetwork(game, spread=1.0), occupied_share=1.0)
    states = game.initial_states(2)
    np.testing.assert_array_equal(
        guarded.evaluate(states).prior_logits,
        FakeNetwork(game, spread=1.0).evaluate(states).prior_logits,
    )


def test_guarded_self_play_fills_the_board_first() -> None:
    """Without noise a guarded game has no pass before half of the points are taken."""
    for guard, fewest in ((0.0, 0), (0.5, 4)):
        selfplay = make_selfplay(
            game=GO,
            pass_guard=guard,
            num_simulations=4,
            fast_num_simulations=4,
            full_search_probability=0.01,  # fast searches have no noise
            random_opening_probability=0.0,
        )
        stones_at_pass = []
        for record in selfplay.play(12).records:
            for ply, action in enumerate(record.actions):
                if action == PASS:
                    board = GO.board(replay(GO, record.actions[:ply].tolist()))
                    stones_at_pass.append(int((board != -1).sum()))
        assert min(stones_at_pass) >= fewest
        assert (min(stones_at_pass) < 4) == (guard == 0.0)
