"""A picture of a position and its policies for TensorBoard; knows nothing about any game."""

import math

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from alphago.games.game import Game, GameSpec
from alphago.types import EMPTY, FloatArray, Int8Array, States

_CELL = 28  # pixels per cell of the board
_BAR = 90  # pixels of a bar of probability 1
_MARGIN = 12
_BACKGROUND = (250, 248, 240)
_GRID = (190, 180, 150)
_INK = (40, 40, 40)
_STONES = ((200, 60, 50), (50, 90, 190))  # player 0, player 1
_NETWORK = (120, 120, 120)
_SEARCH = (230, 150, 30)


def draw_position(
    game: Game, state: States, *, policy: FloatArray, target: FloatArray
) -> npt.NDArray[np.uint8]:
    """Draws the board, and what network (grey) and search (orange) think of the actions.

    Where an action is a cell, squares on the cells are as large as the probabilities. All other
    actions (a pass, the columns of Connect Four) have two bars each below the board.

    Args:
        game: the rules.
        state: [1] the position.
        policy: float32 [A], the network's probabilities.
        target: float32 [A], the search's.

    Returns:
        uint8 [height, width, 3], red, green, blue.
    """
    board = game.board(state)[0]
    height, width = board.shape
    num_cells = _num_cell_actions(game.spec)
    num_bars = game.spec.num_actions - num_cells
    bar_width = max(2, (width * _CELL) // (2 * max(num_bars, 1)))
    image_width = max(width * _CELL, 2 * bar_width * num_bars) + 2 * _MARGIN
    bars_height = _BAR + 2 * _MARGIN if num_bars else 0
    image = Image.new("RGB", (image_width, height * _CELL + 2 * _MARGIN + bars_height), _BACKGROUND)
    draw = ImageDraw.Draw(image)
    _draw_board(draw, board)
    if num_cells:
        shape = (height, width)
        _draw_squares(draw, policy[:num_cells].reshape(shape), target[:num_cells].reshape(shape))
    if num_bars:
        top = height * _CELL + 2 * _MARGIN
        _draw_bars(draw, policy[num_cells:], target[num_cells:], top=top, bar_width=bar_width)
    return np.asarray(image, dtype=np.uint8)


def _num_cell_actions(spec: GameSpec) -> int:
    """Returns H * W if the first actions are the cells of the board, rows first, else 0."""
    _, height, width = spec.observation_shape
    num_cells = height * width
    others = {spec.pass_action} - {None}
    return num_cells if spec.num_actions == num_cells + len(others) else 0


def _draw_board(draw: ImageDraw.ImageDraw, board: Int8Array) -> None:
    for row, column in np.ndindex(*board.shape):
        left, top = _MARGIN + column * _CELL, _MARGIN + row * _CELL
        draw.rectangle((left, top, left + _CELL, top + _CELL), outline=_GRID)
        if board[row, column] != EMPTY:
            box = (left + 4, top + 4, left + _CELL - 4, top + _CELL - 4)
            draw.ellipse(box, fill=_STONES[board[row, column]])


def _draw_squares(draw: ImageDraw.ImageDraw, policy: FloatArray, target: FloatArray) -> None:
    """Draws probabilities [H, W]: the search's as filled squares, the network's as outlines."""
    for row, column in np.ndindex(*policy.shape):
        centre = (_MARGIN + (column + 0.5) * _CELL, _MARGIN + (row + 0.5) * _CELL)
        if target[row, column] > 0:
            draw.rectangle(_square(centre, float(target[row, column])), fill=_SEARCH)
        if policy[row, column] > 0:
            draw.rectangle(_square(centre, float(policy[row, column])), outline=_NETWORK)


def _square(centre: tuple[float, float], share: float) -> tuple[float, float, float, float]:
    """Returns the square around a point whose area is a share of the cell's."""
    half = 0.5 * _CELL * math.sqrt(share)
    return centre[0] - half, centre[1] - half, centre[0] + half, centre[1] + half


def _draw_bars(
    draw: ImageDraw.ImageDraw, policy: FloatArray, target: FloatArray, *, top: int, bar_width: int
) -> None:
    bottom = top + _BAR
    for index, pair in enumerate(zip(policy, target, strict=True)):
        for offset, (share, colour) in enumerate(zip(pair, (_NETWORK, _SEARCH), strict=True)):
            left = _MARGIN + (2 * index + offset) * bar_width
            height = round(float(share) * _BAR)
            draw.rectangle((left, bottom - height, left + bar_width - 1, bottom), fill=colour)
    draw.line((_MARGIN, bottom, _MARGIN + 2 * bar_width * len(policy), bottom), fill=_INK)
