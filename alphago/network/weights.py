"""Networks on disk: weights as safetensors files, and the network of a checkpoint folder.

Nothing here is a pickle.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.numpy

from alphago.errors import CheckpointError, ConfigError
from alphago.files import (
    MANIFEST_FILE,
    MIB,
    check_is_file,
    read_text_file,
    reason,
    replace_file,
)
from alphago.network.network import NetworkConfig
from alphago.types import UInt8Array, Weights

WEIGHTS_FILE = "weights.safetensors"  # the network that plays
POSITIONS_FILE = "positions.safetensors"
CHECKPOINT_SCHEMA_VERSION = 1  # of the manifest and of the files beside it
_FILE_NAME = re.compile(r"[\w-][\w.-]{0,99}", re.ASCII)
_MOST_MANIFEST_BYTES = MIB
MOST_POSITION_BYTES = 64 * MIB  # eight positions' cells in each
_WEIGHT_KINDS = "biuf"  # of dtypes: what numpy knows itself
_MANIFEST_TYPES: dict[str, tuple[type, str]] = {  # by entry, with what is allowed in words
    "game": (str, "the name of a game"),
    "network": (dict, "the sizes of the network"),
    "step": (int, "an integer"),
    "files": (dict, "the files with their sizes and checksums"),
}
# What a manifest written before these options existed does not say of its network.
_EARLIER_NETWORK: dict[str, Any] = {"pooling_channels": 0, "heads": "fixed", "auxiliary": []}


@dataclass(frozen=True, kw_only=True)
class NetworkInfo:
    """What a checkpoint says about its network.

    Attributes:
        game: the game it was trained on, `NAME[:key=value,...]`.
        network: its sizes.
        step: optimiser steps of the run when the checkpoint was written.
    """

    game: str
    network: NetworkConfig
    step: int


def save_weights(path: Path, weights: Weights, metadata: dict[str, str]) -> None:
    """Writes weights to a safetensors file, whole or not at all.

    Args:
        path: the file; an older one is replaced in one step, once the new one is safely on disk.
        weights: arrays by name, all finite.
        metadata: texts kept in the file's header.

    Raises:
        CheckpointError: if a number is not finite, or the file cannot be written.
    """
    broken = [name for name, array in weights.items() if not np.isfinite(array).all()]
    if broken:
        raise CheckpointError(f"{path}: not saved, these weights are not finite: {broken}")
    # safetensors writes the memory of an array as it lies, whatever its strides.
    arrays = {name: np.asarray(array, order="C") for name, array in weights.items()}
    content = safetensors.numpy.save(arrays, metadata=metadata)
    try:
        with replace_file(path) as file:
            file.write(content)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be written ({reason(error)})") from error


def read_weights(path: Path) -> tuple[Weights, dict[str, str]]:
    """Reads a file of `save_weights`.

    Returns:
        Arrays by name, which belong to the caller, and the metadata.

    Raises:
        CheckpointError: if the file is missing, truncated, no safetensors file, or holds a number
            that is not finite: no search can use what such a network answers.
    """
    try:
        check_is_file(path)
        with safetensors.safe_open(path, framework="numpy") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            metadata = dict(file.metadata() or {})
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)})") from error
    # TypeError, AttributeError, ValueError: of types that numpy does not know.
    except (safetensors.SafetensorError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(f"{path}: broken, or no safetensors file ({error})") from error
    for name, array in weights.items():
        if array.dtype.kind not in _WEIGHT_KINDS:
            raise CheckpointError(f"{path}: {name} is {array.dtype}, allowed: numbers")
        if not np.isfinite(array).all():
            raise CheckpointError(f"{path}: {name} is not finite")
    return weights, metadata


def save_positions(path: Path, positions: UInt8Array) -> None:
    """Writes observations to a safetensors file, whole or not at all.

    Args:
        path: the file.
        positions: uint8 [M, C, H, W], each 0 or 1; kept as one bit.

    Raises:
        CheckpointError: if the file cannot be written.
    """
    shape = np.array(positions.shape, np.int64)
    save_weights(path, {"bits": np.packbits(positions), "shape": shape}, metadata={})


def read_positions(path: Path) -> UInt8Array:
    """Reads a file of `save_positions`.

    Raises:
        CheckpointError: if the file is missing, broken or something else.
    """
    arrays, _ = read_weights(path)
    try:
        sizes, bits = arrays["shape"], arrays["bits"]
    except KeyError as error:
        raise CheckpointError(f"{path}: holds no positions (has no {error})") from error
    if sizes.dtype != np.int64 or sizes.shape != (4,) or bits.dtype != np.uint8:
        raise CheckpointError(f"{path}: holds no positions ({bits.dtype} for {sizes.dtype})")
    shape: list[int] = sizes.tolist()
    if bits.size > MOST_POSITION_BYTES:  # eight times as many once they are unpacked
        raise CheckpointError(f"{path}: holds too many positions ({bits.size} bytes)")
    # numpy fills up bits that are missing with zeros.
    if min(shape) < 1 or bits.shape != (-(-math.prod(shape) // 8),):
        raise CheckpointError(f"{path}: holds no positions ({bits.size} bytes for {shape})")
    return np.unpackbits(bits.view(np.uint8), count=math.prod(shape)).reshape(shape)


def load_player_network(
    folder: Path, *, which: Literal["weights", "best"] = "weights"
) -> tuple[NetworkInfo, Weights, UInt8Array | None]:
    """Reads the network of a checkpoint folder and compares checksums with the manifest.

    Args:
        folder: one checkpoint, the folder that holds manifest.json.
        which: "weights", those that play, or "best", the best network at that time.

    Returns:
        What the checkpoint says about the network, its weights, and observations uint8 [M, C, H, W]
        of the run's recent games, which faster arithmetic is checked on; None in a checkpoint
        without any.

    Raises:
        CheckpointError: if anything is missing, broken, or of another schema version, or a weight
            is not finite.
    """
    manifest_path = folder / MANIFEST_FILE
    info = read_info(folder)
    files = read_manifest(folder)["files"]
    name = f"{which}.safetensors"
    try:
        checksums = {name: files[name]["sha256"]}
        if POSITIONS_FILE in files:
            checksums[POSITIONS_FILE] = files[POSITIONS_FILE]["sha256"]
    except KeyError as error:
        raise CheckpointError(f"{manifest_path}: has no entry {error}") from error
    for each, checksum in checksums.items():
        if sha256_of(folder / each) != checksum:
            raise CheckpointError(
                f"{folder / each}: broken, its checksum is not the one in {MANIFEST_FILE}"
            )
    weights, _ = read_weights(folder / name)
    has_positions = POSITIONS_FILE in checksums
    return info, weights, read_positions(folder / POSITIONS_FILE) if has_positions else None


def read_info(folder: Path) -> NetworkInfo:
    """Reads what a checkpoint says about its network, without the network itself.

    Raises:
        CheckpointError: if the manifest is missing, broken, or of another schema version.
    """
    manifest = read_manifest(folder)
    try:
        network = NetworkConfig(**(_EARLIER_NETWORK | manifest["network"]))
    except (TypeError, ConfigError) as error:
        raise CheckpointError(f"{folder / MANIFEST_FILE}: {error}") from error
    return NetworkInfo(game=manifest["game"], network=network, step=manifest["step"])


def sha256_of(path: Path) -> str:
    """Returns a file's SHA-256 in hexadecimal.

    Raises:
        CheckpointError: if the file cannot be read.
    """
    try:
        check_is_file(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)})") from error


def write_manifest(folder: Path, info: NetworkInfo, names: Sequence[str]) -> None:
    """Writes what a checkpoint folder is, with sizes and checksums of the files named.

    Raises:
        OSError: if it cannot be written.
    """
    manifest = {
        "schema_version": CHECKPOINT_SCHEMA_VERSION,
        "game": info.game,
        "network": asdict(info.network),
        "step": info.step,
        "files": {
            name: {"sha256": sha256_of(folder / name), "bytes": (folder / name).stat().st_size}
            for name in names
        },
    }
    with replace_file(folder / MANIFEST_FILE) as file:
        file.write(json.dumps(manifest, indent=2).encode())


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Reads a checkpoint's manifest.

    Returns:
        Its content, whose entries are there and of the right types; `files` holds a mapping per
        file.

    Raises:
        CheckpointError: if it is anything else.
    """
    path = folder / MANIFEST_FILE
    try:
        manifest = json.loads(read_text_file(path, at_most=_MOST_MANIFEST_BYTES))
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read ({reason(error)})") from error
    except (ValueError, RecursionError) as error:  # the latter where lists lie too deep
        raise CheckpointError(f"{path}: no JSON ({error})") from error
    if not isinstance(manifest, dict):
        raise CheckpointError(f"{path}: not a manifest")
    version = manifest.get("schema_version")
    if version != CHECKPOINT_SCHEMA_VERSION:
        raise CheckpointError(
            f"{path}: schema version {version!r}, allowed: {CHECKPOINT_SCHEMA_VERSION}"
        )
    for key, (kind, allowed) in _MANIFEST_TYPES.items():
        if key not in manifest:
            raise CheckpointError(f"{path}: has no entry {key!r}")
        if not isinstance(manifest[key], kind) or isinstance(manifest[key], bool):
            raise CheckpointError(f"{path}: {key}: got {manifest[key]!r}, allowed: {allowed}")
    if manifest["step"] < 0:
        raise CheckpointError(f"{path}: step: got {manifest['step']}, allowed: 0 or more")
    for name, facts in manifest["files"].items():
        if not _FILE_NAME.fullmatch(name):  # a path would lead out of the folder
            raise CheckpointError(f"{path}: files: got the name {name[:40]!r}")
        if not isinstance(facts, dict):
            raise CheckpointError(f"{path}: {name}: got {facts!r}, allowed: size and checksum")
    return manifest
