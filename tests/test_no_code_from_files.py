"""No file makes this program run code: whatever stands in it, nothing unpickles or evaluates."""

import ast
import hashlib
import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from alphago.errors import AlphagoError, SuiteError
from alphago.games import make_game
from alphago.network.weights import read_info, read_positions, read_weights
from alphago.players.loading import find_network, read_play_settings
from alphago.protocols.sgf import read_sgf
from eval.ladder_files import load_ladder
from eval.openings import read_openings
from eval.rating_store import RatingStore
from eval.suite_files import open_suite
from scripts.ablations.file import load_ablation
from scripts.composition import load_run_config
from scripts.report_page.facts import read_config
from scripts.report_page.run_log import read_log
from selfplay.record_store import RecordStore
from selfplay.records import read_records
from tests.fuzz import seeds
from train.checkpoint import load_checkpoint, read_state

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("alphago", "configs", "eval", "scripts", "selfplay", "train")
UNPICKLERS = {"cPickle", "cloudpickle", "dill", "joblib", "marshal", "pickle", "shelve"}
# Calls that run what a file holds; `yaml.load` is allowed with the loader of one module.
CALLS = {
    "eval",
    "exec",
    "__import__",
    "os.system",
    "os.popen",
    "np.load",
    "numpy.load",
    "torch.load",
    "torch.jit.load",
    "yaml.load",
    "yaml.full_load",
    "yaml.unsafe_load",
    "yaml.load_all",
    "hydra.utils.instantiate",
    "hydra.utils.get_class",
    "hydra.utils.get_method",
    "instantiate",
    "get_class",
    "get_method",
    "importlib.import_module",
    "importlib.util.spec_from_file_location",
    "runpy.run_path",
}
# Where one of them is right, and why: what is run there stands in our own sources.
ALLOWED = {
    ("alphago/yaml_files.py", "yaml.load"),  # a SafeLoader
    ("scripts/main.py", "importlib.import_module"),  # the module of a sub-command
    ("scripts/diagnosis/packages.py", "importlib.import_module"),  # of its own list
    ("scripts/speed/openspiel.py", "importlib.import_module"),
    ("scripts/ray_session.py", "importlib.import_module"),  # a module of Ray without types
    ("train/distributed.py", "importlib.import_module"),
    ("scripts/peers/serve.py", "importlib.util.spec_from_file_location"),
    ("scripts/peers/run_alpha_zero_general.py", "importlib.import_module"),
}


def sources() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) else set()


def test_nothing_imports_an_unpickler_or_calls_what_runs_a_file() -> None:
    found = set()
    for name, module in sources():
        for node in ast.walk(module):
            assert not imported(node) & UNPICKLERS, f"{name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
                found.add((name, ast.unparse(node.func)))
    assert found <= ALLOWED, sorted(found - ALLOWED)


def test_no_program_is_started_through_a_shell() -> None:
    for name, module in sources():
        for node in ast.walk(module):
            if isinstance(node, ast.keyword) and node.arg in ("shell", "allow_pickle"):
                assert ast.unparse(node.value) == "False", f"{name}:{node.lineno}"


# --- a pickle in place of each kind of file


class Trap:
    """Runs code when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.marker),)


def pickle_of(marker: Path) -> bytes:
    return pickle.dumps(Trap(marker))


def torch_file_of(marker: Path) -> bytes:
    file = io.BytesIO()
    torch.save({"weights": Trap(marker)}, file)
    return file.getvalue()


def npy_of(marker: Path) -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([Trap(marker)], dtype=object), allow_pickle=True)
    return file.getvalue()


def npz_of(marker: Path) -> bytes:
    """Returns a record file of which one array is a pickle."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(seeds.records()[0])) as whole,
        zipfile.ZipFile(file, "w") as archive,
    ):
        for name in whole.namelist():
            content = npy_of(marker) if name == "game.npy" else whole.read(name)
            archive.writestr(name, content)
    return file.getvalue()


def yaml_of(marker: Path) -> bytes:
    return f"game: !!python/object/apply:os.mkdir ['{marker}']\n".encode()


TRAPS = (pickle_of, torch_file_of, npy_of, npz_of, yaml_of)
READERS: dict[str, Callable[[Path], object]] = {
    "weights.safetensors": read_weights,
    "positions.safetensors": read_positions,
    "manifest.json": lambda path: read_info(path.parent),
    "state.json": lambda path: read_state(path.parent),
    "config.yaml": lambda path: load_run_config(path.parent),
    "config.yaml of a player": read_play_settings,
    "config.yaml of a report": lambda path: read_config(path.parent),
    "records.npz": read_records,
    "game.sgf": read_sgf,
    "ladder.yaml": load_ladder,
    "ablation.yaml": load_ablation,
    "suite.json": open_suite,
    "openings.txt": lambda path: read_openings(make_game("tic_tac_toe"), path),
    "results.jsonl": lambda path: RatingStore(path.parent),
}


@pytest.mark.parametrize("trap", TRAPS)
@pytest.mark.parametrize("name", READERS)
def test_a_pickle_in_place_of_a_file_is_refused_and_does_not_run(
    tmp_path: Path, name: str, trap: Callable[[Path], bytes]
) -> None:
    marker = tmp_path / "marker"
    content = trap(marker)
    if trap is not yaml_of:  # it is one: whoever unpickles it runs it
        assert b"mkdir" in content
    path = tmp_path / name.partition(" ")[0]
    path.write_bytes(content + b"\n")
    with pytest.raises(AlphagoError):
        READERS[name](path)
    assert not marker.exists()


def test_a_line_that_is_a_pickle_in_the_log_of_a_run_is_passed_over(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "log.jsonl").write_bytes(pickle_of(marker) + b"\n")
    assert read_log(tmp_path).iterations == []
    assert not marker.exists()


@pytest.mark.parametrize("name", ["weights.safetensors", "trainer.safetensors", "state.json"])
def test_a_pickle_in_a_checkpoint_whose_manifest_fits_it_does_not_run(
    tmp_path: Path, name: str
) -> None:
    marker = tmp_path / "marker"
    files = dict(seeds.checkpoint())
    files[name] = torch_file_of(marker)
    manifest = json.loads(files["manifest.json"])
    manifest["files"][name] = {
        "sha256": hashlib.sha256(files[name]).hexdigest(),
        "bytes": len(files[name]),
    }
    files["manifest.json"] = json.dumps(manifest).encode()
    for each, content in files.items():
        (tmp_path / each).write_bytes(content)
    with pytest.raises(AlphagoError):
        load_checkpoint(tmp_path)
    if name == "weights.safetensors":
        with pytest.raises(AlphagoError):
            find_network(tmp_path, step=None)
    assert not marker.exists()


def test_a_record_file_that_is_a_pickle_is_set_aside(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    store = RecordStore(tmp_path / "records", "tic_tac_toe")
    (tmp_path / "records" / "000000000-3.npz").write_bytes(npz_of(marker))
    assert list(store.newest(100)) == []
    assert [path.name for path in store.folder.glob("*.npz")] == []
    assert [path.name for path in store.folder.glob("broken/*")] == ["000000000-3.npz"]
    assert not marker.exists()


def test_what_a_run_writes_holds_no_pickle(tmp_path: Path) -> None:
    for name, content in seeds.checkpoint().items():
        assert not content.startswith((b"\x80", b"PK")), name  # a pickle, or torch's zip of one
    with zipfile.ZipFile(io.BytesIO(seeds.records()[0])) as archive:
        for name in archive.namelist():
            assert b"'descr': '|O'" not in archive.read(name)[:200], name


def test_a_suite_whose_positions_are_code_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text('__import__("os").mkdir("marker")', encoding="utf-8")
    with pytest.raises(SuiteError, match="no JSON"):
        open_suite(path)
