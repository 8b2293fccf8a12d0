"""The runs of an ablation: each composed, checked and laid down before any is trained."""

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from alphago.errors import AlphagoError
from alphago.files import CHECKPOINTS_FOLDER, CONFIG_FILE
from scripts.ablation_file import BASE, Ablation, AblationError
from scripts.arguments import one_line
from scripts.composition import compose_config, flatten, to_run_config
from scripts.overrides import expand
from scripts.resume import Change
from scripts.train import prepare

if TYPE_CHECKING:
    from train.config import RunConfig

_RUNS_FOLDER = "runs"  # in the folder of an ablation
_BUDGET = ("minutes", "games", "steps")
_OWN_KEYS = ("run_dir",)  # that the ablation itself sets


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
    for name in ablation.variants:
        _check_variant(name, configs[BASE], configs[name])
    return configs


def lay_down(configs: "Mapping[str, RunConfig]", folder: Path) -> dict[str, Path]:
    """Writes the configuration of each run that has not begun into its folder.

    All at once: files that change while the first ones are trained do not change the others.

    Args:
        configs: the runs.
        folder: of the ablation.

    Returns:
        The folder of each run.

    Raises:
        AblationError: if a run was begun with other options.
        CheckpointError: if a file cannot be written.
    """
    from train.config import config_text
    from train.run_folder import write_errors, write_text

    runs = {name: folder / _RUNS_FOLDER / name for name in configs}
    for name, run in runs.items():
        if (run / CHECKPOINTS_FOLDER).exists():
            _check_unchanged(name, run, configs[name])
            continue
        with write_errors(run):
            shutil.rmtree(run, ignore_errors=True)
            run.mkdir(parents=True)
        config = dataclasses.replace(configs[name], run_dir=str(run))
        write_text(run / CONFIG_FILE, config_text(config))
    return runs


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
        if key in (*_BUDGET, *_OWN_KEYS):
            raise AblationError(f"{name}: {key}: got {new}, allowed: as in the base, {old}")
    if not has_rules_of(base.game.text, config.game.text):
        raise AblationError(
            f"{name}: plays {config.game.text}, allowed: as in the base, {base.game.text}"
        )


def _check_unchanged(name: str, run: Path, config: "RunConfig") -> None:
    """Raises if a run was begun with other options; those younger than it do not count."""
    path = run / CONFIG_FILE
    try:
        saved = OmegaConf.load(path)
    except (OSError, UnicodeDecodeError, YAMLError, OmegaConfBaseException) as error:
        raise AblationError(f"{path}: cannot be read: {one_line(error)}") from error
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
