"""Checks the checkpoints of a run: whole, finite, of this run, and in order."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from alphago.errors import AlphagoError, CheckpointError
from alphago.files import BEST_FILE, CHECKPOINTS_FOLDER, reason, set_aside
from scripts.checks.findings import FAULT, NOTE, Finding, Repair
from train.checkpoint import (
    Checkpoint,
    load_checkpoint,
    read_best,
    step_of,
    write_best,
)
from train.run_state import RunState, check_is_of_run, from_json, wrong_kind_errors

if TYPE_CHECKING:
    from train.config import RunConfig


class CheckedCheckpoint(NamedTuple):
    """A checkpoint that was looked at: what it keeps of the run, or what is wrong with it.

    Attributes:
        folder: its folder.
        state: what it keeps of the run; None in one that is broken.
        fault: what is wrong with it, empty where nothing is.
    """

    folder: Path
    state: RunState | None
    fault: str = ""

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name


class SoundCheckpoint(NamedTuple):
    """A checkpoint that a run can go on from.

    Attributes:
        name: the name of its folder.
        step: optimiser steps.
        state: what it keeps of the run.
    """

    name: str
    step: int
    state: RunState


def check_checkpoints(
    folders: Sequence[Path], config: "RunConfig | None", *, tick: Callable[[str], None]
) -> list[CheckedCheckpoint]:
    """Reads checkpoints as a run that goes on does.

    Args:
        folders: the checkpoints of a run, oldest first.
        config: the run's configuration, None where it cannot be read.
        tick: told the name of each before it is read.

    Returns:
        All that are still there: a run that goes on removes old ones.
    """
    checked = []
    for folder in folders:
        tick(f"{CHECKPOINTS_FOLDER}/{folder.name}")
        found = _check(folder, config)
        if found.fault:  # a run may have replaced it just then by one of the same step
            found = _check(folder, config)
        if folder.exists():
            checked.append(found)
    return checked


def sound_ones(checked: Sequence[CheckedCheckpoint]) -> list[SoundCheckpoint]:
    """Returns the checkpoints that a run can go on from, oldest first."""
    return [
        SoundCheckpoint(each.name, step_of(each.folder), each.state)
        for each in checked
        if each.state is not None
    ]


def find_faults(
    run: Path, checked: Sequence[CheckedCheckpoint], *, has_games: bool
) -> list[Finding]:
    """Tells which checkpoints are broken, and whether their counters rise.

    Args:
        run: folder of the run.
        checked: its checkpoints, oldest first.
        has_games: whether it has played any game.
    """
    sound = sound_ones(checked)
    findings = [_broken(run, each, sound) for each in checked if each.fault]
    if not checked:
        findings.append(_none_at_all(has_games=has_games))
    for before, after in pairwise(sound):
        if fallen := _fallen(before, after):
            where = f"{CHECKPOINTS_FOLDER}/{after.name}"
            follows = "the counters of one of the two are wrong"
            findings.append(Finding(FAULT, where, f"{fallen} since {before.name}", follows))
    return findings


def check_best(run: Path, checked: Sequence[CheckedCheckpoint]) -> list[Finding]:
    """Checks that `best`, which players follow, names a checkpoint that is sound."""
    sound = sound_ones(checked)
    if not sound:
        return []
    try:
        name = read_best(run)
        if name is not None and not _is_there(run, name):
            name = read_best(run)  # a run may have promoted another network just then
    except CheckpointError as error:
        what = str(error).removeprefix(f"{run / BEST_FILE}: ")
        return [_best_is_of_no_use(run, what, sound[-1])]
    if name is None:
        return [Finding(NOTE, BEST_FILE, "missing", "players take the newest checkpoint")]
    is_broken = any(each.name == name and each.fault for each in checked)
    if is_broken or not _is_there(run, name):
        how = "broken" if is_broken else "not there"
        what = f"names the checkpoint {name[:40]!r}, which is {how}"
        return [_best_is_of_no_use(run, what, sound[-1])]
    return []


def _is_there(run: Path, name: str) -> bool:
    return (
        re.fullmatch("[0-9]{1,18}", name) is not None and (run / CHECKPOINTS_FOLDER / name).is_dir()
    )


def _best_is_of_no_use(run: Path, what: str, newest: SoundCheckpoint) -> Finding:
    """Tells it; the newest sound checkpoint holds the best network as well."""

    def repair() -> str:
        path, done = run / BEST_FILE, f"names {newest.name} now"
        if path.is_dir():
            done += f"; {_set_aside(path).relative_to(run)} is what was there"
        write_best(run, newest.name)
        return done

    follows = "`alphago play` finds no network until the run goes on"
    return Finding(FAULT, BEST_FILE, what, follows, repair)


def _check(folder: Path, config: "RunConfig | None") -> CheckedCheckpoint:
    try:
        checkpoint = load_checkpoint(folder)
        state = from_json(checkpoint.state)
        _check_counters(folder, checkpoint, state)
        _check_loads(folder, checkpoint, state, config)
    except AlphagoError as error:
        what = str(error).replace(f"{folder}/", "").removeprefix(f"{folder}: ")
        return CheckedCheckpoint(folder, None, what)
    return CheckedCheckpoint(folder, state)


def _check_counters(folder: Path, checkpoint: Checkpoint, state: RunState) -> None:
    """Raises CheckpointError if the counters of a checkpoint contradict each other."""
    counters, best = state.counters, state.best_checkpoint
    steps = {step_of(folder), checkpoint.step, state.trainer["num_steps"]}
    if len(steps) > 1:
        raise CheckpointError(
            f"{folder}: is named {folder.name}, its manifest says step {checkpoint.step},"
            f" its trainer step {state.trainer['num_steps']}"
        )
    for name in ("best_step", "judged_step"):
        if getattr(counters, name) > checkpoint.step:
            raise CheckpointError(
                f"{folder}: {name}: got {getattr(counters, name)}, allowed: at most its step"
            )
    if counters.version > counters.iteration:
        raise CheckpointError(
            f"{folder}: version: got {counters.version} promotions in {counters.iteration}"
            " iterations"
        )
    if (
        not re.fullmatch("[0-9]{1,18}", best)
        or not counters.best_step <= int(best) <= checkpoint.step
    ):
        raise CheckpointError(
            f"{folder}: best_checkpoint: got {best!r}, allowed: one from step"
            f" {counters.best_step} to {checkpoint.step}"
        )


def _check_loads(
    folder: Path, checkpoint: Checkpoint, state: RunState, config: "RunConfig | None"
) -> None:
    """Raises AlphagoError unless both networks and the trainer can be made of a checkpoint.

    On the CPU: a run that is going on may need all of the GPU.
    """
    from alphago.games import make_game
    from alphago.network.network import load_weights, make_network
    from train.trainer_setup import make_trainer, trainer_setup

    network = make_network(make_game(checkpoint.game).spec, checkpoint.network, seed=0)
    for weights in (checkpoint.weights, checkpoint.best_weights):
        load_weights(network, weights)
    if config is None:
        return
    spec, run = make_game(config.game.text).spec, folder.parent.parent
    check_is_of_run(checkpoint, spec=spec, network=config.network, run=run)
    setup = trainer_setup(config, device="cpu")
    with wrong_kind_errors("state of the trainer"):
        make_trainer(setup, None).load_state_dict(checkpoint.trainer_tensors, state.trainer)


def _broken(run: Path, checked: CheckedCheckpoint, sound: Sequence[SoundCheckpoint]) -> Finding:
    """Tells of a broken checkpoint, and what a run does that goes on."""
    where = f"{CHECKPOINTS_FOLDER}/{checked.name}"
    if not sound:
        follows = "no checkpoint is sound: the run cannot go on"
        return Finding(FAULT, where, checked.fault, follows)
    follows = "its network is lost; the run goes on from a newer one"
    if step_of(checked.folder) > sound[-1].step:
        follows = f"the run goes on from {sound[-1].name}"
    return Finding(FAULT, where, checked.fault, follows, _put_away(run, checked.folder))


def _put_away(run: Path, folder: Path) -> Repair:
    return lambda: f"set aside as {_set_aside(folder).relative_to(run)}"


def _set_aside(path: Path) -> Path:
    try:
        return set_aside(path)
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be set aside: {reason(error)}") from error


def _none_at_all(*, has_games: bool) -> Finding:
    if has_games:
        follows = "the run cannot go on; its games can still be read"
        return Finding(FAULT, CHECKPOINTS_FOLDER, "there is none, but games were played", follows)
    return Finding(NOTE, CHECKPOINTS_FOLDER, "there is none yet", "the run begins at its start")


def _fallen(before: SoundCheckpoint, after: SoundCheckpoint) -> str:
    """Returns which counters fall from one checkpoint to the next, an empty text if none does."""
    first, second = (_rising(each.state) for each in (before, after))
    return ", ".join(
        f"{name} falls from {number:,.0f} to {second[name]:,.0f}"
        for name, number in first.items()
        if second[name] < number
    )


def _rising(state: RunState) -> dict[str, float]:
    """Returns the numbers that no run ever lowers."""
    drawn = {name: state.buffer[name] for name in ("positions_seen", "samples_drawn")}
    counters = {name: n for name, n in vars(state.counters).items() if name != "best_progress"}
    return counters | drawn | {"games": state.num_games}
