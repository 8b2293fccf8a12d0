"""`alphago resume`: goes on with a run, with its saved configuration and the changes given."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from alphago.streams import tell
from scripts.arguments import CommandLineError
from scripts.run_folder import check_is_run
from scripts.tables import format_table
from scripts.train import hydra_parser, prepare, run_and_report

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from train.distributed import Team

EXAMPLES = (
    "alphago resume runs/connect_four-20260101-120000 minutes=30",
    "alphago resume runs/first train.learning_rate=5e-4 selfplay.num_actors=1",
)
# What makes a run this run, and what its checkpoints hold.
FIXED_SECTIONS = ("game.", "network.")
FIXED_KEYS = ("train.optimizer", "seed", "run_dir")


class Change(NamedTuple):
    """One option that is not as the run was started with."""

    key: str
    old: Any
    new: Any


def main(argv: Sequence[str], *, team: "Team | None" = None) -> None:
    """Resumes a run; `team` as in `scripts.train.main`."""
    parser = hydra_parser(
        "resume",
        description=(
            "Go on with a run from its newest checkpoint. Without options everything stays as it\n"
            "was; options may change, except game, network, train.optimizer, seed and run_dir.\n"
            "Limits such as minutes count the whole run."
        ),
        examples=EXAMPLES,
        usage="RUN [key=value ...]",
        groups=("selfplay",),  # the others may not change
        positional={"RUN": "folder of the run"},
    )
    arguments = parser.parse(argv)
    folder = Path(arguments.run)
    check_is_run(folder)
    from scripts.composition import apply_overrides, load_run_config, to_run_config

    saved = load_run_config(folder)
    config = apply_overrides(saved, arguments.overrides)
    changes = find_changes(saved, config)
    check_changes(changes)
    run_config = prepare(to_run_config(config), team=team)
    tell(f"run: {folder}")
    if changes:
        tell(format_changes(changes))
    from scripts.ray_cluster import cluster_of

    with cluster_of(run_config):
        run_and_report(run_config, folder=folder, resume=True, team=team)


def find_changes(saved: "DictConfig", config: "DictConfig") -> list[Change]:
    """Returns the options that differ, in the order of the configuration."""
    from scripts.composition import flatten

    old, new = dict(flatten(saved)), dict(flatten(config))
    return [Change(key, old[key], new[key]) for key in old if old[key] != new[key]]


def check_changes(changes: Sequence[Change]) -> None:
    """Checks that nothing changes that a run must keep.

    Raises:
        CommandLineError: naming both values, if it does.
    """
    for key, old, new in changes:
        is_fixed = key.startswith(FIXED_SECTIONS) or key in FIXED_KEYS
        # What an average or a momentum remembers can neither be begun within a run nor be given up.
        begins_or_ends = (key == "train.ema_decay" and None in (old, new)) or (
            key == "train.momentum" and 0 in (old, new)
        )
        if is_fixed or begins_or_ends:
            raise CommandLineError(
                f"{key}: this run was started with {_yaml_text(old)} and cannot go on with"
                f" {_yaml_text(new)}; start a new run instead"
            )


def format_changes(changes: Sequence[Change]) -> str:
    """Returns the changes as a table of three columns."""
    rows = [(key, _yaml_text(old), _yaml_text(new)) for key, old, new in changes]
    return format_table([("changed", "old", "new"), *rows])


def _yaml_text(value: Any) -> str:
    return "null" if value is None else str(value)
