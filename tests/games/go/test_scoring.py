"""Area, territory, dead stones and pass-alive stones on drawn boards, counted by hand."""

import numpy as np
import pytest

from tests.games.go.drawn import actions_of, drawn, lines_of, play

SPLIT = """
    .XO..
    .XO.X
    .XO..
"""


def dead_stones(game, *moves: str) -> np.ndarray:
    dead = np.zeros((1, game.height, game.width), np.bool_)
    dead.reshape(1, -1)[0, actions_of(game, moves)] = True
    return dead


def test_area_counts_stones_and_regions_of_one_colour() -> None:
    game, states = drawn(SPLIT, komi="0.5")
    assert lines_of(game.owners(states)[0]) == ["XXO..", "XXO.X", "XXO.."]
    # Black 6 + the stone E2, White 3; the region around E2 touches both.
    assert game.score(states).tolist() == [7 - 3 - 0.5]


def test_dead_stones_are_taken_off_first() -> None:
    game, states = drawn(SPLIT, komi="0.5")
    dead = dead_stones(game, "E2")
    assert lines_of(game.owners(states, dead)[0]) == ["XXOOO", "XXOOO", "XXOOO"]
    assert game.score(states, dead).tolist() == [6 - 9 - 0.5]
    assert game.score(states).tolist() == [3.5], "the state itself is left as it is"


def test_territory_counts_empty_points_and_prisoners() -> None:
    game, states = drawn(SPLIT, rules="japanese", komi="0.5")
    # Black's three empty points; White has none while E2 lives.
    assert game.score(states).tolist() == [3 - 0 - 0.5]
    # E2 dead: White's six points and one prisoner.
    assert game.score(states, dead_stones(game, "E2")).tolist() == [3 - 7 - 0.5]


@pytest.mark.parametrize(("rules", "expected"), [("japanese", 10 + 1), ("chinese", 15)])
def test_captured_stones_count_under_territory_only(rules: str, expected: int) -> None:
    game, states = drawn("OX...\n.X...\nXX...", rules=rules, komi="0")
    states = play(game, states, "A2")
    assert game.captures(states).tolist() == [[1, 0]]
    # Black has five stones; the other ten points are empty, and all are Black's.
    assert game.score(states).tolist() == [expected]


def test_shared_liberties_of_a_seki_are_nobodys() -> None:
    game, states = drawn(
        """
        .XO.OX.
        XXO.OX.
        OOO.OXX
        ......X
    """,
        komi="0",
    )
    owners = lines_of(game.owners(states)[0])
    assert owners[0] == "XXO.OXX"


def test_region_that_winds_is_one_region() -> None:
    game, states = drawn(
        """
        ......X
        XXXXX.X
        ......X
        .XXXXXX
        .......
        XXXXXX.
        O......
    """,
        komi="0",
    )
    owners = lines_of(game.owners(states)[0])
    # One corridor from end to end; the white stone at its far end makes all of it neutral.
    assert owners == ["......X", "XXXXX.X", "......X", ".XXXXXX", ".......", "XXXXXX.", "O......"]
    assert lines_of(game.owners(states, dead_stones(game, "A1"))[0]) == ["XXXXXXX"] * 7


def test_empty_board_is_nobodys() -> None:
    game, states = drawn("...\n...", komi="7.5")
    assert lines_of(game.owners(states)[0]) == ["...", "..."]
    assert game.score(states).tolist() == [-7.5]


def test_handicap_bonus_is_in_the_score() -> None:
    game, _ = drawn("\n".join(["." * 9] * 9))
    for bonus, expected in (("0", 81 - 7.5), ("N-1", 81 - 7.5 - 2), ("N", 81 - 7.5 - 3)):
        handicap = type(game).from_text("go_9x9", {"handicap": "3", "handicap_bonus": bonus})
        assert handicap.score(handicap.initial_states(1)).tolist() == [expected]


def test_draw_at_integer_komi() -> None:
    for komi, expected in (("5", 0), ("5.5", -0.5), ("4.5", 0.5), ("-3", 8)):
        game, states = drawn("..XO.\n" * 5, komi=komi)
        ended = play(game, states, "pass pass")
        assert game.score(ended).tolist() == [expected]
        assert game.returns(ended).tolist() == [[np.sign(expected), -np.sign(expected)]]
        assert game.returns(states).tolist() == [[0, 0]]


# --- pass-alive ---


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        # Two eyes.
        (".X.X.\nXXXXX\n.....", "XXXXX\nXXXXX\nXXXXX"),
        # One eye of two points is no two eyes; the outside is not small enough to be one.
        ("..X..\nXXX..\n.....\n.....", ".....\n.....\n.....\n....."),
        # Two chains that share two eyes live together.
        (".X.X\nX.X.\n.X.X\nXXX.", "XXXX\nXXXX\nXXXX\nXXXX"),
        # A white stone in an eye of two points is Black's in the end.
        ("OX.X.\n.XXXX\nXX...\n.....", "XXXXX\nXXXXX\nXX...\n....."),
        # No stones, no life.
        ("...\n...", "...\n..."),
        # On one row.
        (".X.X.", "XXXXX"),
    ],
)
def test_pass_alive(drawing: str, expected: str) -> None:
    game, states = drawn(drawing)
    assert lines_of(game.pass_alive(states)[0]) == expected.split()


@pytest.mark.parametrize(("suicide", "expected"), [("false", "XXXXX"), ("true", ".....")])
def test_eye_has_to_hold_against_suicide_where_that_is_legal(suicide: str, expected: str) -> None:
    """White's stone in the corner eye touches no black one: a suicide might empty its point."""
    game, states = drawn("O.X.X\n.XXXX\nXX...\n.....", suicide=suicide)
    assert lines_of(game.pass_alive(states)[0])[0] == expected


def test_chain_with_one_eye_and_a_false_one_is_not_pass_alive() -> None:
    game, states = drawn("""
        .XO..
        XO.O.
        .XO..
        XXO..
        OOO..
    """)
    assert lines_of(game.pass_alive(states)[0])[0][0] == "."


def test_large_territory_of_pass_alive_stones_is_not_theirs_for_ever() -> None:
    game, states = drawn("""
        .X.X......
        XXXX......
        ..........
        ..........
    """)
    owners = lines_of(game.pass_alive(states)[0])
    assert owners == ["XXXX......", "XXXX......", "..........", ".........."]
