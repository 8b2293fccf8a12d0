"""Policy targets as records keep them: of each move only the actions that have a share."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from alphago.types import BoolArray, FloatArray


class PolicyTarget(NamedTuple):
    """The policy target of one move, sparse."""

    actions: npt.NDArray[np.int16]  # [K], rising
    shares: FloatArray  # [K], above 0, sum to 1

    def dense(self, num_actions: int) -> FloatArray:
        """Returns the shares of all actions, float32 [A]."""
        shares = np.zeros(num_actions, np.float32)
        shares[self.actions] = self.shares
        return shares


class PackedTargets(TypedDict):
    """The policy targets of one game, see the fields of `GameRecord`."""

    target_actions: npt.NDArray[np.int16]
    target_shares: FloatArray
    target_offsets: npt.NDArray[np.int32]
    is_target: BoolArray


def sparse(shares: FloatArray) -> PolicyTarget:
    """Returns the target with the given shares of all actions, float32 [A]."""
    actions = np.flatnonzero(shares)
    return PolicyTarget(actions.astype(np.int16), shares[actions])


def pack(targets: Sequence[PolicyTarget | None]) -> PackedTargets:
    """Returns what a `GameRecord` keeps of the targets of a game.

    Args:
        targets: [T], one for each move, None where the position is not learnt from.
    """
    kept = [target for target in targets if target is not None]
    sizes = [0 if target is None else len(target.actions) for target in targets]
    return {
        "target_actions": np.concatenate([np.zeros(0, np.int16), *(each.actions for each in kept)]),
        "target_shares": np.concatenate([np.zeros(0, np.float32), *(each.shares for each in kept)]),
        "target_offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        "is_target": np.array([target is not None for target in targets], np.bool_),
    }
