"""Symmetries of boards: how to build them, combine them and apply them to arrays.

A `Symmetry` holds two gathers, one for cells and one for actions, so that a board, its observation,
its legal mask and its policy always move together. Each game declares its own list: a board's shape
alone does not tell which transformations keep the rules (a Connect Four board may be mirrored, but
not turned: stones fall).
"""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from alphago.games.game import Symmetry
from alphago.types import IntArray

Scalar = TypeVar("Scalar", bound=np.generic)


def board_symmetries(
    height: int, width: int, *, num_extra_actions: int = 0
) -> tuple[Symmetry, ...]:
    """Builds all symmetries of a board on which an action is a cell.

    Args:
        height: rows H of the board.
        width: columns W of the board.
        num_extra_actions: actions behind the H * W cells that no symmetry moves, such as a pass.

    Returns:
        Eight symmetries for a square, four for another rectangle; the first is the identity.
    """
    grid = np.arange(height * width).reshape(height, width)
    quarter_turns = (0, 1, 2, 3) if height == width else (0, 2)
    extra = np.arange(height * width, height * width + num_extra_actions)
    symmetries = []
    for flipped, start in ((False, grid), (True, np.fliplr(grid))):
        for num_turns in quarter_turns:
            cells = np.rot90(start, num_turns).reshape(-1).copy()
            name = "_".join(["mirror"] * flipped + [f"turn_{90 * num_turns}"] * (num_turns > 0))
            symmetries.append(Symmetry(name or "identity", cells, np.concatenate([cells, extra])))
    return tuple(symmetries)


def mirror_symmetries(height: int, width: int) -> tuple[Symmetry, ...]:
    """Builds identity and left-right mirror of a board on which an action is a column.

    Args:
        height: rows H of the board.
        width: columns W of the board, and number of actions.

    Returns:
        The identity and the mirror.
    """
    grid = np.arange(height * width).reshape(height, width)
    columns = np.arange(width)
    return (
        Symmetry("identity", grid.reshape(-1), columns),
        Symmetry("mirror", np.fliplr(grid).reshape(-1), columns[::-1].copy()),
    )


def transform_observations(
    observations: npt.NDArray[Scalar], symmetry: Symmetry
) -> npt.NDArray[Scalar]:
    """Applies a symmetry to planes.

    Args:
        observations: [..., H, W] planes of any dtype, observations as well as bare boards.
        symmetry: the transformation.

    Returns:
        [..., H, W], a new array.
    """
    shape = observations.shape
    cells = observations.reshape(*shape[:-2], shape[-2] * shape[-1])
    return np.take(cells, symmetry.cells, axis=-1).reshape(shape)


def transform_policies(policies: npt.NDArray[Scalar], symmetry: Symmetry) -> npt.NDArray[Scalar]:
    """Applies a symmetry to anything indexed by action, such as a policy or a legal mask.

    Args:
        policies: [..., A] of any dtype.
        symmetry: the transformation.

    Returns:
        [..., A], a new array.
    """
    return np.take(policies, symmetry.actions, axis=-1)


def transform_actions(actions: IntArray, symmetry: Symmetry) -> npt.NDArray[np.int64]:
    """Applies a symmetry to actions: where `transform_policies` moves the mass on each of them.

    Args:
        actions: integers [...], each in 0 .. A-1.
        symmetry: the transformation.

    Returns:
        int64 [...], the images.
    """
    return inverse(symmetry).actions[actions]


def inverse(symmetry: Symmetry) -> Symmetry:
    """Returns the symmetry that undoes another."""
    name = f"inverse_of_{symmetry.name}"
    return Symmetry(name, np.argsort(symmetry.cells), np.argsort(symmetry.actions))


def compose(first: Symmetry, second: Symmetry) -> Symmetry:
    """Returns the symmetry that does `first`, then `second`."""
    name = f"{first.name}_then_{second.name}"
    return Symmetry(name, first.cells[second.cells], first.actions[second.actions])


def is_same(first: Symmetry, second: Symmetry) -> bool:
    """Returns whether two symmetries do the same, whatever their names."""
    same_cells = np.array_equal(first.cells, second.cells)
    return same_cells and np.array_equal(first.actions, second.actions)
