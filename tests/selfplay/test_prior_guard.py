"""The guard against early passes and filled eyes: priors change, legality never."""

import numpy as np
import pytest

from alphago.games import Game, make_game
from alphago.games.notation import replay
from alphago.search import run_search
from alphago.types import Evaluation, States
from selfplay.prior_guard import PriorGuard
from tests.search.positions import search_config
from tests.selfplay.fake_network import FakeNetwork, make_selfplay

GO = make_game("go_3x3:komi=0.5")
PASS = 9


def pass_guard(game: Game, *, occupied_share: float) -> PriorGuard:
    network = FakeNetwork(game, spread=1.0)
    return PriorGuard(game, network, occupied_share=occupied_share, guards_eyes=False)


def eye_guard(game: Game) -> PriorGuard:
    network = FakeNetwork(game, spread=1.0)
    return PriorGuard(game, network, occupied_share=0.0, guards_eyes=True)


def test_pass_has_no_prior_before_the_share_is_reached() -> None:
    guarded = pass_guard(GO, occupied_share=2 / 9)
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
    guarded = pass_guard(game, occupied_share=1.0)
    states = game.initial_states(1)
    result = run_search(game, guarded, states, search_config(), num_simulations=4)
    assert result.visit_counts[0].tolist() == [0, 4]


def test_games_without_pass_and_eyes_are_left_alone() -> None:
    game = make_game("tic_tac_toe")
    network = FakeNetwork(game, spread=1.0)
    guarded = PriorGuard(game, network, occupied_share=1.0, guards_eyes=True)
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


def test_own_eyes_have_no_prior_and_those_of_the_opponent_keep_theirs() -> None:
    game = make_game("go_5x5")
    cells = ".X.XO XXXXO XOOOO XO.O. XOOOO".replace(" ", "")
    black, white = ([i for i, mark in enumerate(cells) if mark == stone] for stone in "XO")
    states = np.concatenate([game.position(black, white, to_play) for to_play in (0, 1)])
    plain = FakeNetwork(game, spread=1.0).evaluate(states)
    guarded = eye_guard(game).evaluate(states)
    for row, eyes in enumerate(([0, 2], [17, 19])):
        others = np.setdiff1d(np.arange(game.spec.num_actions), eyes)
        np.testing.assert_array_equal(
            guarded.prior_logits[row, others], plain.prior_logits[row, others]
        )
        np.testing.assert_allclose(
            guarded.prior_logits[row, eyes], plain.prior_logits[row].min() - 10, atol=1e-5
        )
    np.testing.assert_array_equal(guarded.value, plain.value)


def test_with_eyes_alone_left_a_guarded_player_passes() -> None:
    """Both players have two eyes and nothing else to fill; the network likes the pass least."""
    game = make_game("go_5x5")
    cells = ".X.XO XXXXO XOOOO XO.O. XOOOO".replace(" ", "")
    black, white = ([i for i, mark in enumerate(cells) if mark == stone] for stone in "XO")
    states = game.position(black, white, 0)

    class NoPasses:
        def evaluate(self, states: States) -> Evaluation:
            logits = np.zeros((len(states), game.spec.num_actions), np.float32)
            logits[:, game.spec.pass_action] = -5
            return Evaluation(logits, np.zeros(len(states), np.float32))

    for guards_eyes, most_visited in ((False, 0), (True, game.spec.pass_action)):
        guarded = PriorGuard(game, NoPasses(), occupied_share=0.0, guards_eyes=guards_eyes)
        result = run_search(game, guarded, states, search_config(), num_simulations=20)
        assert result.visit_counts[0].argmax() == most_visited


def test_guarded_self_play_fills_no_eye() -> None:
    """Without noise no eye is filled; without the guard some are."""
    for is_guarded in (False, True):
        selfplay = make_selfplay(
            game=GO,
            eye_guard=is_guarded,
            num_simulations=4,
            fast_num_simulations=4,
            full_search_probability=0.01,  # fast searches have no noise
            random_opening_probability=0.0,
        )
        num_filled = 0
        for record in selfplay.play(20).records:
            for ply, action in enumerate(record.actions):
                eyes = GO.own_eyes(replay(GO, record.actions[:ply].tolist()))
                num_filled += int(eyes[0, action])
        assert (num_filled > 0) == (not is_guarded)
