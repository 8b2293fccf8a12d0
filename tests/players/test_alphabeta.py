"""The alpha-beta player: what it plays, what it tells, where it stops."""

import time

import numpy as np
import pytest

from alphago.errors import FinishedGameError, PlayerError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions, random_states
from alphago.players.alphabeta import AlphaBetaPlayer
from alphago.players.minimax import MinimaxPlayer
from alphago.players.player import Advisor
from alphago.players.scores import WIN
from tests.reference.connect_four_solver import solve
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.plain_minimax import plain_action_scores

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")
GAMES = [TIC_TAC_TOE, CONNECT_FOUR, make_game("go_3x3"), make_game("go_5x5"), ForcedPassGame()]


def alphabeta(game, depth, *, num_nodes=1_000_000, seed=0):
    return AlphaBetaPlayer(game, depth=depth, num_nodes=num_nodes, name="alphabeta", seed=seed)


def scores_of(found):
    return {move.action: move.score for move in found.moves}


def name_of(game):
    return game.spec.name


def end_positions(num_empty, num_positions, rng):
    """Returns unfinished Connect Four positions with so many empty cells, from random games."""
    positions = []
    while len(positions) < num_positions:
        actions = random_actions(CONNECT_FOUR, rng, num_moves=42 - num_empty)
        if len(actions) == 42 - num_empty:
            positions.append(replay(CONNECT_FOUR, actions))
    return positions


# --- the same as looking at everything ---


@pytest.mark.parametrize("game", GAMES, ids=name_of)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_prunes_nothing_that_matters(game, depth):
    rng = np.random.default_rng(depth)
    is_large = game.spec.name == "go_5x5"
    player = alphabeta(game, depth)
    for _ in range(2 if is_large else 8):
        length = 18 if is_large and depth > 3 else int(rng.integers(0, 12))
        state = replay(game, random_actions(game, rng, num_moves=length))
        scores = plain_action_scores(game, state, depth)
        best = [action for action in scores if scores[action] == max(scores.values())]
        found = player.search(state)
        assert found.best_actions() == best
        # A proven result may have been found earlier, and equals that of any larger depth.
        assert max(scores_of(found).values()) == max(scores.values())
        there = plain_action_scores(game, state, found.depth)
        for move in found.moves:
            assert move.depth == found.depth
            assert move.score >= there[move.action]
            assert move.score == there[move.action] or not move.is_exact


@pytest.mark.parametrize("game", GAMES, ids=name_of)
def test_advice_has_the_exact_value_of_each_move(game):
    rng = np.random.default_rng(7)
    player = alphabeta(game, 3)
    for _ in range(4):
        state = replay(game, random_actions(game, rng, num_moves=int(rng.integers(0, 9))))
        found = player.search(state, score_others=True)
        assert all(move.is_exact for move in found.moves)
        assert scores_of(found) == plain_action_scores(game, state, found.depth)


def test_agrees_with_minimax_in_every_position_of_tic_tac_toe():
    exact = MinimaxPlayer(TIC_TAC_TOE, seed=0)
    player = alphabeta(TIC_TAC_TOE, 9)
    seen, frontier = 0, TIC_TAC_TOE.initial_states(1)
    while len(frontier):
        seen += len(frontier)
        scores = exact.action_scores(frontier)
        best = scores.max(axis=1)
        for row in range(len(frontier)):
            found = player.search(frontier[row : row + 1])
            assert found.is_proven
            assert found.best_actions() == np.flatnonzero(scores[row] == best[row]).tolist()
            assert max(scores_of(found).values()) == best[row]
        parents, actions = np.nonzero(TIC_TAC_TOE.legal_actions(frontier))
        children = TIC_TAC_TOE.step(frontier[parents], actions)
        frontier = np.unique(children[~TIC_TAC_TOE.is_over(children)])
    assert seen == 4520  # all unfinished positions there are


def test_solves_tic_tac_toe():
    found = alphabeta(TIC_TAC_TOE, 9).search(TIC_TAC_TOE.initial_states(1))
    assert found.is_proven
    assert scores_of(found) == dict.fromkeys(range(9), 0)


def test_solves_connect_four_with_twelve_empty_cells_at_once():
    player = alphabeta(CONNECT_FOUR, 42, num_nodes=100_000)
    positions = end_positions(12, 30, np.random.default_rng(5))
    player.search(positions[0])  # compiles
    seconds = []
    for state in positions:
        start = time.process_time()
        found = player.search(state)
        seconds.append(time.process_time() - start)
        num_moves = solve(CONNECT_FOUR.board(state)[0], int(CONNECT_FOUR.to_play(state)[0]))
        assert found.is_proven
        assert max(scores_of(found).values()) == np.sign(num_moves) * WIN - num_moves
    assert np.mean(seconds) < 0.2


# --- tactics ---


@pytest.mark.parametrize(
    ("moves", "depth", "best"),
    [
        ("4 1 4 1 4 1", 1, [3]),  # wins at once
        ("4 1 4 1 4", 2, [3]),  # has to block
        ("1 4 7 5", 4, [1, 2, 5]),  # or two stones become three with two open ends
    ],
)
def test_connect_four_tactics(moves, depth, best):
    state = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, moves))
    assert set(alphabeta(CONNECT_FOUR, depth).search(state).best_actions()) <= set(best)


def winning_actions(game, state):
    """Returns the actions that win a position [1] at once."""
    actions = np.flatnonzero(game.legal_actions(state)[0])
    after = game.step(state.repeat(len(actions)), actions)
    return actions[game.returns(after)[:, game.to_play(state)[0]] > 0].tolist()


def safe_actions(game, state):
    """Returns the actions after which the opponent cannot win a position [1] at once."""
    actions = np.flatnonzero(game.legal_actions(state)[0])
    after = game.step(state.repeat(len(actions)), actions)
    lost = game.returns(after)[:, game.to_play(state)[0]] < 0
    return [
        int(action)
        for row, action in enumerate(actions)
        if not lost[row]
        and (game.is_over(after)[row] or not winning_actions(game, after[row : row + 1]))
    ]


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "go_3x3", "go_5x5", "go_9x9"])
def test_takes_wins_and_parries_threats(name):
    game = make_game(name)
    rng = np.random.default_rng(11)
    player = alphabeta(game, 2)
    num_wins = num_parried = 0
    for state in np.split(random_states(game, rng, num_rows=60), 60):
        if name.startswith("go") and rng.random() < 0.5:  # only a pass can end a game
            state = game.step(state, [game.spec.pass_action])
            if game.is_over(state)[0]:
                continue
        action = int(player.choose_actions(state)[0])
        wins, safe = winning_actions(game, state), safe_actions(game, state)
        if wins:
            assert action in wins
            num_wins += 1
        elif safe:
            assert action in safe
            num_parried += len(safe) < game.legal_actions(state).sum()
    assert num_wins > 3
    assert num_parried > 3


def test_captures_and_saves_stones():
    game = make_game("go_7x7:komi=0")

    def stones(*moves):
        return [game.text_to_action(move) for move in moves]

    # The same white stones have one liberty; whoever moves first there gets them.
    black, white = stones("C3", "C4", "D5", "E5", "F4", "D2", "E2"), stones("D3", "D4", "E4", "E3")
    liberty = [game.text_to_action("F3")]
    for to_play in (0, 1):
        state = game.position(black, white, to_play)
        assert alphabeta(game, 1).search(state).best_actions() == liberty


# --- where it stops ---


def test_stops_where_the_result_is_proven():
    wins = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 1 4 1 4 1"))
    found = alphabeta(CONNECT_FOUR, 30).search(wins)
    assert (found.depth, found.is_proven) == (1, True)
    drawn = replay(TIC_TAC_TOE, parse_moves(TIC_TAC_TOE, "0 1 2 4 7 3 5"))
    found = alphabeta(TIC_TAC_TOE, 9).search(drawn)
    assert (found.depth, found.is_proven, max(scores_of(found).values())) == (2, True, 0)


def test_looks_as_deep_as_it_may():
    state = CONNECT_FOUR.initial_states(1)
    found = alphabeta(CONNECT_FOUR, 3).search(state)
    assert (found.depth, found.is_proven) == (3, False)


def test_depth_6_on_connect_four_takes_far_less_than_a_second():
    player = alphabeta(CONNECT_FOUR, 6)
    states = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 4 3 5"))
    player.choose_actions(states)
    start = time.process_time()  # what others do on the machine does not count
    player.choose_actions(states)
    assert time.process_time() - start < 1.0


# --- a player and an advisor ---


def test_equal_moves_are_drawn_by_seed():
    corners = replay(TIC_TAC_TOE, parse_moves(TIC_TAC_TOE, "4")).repeat(70)
    actions = alphabeta(TIC_TAC_TOE, 2, seed=1).choose_actions(corners)
    again = alphabeta(TIC_TAC_TOE, 2, seed=1).choose_actions(corners)
    assert (actions == again).all()
    assert set(actions.tolist()) == {0, 2, 6, 8}


def test_a_move_does_not_depend_on_the_other_rows():
    states = random_states(CONNECT_FOUR, np.random.default_rng(0), num_rows=6, most_moves=20)
    player = alphabeta(CONNECT_FOUR, 4)
    forth = [player.search(states[row : row + 1]) for row in range(6)]
    back = [player.search(states[row : row + 1]) for row in reversed(range(6))]
    assert forth == back[::-1]


@pytest.mark.parametrize("game", GAMES, ids=name_of)
def test_advice_is_ordered_and_starts_with_what_would_be_played(game):
    player = alphabeta(game, 3)
    assert isinstance(player, Advisor)
    states = random_states(game, np.random.default_rng(2), num_rows=3, most_moves=5)
    for row, advice in enumerate(player.analyse(states)):
        legal = np.flatnonzero(game.legal_actions(states)[row]).tolist()
        assert sorted(move.action for move in advice) == legal
        values = [move.value for move in advice]
        assert values == sorted(values, reverse=True)
        assert all(-1 <= value <= 1 for value in values)
        assert advice[0].action in player.search(states[row : row + 1]).best_actions()
        assert {(move.visit_share, move.prior, move.num_visits) for move in advice} == {(0, 0, 0)}
        assert not any(move.is_bound for move in advice)
        assert [move.move for move in advice] == [game.action_to_text(m.action) for m in advice]


def test_advice_tells_wins_losses_and_guesses_apart():
    wins = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 1 4 1 4 1"))
    best, *others = alphabeta(CONNECT_FOUR, 2).analyse(wins)[0]
    assert (best.move, best.plies_to_end, best.depth) == ("4", 1, 1)
    assert best.value > 0.999
    assert all(abs(move.value) < 0.999 and move.plies_to_end is None for move in others)
    has_to_block = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 1 4 1 4"))
    best, *others = alphabeta(CONNECT_FOUR, 2).analyse(has_to_block)[0]
    assert (best.move, best.plies_to_end, best.depth) == ("4", None, 2)
    assert abs(best.value) < 0.999
    assert len(others) == 6
    assert all(move.value < -0.999 and move.plies_to_end == 2 for move in others)


def test_refuses_finished_games_and_numbers_below_one():
    with pytest.raises(PlayerError, match="depth: got 0"):
        alphabeta(CONNECT_FOUR, 0)
    with pytest.raises(PlayerError, match="nodes: got 0"):
        alphabeta(CONNECT_FOUR, 1, num_nodes=0)
    over = replay(CONNECT_FOUR, parse_moves(CONNECT_FOUR, "4 1 4 1 4 1 4"))
    for ask in (alphabeta(CONNECT_FOUR, 1).choose_actions, alphabeta(CONNECT_FOUR, 1).analyse):
        with pytest.raises(FinishedGameError):
            ask(over)


def test_whoever_has_to_stop_answers_by_what_was_found():
    player = alphabeta(CONNECT_FOUR, 40, num_nodes=10**9)
    states = CONNECT_FOUR.initial_states(1)
    player.should_stop = lambda: True
    assert player.search(states).depth == 1
    left = iter(range(500))
    player.should_stop = lambda: next(left, None) is None
    assert 2 < player.search(states).depth < 10
    assert player.choose_actions(states)[0] in range(7)
