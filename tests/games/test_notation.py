"""Reading, writing, replaying and checking moves; random openings."""

import numpy as np
import pytest

from alphago.errors import IllegalActionError, NotationError
from alphago.games import make_game
from alphago.games.notation import check_legal, format_moves, parse_moves, replay
from alphago.games.random_play import random_actions, random_game, random_legal_actions
from tests.games.playthrough import GOLDEN_NAMES
from tests.reference.forced_pass_game import ForcedPassGame


@pytest.mark.parametrize("text", ["1 1 2", "112", "1,1,2", " 1\n1\t2\n", "1, 1, 2,", "11 2"])
def test_moves_may_be_separated_or_not(text: str) -> None:
    assert parse_moves(make_game("connect_four"), text) == [0, 0, 1]


def test_moves_of_several_letters_must_be_separated() -> None:
    game = ForcedPassGame()
    assert parse_moves(game, "0 pass,7") == [0, 8, 7]
    with pytest.raises(NotationError, match="move 2 of 2: .*'07'"):
        parse_moves(game, "pass 07")


def test_no_moves_is_an_empty_list() -> None:
    assert parse_moves(make_game("tic_tac_toe"), "") == []
    assert parse_moves(make_game("tic_tac_toe"), " \n") == []


@pytest.mark.parametrize(("text", "number"), [("1 8", 2), ("10", 2), ("-1", 1), ("1 3.5", 3)])
def test_unreadable_move_is_named_with_its_place(text: str, number: int) -> None:
    with pytest.raises(NotationError, match=f"move {number} of"):
        parse_moves(make_game("connect_four"), text)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_parsing_undoes_formatting_and_replay_ends_the_game(name: str) -> None:
    game = make_game(name)
    for seed in range(20):
        actions = random_game(game, np.random.default_rng(seed))
        assert parse_moves(game, format_moves(game, actions)) == actions
        assert game.is_over(replay(game, actions)).tolist() == [True]
        assert game.is_over(replay(game, actions[:-1])).tolist() == [False]


def test_replay_names_ply_move_and_legal_moves() -> None:
    game = make_game("connect_four")
    with pytest.raises(IllegalActionError, match="ply 7: .* 1 is illegal here, allowed: 2 3 4 5"):
        replay(game, [0] * 7)
    with pytest.raises(IllegalActionError, match="ply 8: .* 5 cannot be played, the game is over"):
        replay(game, [0, 1, 0, 1, 0, 1, 0, 4])
    with pytest.raises(IllegalActionError, match="ply 1: .* got action 7, allowed: 0 to 6"):
        replay(game, [7])


def test_check_legal_names_the_first_bad_row() -> None:
    game = make_game("tic_tac_toe")
    states = game.step(game.initial_states(2), [0, 1])
    check_legal(game, states, [1, 0])
    with pytest.raises(IllegalActionError, match="row 1: 1 is illegal here, allowed: 0 2 3"):
        check_legal(game, states, [1, 1])
    for wrong in ([9, 0], [-1, 0], [0.5, 0.0], [1]):
        with pytest.raises(IllegalActionError):
            check_legal(game, states, wrong)


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_same_seed_gives_the_same_game_and_another_seed_another(name: str) -> None:
    game = make_game(name)
    assert random_game(game, np.random.default_rng(1)) == random_game(
        game, np.random.default_rng(1)
    )
    games = {tuple(random_game(game, np.random.default_rng(seed))) for seed in range(20)}
    assert len(games) >= 18


def test_opening_has_the_asked_length_or_stops_before_the_end() -> None:
    game = make_game("tic_tac_toe")
    assert random_actions(game, np.random.default_rng(0), num_moves=0) == []
    lengths = set()
    for seed in range(50):
        assert len(random_actions(game, np.random.default_rng(seed), num_moves=4)) == 4
        actions = random_actions(game, np.random.default_rng(seed), num_moves=20)
        assert not game.is_over(replay(game, actions))[0]
        lengths.add(len(actions))
    assert lengths == {4, 5, 6, 7, 8}  # the game may end with any move from the fifth on


def test_random_actions_are_legal_and_equally_likely() -> None:
    game = make_game("connect_four")
    states = replay(game, [0] * 6).repeat(12_000)
    actions = random_legal_actions(game, states, rng=np.random.default_rng(3))
    counts = np.bincount(actions, minlength=7)
    assert counts[0] == 0
    assert (abs(counts[1:] - 2_000) < 200).all()  # five standard deviations of 41
