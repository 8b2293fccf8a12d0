"""Rows of a replay buffer in little memory: bits for planes, half precision for policies."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from alphago.games.game import GameSpec
from alphago.types import UInt8Array
from train.auxiliary import AUXILIARY_TARGETS, Layout, empty_auxiliary
from train.targets import TrainingRows


class RowRing:
    """The newest rows up to a capacity, in little memory that is all taken at the start.

    Observations are kept as bits, policies as float16: 1/800 keeps three digits. Targets of
    auxiliary heads of the layout CELLS take two bits a cell, the others are kept as they are.

    Attributes:
        capacity: rows that it can hold.
        num_rows: rows that it holds.
    """

    def __init__(self, spec: GameSpec, capacity: int, auxiliary: Sequence[str]) -> None:
        """Takes all the memory it will ever need.

        Args:
            spec: the game.
            capacity: rows.
            auxiliary: the auxiliary heads that rows have targets for.
        """
        self.capacity = capacity
        self.num_rows = 0
        self._end = 0  # where the next row goes
        self._shape = spec.observation_shape
        num_bytes = -(-math.prod(spec.observation_shape) // 8)
        # `full` writes every page, where `zeros` would take the memory bit by bit during the run.
        self._bits = np.full((capacity, num_bytes), 0, dtype=np.uint8)
        self._policies = np.full((capacity, spec.num_actions), 0, dtype=np.float16)
        self._values = np.full(capacity, 0, dtype=np.float32)
        self._auxiliary = {
            name: np.full((capacity, *row.shape[1:]), 0, dtype=row.dtype)
            for name, row in _pack(empty_auxiliary(spec, auxiliary, num_rows=1)).items()
        }

    @property
    def num_bytes(self) -> int:
        """Memory that it takes, in bytes."""
        arrays: list[npt.NDArray[Any]] = [self._bits, self._policies, self._values]
        return sum(array.nbytes for array in [*arrays, *self._auxiliary.values()])

    def append(self, rows: TrainingRows) -> None:
        """Adds rows, forgetting the oldest where there is no room."""
        num_rows = min(len(rows.value_targets), self.capacity)
        if num_rows == 0:
            return
        newest = slice(len(rows.value_targets) - num_rows, None)
        places = (self._end + np.arange(num_rows)) % self.capacity
        observations = rows.observations[newest].reshape(num_rows, -1)
        self._bits[places] = np.packbits(observations, axis=1)
        self._policies[places] = rows.policy_targets[newest]
        self._values[places] = rows.value_targets[newest]
        kept = {name: rows.auxiliary[name][newest] for name in self._auxiliary}
        for name, array in _pack(kept).items():
            self._auxiliary[name][places] = array
        self._end = (self._end + num_rows) % self.capacity
        self.num_rows = min(self.num_rows + num_rows, self.capacity)

    def take(self, ages: npt.NDArray[np.int64]) -> TrainingRows:
        """Returns rows [M] by age: 0 is the newest."""
        places = (self._end - 1 - ages) % self.capacity
        policies = self._policies[places].astype(np.float32)
        policies /= policies.sum(axis=1, keepdims=True)  # float16 loses up to 1/2000 of the sum
        return TrainingRows(
            observations=self.take_observations(ages),
            policy_targets=policies,
            value_targets=self._values[places],
            auxiliary=_unpack(
                {name: array[places] for name, array in self._auxiliary.items()},
                num_cells=math.prod(self._shape[1:]),
            ),
        )

    def take_observations(self, ages: npt.NDArray[np.int64]) -> UInt8Array:
        """Returns the observations [M, C, H, W] of rows by age."""
        bits = self._bits[(self._end - 1 - ages) % self.capacity]
        observations = np.unpackbits(bits, axis=1, count=math.prod(self._shape))
        return observations.reshape(len(ages), *self._shape)


def _pack(targets: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Packs signs [R, H * W] as bits uint8 [R, bytes]: where they are above, then where below 0."""
    return {
        name: np.packbits(np.concatenate([array > 0, array < 0], axis=1), axis=1)
        if AUXILIARY_TARGETS[name].layout is Layout.CELLS
        else array
        for name, array in targets.items()
    }


def _unpack(
    packed: Mapping[str, npt.NDArray[Any]], *, num_cells: int
) -> dict[str, npt.NDArray[Any]]:
    """Returns what `_pack` was given."""
    targets = dict(packed)
    for name, array in packed.items():
        if AUXILIARY_TARGETS[name].layout is Layout.CELLS:
            bits = np.unpackbits(array, axis=1, count=2 * num_cells).view(np.int8)
            targets[name] = bits[:, :num_cells] - bits[:, num_cells:]
    return targets
