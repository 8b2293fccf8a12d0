import errno
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from numpy.typing import NDArray

import train.checkpoint
from alphago.errors import CheckpointError
from alphago.network.network import load_weights, make_network
from alphago.network.weights import load_player_network, sha256_of
from alphago.types import Weights
from selfplay.random_state import rng_state
from tests.train.training_setups import TINY, TTT, make_trainer, random_rows
from train.checkpoint import (
    Checkpoint,
    folders_to_keep,
    load_checkpoint,
    newest_checkpoint,
    prune,
    read_best,
    save_checkpoint,
    write_best,
)

FILES = (
    "weights.safetensors",
    "best.safetensors",
    "positions.safetensors",
    "trainer.safetensors",
    "state.json",
    "config.yaml",
    "manifest.json",
)


def make_checkpoint(*, step: int = 3, seed: int = 0) -> Checkpoint:
    trainer = make_trainer(seed=seed, optimizer="adamw", ema_decay=0.9)
    trainer.step(random_rows(seed), 0.0)
    tensors, facts = trainer.state_dict()
    return Checkpoint(
        game="tic_tac_toe",
        network=TINY,
        step=step,
        weights=trainer.play_weights(),
        best_weights=make_trainer(seed=seed + 1).play_weights(),
        positions=random_rows(seed, num_rows=5).observations,
        trainer_tensors=tensors,
        state={"trainer": facts, "rng": rng_state(np.random.default_rng(seed)), "games": 5},
        config_text="seed: 1 # größer\n",
    )


def assert_same_weights(one: Weights, other: Weights) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.dtype == other[name].dtype, name
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def assert_same_checkpoint(one: Checkpoint, other: Checkpoint) -> None:
    for name in ("weights", "best_weights", "trainer_tensors"):
        assert_same_weights(getattr(one, name), getattr(other, name))
    assert one.positions is not None
    assert other.positions is not None
    assert one.positions.dtype == other.positions.dtype == np.uint8
    np.testing.assert_array_equal(one.positions, other.positions)
    for name in ("game", "network", "step", "state", "config_text"):
        assert getattr(one, name) == getattr(other, name)


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    folder = save_checkpoint(tmp_path, checkpoint)
    assert folder == tmp_path / "checkpoints" / "00000003"
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert_same_checkpoint(load_checkpoint(folder), checkpoint)


def test_the_loaded_trainer_goes_on_like_the_saved_one(tmp_path: Path) -> None:
    trainer = make_trainer(optimizer="adamw", ema_decay=0.9)
    trainer.step(random_rows(0), 0.0)
    tensors, facts = trainer.state_dict()
    saved = replace(make_checkpoint(), trainer_tensors=tensors, state={"trainer": facts})
    loaded = load_checkpoint(save_checkpoint(tmp_path, saved))
    other = make_trainer(seed=8, optimizer="adamw", ema_decay=0.9)
    other.load_state_dict(loaded.trainer_tensors, loaded.state["trainer"])
    assert trainer.step(random_rows(1), 0.0) == other.step(random_rows(1), 0.0)
    assert_same_weights(trainer.play_weights(), other.play_weights())


def test_players_can_read_both_networks(tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    folder = save_checkpoint(tmp_path, checkpoint)
    info, weights, positions = load_player_network(folder)
    assert (info.game, info.network, info.step) == ("tic_tac_toe", TINY, 3)
    assert_same_weights(weights, checkpoint.weights)
    np.testing.assert_array_equal(positions, checkpoint.positions)
    _, best, _ = load_player_network(folder, which="best")
    assert_same_weights(best, checkpoint.best_weights)
    load_weights(make_network(TTT.spec, TINY, seed=5), best)


def test_a_checkpoint_from_before_positions_were_kept_loads_without_them(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path, replace(make_checkpoint(), positions=None))
    assert not (folder / "positions.safetensors").exists()
    assert load_checkpoint(folder).positions is None
    assert load_player_network(folder)[2] is None


def positions_file(bits: NDArray[np.uint8], *shape: int) -> bytes:
    return safetensors.numpy.save({"bits": bits, "shape": np.array(shape)})


@pytest.mark.parametrize(
    "content",
    [
        b"",
        safetensors.numpy.save({"weight": np.zeros(4, np.float32)}),
        safetensors.numpy.save({"bits": np.zeros(3, np.uint8), "shape": np.array(5.0)}),
        positions_file(np.zeros(3, np.uint8), 5, 3, 3, 3),
        positions_file(np.zeros(18, np.uint8), 5, 3, 3, 3),
        positions_file(np.zeros(17, np.uint8), 5, 3, 9),
        positions_file(np.zeros(0, np.uint8), 0, 3, 3, 3),
        positions_file(np.zeros(17, np.uint8), -5, -3, 3, 3),
    ],
    ids=["empty", "else", "number", "short", "long", "shape", "none", "negative"],
)
def test_positions_that_cannot_be_read_are_named(tmp_path: Path, content: bytes) -> None:
    folder = save_checkpoint(tmp_path, make_checkpoint())
    write_with_checksum(folder, "positions.safetensors", content)
    for load in (load_checkpoint, load_player_network):
        with pytest.raises(CheckpointError, match=r"positions\.safetensors: "):
            load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["removed", "halved", "emptied", "changed"])
def test_damage_to_any_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder = save_checkpoint(tmp_path, make_checkpoint())
    path = folder / name
    content = path.read_bytes()
    changed = bytearray(content)
    changed[len(content) // 2] ^= 0x01
    damages = {"halved": content[: len(content) // 2], "emptied": b"", "changed": bytes(changed)}
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes(damages[damage])
    # A changed manifest may accuse a file that is as it was; every other file is named itself.
    with pytest.raises(CheckpointError, match="00000003" if name == "manifest.json" else name):
        load_checkpoint(folder)


def test_another_schema_version_is_named(tmp_path: Path) -> None:
    folder = save_checkpoint(tmp_path, make_checkpoint())
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    with pytest.raises(CheckpointError, match="schema version 99"):
        load_checkpoint(folder)


def write_with_checksum(folder: Path, name: str, content: bytes) -> None:
    """Puts a file into a checkpoint as if it had been written that way."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    facts = {"sha256": sha256_of(folder / name), "bytes": len(content)}
    manifest["files"][name] = facts
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("state.json", b"[" * 100_000, "no JSON"),
        ("state.json", b"{", "no JSON"),
        ("state.json", b"\xff\xfe", "no text"),
        ("state.json", b"[1]", "not the state of a run"),
        ("config.yaml", b"\xff\xfe", "no text"),
    ],
    ids=lambda value: str(value)[:12],
)
def test_odd_content_is_named_and_the_checkpoint_before_is_taken(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    save_checkpoint(tmp_path, make_checkpoint(step=1))
    folder = save_checkpoint(tmp_path, make_checkpoint(step=2))
    write_with_checksum(folder, name, content)
    with pytest.raises(CheckpointError, match=f"{name}: {words}"):
        load_checkpoint(folder)
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[1].step == 1


@pytest.mark.parametrize(
    "entry", [{"files": {"state.json": 3}}, {"step": []}, {"network": {"num_blocks": "x"}}], ids=str
)
def test_an_odd_manifest_is_passed_over(tmp_path: Path, entry: dict[str, object]) -> None:
    save_checkpoint(tmp_path, make_checkpoint(step=1))
    path = save_checkpoint(tmp_path, make_checkpoint(step=2)) / "manifest.json"
    manifest = json.loads(path.read_text())
    if "files" in entry:
        entry = {"files": manifest["files"] | entry["files"]}
    path.write_text(json.dumps(manifest | entry))
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[1].step == 1


def test_a_checkpoint_that_fails_the_check_counts_as_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse_the_newest(checkpoint: Checkpoint) -> None:
        if checkpoint.step == 2:
            raise CheckpointError("of no use")

    save_checkpoint(tmp_path, make_checkpoint(step=1))
    save_checkpoint(tmp_path, make_checkpoint(step=2))
    found = newest_checkpoint(tmp_path, check=refuse_the_newest)
    assert found is not None
    assert found[1].step == 1
    assert "00000002 is broken, trying the one before: of no use" in caplog.text


def test_the_newest_whole_checkpoint_is_taken_and_broken_ones_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert newest_checkpoint(tmp_path) is None
    for step in (9, 10, 100000000):  # more digits than the name is padded to
        save_checkpoint(tmp_path, make_checkpoint(step=step))
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[1].step == 100000000
    broken = found[0] / "trainer.safetensors"
    broken.write_bytes(broken.read_bytes()[:100])
    with caplog.at_level(logging.WARNING):
        found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[0].name == "00000010"
    assert "checkpoint 100000000 is broken" in caplog.text
    assert "trainer.safetensors" in caplog.text
    for name in names(tmp_path):
        (tmp_path / "checkpoints" / name / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="all 3 checkpoints are broken"):
        newest_checkpoint(tmp_path)


def test_what_a_killed_writer_left_is_neither_loaded_nor_kept(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, make_checkpoint(step=1))
    folder = save_checkpoint(tmp_path, make_checkpoint(step=2))
    folder.rename(folder.with_name(".tmp-00000002"))
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[1].step == 1
    save_checkpoint(tmp_path, make_checkpoint(step=3))
    assert names(tmp_path) == ["00000001", "00000003"]


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, make_checkpoint(seed=1))
    newer = make_checkpoint(seed=2)
    save_checkpoint(tmp_path, newer)
    assert names(tmp_path) == ["00000003"]
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert_same_checkpoint(found[1], newer)


@pytest.mark.parametrize("stop_at", range(1, 4))
def test_a_replacement_that_is_stopped_anywhere_leaves_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_at: int
) -> None:
    """The last steps are rename, rename, flush and remove; a kill may come before any of them."""
    save_checkpoint(tmp_path, make_checkpoint(seed=1))
    calls = []

    def stopping(function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **kwargs: object) -> object:
            calls.append(function)
            if len(calls) >= stop_at:
                raise KeyboardInterrupt
            return function(*args, **kwargs)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", stopping(Path.rename))
        patch.setattr(train.checkpoint, "sync_folder", stopping(train.checkpoint.sync_folder))
        with pytest.raises(KeyboardInterrupt):
            save_checkpoint(tmp_path, make_checkpoint(seed=2))
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert found[1].step == 3
    save_checkpoint(tmp_path, make_checkpoint(seed=3))
    assert names(tmp_path) == ["00000003"]


@pytest.mark.parametrize("which", ["weights", "best_weights", "trainer_tensors"])
def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path, which: str) -> None:
    save_checkpoint(tmp_path, make_checkpoint(step=1))
    checkpoint = make_checkpoint(step=2)
    tensors = dict(getattr(checkpoint, which))
    name = sorted(name for name in tensors if name.endswith("stem.weight"))[0]
    tensors[name] = np.full_like(tensors[name], np.nan)
    with pytest.raises(CheckpointError, match=f"not finite.*{name}"):
        save_checkpoint(tmp_path, replace(checkpoint, **{which: tensors}))
    assert names(tmp_path) == ["00000001"]


def test_numbers_that_are_not_finite_are_not_saved_in_the_state(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not saved"):
        save_checkpoint(tmp_path, replace(make_checkpoint(), state={"loss": float("nan")}))
    assert names(tmp_path) == []


def test_a_state_that_could_not_be_read_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_checkpoint(tmp_path, make_checkpoint(step=3))
    monkeypatch.setattr(train.checkpoint, "_MOST_TEXT_BYTES", 20_000)
    games = replace(make_checkpoint(step=3), state={"games": [0] * 10_000})
    with pytest.raises(CheckpointError, match=r"state\.json: not saved: .*selfplay\.num_games"):
        save_checkpoint(tmp_path, games)
    assert load_checkpoint(tmp_path / "checkpoints" / "00000003").state["games"] == 5


@pytest.mark.parametrize("number_of_flush", [1, 4, 8, 12])
def test_a_full_disk_is_named_and_the_older_checkpoint_still_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number_of_flush: int
) -> None:
    older = make_checkpoint(step=1)
    save_checkpoint(tmp_path, older)
    flushes = []

    def full(descriptor: int) -> None:
        flushes.append(descriptor)
        if len(flushes) >= number_of_flush:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(CheckpointError, match=r"00000002: not saved: disk full"):
            save_checkpoint(tmp_path, make_checkpoint(step=2))
    assert names(tmp_path) == ["00000001"]
    found = newest_checkpoint(tmp_path)
    assert found is not None
    assert_same_checkpoint(found[1], older)


def test_old_checkpoints_go_and_the_best_stays(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4, 5):
        save_checkpoint(tmp_path, make_checkpoint(step=step))
    prune(tmp_path, keep=4)
    assert names(tmp_path) == ["00000001", "00000003", "00000004", "00000005"]
    assert read_best(tmp_path) is None
    write_best(tmp_path, "00000003")
    assert read_best(tmp_path) == "00000003"
    prune(tmp_path, keep=1)
    assert names(tmp_path) == ["00000003", "00000005"]
    write_best(tmp_path, "00000005")
    prune(tmp_path, keep=1)
    assert names(tmp_path) == ["00000005"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["best", "checkpoints"]


def kept_of(steps: list[int], *, num_kept: int, best: int | None = None) -> list[int]:
    folders = [Path(f"{step:08d}") for step in steps]
    name = None if best is None else f"{best:08d}"
    return [int(path.name) for path in folders_to_keep(folders, best=name, num_kept=num_kept)]


@pytest.mark.parametrize(
    ("steps", "num_kept", "best", "kept"),
    [
        ([0, 10, 20], 5, None, [0, 10, 20]),  # nothing to choose
        ([0, 10, 12, 20, 30, 40], 5, None, [0, 10, 20, 30, 40]),  # 12 is 10 from 10 to 20
        ([0, 10, 12, 20, 30, 40], 5, 12, [0, 12, 20, 30, 40]),  # the best stays; then 10 goes
        ([0, 10, 20, 30, 40], 4, None, [0, 20, 30, 40]),
        ([0, 10, 20, 30, 40], 4, 10, [10, 20, 30, 40]),  # newest and best before the first
        ([0, 10, 20, 30, 40], 2, None, [30, 40]),
        ([0, 10, 20, 30, 40], 1, 10, [10, 40]),  # one more than asked for
        ([0, 10, 20, 30, 40], 1, 40, [40]),
    ],
)
def test_the_checkpoint_with_the_closest_neighbours_goes(
    steps: list[int], num_kept: int, best: int | None, kept: list[int]
) -> None:
    assert kept_of(steps, num_kept=num_kept, best=best) == kept


@pytest.mark.parametrize("chance_of_promotion", [1.0, 0.02])  # 0.02: the best is an old one
@pytest.mark.parametrize("num_kept", [8, 20])
def test_what_stays_is_spread_over_the_run_at_all_times(
    num_kept: int, chance_of_promotion: float
) -> None:
    rng = np.random.default_rng(3)
    kept, step, best = [0], 0, 0
    for iteration in range(1, 300):
        step += int(rng.integers(190, 210))
        best = step if rng.random() < chance_of_promotion else best
        kept = kept_of([*kept, step], num_kept=num_kept, best=best)
        assert len(kept) == min(iteration + 1, num_kept)
        assert kept[0] == 0
        assert best in kept
        assert np.diff(kept).max() < max(2 * step / (num_kept - 4), 210)


def test_a_checkpoint_whose_replacement_was_stopped_is_pruned_like_others(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        save_checkpoint(tmp_path, make_checkpoint(step=step))
    folder = tmp_path / "checkpoints" / "00000002"
    folder.rename(folder.with_name("00000002.replaced"))
    prune(tmp_path, keep=3)
    assert names(tmp_path) == ["00000002.replaced", "00000003", "00000004"]


def test_a_new_process_computes_the_same_from_a_saved_network(tmp_path: Path) -> None:
    checkpoint = make_checkpoint()
    folder = save_checkpoint(tmp_path, checkpoint)
    rows = random_rows(0, num_rows=50)
    trainer = make_trainer(optimizer="adamw", ema_decay=0.9)
    trainer.load_state_dict(checkpoint.trainer_tensors, checkpoint.state["trainer"])
    expected = trainer.validate(rows).values
    np.save(tmp_path / "observations.npy", rows.observations)
    program = f"""
import numpy as np, torch
from alphago.games import make_game
from alphago.network.network import load_weights, make_network
from alphago.network.weights import load_player_network, sha256_of
from pathlib import Path
info, weights, _ = load_player_network(Path({str(folder)!r}))
network = make_network(make_game(info.game).spec, info.network, seed=77).eval()
load_weights(network, weights)
observations = np.load({str(tmp_path / "observations.npy")!r})
with torch.no_grad():
    np.save({str(tmp_path / "values.npy")!r}, network(torch.tensor(observations).float())[1])
"""
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program], check=True, cwd=root)
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), expected, atol=1e-6)


def test_a_checkpoint_that_cannot_be_removed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2, 3, 4, 5):
        save_checkpoint(tmp_path, make_checkpoint(step=step))

    def refuse(folder: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr("train.checkpoint.shutil.rmtree", refuse)
    with pytest.raises(CheckpointError, match="0000000[12]: cannot be removed: Device or resource"):
        prune(tmp_path, keep=4)
