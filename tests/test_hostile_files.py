"""What a few bytes blow up, what never ends, and what leads elsewhere: refused in one line."""

import io
import json
import os
import time
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import psutil
import pytest
import safetensors.numpy

import selfplay.npz
from alphago.errors import AlphagoError, CheckpointError, ConfigError, RecordError
from alphago.files import read_file
from alphago.games.go.game import Go
from alphago.games.go.rules import RULE_SETS
from alphago.network.network import NetworkConfig
from alphago.network.weights import read_info, read_manifest, read_positions, read_weights
from alphago.yaml_files import MOST_BYTES, read_yaml
from eval.ladder_files import LadderError
from eval.rating_store import PartResult, RatingStore
from scripts.arguments import one_line
from scripts.composition import load_run_config
from scripts.ratings.checkpoints import held_checkpoints
from scripts.ratings.setup import choose_ladder
from selfplay.records import read_records
from tests.fuzz import seeds
from tests.test_no_code_from_files import READERS
from tests.train.tiny import NETWORK, tiny_config
from tests.train.tiny import train as train_tiny
from train.metrics import MetricsWriter
from train.run_folder import locked, write_state
from train.sgf_samples import MOST_FILES, write_samples

PLAIN_HEADER = "{'descr': '<U3', 'fortran_order': False, 'shape': (), }"


# --- files of every kind


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.partition(" ")[0]
    os.mkfifo(path)
    with pytest.raises(AlphagoError, match="no regular file"):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_a_device_without_end_is_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.partition(" ")[0]
    path.symlink_to("/dev/zero")
    with pytest.raises(AlphagoError, match="no regular file"):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_a_folder_in_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.partition(" ")[0]
    path.mkdir()
    with pytest.raises(AlphagoError, match=r"(?i)is a directory"):
        READERS[name](path)


def test_a_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(path, at_most=5) == b"12345"
    with pytest.raises(OSError, match="larger than"):
        read_file(path, at_most=4)


# --- YAML

BOMB = "".join(
    f"{name}: &{name} [{', '.join([before] * 9)}]\n"
    for name, before in zip("abcdefgh", ["1", *(f"*{name}" for name in "abcdefg")], strict=True)
)
MERGES = "m0: &m0 {x: 1}\n" + "".join(
    f"m{i}: &m{i} {{<<: [*m{i - 1}, *m{i - 1}]}}\n" for i in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "aliases written out"),
        (MERGES, "aliases written out"),
        ("a: &a [*a]\n", "stands within what it names"),
        ("a: " + "[" * 5000, "lie too deep"),
        ("a: " + "{b: " * 5000, "lie too deep"),
        ("a: 0x" + "f" * 6000, "digits"),
        ("a: " + "9" * 5000, "digits"),
        ("a: !!timestamp x\n", "tags are not allowed"),
        ("a: !!int ''\n", "tags are not allowed"),
        ("a: !!python/name:os.system\n", "tags are not allowed"),
        ("a: !b 1\n", "tags are not allowed"),
        ("a: 2001-99-99\n", "no YAML"),
        ("a: 1\n" * 3, "there twice"),
        ("".join(f"k{i}: 1\n" for i in range(12_000)), "more than"),
        ("a: \0\n", "no YAML"),
        ("#" * (MOST_BYTES + 1), "larger than"),
    ],
    ids=lambda text: text[:20].strip() or "text",
)
def test_yaml_that_means_too_much_is_refused_at_once(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    begun = time.process_time()
    with pytest.raises(AlphagoError, match=message):
        read_yaml(path, error=AlphagoError)
    assert time.process_time() - begun < 2.0


def test_as_much_yaml_as_is_allowed_is_read_in_time(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("".join(f"key_{i}: {i}\n" for i in range(4000)), encoding="utf-8")
    begun = time.process_time()
    assert len(read_yaml(path, error=AlphagoError)) == 4000
    assert time.process_time() - begun < 4.0


# --- a saved configuration


def saved_config(folder: Path, line: str) -> Path:
    folder.mkdir(exist_ok=True)
    text = seeds.config().decode()
    assert "\nseed: " in f"\n{text}"
    text = "".join(line if each.startswith("seed:") else each for each in text.splitlines(True))
    (folder / "config.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    "value", ["${oc.env:SECRET}", "${oc.decode:'1'}", "${minutes}", "x${oc.env:SECRET}"]
)
def test_a_saved_configuration_looks_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SECRET", "12345678")
    run = saved_config(tmp_path / "run", f"seed: {value}\n")
    with pytest.raises(CheckpointError, match="allowed: values as they are") as caught:
        load_run_config(run)
    assert "12345678" not in str(caught.value)


def test_a_saved_configuration_instantiates_nothing(tmp_path: Path) -> None:
    run = saved_config(tmp_path / "run", "seed: 1\n_target_: os.mkdir\npath: marker\n")
    with pytest.raises(CheckpointError, match="_target_"):
        load_run_config(run)


# --- records


def npz(contents: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in contents.items():
            archive.writestr(f"{name}.npy", content)
    return file.getvalue()


def npy(header: str, body: bytes = b"") -> bytes:
    line = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + body


@pytest.mark.parametrize(
    "header",
    [
        "{[]: 1}",
        "'''",
        "(" * 5000,
        "{'descr': '|O', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<i3', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999, 99999999), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<M8[x]', 'fortran_order': False, 'shape': (), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (), }",
        "__import__('os').mkdir('marker')",
    ],
)
def test_an_array_with_a_strange_header_is_refused(tmp_path: Path, header: str) -> None:
    path = tmp_path / "records.npz"
    path.write_bytes(npz({"game": npy(header, b"\0" * 12)}))
    with pytest.raises(RecordError, match="broken: game"):
        read_records(path)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "records.npz"
    path.write_bytes(npz({"game": npy(PLAIN_HEADER, b"\xff" * 12)}))
    with pytest.raises(RecordError, match="game is no text"):
        read_records(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_other_packings_are_refused(tmp_path: Path, packing: int) -> None:
    path = tmp_path / "records.npz"
    path.write_bytes(npz({"game": npy(PLAIN_HEADER, b"\0" * 12)}, packing))
    with pytest.raises(RecordError, match="packed in an unknown way"):
        read_records(path)


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selfplay.npz, "MOST_BYTES", 1 << 20)
    path = tmp_path / "records.npz"
    path.write_bytes(npz({"actions": bytes(2 << 20)}))
    assert path.stat().st_size < 5000
    with pytest.raises(RecordError, match="its arrays are larger"):
        read_records(path)


def test_offsets_whose_differences_overflow_are_refused(tmp_path: Path) -> None:
    arrays = dict(seeds.record_arrays()[1])
    offsets = arrays["move_offsets"].copy()
    assert len(offsets) == 4
    offsets[1:3] = 2**63 - 1, -2
    assert not (np.diff(offsets[1:3]) < 0).any(), "the difference overflows"
    arrays["move_offsets"] = offsets
    path = tmp_path / "records.npz"
    np.savez(path, **arrays)
    with pytest.raises(RecordError, match="move_offsets do not rise"):
        read_records(path)


# --- checkpoints


def manifest(folder: Path, **changes: object) -> Path:
    content = json.loads(seeds.checkpoint()["manifest.json"]) | changes
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["../weights.safetensors", "/etc/passwd", "a/b", "", "x" * 300])
def test_a_manifest_names_files_of_its_own_folder(tmp_path: Path, name: str) -> None:
    folder = manifest(tmp_path, files={name: {"sha256": "", "bytes": 0}})
    with pytest.raises(CheckpointError, match="files: got the name"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "sizes",
    [
        {"num_blocks": 10**9},
        {"num_channels": 10**6},
        {"num_blocks": 1000, "num_channels": 4096},
        {"value_hidden": 10**12},
        {"policy_channels": 10**9},
    ],
)
def test_a_network_too_large_for_any_machine_is_refused(
    tmp_path: Path, sizes: dict[str, int]
) -> None:
    with pytest.raises(ConfigError, match="network"):
        NetworkConfig(**asdict(NETWORK) | sizes)
    folder = manifest(tmp_path, network=asdict(NETWORK) | sizes)
    with pytest.raises(CheckpointError, match="network"):
        read_info(folder)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "F8_E5M2"])
def test_weights_of_a_type_that_numpy_does_not_know_are_refused(tmp_path: Path, dtype: str) -> None:
    num_bytes = 2 if dtype == "BF16" else 1
    header = json.dumps({"a": {"dtype": dtype, "shape": [1], "data_offsets": [0, num_bytes]}})
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(num_bytes))
    with pytest.raises(CheckpointError, match=r"a is|broken"):
        read_weights(path)


@pytest.mark.parametrize(
    "shape", [[2**62, 4, 1, 1], [-1, -1, 3, 3], [0, 1, 1, 1], [1, 1, 1], [1.5, 1, 1, 1]]
)
def test_positions_of_an_impossible_shape_are_refused(tmp_path: Path, shape: list[float]) -> None:
    path = tmp_path / "positions.safetensors"
    arrays = {"bits": np.zeros(1, np.uint8), "shape": np.array(shape)}
    path.write_bytes(safetensors.numpy.save(arrays))
    with pytest.raises(CheckpointError, match="holds no positions"):
        read_positions(path)


# --- ladders that name programs


@pytest.mark.parametrize("program", ["gtp:sh -c 'mkdir marker'", "gtp:/tmp/evil"])
def test_a_folder_of_ratings_starts_no_program(tmp_path: Path, program: str) -> None:
    settings, _, results = seeds.ratings()[0].partition(b"\n")
    content = json.loads(settings)
    content["anchors"][program] = None
    (tmp_path / "settings.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "results.jsonl").write_bytes(results)
    store = RatingStore(tmp_path)
    with pytest.raises(LadderError, match=r"not started because a folder says so.*ladder=FILE"):
        choose_ladder({}, store, "tic_tac_toe")
    own = tmp_path / "ladder.yaml"
    own.write_text(f'opening_plies: 1\nanchors: {{random: , "{program}": }}\n', encoding="utf-8")
    assert program in choose_ladder({"ladder": str(own)}, store, "tic_tac_toe").anchors


# --- messages


def test_a_message_is_one_line_without_control_characters_and_not_endless() -> None:
    assert one_line("a\n b\t\x1b[2Jc\0") == r"a b \x1b[2Jc\x00"
    text = one_line(f"got {'x' * 100_000}, allowed: less")
    assert len(text) < 5000 and text.startswith("got x") and text.endswith("allowed: less")


# --- links in the folder of a run


@pytest.mark.parametrize("name", ["lock", "log.jsonl"])
def test_a_run_writes_through_no_link(tmp_path: Path, name: str) -> None:
    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.write_text("precious")
    run.mkdir()
    (run / name).symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"), locked(run):
        MetricsWriter(run, first_step=0)
    assert outside.read_text() == "precious"


def test_a_file_is_replaced_through_no_link(tmp_path: Path) -> None:
    outside, path = tmp_path / "outside", tmp_path / "state.json"
    outside.write_text("precious")
    path.symlink_to(outside)
    path.with_name("state.json.tmp").symlink_to(outside)
    write_state(tmp_path, {"step": 1})
    assert outside.read_text() == "precious"
    assert json.loads(path.read_text()) == {"step": 1} and not path.is_symlink()


# --- the network


def test_a_run_in_this_process_opens_no_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: object, address: object) -> None:
        raise AssertionError(f"bound to {address}")

    monkeypatch.setattr("socket.socket.bind", refuse)
    train_tiny(tmp_path / "run", tiny_config(games=12))
    listening = [
        connection
        for connection in psutil.Process().net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == []


@pytest.mark.parametrize("content", ["{", '{"players"', ""])
def test_results_of_a_ladder_are_mended_through_no_link(tmp_path: Path, content: str) -> None:
    outside, ladder = tmp_path / "outside", tmp_path / "ratings"
    outside.write_text(content)
    ladder.mkdir()
    (ladder / "results.jsonl").symlink_to(outside)
    with pytest.raises(LadderError, match="symbolic link"):
        RatingStore(ladder).add(PartResult("a", "b", 0, 1, 1, 0, 0, None))
    assert outside.read_text() == content


def test_checkpoints_are_held_in_no_folder_that_a_link_leads_to(tmp_path: Path) -> None:
    outside, ratings = tmp_path / "outside", tmp_path / "ratings"
    outside.mkdir()
    (outside / "precious").touch()
    ratings.mkdir()
    (ratings / "held").symlink_to(outside)
    with (
        pytest.raises(CheckpointError, match="held: cannot be made"),
        held_checkpoints(tmp_path, ratings),
    ):
        pass
    assert (outside / "precious").exists()


def test_no_game_is_removed_from_a_folder_that_a_link_leads_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for number in range(MOST_FILES + 9):
        (outside / f"{number:09d}.sgf").touch()
    (tmp_path / "games").symlink_to(outside)
    with pytest.raises(CheckpointError, match="games: cannot be written: it is a symbolic link"):
        write_samples(tmp_path, Go(height=5, width=5, rules=RULE_SETS["chinese"]), [], end=0)
    assert len(list(outside.iterdir())) == MOST_FILES + 9
