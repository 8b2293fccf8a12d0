"""The guard against early passes and filled eyes: priors change, legality never."""

import numpy as np
import pytest

from alphago.games import Game, make_game
from alphago.games.notation import replay
from alphago.search import run_search
from alphago.types import Evaluation, States
from selfplay.prior_guard import PriorGuard
from tests.search.gumbel_searches import drawn_numbers, gumbel_config, search_by_gumbel
from tests.search.positions import search_config
from tests.selfplay.fake_network import FakeNetwork, make_selfplay

GO = make_game("go_3x3:komi=0.5")
PASS = 9
GO_5X5 = make_game("go_5x5:komi=7.5")  # with which Black is behind in `two_eyes_each`


def pass_guard(game: Game, *, occupied_share: float) -> PriorGuard:
    network = FakeNetwork(game, spread=1.0)
    return PriorGuard(game, network, occupied_share=occupied_share, guards_eyes=False)


def eye_guard(game: Game) -> PriorGuard:
    network = FakeNetwork(game, spread=1.0)
    return PriorGuard(game, network, occupied_share=0.0, guards_eyes=True)


def two_eyes_each(*, to_play: int) -> States:
    """Returns a position of 84 % occupied points in which own eyes and the pass alone are left."""
    cells = ".X.XO XXXXO XOOOO XO.O. XOOOO".replace(" ", "")
    black, white = ([i for i, mark in enumerate(cells) if mark == stone] for stone in "XO")
    return GO_5X5.position(black, white, to_play)


def priors(evaluator: PriorGuard, states: States) -> np.ndarray:
    return run_search(GO_5X5, evaluator, states, search_config(), num_simulations=0).priors


def test_pass_has_no_prior_before_the_share_is_reached() -> None:
    guarded = pass_guard(GO, occupied_share=2 / 9)
    plain = FakeNetwork(GO, spread=1.0)
    one, two = replay(GO, [4]), replay(GO, [4, 1])  # one and two stones on nine points
    assert guarded.evaluate(one).prior_logits[0, PASS] == pytest.approx(
        plain.evaluate(one).prior_logits[0].min() - 110, abs=1e-4
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
    states = np.concatenate([two_eyes_each(to_play=player) for player in (0, 1)])
    plain = FakeNetwork(GO_5X5, spread=1.0).evaluate(states)
    guarded = eye_guard(GO_5X5).evaluate(states)
    for row, eyes in enumerate(([0, 2], [17, 19])):
        others = np.setdiff1d(np.arange(GO_5X5.spec.num_actions), eyes)
        np.testing.assert_array_equal(
            guarded.prior_logits[row, others], plain.prior_logits[row, others]
        )
        np.testing.assert_allclose(
            guarded.prior_logits[row, eyes], plain.prior_logits[row].min() - 220, atol=1e-4
        )
    np.testing.assert_array_equal(guarded.value, plain.value)


class NoPasses:
    """Likes all plays alike and the pass least; illegal ones get a logit of the caller's choice."""

    def __init__(self, *, illegal: float = 0.0) -> None:
        self.illegal = illegal

    def evaluate(self, states: States) -> Evaluation:
        logits = np.zeros((len(states), GO_5X5.spec.num_actions), np.float32)
        logits[:, GO_5X5.spec.pass_action] = -5
        logits[~GO_5X5.legal_actions(states)] = self.illegal
        return Evaluation(logits, np.zeros(len(states), np.float32))


def test_with_eyes_alone_left_a_guarded_player_passes() -> None:
    """Both players have two eyes and nothing else to fill; the network likes the pass least."""
    states = two_eyes_each(to_play=0)
    for guards_eyes, most_visited in ((False, 0), (True, GO_5X5.spec.pass_action)):
        guarded = PriorGuard(GO_5X5, NoPasses(), occupied_share=0.0, guards_eyes=guards_eyes)
        result = run_search(GO_5X5, guarded, states, search_config(), num_simulations=20)
        assert result.visit_counts[0].argmax() == most_visited


@pytest.mark.parametrize("occupied_share", [0.4, 0.9])
def test_the_guard_of_passes_lets_no_player_fill_its_eyes(occupied_share: float) -> None:
    """Where both guards leave nothing, it is the pass that is taken."""
    guarded = PriorGuard(GO_5X5, NoPasses(), occupied_share=occupied_share, guards_eyes=True)
    states = np.concatenate([two_eyes_each(to_play=player) for player in (0, 1)])
    expected = np.eye(GO_5X5.spec.num_actions)[[GO_5X5.spec.pass_action] * 2]
    np.testing.assert_array_equal(priors(guarded, states), expected)


@pytest.mark.parametrize("illegal", [-np.inf, np.inf, np.nan, 300.0])
def test_what_an_evaluator_says_of_illegal_actions_does_not_matter(illegal: float) -> None:
    states = np.concatenate([GO_5X5.initial_states(1), two_eyes_each(to_play=0)])
    expected, found = (
        priors(PriorGuard(GO_5X5, network, occupied_share=0.9, guards_eyes=True), states)
        for network in (NoPasses(), NoPasses(illegal=illegal))
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("num_simulations", [16, 160, 400])
def test_no_value_makes_up_for_the_guard(num_simulations: int) -> None:
    """Black to move after a pass, and behind: a pass loses for sure, and eyes seem to be worth 0.

    From about 160 simulations on sigma is more than 10: no gap of logits keeps up with it.
    """
    states = GO_5X5.step(two_eyes_each(to_play=1), [GO_5X5.spec.pass_action])
    guarded = PriorGuard(GO_5X5, NoPasses(), occupied_share=0.4, guards_eyes=True)
    found = search_by_gumbel(
        GO_5X5,
        guarded,
        states,
        gumbel_config(),
        numbers=drawn_numbers(GO_5X5, states, seed=1),
        num_simulations=num_simulations,
    )
    assert found.actions.tolist() == [GO_5X5.spec.pass_action]
    assert not found.policy_targets[0, [0, 2]].any()
    low_c = search_config(exploration_init=0.5)
    by_puct = run_search(GO_5X5, guarded, states, low_c, num_simulations=num_simulations)
    assert not by_puct.visit_counts[0, [0, 2]].any()
    unguarded = search_by_gumbel(
        GO_5X5,
        NoPasses(),
        states,
        gumbel_config(),
        numbers=drawn_numbers(GO_5X5, states, seed=1),
        num_simulations=num_simulations,
    )
    assert unguarded.policy_targets[0, [0, 2]].sum() > 0.9


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


def test_gumbel_in_guarded_self_play_fills_no_eye_and_passes_late() -> None:
    """Full searches alone, without random moves: whatever values say, guards hold."""
    for is_guarded in (False, True):
        selfplay = make_selfplay(
            game=GO,
            search="gumbel",
            eye_guard=is_guarded,
            pass_guard=0.5 if is_guarded else 0.0,
            num_simulations=24,
            full_search_probability=1.0,
            random_opening_probability=0.0,
        )
        num_broken = 0
        for record in selfplay.play(20).records:
            for ply, action in enumerate(record.actions):
                state = replay(GO, record.actions[:ply].tolist())
                is_early_pass = action == PASS and (GO.board(state) != -1).sum() < 4
                # Where all plays fill eyes, even an early pass is better.
                left = GO.legal_actions(state)[0] & ~GO.own_eyes(state)[0]
                num_broken += int(GO.own_eyes(state)[0, action])
                num_broken += int(is_early_pass and left[:PASS].any())
        assert (num_broken > 0) == (not is_guarded)
