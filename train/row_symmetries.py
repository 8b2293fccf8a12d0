"""Rows as the symmetries of their game show them: planes, policies and targets move together."""

import numpy as np
import numpy.typing as npt

from alphago.games.game import GameSpec
from train.auxiliary_targets import AUXILIARY_TARGETS
from train.targets import TrainingRows


def transform_rows(
    rows: TrainingRows, symmetries: npt.NDArray[np.int64], spec: GameSpec
) -> TrainingRows:
    """Applies to each row a symmetry of its own.

    Args:
        rows: M rows; their observations are changed in place.
        symmetries: int64 [M], indices of `spec.symmetries`.
        spec: the game.

    Returns:
        The rows, with the same observations and values and with other policies and targets.
    """
    # [S, H * W] and [S, A]: one row of gathers per symmetry.
    cells = np.stack([symmetry.cells for symmetry in spec.symmetries])
    actions = np.stack([symmetry.actions for symmetry in spec.symmetries])
    planes = rows.observations.reshape(*rows.observations.shape[:2], -1)  # a view
    for symmetry, places_from in enumerate(cells):  # five times as fast as all at once
        chosen = np.flatnonzero(symmetries == symmetry)
        planes[chosen] = planes[chosen].take(places_from, axis=2)
    targets = {
        name: np.take_along_axis(array, cells[symmetries], axis=1)
        if AUXILIARY_TARGETS[name].is_per_cell
        else array
        for name, array in rows.auxiliary.items()
    }
    policies = np.take_along_axis(rows.policy_targets, actions[symmetries], axis=1)
    return rows._replace(policy_targets=policies, auxiliary=targets)
