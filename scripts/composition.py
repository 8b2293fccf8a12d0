"""Composes `configs/` and the overrides into a checked `RunConfig`."""

import io
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException
from yaml import YAMLError

from alphago.errors import AlphagoError, CheckpointError, ConfigError
from alphago.files import CONFIG_FILE, mended_by_check
from alphago.yaml_files import read_bounded_yaml
from scripts.arguments import CommandLineError, hint, one_line, refuse_pairs
from scripts.overrides import (
    CONFIG_FOLDER,
    GROUPS,
    TEXT_KEYS,
    allowed_values,
    check_group_option,
    known_keys,
    leaf_types,
    parse_override,
)
from train.config import RunConfig

SCHEMA_NAME = "run_schema"
_INTERPOLATION = "${"


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Composes the primary config with the overrides of one job.

    Args:
        overrides: as `overrides.expand` gives them.

    Raises:
        ConfigError: if a value is of the wrong type.
        CommandLineError: if the config cannot be composed.
    """
    ConfigStore.instance().store(name=SCHEMA_NAME, node=RunConfig)
    try:
        with initialize_config_dir(str(CONFIG_FOLDER), version_base="1.3"):
            return compose("train", list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise _readable(error, overrides) from None


def to_run_config(config: DictConfig) -> RunConfig:
    """Turns a composed config into the dataclasses, which check their values.

    Raises:
        ConfigError: if a value is missing or not allowed.
        CommandLineError: if an interpolation cannot be resolved.
    """
    try:
        run_config = OmegaConf.to_object(config)
    except OmegaConfBaseException as error:
        raise _readable(error, ()) from None
    assert isinstance(run_config, RunConfig), "the config is not built on the schema of RunConfig"
    for key, value in flatten(config):
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(key, value, "a finite number")
        if key in TEXT_KEYS and value == "":
            raise ConfigError(key, value, "a text that is not empty, or null")
    return run_config


def load_run_config(run_dir: Path) -> DictConfig:
    """Reads the configuration a run was started with.

    Raises:
        CheckpointError: if the folder is not a run, or its config.yaml broken.
    """
    path = run_dir / CONFIG_FILE
    saved = read_saved(path, error=CheckpointError)
    if not saved:
        raise CheckpointError(f"{path}: is empty; {mended_by_check(run_dir)}")
    try:
        merged = OmegaConf.merge(OmegaConf.structured(RunConfig), saved)
        assert isinstance(merged, DictConfig), "a structured config is a mapping"
        _check_complete(merged)
        to_run_config(merged)
    except OmegaConfBaseException as error:
        raise CheckpointError(f"{path}: {_readable(error, ())}") from None
    except (ConfigError, CommandLineError) as error:
        raise CheckpointError(f"{path}: {one_line(error)}") from None
    return merged


def read_saved(path: Path, *, error: type[AlphagoError]) -> DictConfig:
    """Reads a configuration that was written by `train`.

    All its values are there: one that refers to another, or to the environment of whoever reads it,
    was written by somebody else.

    Args:
        path: the file.
        error: what to raise.

    Raises:
        error: if the file cannot be read or holds something else.
    """
    text = read_bounded_yaml(path, error=error)
    if _INTERPOLATION in text:
        raise error(f"{path}: got a value with {_INTERPOLATION}, allowed: values as they are")
    try:
        saved = OmegaConf.load(io.StringIO(text))
    except (OSError, ValueError, YAMLError, OmegaConfBaseException) as fault:
        raise error(f"{path}: {one_line(fault)}") from None
    if not isinstance(saved, DictConfig):
        raise error(f"{path}: no configuration of a run")
    return saved


def _check_complete(saved: DictConfig) -> None:
    """Checks that a saved configuration has every option.

    Raises:
        CommandLineError: naming all that it lacks; they may be younger than the run.
    """
    missing = OmegaConf.missing_keys(saved)  # of a group that is not there at all, its name
    if missing:
        listed = ", ".join(
            key for key in leaf_types() if key in missing or key.partition(".")[0] in missing
        )
        raise CommandLineError(
            f"values are missing: {listed}; for runs of an older version CHANGELOG.md has them"
        )


def apply_overrides(config: DictConfig, texts: Sequence[str]) -> DictConfig:
    """Applies overrides to a saved configuration; a group option means the values of its file.

    Raises:
        ConfigError: if a value is of the wrong type.
        CommandLineError: if an override is wrong, sweeps, or names an experiment.
    """
    refuse_pairs(texts, keys=known_keys())
    changed = config.copy()
    for text in texts:
        override = parse_override(text)
        if override.is_sweep_override():
            raise CommandLineError(f"{text}: a run is resumed with one value")
        key, value = override.key_or_group, override.value()
        if key == "experiment":
            raise CommandLineError(
                "experiment: a run keeps its experiment; set single options instead"
            )
        if key in GROUPS:
            check_group_option(override)
            key, value = _group_values(key, str(value))
        try:
            OmegaConf.update(changed, key, value, merge=True)
        except OmegaConfBaseException as error:
            raise _readable(error, [text]) from None
    return changed


def to_yaml(config: DictConfig) -> str:
    """Returns the config as YAML."""
    return OmegaConf.to_yaml(config)


def flatten(config: DictConfig) -> Iterator[tuple[str, Any]]:
    """Yields every option of a config as (dotted key, value)."""
    for key in leaf_types():
        yield key, OmegaConf.select(config, key)


def _group_values(group: str, option: str) -> tuple[str, Any]:
    values = OmegaConf.load(CONFIG_FOLDER / group / f"{option}.yaml")
    assert isinstance(values, DictConfig), "a group's file is a mapping"
    # The files of `game` set options of other sections too; a run keeps its game, so only the
    # game's own part matters.
    return (group, values[group]) if group in values else (group, values)


def _readable(error: Exception, overrides: Sequence[str]) -> CommandLineError | ConfigError:
    """Turns an error of Hydra or OmegaConf into one that names key, value and what is allowed."""
    cause: BaseException | None = error
    while cause is not None and not getattr(cause, "full_key", None):
        cause = cause.__cause__
    text = str(cause or error).strip()
    # Hydra puts where it happened on a line of its own before what happened.
    reason = one_line(text.split(":\n")[-1].split("\n")[0])
    named = re.search(r"full_key: (\S+)", text)
    key = getattr(cause, "full_key", None) or (named.group(1) if named else None)
    if key is None:
        return CommandLineError(reason)
    if isinstance(cause, MissingMandatoryValue):
        return CommandLineError(f"{key}: the value is missing")
    if key not in leaf_types():
        return CommandLineError(f"{key}: unknown key{hint(key, leaf_types())}")
    given = [text.partition("=")[2] for text in overrides if text.partition("=")[0] == key]
    if given:
        return ConfigError(key, given[-1], allowed_values(key))
    return CommandLineError(f"{key}: {reason}; allowed: {allowed_values(key)}")
