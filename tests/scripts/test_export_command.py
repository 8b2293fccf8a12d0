"""`alphago export` on runs, through the command line."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors
import torch

from alphago.errors import MismatchError
from alphago.games import make_game
from alphago.network import NetworkConfig, make_network, weights_of
from alphago.network import export as export_module
from alphago.types import UInt8Array
from scripts.main import main
from tests.network.fake_game import make_config, random_observations
from tests.scripts.tiny_run import TINY
from train.checkpoint import Checkpoint, save_checkpoint, write_best


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Waiting for each other costs threads more than networks this small do."""
    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the command runs in, an empty one."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of eight games of tic-tac-toe."""
    run = tmp_path_factory.mktemp("runs") / "tiny"
    assert main(["train", *TINY, f"run_dir={run}"]) == 0
    return run


def make_run(
    run: Path, game_text: str, config: NetworkConfig, *, positions: UInt8Array | None = None
) -> Path:
    """Writes a run with the checkpoints of steps 10 and 20, of fresh networks; 10 is the best."""
    spec = make_game(game_text).spec
    for step in (10, 20):
        checkpoint = Checkpoint(
            game=game_text,
            network=config,
            step=step,
            weights=weights_of(make_network(spec, config, seed=step)),
            best_weights=weights_of(make_network(spec, config, seed=10)),
            trainer_tensors={"momentum": np.zeros(1, np.float32)},
            state={},
            config_text="",
            positions=positions,
        )
        name = save_checkpoint(run, checkpoint).name
        if step == 10:
            write_best(run, name)
    return run


def export(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["export", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


@pytest.mark.parametrize("format_name", ["safetensors", "torchscript", "onnx", "openvino"])
def test_a_trained_network_becomes_a_file_named_after_run_and_step(
    trained: Path, folder: Path, format_name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    lines = export(capsys, str(trained), "--format", format_name)
    match = re.fullmatch(r"tic_tac_toe, 1 blocks of 4 channels, step (\d+)", lines[0])
    assert match, lines[0]
    files = sorted(path.name for path in folder.iterdir())
    ending = export_module.FORMATS[format_name].suffix
    name = f"tiny-{match[1]}"
    assert files == ([f"{name}.bin"] * (ending == ".xml")) + [f"{name}{ending}"]
    for line in lines[1:-1]:
        name, size, unit = line.split()
        assert (int(size.replace(",", "")), unit) == ((folder / name).stat().st_size, "bytes")
    assert re.fullmatch(
        r"  on 64 positions of the run, greatest difference from torch in fp32:"
        r" \S+ of a logit, \S+ of a value",
        lines[-1],
    )


def test_steps_and_checkpoints_are_named_as_everywhere(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "my run", "connect_four", make_config())
    for text, step in (("", 10), (":step=20", 20), (":step=latest", 20), (":step=best", 10)):
        lines = export(capsys, f"{run}{text}", "--format", "safetensors", "output=net.safetensors")
        assert lines[0] == f"connect_four, 2 blocks of 16 channels, step {step}"
        with safetensors.safe_open(folder / "net.safetensors", framework="numpy") as file:
            stem = file.get_tensor("stem.weight")
        expected = weights_of(
            make_network(make_game("connect_four").spec, make_config(), seed=step)
        )
        np.testing.assert_array_equal(stem, expected["stem.weight"])
        (folder / "net.safetensors").unlink()
    checkpoint = run / "checkpoints" / "00000020"
    export(capsys, "--format", "safetensors", str(checkpoint))
    assert [path.name for path in folder.iterdir()] == ["my run-20.safetensors"]


@pytest.mark.parametrize(
    ("num_rows", "source"), [(64, "the run"), (100, "the run"), (63, "random games")]
)
def test_positions_of_the_run_are_taken_where_there_are_enough(
    tmp_path: Path, num_rows: int, source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = make_game("connect_four").spec
    positions = random_observations(spec, num_rows, seed=1)
    run = make_run(tmp_path / "run", "connect_four", make_config(), positions=positions)
    lines = export(capsys, str(run), "--format", "openvino")
    assert lines[-1].startswith(f"  on 64 positions of {source}, ")


def test_a_network_for_leela_zero(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "go", "go_19x19", make_config(num_blocks=1))
    lines = export(capsys, str(run), "--format", "leela-zero", "output=weights.txt")
    assert lines[0] == "go_19x19, 1 blocks of 16 channels, step 10"
    assert (folder / "weights.txt").read_text().startswith("1\n")


def test_a_network_for_every_size_goes_out_for_the_size_that_is_asked_for(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(heads="pooled", pooling_channels=4)
    run = make_run(tmp_path / "go", "go_5x5:planes=extended", config)
    words = ["--format", "safetensors", "game=go_4x3:komi=2"]
    lines = export(capsys, str(run), *words)
    assert lines[0].startswith("go_4x3:komi=2,planes=extended, 2 blocks")
    with safetensors.safe_open(folder / "go-10.safetensors", framework="numpy") as file:
        entries = file.metadata()
    assert json.loads(entries["alphago.observations"])["shape"] == ["batch", 36, 3, 4]
    assert main(["export", str(run), "--format", "onnx", "game=connect_four"]) == 2
    assert "plays go_5x5, but the game is connect_four" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["RUN"], "which format? write --format FORMAT, allowed: safetensors, torchscript, onnx,"),
        (["RUN", "--format", "onxx"], "--format: got 'onxx'; nearest: onnx; allowed: safetensors,"),
        (["RUN", "--format", "leela-zero"], "leela-zero: game: got connect_four, allowed in"),
        (["RUN", "format=onnx"], "format=onnx: write --format onnx"),
        (["RUN", "--format", "onnx", "output=x.pt"], "got 'x.pt', allowed for onnx: NAME.onnx"),
        (["RUN", "--format", "onnx", "output=no/x.onnx"], "but no is no folder"),
        (["RUN", "--format", "onnx", f"output={'x' * 300}.onnx"], "cannot be written (File name"),
        (["RUN", "--format", "onnx", f"output={'x' * 300}/x.onnx"], "is no folder"),
        (["RUN", "--format", "onnx", "outptu=x.onnx"], "outptu: unknown key; nearest: output"),
        (["RUN", "--format", "onnx", "--output", "x.onnx"], "options are written output=x.onnx"),
        (["RUN:step=11", "--format", "onnx"], "step: got 11, allowed: 10, 20, best or latest"),
        (["RUN:simulations=2", "--format", "onnx"], "got option 'simulations' (allowed: step)"),
        (["RUN", "--format", "onnx", "game=go_9x9"], "plays connect_four, but the game is go_9x9"),
        (["random", "--format", "onnx"], "random: has no network, allowed: the folder of a run"),
        (["gtp:gnugo", "--format", "onnx"], "gtp:gnugo: has no network"),
        (["missing", "--format", "onnx"], "missing: no such kind of player and no such file or"),
        ([".", "--format", "onnx"], "is neither a run"),
        ([], "CHECKPOINT"),
    ],
)
def test_wrong_words_are_one_line(
    tmp_path: Path,
    folder: Path,
    words: list[str],
    expected: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_run(tmp_path / "run", "connect_four", make_config())
    assert main(["export", *(word.replace("RUN", str(run)) for word in words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert expected in err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("existing", ["run-10.xml", "run-10.bin"])
def test_a_file_that_exists_is_left_alone(
    tmp_path: Path, folder: Path, existing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", "connect_four", make_config())
    (folder / existing).write_text("mine")
    assert main(["export", str(run), "--format", "openvino"]) == 2
    assert f"output: {existing} exists already" in capsys.readouterr().err
    assert (folder / existing).read_text() == "mine"
    assert len(list(folder.iterdir())) == 1


def test_a_link_that_leads_nowhere_is_left_alone(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", "connect_four", make_config())
    link = folder / "net.onnx"
    link.symlink_to("nowhere.onnx")
    assert main(["export", str(run), "--format", "onnx", "output=net.onnx"]) == 2
    assert "output: net.onnx exists already" in capsys.readouterr().err
    assert [path.readlink() for path in folder.iterdir()] == [Path("nowhere.onnx")]


def test_a_file_that_answers_otherwise_is_a_failure_and_not_wrong_input(
    tmp_path: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_run(tmp_path / "run", "connect_four", make_config())

    def differ(answer: object, expected: object) -> None:
        raise MismatchError("its logits differ")

    monkeypatch.setattr(export_module, "_compare", differ)
    assert main(["export", str(run), "--format", "onnx"]) == 1
    err = capsys.readouterr().err
    assert err == "alphago export: error: run-10.onnx: removed, its logits differ\n"
    assert list(folder.iterdir()) == []
