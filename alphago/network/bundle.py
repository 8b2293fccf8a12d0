"""Networks small enough to be part of the package: checkpoint folders for play alone.

    weights.safetensors    the network, in half precision
    positions.safetensors  observations of the run's games, to check precision on
    config.yaml            how it plays
    manifest.json          what it is, sizes and checksums of the others
    CARD.md                for people: where it comes from, how strong it is, its licence

They are read as checkpoints are. What a run needs to go on is left out, as are heads that only
training sees, and the weights take half the room: they are computed with in int8 or float32 all the
same.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from alphago.errors import ExportError
from alphago.files import CONFIG_FILE, replace_file
from alphago.network.weights import (
    POSITIONS_FILE,
    WEIGHTS_FILE,
    NetworkInfo,
    save_positions,
    save_weights,
    write_manifest,
)
from alphago.types import UInt8Array, Weights

CARD_FILE = "CARD.md"
_AUXILIARY_PREFIX = "auxiliary_heads."  # of their names, see `alphago.network.network`


def write_bundle(
    folder: Path,
    info: NetworkInfo,
    weights: Weights,
    *,
    positions: UInt8Array,
    config_text: str,
) -> None:
    """Writes all files but the card into a folder that is there and empty.

    Args:
        folder: the folder.
        info: what the network's checkpoint says about it.
        weights: the network.
        positions: observations uint8 [M, C, H, W] of the run's games.
        config_text: YAML, see `alphago.players.loading.read_play_settings`.

    Raises:
        ExportError: if a weight is too large for half precision.
        CheckpointError: if a weight is not finite or a file cannot be written.
        OSError: if a file cannot be written.
    """
    info = replace(info, network=replace(info.network, auxiliary=[]))
    playing = {n: array for n, array in weights.items() if not n.startswith(_AUXILIARY_PREFIX)}
    save_weights(folder / WEIGHTS_FILE, in_half_precision(playing), metadata={"game": info.game})
    save_positions(folder / POSITIONS_FILE, positions)
    with replace_file(folder / CONFIG_FILE) as file:
        file.write(config_text.encode())
    write_manifest(folder, info, (WEIGHTS_FILE, POSITIONS_FILE, CONFIG_FILE))


def in_half_precision(weights: Weights) -> Weights:
    """Returns float16 copies of weights.

    Raises:
        ExportError: if one is too large for it.
    """
    largest = float(np.finfo(np.float16).max)
    for name, array in weights.items():
        got = float(np.abs(array).max())
        if got > largest:
            raise ExportError(f"{name}: got {got:g}, allowed in half precision: up to {largest:g}")
    return {name: array.astype(np.float16) for name, array in weights.items()}
