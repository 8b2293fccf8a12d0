"""Vertices, and the handicap table of GTP 2, section 4.1.1."""

import pytest

from alphago.errors import NotationError, RulesError
from alphago.games.go.vertices import (
    action_to_vertex,
    handicap_actions,
    star_points,
    vertex_to_action,
)


def test_lower_left_is_a1_and_row_0_is_on_top() -> None:
    assert vertex_to_action("A1", height=9, width=9) == 72
    assert vertex_to_action("A9", height=9, width=9) == 0
    assert vertex_to_action("J9", height=9, width=9) == 8  # no column I
    assert vertex_to_action("c2", height=3, width=5) == 7
    assert vertex_to_action(" PASS ", height=3, width=5) == 15


@pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (19, 19), (25, 25)])
def test_every_action_has_its_own_text(height: int, width: int) -> None:
    texts = [action_to_vertex(a, height=height, width=width) for a in range(height * width + 1)]
    assert len(set(texts)) == height * width + 1
    assert [vertex_to_action(t, height=height, width=width) for t in texts] == list(
        range(height * width + 1)
    )


@pytest.mark.parametrize(
    "text", ["", "I5", "A0", "A10", "K1", "5A", "A", "1", "A1 B2", "A01", "É1"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(NotationError, match="go_9x9.*A1 to J9"):
        vertex_to_action(text, height=9, width=9)


@pytest.mark.parametrize(
    ("size", "num_stones", "expected"),
    [
        (7, 2, "C3 E5"),
        (8, 4, "C3 C6 F3 F6"),
        (9, 5, "C3 C7 E5 G3 G7"),
        (13, 3, "D4 D10 K10"),
        (19, 6, "D4 D10 D16 Q4 Q10 Q16"),
        (19, 7, "D4 D10 D16 K10 Q4 Q10 Q16"),
        (19, 8, "D4 D10 D16 K4 K16 Q4 Q10 Q16"),
        (19, 9, "D4 D10 D16 K4 K10 K16 Q4 Q10 Q16"),
    ],
)
def test_handicap_stones(size: int, num_stones: int, expected: str) -> None:
    actions = handicap_actions(num_stones, height=size, width=size)
    assert len(actions) == num_stones
    assert {action_to_vertex(a, height=size, width=size) for a in actions} == set(expected.split())


@pytest.mark.parametrize(
    ("height", "width", "num_stones"),
    [(6, 6, 2), (7, 7, 5), (8, 8, 5), (19, 19, 1), (19, 19, 10), (9, 5, 2), (9, 10, 5)],
)
def test_handicaps_without_points_are_refused(height: int, width: int, num_stones: int) -> None:
    with pytest.raises(RulesError, match=f"handicap: got {num_stones} on go_{width}x{height}"):
        handicap_actions(num_stones, height=height, width=width)


def test_star_points_are_those_of_the_largest_handicap() -> None:
    assert len(star_points(height=19, width=19)) == 9
    assert len(star_points(height=8, width=8)) == 4
    assert star_points(height=5, width=5) == []
