"""The picture of a position: stones where they lie, bars as high as the probabilities."""

import numpy as np
import pytest

from alphago.games import GAME_NAMES, make_game
from alphago.games.notation import replay
from train.pictures import draw_position

GREY, ORANGE = (120, 120, 120), (230, 150, 30)
FIRST, SECOND = (200, 60, 50), (50, 90, 190)
MARGIN, CELL, BAR = 12, 28, 90


def count(pixels: np.ndarray, colour: tuple[int, int, int]) -> int:
    return int((pixels == np.array(colour)).all(axis=2).sum())


def colour_of_cell(pixels: np.ndarray, row: int, column: int) -> tuple[int, ...]:
    middle = pixels[MARGIN + row * CELL + CELL // 2, MARGIN + column * CELL + CELL // 2]
    return tuple(middle.tolist())


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_game_can_be_drawn(name: str) -> None:
    game = make_game(name)
    policy, target = np.zeros((2, game.spec.num_actions), np.float32)
    policy[0], target[-1] = 1.0, 1.0
    pixels = draw_position(game, game.initial_states(1), policy=policy, target=target)
    assert pixels.dtype == np.uint8
    assert pixels.ndim == 3
    assert pixels.shape[2] == 3
    assert count(pixels, FIRST) == count(pixels, SECOND) == 0
    assert count(pixels, GREY) > 0
    assert count(pixels, ORANGE) > 0


@pytest.mark.parametrize("moves", [[0, 1], [0, 1, 3]])
def test_stones_keep_their_colour_whoever_is_to_move(moves: list[int]) -> None:
    game = make_game("connect_four")
    nothing = np.zeros(7, np.float32)
    pixels = draw_position(game, replay(game, moves), policy=nothing, target=nothing)
    assert colour_of_cell(pixels, 5, 0) == FIRST  # row 0 is the top
    assert colour_of_cell(pixels, 5, 1) == SECOND
    assert colour_of_cell(pixels, 5, 3) == (FIRST if len(moves) == 3 else (250, 248, 240))
    assert colour_of_cell(pixels, 4, 0) == (250, 248, 240)


def test_a_bar_is_as_high_as_its_probability() -> None:
    game = make_game("connect_four")
    policy, target = np.zeros(7, np.float32), np.zeros(7, np.float32)
    policy[4], target[2] = 1.0, 0.5
    pixels = draw_position(game, game.initial_states(1), policy=policy, target=target)
    grey = (pixels == np.array(GREY)).all(axis=2)
    orange = (pixels == np.array(ORANGE)).all(axis=2)
    # Bars of nothing are a line, overdrawn by the axis.
    assert grey.any(axis=1).sum() == pytest.approx(BAR, abs=2)
    assert orange.any(axis=1).sum() == pytest.approx(BAR / 2, abs=2)
    assert np.flatnonzero(grey.any(axis=0)).min() > np.flatnonzero(orange.any(axis=0)).max()


def test_a_square_on_a_cell_has_the_area_of_its_probability() -> None:
    game = make_game("tic_tac_toe")
    policy, target = np.zeros(9, np.float32), np.zeros(9, np.float32)
    target[5] = 0.25
    pixels = draw_position(game, game.initial_states(1), policy=policy, target=target)
    orange = (pixels == np.array(ORANGE)).all(axis=2)
    assert orange.any(axis=1).sum() == pytest.approx(CELL / 2, abs=1)
    assert colour_of_cell(pixels, 1, 2) == ORANGE  # row 1, column 2 is action 5
    policy[5] = 1.0
    pixels = draw_position(game, game.initial_states(1), policy=policy, target=target)
    grey = (pixels == np.array(GREY)).all(axis=2)
    assert grey.any(axis=1).sum() == pytest.approx(CELL, abs=1)
    assert colour_of_cell(pixels, 1, 2) == ORANGE  # an outline leaves the search's square


def test_pictures_stay_wide_enough_for_many_actions() -> None:
    game = make_game("connect_four")
    policy = np.full(7, 1 / 7, np.float32)
    pixels = draw_position(game, game.initial_states(1), policy=policy, target=policy)
    height, width, _ = pixels.shape
    assert width == 7 * CELL + 2 * MARGIN
    assert height == 6 * CELL + BAR + 4 * MARGIN
