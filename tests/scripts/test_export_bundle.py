"""`alphago export --format bundle`, and the commands that play a network of the package."""

import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from alphago.network.bundle import CARD_FILE
from alphago.network.precision import PrecisionError
from alphago.players import bundled, make_player
from alphago.players.loading import find_network
from scripts import export_bundle
from scripts.main import main
from tests.scripts.tiny_run import TINY

ROOT = Path(__file__).resolve().parents[2]
GO = (
    "game=go_5x5",
    "network.heads=pooled",
    "game.komi=3.5",
    "game.planes=history",
    "selfplay.num_games=8",
    "evaluator.num_positions=70",
    "gate.mode=off",
    "network.auxiliary=[ownership,score]",
    "evaluator.device=cpu",
)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Waiting for each other costs threads more than networks this small do."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight games of Go."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert main(["train", *TINY, *GO, f"run_dir={folder}"]) == 0
    return folder


@pytest.fixture
def networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package's networks, an empty one."""
    folder = tmp_path / "networks"
    folder.mkdir()
    monkeypatch.setattr(bundled, "FOLDER", folder)
    return folder


def export(run: Path, folder: Path, *words: str) -> int:
    return main(["export", str(run), "--format", "bundle", f"output={folder}", *words])


def test_a_bundle_plays_as_its_run_does(
    run: Path, networks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert export(run, networks / "go_5x5") == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.match(r"go_5x5:komi=3.5,max_moves=\d+, 1 blocks of 4 channels, step \d+\n", out)
    assert "  plays with openvino " in out
    ours = make_player("go_5x5:precision=fp32,simulations=30")
    theirs = make_player(f"{run}:simulations=30")
    states = ours.game.initial_states(6)
    rng = np.random.default_rng(0)
    for _ in range(6):
        assert ours.choose_actions(states).tolist() == theirs.choose_actions(states).tolist()
        actions = [rng.choice(np.flatnonzero(row)) for row in ours.game.legal_actions(states)]
        states = ours.game.step(states, np.array(actions))


def test_a_bundle_holds_what_playing_needs(run: Path, networks: Path) -> None:
    folder = networks / "go_5x5"
    assert export(run, folder) == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        CARD_FILE,
        "config.yaml",
        "manifest.json",
        "positions.safetensors",
        "weights.safetensors",
    ]
    found = find_network(folder, step=None)
    assert found.positions is not None
    assert found.positions.shape == (64, 17, 5, 5)
    config = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    assert list(config) == ["search", "evaluator"]
    own = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))["evaluator"]
    anywhere = {"device": "auto", "backend": "auto", "precision": "auto", "num_threads": 1}
    assert config["evaluator"] == own | anywhere
    assert own["device"] == "cpu"  # the machine of the run is nobody else's
    assert found.info.network.auxiliary == []
    num_weights = sum(array.size for array in found.weights.values())
    card = (folder / CARD_FILE).read_text(encoding="utf-8")
    assert card.startswith("# go_5x5\n")
    assert f"| weights | {num_weights:,} in half precision" in card
    assert "| data | 8 games of its own from nothing, " in card
    assert "| strength | not measured yet |" in card
    recipe = card.partition("```yaml\n")[2].partition("```")[0]
    assert yaml.safe_load(recipe)["game"]["komi"] == 3.5
    assert str(run) not in card


def test_without_a_player_the_network_of_the_package_plays(
    run: Path,
    networks: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert export(run, networks / "go_5x5") == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("C3\nquit\n"))
    capsys.readouterr()
    assert main(["play", "game=go_5x5", "side=second"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("go_5x5, you move second, against go_5x5\n")
    assert "go_5x5: " in out
    assert main(["games"]) == 0
    assert "Networks that come with alphago: go_5x5 (" in capsys.readouterr().out


def test_gtp_without_a_player_answers_genmove(run: Path, networks: Path) -> None:
    assert export(run, networks / "go_5x5") == 0
    program = (
        "import sys; from pathlib import Path; from alphago.players import bundled;"
        f"bundled.FOLDER = Path({str(networks)!r});"
        "from scripts.main import main; sys.exit(main(['gtp']))"
    )
    lines = "genmove b\nboardsize 9\ngenmove b\nquit\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=lines,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "alphago gtp: go_5x5 on go_5x5, no noise" in done.stderr
    assert re.fullmatch(r"= [A-E][1-5]\n\n=\n\n= [A-J][1-9]\n\n=\n\n", done.stdout)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["play"], "which player? name one, or a game that a network comes for (game=NAME: none)"),
        (["play", "gmae=go_5x5"], "gmae: unknown key; nearest: game"),
        (["play", "game=go_5x5"], "no network comes for go_5x5; name one, such as uct:playouts=1"),
        (["gtp"], "no network comes for go_9x9; name one, such as uct:playouts=1000 or the folder"),
        (["gtp", "game=go_5x"], "game: got 'go_5x', did you mean go_5x5?"),
    ],
)
def test_without_a_network_a_player_has_to_be_named(
    networks: Path, words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert expected in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["game=go_5x5"], "game: got 'go_5x5', but bundle has none"),
        (["output=no/go_5x5"], "but no is no folder"),
        (["output=strong"], "output: got 'strong', allowed for bundle: FOLDER/go_5x5"),
        ([], "output: go_5x5 exists already; write output=ANOTHER"),
    ],
)
def test_wrong_words_are_one_line(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "go_5x5").touch()
    capsys.readouterr()
    assert main(["export", str(run), "--format", "bundle", *words]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert expected in err
    assert [path.name for path in tmp_path.iterdir()] == ["go_5x5"]


def test_without_positions_there_is_nothing_to_calibrate_on(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = (run / "best").read_text().strip()
    checkpoint = shutil.copytree(run / "checkpoints" / best, tmp_path / "old")
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    del manifest["files"]["positions.safetensors"]
    (checkpoint / "manifest.json").write_text(json.dumps(manifest))
    assert export(checkpoint, tmp_path / "go_5x5") == 2
    assert "has no positions to calibrate int8 on" in capsys.readouterr().err
    assert not (tmp_path / "go_5x5").exists()


def test_a_network_that_rounding_harms_is_not_written(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(export_bundle, "_LIMIT", PrecisionError(0.0, 0.0))
    assert export(run, tmp_path / "go_5x5") == 1
    assert "half precision is too far off: policy KL" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_that_cannot_be_read_is_told_as_such(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = export_bundle.read_play_settings
    best = (run / "best").read_text().strip()
    checkpoint = shutil.copytree(run / "checkpoints" / best, tmp_path / "copy")

    def read_and_remove(path: Path) -> object:
        found = settings(path)
        path.unlink()
        return found

    monkeypatch.setattr(export_bundle, "read_play_settings", read_and_remove)
    capsys.readouterr()
    assert export(checkpoint, tmp_path / "go_5x5") == 2
    assert f"{checkpoint}/config.yaml: cannot be read" in capsys.readouterr().err


def test_a_wheel_holds_the_networks(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in ("alphago", "configs", "eval", "scripts", "selfplay", "train"):
        ignored = shutil.ignore_patterns("__pycache__", "networks")
        shutil.copytree(ROOT / name, source / name, ignore=ignored)
    network = source / "alphago" / "networks" / "go_9x9"
    network.mkdir(parents=True)
    for name in ("weights.safetensors", "manifest.json", "config.yaml", CARD_FILE):
        (network / name).write_text(name)
    program = "from setuptools import build_meta; build_meta.build_wheel('..')"
    subprocess.run(
        [sys.executable, "-c", program], cwd=source, check=True, capture_output=True, timeout=120
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("weights.safetensors", "manifest.json", "config.yaml", CARD_FILE):
        assert f"alphago/networks/go_9x9/{name}" in names
