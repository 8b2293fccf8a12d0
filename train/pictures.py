"""A picture of a position and its policies for TensorBoard; knows nothing about any game."""

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from alphago.games.game import Game
from alphago.types import FloatArray, States

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
    """Draws the board and, below it, two bars per action: what network and search think.

    Planes 0 and 1 of the observation must be the stones of the player to move and of the opponent,
    as in every game so far.

    Args:
        game: the rules.
        state: [1] the position.
        policy: float32 [A], the network's probabilities (grey bars).
        target: float32 [A], the search's (orange bars).

    Returns:
        uint8 [height, width, 3], red, green, blue.
    """
    planes = game.observe(state)[0]
    _, height, width = planes.shape
    num_actions = game.spec.num_actions
    bar_width = max(2, (width * _CELL) // (2 * num_actions))
    image_width = max(width * _CELL, 2 * bar_width * num_actions) + 2 * _MARGIN
    image = Image.new("RGB", (image_width, height * _CELL + _BAR + 4 * _MARGIN), _BACKGROUND)
    draw = ImageDraw.Draw(image)
    _draw_board(draw, planes, mover=int(game.to_play(state)[0]))
    _draw_bars(draw, policy, target, top=height * _CELL + 2 * _MARGIN, bar_width=bar_width)
    return np.asarray(image, dtype=np.uint8)


def _draw_board(draw: ImageDraw.ImageDraw, planes: npt.NDArray[np.uint8], *, mover: int) -> None:
    _, height, width = planes.shape
    for row in range(height):
        for column in range(width):
            left, top = _MARGIN + column * _CELL, _MARGIN + row * _CELL
            draw.rectangle((left, top, left + _CELL, top + _CELL), outline=_GRID)
            for plane, player in ((0, mover), (1, 1 - mover)):
                if planes[plane, row, column]:
                    draw.ellipse(
                        (left + 4, top + 4, left + _CELL - 4, top + _CELL - 4), fill=_STONES[player]
                    )


def _draw_bars(
    draw: ImageDraw.ImageDraw, policy: FloatArray, target: FloatArray, *, top: int, bar_width: int
) -> None:
    bottom = top + _BAR
    for action, pair in enumerate(zip(policy, target, strict=True)):
        for offset, (share, colour) in enumerate(zip(pair, (_NETWORK, _SEARCH), strict=True)):
            left = _MARGIN + (2 * action + offset) * bar_width
            height = round(float(share) * _BAR)
            draw.rectangle((left, bottom - height, left + bar_width - 1, bottom), fill=colour)
    draw.line((_MARGIN, bottom, _MARGIN + 2 * bar_width * len(policy), bottom), fill=_INK)
