"""The runs of an ablation: each composed, checked and laid down before any is trained."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omegaconf import OmegaConf

from alphago.errors import AlphagoError
from alphago.files import CHECKPOINTS_FOLDER, CONFIG_FILE
from scripts.ablations.file import BASE, Ablation, AblationError
from scripts.arguments import one_line
from scripts.composition import compose_config, flatten, read_saved, to_run_config
from scripts.overrides import expand
from scripts.resume import Change
from scripts.train import prepare

if TYPE_CHECKING:
    from train.config import RunConfig

_RUNS_FOLDER = "runs"  # in the folder of an ablation
_BUDGET = ("minutes", "games", "steps")
_OWN_KEYS = ("run_dir",)  # that the ablation itself sets


class RunFacts(NamedTuple):
    """What a run has done."""

    games: int  # finished games
    steps: int  # optimiser steps
    positions: int  # to learn from
    minutes: float  # wall time


def compose_runs(ablation: Ablation) -> "dict[str, RunConfig]":
    """Composes and checks the configuration of each run.

    Returns:
        By name, the base first. Where a run lies is left open.

    Raises:
        AblationError: if a variant changes nothing, or what has to be the same in all runs.
        CommandLineError: if an override is wrong.
        ConfigError: if a value is not allowed.
        SuiteError: if a position suite cannot be read.
    """
    configs = {name: _compose(ablation, name) for name in ablation.names}
    if all(getattr(configs[BASE], limit) is None for limit in _BUDGET):
        raise AblationError(f"{BASE}: needs a limit, one of {', '.join(_BUDGET)}")
    for key in (*_OWN_KEYS, "target"):  # a target would end each run when its suite is lucky
        if (value := getattr(configs[BASE], key)) is not None:
            raise AblationError(f"{BASE}: {key}: got {value}, allowed: null")
    for name in ablation.variants:
        _check_variant(name, configs[BASE], configs[name])
    return configs


def lay_down(configs: "Mapping[str, RunConfig]", folder: Path) -> dict[str, Path]:
    """Writes the configuration of each run that has not begun into its folder.

    All at once: files that change while the first ones are trained do not change the others.
    Nothing is removed.

    Args:
        configs: the runs.
        folder: of the ablation.

    Returns:
        The folder of each run.

    Raises:
        AblationError: if a run was begun with other options, or its folder holds something else.
        CheckpointError: if a file cannot be written.
    """
    from train.config import config_text
    from train.run_folder import write_errors, write_text

    runs = {name: folder / _RUNS_FOLDER / name for name in configs}
    begun = [name for name, run in runs.items() if (run / CHECKPOINTS_FOLDER).exists()]
    for name, run in runs.items():
        if name in begun:
            _check_unchanged(name, run, configs[name])
        else:
            _check_unused(run)
    for name, run in runs.items():
        if name in begun:
            continue
        with write_errors(run):
            run.mkdir(parents=True, exist_ok=True)
        config = dataclasses.replace(configs[name], run_dir=str(run))
        write_text(run / CONFIG_FILE, config_text(config))
    return runs


def budget_used(run: Path, config: "RunConfig") -> float:
    """Returns which share of its budget a run has used by its newest checkpoint."""
    facts = read_facts(run)
    limits = {"minutes": config.minutes, "games": config.games, "steps": config.steps}
    return max(
        float(getattr(facts, key) / limit) for key, limit in limits.items() if limit is not None
    )


def read_facts(run: Path) -> RunFacts:
    """Reads what a run has done from its newest checkpoint; nothing without any.

    Raises:
        CheckpointError: if it is broken.
    """
    from train.checkpoint import checkpoint_folders, read_state
    from train.run_state import from_json

    folders = checkpoint_folders(run)
    if not folders:
        return RunFacts(games=0, steps=0, positions=0, minutes=0.0)
    step = max(folders)
    state = from_json(read_state(folders[step]))
    return RunFacts(
        games=state.num_games,
        steps=step,
        positions=state.buffer["positions_seen"],
        minutes=state.counters.seconds / 60,
    )


def short_runs(configs: "Sequence[RunConfig]") -> "dict[str, RunConfig]":
    """Returns runs of a game or two that call all the kernels of these runs, each kind once."""
    first, kinds = configs[0], list["RunConfig"]()
    for config in configs:
        kind = dataclasses.replace(
            first,
            game=config.game,
            network=config.network,
            selfplay=dataclasses.replace(
                config.selfplay,
                mode="inline",
                num_games=2,
                num_simulations=4,
                fast_num_simulations=2,
            ),
            gate=dataclasses.replace(config.gate, num_games=2, num_simulations=2),
            train=dataclasses.replace(first.train, batch_size=8),
            suite=dataclasses.replace(first.suite, file=None),
            yardstick=dataclasses.replace(first.yardstick, player=None),
            games_per_iteration=1,
            minutes=None,
            games=1,
            steps=None,
        )
        if kind not in kinds:
            kinds.append(kind)
    return {str(number): kind for number, kind in enumerate(kinds)}


def _compose(ablation: Ablation, name: str) -> "RunConfig":
    """Composes one run; errors say which."""
    try:
        (job,) = expand(ablation.overrides(name), multirun=False)
        return prepare(to_run_config(compose_config(job)))
    except AlphagoError as error:
        raise AblationError(f"{name}: {one_line(error)}") from error


def _check_variant(name: str, base: "RunConfig", config: "RunConfig") -> None:
    """Raises unless a variant differs from the base in what may differ."""
    from eval.ladder_files import has_rules_of

    changes = _changes(base, config)
    if not changes:
        raise AblationError(f"{name}: changes nothing of the base")
    for key, old, new in changes:
        if key in (*_BUDGET, *_OWN_KEYS, "target"):
            raise AblationError(f"{name}: {key}: got {new}, allowed: as in the base, {old}")
    if not has_rules_of(base.game.text, config.game.text):
        raise AblationError(
            f"{name}: plays {config.game.text}, allowed: as in the base, {base.game.text}"
        )


def _check_unused(run: Path) -> None:
    """Raises if a folder holds more than a run which has saved nothing leaves behind."""
    from train.run_folder import LOCK_FILE, SITTINGS_FILE

    for path in sorted(run.rglob("*")):
        if path.name not in (CONFIG_FILE, LOCK_FILE, SITTINGS_FILE) and not path.is_dir():
            raise AblationError(
                f"{run}: is no run of this ablation, it holds {path.relative_to(run)};"
                " take another folder"
            )


def _check_unchanged(name: str, run: Path, config: "RunConfig") -> None:
    """Raises if a run was begun with other options; those younger than it do not count."""
    saved = read_saved(run / CONFIG_FILE, error=AblationError)
    for key, value in _flat(config).items():
        old = OmegaConf.select(saved, key, default=value)
        if old != value and key not in _OWN_KEYS:
            raise AblationError(
                f"{name}: was begun with {key}={_text(old)}, now it is {_text(value)}; remove"
                f" {run}, name the variant anew, or take another folder"
            )


def _changes(base: "RunConfig", config: "RunConfig") -> list[Change]:
    """Returns the options in which two runs differ."""
    old, new = _flat(base), _flat(config)
    return [Change(key, old[key], new[key]) for key in old if old[key] != new[key]]


def _flat(config: "RunConfig") -> dict[str, object]:
    return dict(flatten(OmegaConf.structured(config)))


def _text(value: object) -> str:
    return "null" if value is None else str(value)
