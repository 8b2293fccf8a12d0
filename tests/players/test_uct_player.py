import numpy as np
import pytest

from alphago.errors import FinishedGameError, PlayerError
from alphago.games import make_game
from alphago.games.notation import parse_moves, replay
from alphago.players import Advisor, make_player
from alphago.players.uct_player import UctPlayer
from tests.reference.forced_pass_game import ForcedPassGame


def player(game, text="uct:playouts=1000", seed=0):
    return make_player(text, game=game, seed=seed)


@pytest.mark.parametrize(
    ("name", "moves", "best"),
    [
        ("tic_tac_toe", "0 3 1 4", "2"),  # wins
        ("tic_tac_toe", "0 4 1", "2"),  # blocks
        ("tic_tac_toe", "4 0 8 2", "1"),  # blocks
        ("connect_four", "4 1 4 1 4 1", "4"),  # wins
        ("connect_four", "4 1 4 1 4", "4"),  # blocks
        ("connect_four", "1 7 2 7 3", "4"),  # blocks a row
    ],
)
def test_finds_wins_and_blocks_of_one_ply(name, moves, best):
    game = make_game(name)
    states = replay(game, parse_moves(game, moves))
    for seed in range(3):
        action = player(game, seed=seed).choose_actions(states)[0]
        assert game.action_to_text(int(action)) == best


def test_beats_random_on_a_small_board():
    game = make_game("go_5x5:komi=0.5")
    uct, random = player(game, "uct:playouts=100"), player(game, "random", seed=1)
    states = game.initial_states(10)
    movers = np.arange(10) % 2  # the seat of UCT
    results = np.zeros(10)
    rows = np.arange(10)
    while rows.size:
        to_play = game.to_play(states)
        actions = np.empty(len(rows), np.int64)
        for seat, who in ((True, uct), (False, random)):
            mine = (to_play == movers[rows]) == seat
            if mine.any():
                actions[mine] = who.choose_actions(states[mine])
        states = game.step(states, actions)
        over = game.is_over(states)
        results[rows[over]] = game.returns(states[over])[np.arange(over.sum()), movers[rows[over]]]
        rows, states = rows[~over], states[~over]
    assert (results == 1).all()


def test_never_fills_its_last_eyes_and_passes_when_nothing_else_is_left():
    game = make_game("go_5x5:komi=0.5")
    cells = "".join([".X.XO", "XXXXO", "XOOOO", "XO.O.", "XOOOO"])
    black = [cell for cell, mark in enumerate(cells) if mark == "X"]
    white = [cell for cell, mark in enumerate(cells) if mark == "O"]
    for mover in range(2):
        states = game.position(black, white, mover)
        action = player(game, "uct:playouts=50").choose_actions(states)[0]
        assert action == game.spec.pass_action


def test_takes_a_won_count_when_the_opponent_passes():
    game = make_game("go_5x5:komi=0.5")
    states = game.initial_states(1)
    for action in (12, 25, 7, 25, 17, 25, 11, 25, 13, 25):  # White passes and passes
        states = game.step(states, [action])
    action = player(game, "uct:playouts=200").choose_actions(states)[0]
    assert action == game.spec.pass_action


def test_plays_a_game_with_forced_passes():
    game = ForcedPassGame()
    states = game.initial_states(1)
    who = player(game, "uct:playouts=30")
    while not game.is_over(states)[0]:
        states = game.step(states, who.choose_actions(states))


def test_explains_itself():
    game = make_game("connect_four")
    who = player(game)
    assert isinstance(who, Advisor)
    (advice,) = who.analyse(replay(game, parse_moves(game, "4 1 4")))
    assert len(advice) == 7
    assert sum(move.visit_share for move in advice) == pytest.approx(1)
    shares = [move.visit_share for move in advice]
    assert shares == sorted(shares, reverse=True)
    assert advice[0].prior == pytest.approx(1 / 7)


def test_the_same_seed_plays_the_same():
    game = make_game("connect_four")
    states = game.initial_states(8)
    text = "uct:playouts=20"
    first = player(game, text, seed=3).choose_actions(states)
    assert (player(game, text, seed=3).choose_actions(states) == first).all()
    assert any((player(game, text, seed=s).choose_actions(states) != first).any() for s in (4, 5))


def test_large_batches_are_searched_in_parts(monkeypatch):
    monkeypatch.setattr("alphago.players.budget._MAX_BATCH_BYTES", 1)
    game = make_game("tic_tac_toe")
    result = UctPlayer(game, num_playouts=9, exploration=1.0, name="uct", seed=0).search(
        game.initial_states(3)
    )
    assert (result.visit_counts.sum(axis=1) == 9).all()


def test_refuses_finished_games_and_impossible_numbers():
    game = make_game("tic_tac_toe")
    with pytest.raises(FinishedGameError):
        player(game).choose_actions(replay(game, parse_moves(game, "0 1 3 4 6")))
    with pytest.raises(PlayerError, match="playouts: got 0"):
        UctPlayer(game, num_playouts=0, exploration=1.0, name="uct", seed=0)
    with pytest.raises(PlayerError, match="exploration: got nan"):
        UctPlayer(game, num_playouts=1, exploration=float("nan"), name="uct", seed=0)


# Positions in which one move wins at once, or one alone keeps the opponent from doing so.
ONE_PLY = [
    ("tic_tac_toe", "0 3 1 4", "2"),
    ("tic_tac_toe", "4 0 2 6 1", "3"),
    ("tic_tac_toe", "0 4 1", "2"),
    ("tic_tac_toe", "4 0 8 2", "1"),
    ("connect_four", "4 1 4 1 4 1", "4"),
    ("connect_four", "1 7 2 7 3 6", "4"),
    ("connect_four", "4 1 4 1 4", "4"),
    ("connect_four", "1 7 2 7 3", "4"),
    ("connect_four", "1 2 2 3 3 4 3 4 4 6", "4"),  # a diagonal
]


@pytest.mark.parametrize(("name", "moves", "best"), ONE_PLY)
@pytest.mark.parametrize("exploration", ["", ",exploration=1.414"])
def test_ten_thousand_playouts_find_every_win_and_block_of_one_ply(name, moves, best, exploration):
    game = make_game(name)
    states = replay(game, parse_moves(game, moves))
    action = player(game, f"uct:playouts=10000{exploration}").choose_actions(states)[0]
    assert game.action_to_text(int(action)) == best


@pytest.mark.parametrize(
    ("drawing", "mover", "best"),
    [
        # Black takes five stones at their last liberty, and with them the game.
        ("..... XXXXX OOOOO X.XXX ..X.X", 0, "B2"),
        # Each side can take the other's row, and loses its own if it does not.
        ("OOOO. XXXX. OOOO. XXXX. .....", 0, "E3"),
        ("OOOO. XXXX. OOOO. XXXX. .....", 1, "E4"),
    ],
)
def test_ten_thousand_playouts_find_captures_that_decide_a_small_game_of_go(drawing, mover, best):
    game = make_game("go_5x5:komi=0.5")
    cells = drawing.replace(" ", "")
    black, white = ([i for i, mark in enumerate(cells) if mark == who] for who in "XO")
    states = game.position(black, white, mover)
    action = player(game, "uct:playouts=10000").choose_actions(states)[0]
    assert game.action_to_text(int(action)) == best
