"""`alphago train`: composes the configuration, makes the run's folder and calls `train.run`."""

import contextlib
import dataclasses
import math
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from alphago.files import CONFIG_FILE
from alphago.streams import tell
from scripts.arguments import Parser
from scripts.run_folder import check_unused, make_run_folder
from scripts.tables import format_table

if TYPE_CHECKING:
    from train.config import RunConfig
    from train.distributed import Team
    from train.run import RunResult

EXAMPLES = (
    "alphago train game=connect_four network=small train.batch_size=512 minutes=30",
    "alphago train --multirun experiment=tic_tac_toe_3min seed=1,2,3",
)


def hydra_parser(
    name: str,
    *,
    description: str,
    examples: Sequence[str],
    usage: str,
    groups: Sequence[str],
    positional: Mapping[str, str],
    own_keys: Sequence[str] = (),
) -> Parser:
    """Returns a parser of `key=value` overrides whose help lists the groups and their options.

    Args:
        name: the sub-command.
        description: what it does.
        examples: worked examples.
        usage: the words after the sub-command.
        groups: the groups whose options may be chosen.
        positional: arguments before the overrides, with their meaning.
        own_keys: keys that are no options of a run.
    """
    from scripts.overrides import ALL_KEYS, group_options, known_keys

    listed = "\n".join(f"  {group}={'|'.join(group_options(group))}" for group in groups)
    text = f"{description}\n\ngroups:\n{listed}\n  {ALL_KEYS}"
    parser = Parser(
        name,
        description=text,
        examples=examples,
        usage=usage,
        keys=lambda: [*own_keys, *known_keys()],
    )
    for metavar, meaning in positional.items():
        parser.add_argument(metavar.lower(), metavar=metavar, help=meaning)
    parser.add_argument(
        "overrides", nargs="*", default=[], metavar="key=value", help="an option and its value"
    )
    return parser


def main(argv: Sequence[str], *, team: "Team | None" = None) -> None:
    """Trains once, or once per combination of values with `--multirun`.

    Args:
        argv: the words after the sub-command.
        team: the processes that learn together, this one leading; None if it learns alone.
    """
    from scripts.overrides import GROUPS, expand, swept

    parser = hydra_parser(
        "train",
        description=(
            "Learn a game from self-play; every option is key=value. Several GPUs share the\n"
            "learning of a run that is started by\n"
            "`torchrun --nproc-per-node=GPUS --no-python alphago train`."
        ),
        examples=EXAMPLES,
        usage="[--multirun] [--cfg job] [key=value ...]",
        groups=GROUPS,
        positional={},
    )
    parser.add_argument(
        "-m", "--multirun", action="store_true", help="one run per combination of a=1,2"
    )
    parser.add_argument("--cfg", choices=["job"], help="print the configuration and stop")
    arguments = parser.parse(argv)
    jobs = expand(arguments.overrides, multirun=arguments.multirun)
    from scripts.composition import compose_config, to_run_config, to_yaml

    composed = [compose_config(job) for job in jobs]
    run_configs = separate_folders([to_run_config(config) for config in composed])
    if arguments.cfg:
        print("---\n".join(to_yaml(config) for config in composed), end="")
        return
    for run_config in run_configs:
        check_start(run_config)
    prepared = [prepare(run_config, team=team) for run_config in run_configs]
    if len(jobs) == 1:
        start(prepared[0], team=team)
    else:
        start_all(prepared, options=[" ".join(words) for words in swept(jobs)], team=team)


def start_all(
    run_configs: Sequence["RunConfig"], *, options: Sequence[str], team: "Team | None" = None
) -> None:
    """Trains several new runs, one after the other, and lists them; Ctrl-C starts no other.

    Args:
        run_configs: the runs.
        options: what each of them has for itself, for people.
        team: as in `main`.
    """
    num_runs, rows = len(run_configs), [("options", "folder")]
    for number, (run_config, text) in enumerate(zip(run_configs, options, strict=True), start=1):
        tell(f"run {number} of {num_runs}: {text}")
        folder, was_interrupted = start(run_config, team=team)
        rows.append((text, str(folder)))
        if was_interrupted:
            break
    tell(format_table(rows))
    if number < num_runs:
        tell(f"not started: the {num_runs - number} runs that were to follow")


def separate_folders(run_configs: Sequence["RunConfig"]) -> list["RunConfig"]:
    """Gives each of several jobs a folder: a numbered one inside of a `run_dir` they share."""
    folders = [config.run_dir for config in run_configs]
    return [
        dataclasses.replace(config, run_dir=str(Path(config.run_dir) / str(number)))
        if config.run_dir is not None and folders.count(config.run_dir) > 1
        else config
        for number, config in enumerate(run_configs)
    ]


def check_start(run_config: "RunConfig") -> None:
    """Checks what only a new run needs: a folder of its own, and the games that it is given.

    Raises:
        CheckpointError: if its folder is in use.
        ConfigError: if `games_from` has no games that it can learn from.
        RecordError: if they cannot be read.
    """
    from alphago.games import make_game
    from train.given_games import check_given_games

    if run_config.run_dir is not None:
        check_unused(Path(run_config.run_dir))
    if run_config.games_from is not None:
        spec = make_game(run_config.game.text).spec
        check_given_games(Path(run_config.games_from), spec, seed=run_config.seed)


def prepare(run_config: "RunConfig", *, team: "Team | None" = None) -> "RunConfig":
    """Checks what a run needs of this machine before anything starts.

    Args:
        run_config: the run.
        team: as in `main`.

    Returns:
        The configuration, in which the file of a suite is absolute: the run may be resumed from
        another folder.

    Raises:
        SuiteError: if the position suite cannot be read.
        ConfigError: if the yardstick cannot play the game, the device asked for does not work,
            backend and precision do not go together, or the team cannot share the minibatch.
    """
    from alphago.games import make_game
    from alphago.network.evaluator import choose_plan
    from eval.suites import load_suite
    from eval.yardstick import check_yardstick

    device = choose_plan(run_config.evaluator).device
    if team is not None:
        team.check(batch_size=run_config.train.batch_size, device=device)
    game = make_game(run_config.game.text)
    check_yardstick(run_config.yardstick, game)
    file = run_config.suite.file
    if file is None:
        return run_config
    load_suite(game, file)
    if not Path(file).is_file():
        return run_config  # the name of a suite that comes with the project
    suite = dataclasses.replace(run_config.suite, file=str(Path(file).absolute()))
    return dataclasses.replace(run_config, suite=suite)


def start(run_config: "RunConfig", *, team: "Team | None" = None) -> tuple[Path, bool]:
    """Makes the folder of a new run and trains; returns it, and whether Ctrl-C ended the run."""
    from scripts.ray_cluster import cluster_of
    from train.config import config_text
    from train.run_folder import write_text

    name = run_config.game.name
    with cluster_of(run_config):  # what is wrong with it is told before there is a folder
        folder = make_run_folder(run_config.run_dir, game_name=name, now=datetime.now())
        # Before a Ray of our own starts, which takes seconds: a folder with this file can be
        # resumed.
        write_text(folder / CONFIG_FILE, config_text(run_config))
        tell(f"run: {folder}")
        return folder, run_and_report(run_config, folder=folder, resume=False, team=team)


def run_and_report(
    run_config: "RunConfig", *, folder: Path, resume: bool, team: "Team | None" = None
) -> bool:
    """Trains in a folder, then says how it ended and what to do with it now.

    The cluster of the run, if it has one, must have been joined.

    Returns:
        Whether Ctrl-C ended it.
    """
    from scripts.ray_session import ray_session
    from selfplay.resources import share_out
    from train.pools import warn_of_shared_cpus
    from train.progress import make_progress
    from train.run import run
    from train.stopping import INTERRUPTED

    with contextlib.ExitStack() as stack:
        if run_config.selfplay.mode == "ray" and run_config.ray.address is None:
            resources = share_out(run_config.selfplay, run_config.evaluator)
            warn_of_shared_cpus(resources.num_actors)
            stack.enter_context(ray_session(**resources._asdict()))
        progress = make_progress()
        result = run(run_config, run_dir=folder, resume=resume, progress=progress, team=team)
    name = shlex.quote(str(folder))
    go_on = " ".join(["resume", name, *options_to_go_on(run_config, result)])
    tell(
        f"stopped: {result.stopped_because}, after {result.minutes:.1f} minutes,"
        f" {result.num_games} games and {result.step} steps\n"
        f"best network: {describe_best(result, run=name)}\n"
        f"play it:   {program('alphago')} play {name}\n"
        f"go on:     {program('alphago')} {go_on}\n"
        f"watch it:  {program('tensorboard')} --logdir {name}\n"
        f"rate it:   {program('alphago')} rate {name}\n"
        f"report it: {program('alphago')} report {name}"
    )
    return result.stopped_because == INTERRUPTED


def describe_best(result: "RunResult", *, run: str) -> str:
    """Returns which network is the best of a run, and how to play the newest where it is not.

    Args:
        result: how the run ended.
        run: its folder, as a shell takes it.
    """
    newest = f"{result.step:08d}"
    text = result.best if int(result.best) else "still the untrained one"
    if result.best == newest:
        return text
    return f"{text} (the newest, {newest}, was not promoted; play it as {run}:step=latest)"


def options_to_go_on(run_config: "RunConfig", result: "RunResult") -> list[str]:
    """Returns what must change for a run to go on: the limits it has reached, by as much again.

    The time may have run out while the run was saved, which its minutes do not count.
    """
    from train.stopping import TARGET_REACHED

    done = {"minutes": result.minutes, "games": result.num_games, "steps": result.step}
    limits = {name: getattr(run_config, name) for name in done}
    options = [
        f"{name}={math.ceil(done[name] + limit)}"
        for name, limit in limits.items()
        if limit is not None
        and (done[name] >= limit or result.stopped_because.startswith(f"{name}="))
    ]
    return options + (["target=null"] if result.stopped_because == TARGET_REACHED else [])


def program(name: str) -> str:
    """Returns how a program of this environment is called from here, active or not."""
    if shutil.which(name):
        return name
    path = Path(sys.executable).parent / name
    inside = path.is_relative_to(Path.cwd())
    return shlex.quote(str(path.relative_to(Path.cwd()) if inside else path))
