"""Chains, captures, suicide and ko on drawn boards."""

import numpy as np
import pytest

from alphago.errors import IllegalActionError, RulesError
from alphago.games.go.board import is_atari, liberty
from tests.games.go.drawn import board_of, drawn, legal_moves, play

KO = """
    .XO.
    XO.O
    .XO.
    ....
"""


def test_pseudo_liberties_tell_atari() -> None:
    assert is_atari(liberty(7))
    assert is_atari(3 * liberty(624))  # three stones beside the same cell
    assert is_atari(2 * liberty(0))
    assert not is_atari(liberty(0) + liberty(1))
    assert not is_atari(2 * liberty(623) + liberty(624))
    assert not is_atari(sum(liberty(cell) for cell in (3, 4, 5)))


def test_largest_chain_does_not_overflow() -> None:
    # More pseudo-liberties than any chain on 25x25 can have.
    assert not is_atari(2499 * liberty(624) + liberty(623))
    assert is_atari(2500 * liberty(624))


def test_single_stones_and_chains_are_captured_and_counted() -> None:
    game, states = drawn("""
        .OX..
        OOX..
        XX...
        .....
        ...XO
    """)
    states = play(game, states, "A5")
    assert board_of(game, states) == ["X.X..", "..X..", "XX...", ".....", "...XO"]
    states = play(game, states, "pass E2")
    assert board_of(game, states)[3:] == ["....X", "...X."]
    assert game.captures(states).tolist() == [[4, 0]]


def test_one_play_captures_three_chains() -> None:
    game, states = drawn("""
        XO.OX
        .XOX.
        ..X..
    """)
    states = play(game, states, "C3")
    assert board_of(game, states) == ["X.X.X", ".X.X.", "..X.."]
    assert game.captures(states).tolist() == [[3, 0]]


def test_chains_stay_right_through_merges_and_captures() -> None:
    """A ring is closed by its last stone, then the stones inside and around it are taken."""
    game, states = drawn("""
        .OOO.
        OXXXO
        OX.XO
        OX.XO
        .OOO.
    """)
    states = play(game, states, "C2 pass")  # both chains become one, its last liberty is C3
    assert "C3" not in legal_moves(game, states)
    states = play(game, states, "pass")
    assert game.num_passes(states).tolist() == [2]
    states = game.with_to_play(game.with_to_play(states, 1), 0)
    states = play(game, game.with_to_play(states, 1), "C3")
    assert board_of(game, states) == [".OOO.", "O...O", "O.O.O", "O...O", ".OOO."]
    assert game.captures(states).tolist() == [[0, 8]]


def test_suicide_of_one_stone_is_never_legal() -> None:
    for suicide in ("true", "false"):
        game, states = drawn(".O.\nO..\n...", suicide=suicide)
        assert "A3" not in legal_moves(game, states)
        with pytest.raises(IllegalActionError, match="A3 is illegal here"):
            play(game, states, "A3")


def test_suicide_of_two_stones_is_a_rule() -> None:
    drawing = """
        O..
        XO.
        .O.
    """
    game, states = drawn(drawing)
    assert "A1" not in legal_moves(game, states)
    game, states = drawn(drawing, suicide="true")
    states = play(game, states, "A1")
    assert board_of(game, states) == ["O..", ".O.", ".O."]
    assert game.captures(states).tolist() == [[0, 2]]


def test_filling_the_own_last_liberty_is_legal_where_it_captures() -> None:
    game, states = drawn("""
        X..
        OX.
        .OX
    """)
    states = play(game, states, "A1")
    assert board_of(game, states) == ["X..", ".X.", "X.X"]


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_ko_may_not_be_taken_back_at_once(ko: str) -> None:
    game, states = drawn(KO, ko=ko)
    taken = play(game, states, "C3")
    assert board_of(game, taken)[:2] == [".XO.", "X.XO"]
    assert "B3" not in legal_moves(game, taken)
    later = play(game, taken, "A1 D1")
    assert "B3" in legal_moves(game, later)
    assert "B3" in legal_moves(game, game.with_to_play(taken, 0)), "Black may fill the ko"


@pytest.mark.parametrize("ko", ["simple", "positional"])
def test_capture_of_two_stones_is_no_ko(ko: str) -> None:
    game, states = drawn(
        """
        .OOX.
        OXX.X
        .OOX.
        .....
        """,
        to_play=1,
        ko=ko,
    )
    states = play(game, states, "D3")
    assert board_of(game, states)[:3] == [".OOX.", "O..OX", ".OOX."]
    states = play(game, states, "C3")  # takes one stone back, which leaves another board
    assert board_of(game, states)[:3] == [".OOX.", "O.X.X", ".OOX."]


@pytest.mark.parametrize("ko", ["simple", "positional"])
def test_stone_that_takes_one_and_joins_a_chain_makes_no_ko(ko: str) -> None:
    drawing = """
        .XOO.
        XO.XO
        .XOO.
        .....
    """
    game, states = drawn(drawing, ko=ko)
    states = play(game, states, "C3")
    assert board_of(game, states)[1] == "X.XXO"
    states = play(game, states, "B3")
    assert board_of(game, states)[1] == "XO..O"
    assert game.captures(states).tolist() == [[1, 2]]


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_no_false_ko_after_a_capture_of_three(ko: str) -> None:
    game, states = drawn(".....\n.....\n.....\n.....\n.....", ko=ko)
    states = play(
        game,
        states,
        "B5 B2 E4 B3 E3 B4 E1 E5 pass C2 B1 D2 D3 D1 D4 A5 A4 pass A2 E2 C1 pass C3 A3 C5 pass D5",
    )
    captured = game.captures(states)[0, 1]
    states = play(game, states, "A1")
    assert game.captures(states)[0, 1] == captured + 3
    assert "B1" in legal_moves(game, states)


@pytest.mark.parametrize(
    ("ko", "expected"), [("simple", True), ("positional", False), ("situational", True)]
)
def test_sending_two_and_returning_one(ko: str, expected: bool) -> None:
    """Black's second H9 gives the board after White's E5, but with White to move."""
    game, states = drawn("\n".join(["." * 9] * 9), ko=ko)
    states = play(game, states, "G8 J8 F9 H8 H9 E5 J9 G9")
    assert game.captures(states).tolist() == [[0, 2]]
    assert ("H9" in legal_moves(game, states)) == expected


REBUILT = """
    .XO..
    OOO..
    .....
"""


@pytest.mark.parametrize(
    ("ko", "expected"), [("simple", True), ("positional", False), ("situational", True)]
)
def test_plain_play_can_recreate_a_board(ko: str, expected: bool) -> None:
    """After a suicide of two stones the first of them comes back: no capture, no suicide."""
    game, states = drawn(REBUILT, ko=ko, suicide="true")
    states = play(game, states, "A3 pass")
    assert board_of(game, states)[0] == "..O.."
    # The drawn board had Black to move, now it would have White.
    assert ("B3" in legal_moves(game, states)) == expected
    assert "A3" in legal_moves(game, states), "another board"


def test_position_made_by_a_pass_counts_for_situational_superko() -> None:
    game, states = drawn(REBUILT, to_play=1, ko="situational", suicide="true")
    states = play(game, states, "pass A3 pass")
    assert "B3" not in legal_moves(game, states)


def test_position_given_to_the_other_player_counts_for_situational_superko() -> None:
    game, states = drawn(REBUILT, to_play=1, ko="situational", suicide="true")
    states = play(game, game.with_to_play(states, 0), "A3 pass")
    assert "B3" not in legal_moves(game, states)


def test_refused_move_changes_nothing() -> None:
    game, states = drawn(KO)
    before = states.tobytes()
    for action in (-1, 17, 1):
        with pytest.raises(IllegalActionError):
            game.step(states, [action])
    assert states.tobytes() == before


def test_other_rows_are_left_alone() -> None:
    game, states = drawn(KO)
    both = game.step(np.concatenate([states, states]), [game.text_to_action("C3"), 16])
    assert board_of(game, both[:1])[1] == "X.XO"
    assert board_of(game, both[1:])[1] == "XO.O"


@pytest.mark.parametrize(
    ("black", "white", "message"),
    [
        ([0, 0], [], "two stones at A3"),
        ([0], [0], "two stones at A3"),
        ([9], [], "a stone at 9, allowed: 0 to 8"),
        ([-1], [], "a stone at -1"),
        ([0], [1, 3], "a chain without liberty at A3"),
        ([1, 3], [0], "a chain without liberty at A3"),
    ],
)
def test_impossible_positions_are_refused(black: list[int], white: list[int], message: str) -> None:
    game, _ = drawn("...\n...\n...")
    with pytest.raises(RulesError, match=message):
        game.position(black, white, 0)


def test_set_up_position_is_the_first_of_the_history() -> None:
    """White may not take back where that gives the position the game began with."""
    game, states = drawn(KO, ko="positional")
    assert "B3" not in legal_moves(game, play(game, states, "C3"))
    assert game.num_moves(states).tolist() == [0]
    assert game.last_action(states).tolist() == [-1]
