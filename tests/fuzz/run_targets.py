"""What lies in the folder of a run: records, checkpoints, configurations."""

import json
import random
import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from alphago.errors import CheckpointError
from alphago.games import make_game
from alphago.network.network import load_weights, make_network
from alphago.network.weights import read_info, read_positions, read_weights
from alphago.players.loading import find_network, read_play_settings
from scripts.composition import (
    load_run_config,
    to_run_config,
)
from scripts.report_page.facts import game_of, read_config
from selfplay.records import read_records
from selfplay.snapshots import game_from_json
from tests.fuzz import seeds
from tests.fuzz.harness import Target
from tests.fuzz.mutations import (
    json_bytes,
    mutate,
    mutate_json,
)
from tests.fuzz.room import TIC_TAC_TOE, file_of, folder, texts
from train.run_state import from_json
from train.targets import rows_from_records

# ----- records

_DTYPES = ("<i8", "<i4", "<f4", "|b1", "<U5", "<f8", ">i8", "|O", "<i3", "<U999999999", "<M8[s]")
_SHAPES = ("()", "(1,)", "(-1,)", "(0,)", "(2, 3)", "(999999999999,)", "(" * 200, "(True,)")


def _make_records(rng: random.Random) -> bytes:
    choice = rng.random()
    if choice < 0.3:
        return mutate(rng, seeds.records())
    arrays = dict(rng.choice(seeds.record_arrays()))
    for name in rng.sample(sorted(arrays), rng.choice((1, 1, 2, 3))):
        if choice < 0.6:
            arrays[name] = _changed_array(rng, arrays[name])
        elif choice < 0.65:
            del arrays[name]
    contents = {name: _npy(array) for name, array in arrays.items()}
    if choice >= 0.65:
        name = rng.choice(sorted(contents))
        contents[name] = _changed_npy(rng, contents[name])
    return _zip(rng, contents)


def _changed_array(rng: random.Random, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array with another number, length or type."""
    changed = array.copy()
    choice = rng.randrange(4)
    if choice == 0 or changed.dtype.kind == "U" or changed.size == 0:
        return np.resize(np.array(rng.choice((1, 0.5, True, "abc", -(2**40)))), changed.shape)
    if choice == 1:
        return changed.reshape(-1)[: rng.randrange(changed.size + 1)]
    for _ in range(rng.choice((1, 1, 3))):
        place = rng.randrange(changed.size)
        raw = changed.reshape(-1)[place : place + 1].view(np.uint8)
        raw[:] = np.frombuffer(
            rng.choice((bytes(raw.size), b"\xff" * raw.size, rng.randbytes(raw.size))), np.uint8
        )
    return changed


def _npy(array: np.ndarray[Any, Any]) -> bytes:
    file = BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def _changed_npy(rng: random.Random, content: bytes) -> bytes:
    """Changes the header of an array, or any of its bytes."""
    if rng.random() < 0.5:
        return mutate(rng, [content])
    order = rng.choice(("False", "True", "0"))
    header = (
        f"{{'descr': '{rng.choice(_DTYPES)}', 'fortran_order': {order},"
        f" 'shape': {rng.choice(_SHAPES)}, }}"
    )
    line = f"{header}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + content[128:]


def _zip(rng: random.Random, contents: Mapping[str, bytes]) -> bytes:
    file = BytesIO()
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in contents.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def _read_records(data: bytes) -> None:
    records = read_records(file_of("records.npz", data))
    rows_from_records(TIC_TAC_TOE, records)


# ----- checkpoints and bundles


def _make_manifest(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return mutate(rng, [seeds.checkpoint()["manifest.json"]])
    return json_bytes(mutate_json(rng, [json.loads(seeds.checkpoint()["manifest.json"])]))


def _read_manifest(data: bytes) -> None:
    folder = file_of("manifest/manifest.json", data).parent
    make_game(read_info(folder).game)


def _make_weights(rng: random.Random) -> bytes:
    """Changes a safetensors file, half of the time its header alone, with the right length."""
    content = seeds.checkpoint()["weights.safetensors"]
    if rng.random() < 0.5:
        return mutate(rng, [content], words=(b'"dtype":"BF16"', b'"shape":[]', b'"F8_E4M3"'))
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    changed = json_bytes(mutate_json(rng, [header]))
    return len(changed).to_bytes(8, "little") + changed + content[end:]


def _read_weights(data: bytes) -> None:
    weights, _ = read_weights(file_of("weights.safetensors", data))
    load_weights(make_network(TIC_TAC_TOE.spec, seeds.NETWORK, seed=0), weights)


def _make_positions(rng: random.Random) -> bytes:
    return mutate(rng, [seeds.checkpoint()["positions.safetensors"]])


def _read_positions(data: bytes) -> None:
    read_positions(file_of("positions.safetensors", data))


def _make_folder(rng: random.Random) -> bytes:
    """Changes one file of a checkpoint; the name of it is the first line of the input."""
    name = rng.choice(sorted(seeds.checkpoint()))
    return name.encode() + b"\n" + mutate(rng, [seeds.checkpoint()[name]])


def _valid_folders() -> list[bytes]:
    return [name.encode() + b"\n" + content for name, content in seeds.checkpoint().items()]


def _read_folder(data: bytes) -> None:
    """Finds a network in a folder of which one file is changed."""
    name, _, content = data.partition(b"\n")
    files = seeds.checkpoint()
    changed = {key: content if key.encode() == name else files[key] for key in files}
    for key, each in changed.items():
        file_of(f"checkpoint/{key}", each)
    find_network(folder() / "checkpoint", step=None)


def _make_state(rng: random.Random) -> bytes:
    if rng.random() < 0.2:
        return mutate(rng, [seeds.state()])
    return json_bytes(mutate_json(rng, [json.loads(seeds.state())]))


def _read_state(data: bytes) -> None:
    """Reads the state of a run and its unfinished games."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(str(error)) from error
    if not isinstance(content, dict):
        raise CheckpointError("no state")
    selfplay = from_json(content).selfplay
    try:
        for game in (selfplay or {"games": []})["games"]:
            game_from_json(TIC_TAC_TOE, game)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise CheckpointError(str(error)) from error  # as `wrong_kind_errors` does


# ----- configurations of runs

_CONFIG_WORDS = texts(
    ("seed: 1\n", "seed: ${oc.env:HOME}\n", "  _target_: os.system\n", "a: &a [*a]\n")
)


def _make_config_file(rng: random.Random) -> bytes:
    words = texts(
        ("seed: 1\n", "seed: ${oc.env:HOME}\n", "  _target_: os.system\n", "a: &a [*a]\n")
    )
    return mutate(rng, [seeds.config()], words=words)


def _read_config_file(data: bytes) -> None:
    path = file_of("run/config.yaml", data)
    read_play_settings(path)
    sections, _ = read_config(path.parent)
    game_of(path.parent, sections)


def _read_whole_config(data: bytes) -> None:
    to_run_config(load_run_config(file_of("run/config.yaml", data).parent))


TARGETS = (
    Target(name="records", share=120, valid=seeds.records, make=_make_records, read=_read_records),
    Target(
        name="manifest",
        share=80,
        valid=lambda: [seeds.checkpoint()["manifest.json"]],
        make=_make_manifest,
        read=_read_manifest,
    ),
    Target(
        name="weights",
        share=60,
        valid=lambda: [seeds.checkpoint()["weights.safetensors"]],
        make=_make_weights,
        read=_read_weights,
    ),
    Target(
        name="positions",
        share=30,
        valid=lambda: [seeds.checkpoint()["positions.safetensors"]],
        make=_make_positions,
        read=_read_positions,
    ),
    Target(name="checkpoint", share=30, valid=_valid_folders, make=_make_folder, read=_read_folder),
    Target(
        name="state", share=50, valid=lambda: [seeds.state()], make=_make_state, read=_read_state
    ),
    Target(
        name="config_file",
        share=20,
        valid=lambda: [seeds.config()],
        make=_make_config_file,
        read=_read_config_file,
    ),
    Target(
        name="whole_config",
        share=10,
        valid=lambda: [seeds.config()],
        make=_make_config_file,
        read=_read_whole_config,
    ),
)
