"""`alphago ablate`: what is a switch worth? Trains variants of a run and rates them together."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from alphago.errors import TrainingError
from scripts.arguments import Parser, parse_words, read_number

if TYPE_CHECKING:
    from train.config import RunConfig

TABLE_FILE = "table.md"  # in the folder of an ablation
KEYS = ("folder", "jobs", "workers")


def main(argv: Sequence[str]) -> None:
    """Trains the runs of an ablation that are missing, plays what is missing, prints the table."""
    # As in `scripts.rate`: before NumPy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    arguments = _make_parser().parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    from scripts.ablations.file import find_ablation
    from scripts.run_folder import RUNS
    from selfplay.cpus import most_shares, usable_cpus

    num_jobs = _read_count(values, "jobs", default=1, at_most=most_shares())
    num_workers = _read_count(values, "workers", default=usable_cpus())
    file = find_ablation(arguments.file)
    folder = Path(values.get("folder", RUNS / f"ablation-{file.stem}"))
    try:
        run_ablation(
            file,
            folder,
            num_jobs=num_jobs,
            num_workers=num_workers,
            as_json=arguments.json,
        )
    except KeyboardInterrupt:
        _tell(f"{folder} keeps what is done; the same command goes on")
        raise


def run_ablation(
    file: Path,
    folder: Path,
    *,
    num_jobs: int,
    num_workers: int,
    as_json: bool,
) -> None:
    """Trains and rates.

    Args:
        file: of the ablation.
        folder: where everything is kept; what is there already is not done again.
        num_jobs: runs that are trained at a time, with equal shares of the CPUs.
        num_workers: matches that are played at a time.
        as_json: print JSON, not the table.

    Raises:
        TrainingError: if a run has failed; the others are rated nonetheless, without the base none.
        AlphagoError: if the ablation cannot be carried out.
        KeyboardInterrupt: on Ctrl-C; what is done is kept.
    """
    from scripts.ablations.file import BASE, load_ablation
    from scripts.ablations.rating import rate_runs
    from scripts.ablations.runs import compose_runs, lay_down
    from scripts.ablations.table import ablation_json, ablation_table
    from scripts.ablations.training import read_num_cpus
    from scripts.workers import interrupted_by_signals
    from train.run_folder import locked, write_errors, write_text

    ablation = load_ablation(file)
    configs = compose_runs(ablation)
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder), interrupted_by_signals():
        runs = lay_down(configs, folder)
        faults = train_missing(folder, runs, configs, num_jobs=num_jobs)
        if BASE in faults:
            raise TrainingError(f"{BASE}: {faults[BASE]}")
        trained = {run: path for run, path in runs.items() if run not in faults}
        game, num_cpus = configs[BASE].game.text, read_num_cpus(folder)
        rated = rate_runs(ablation, folder, trained, game=game, num_workers=num_workers)
        table = ablation_table(ablation, rated, faults=faults, name=file.stem, num_cpus=num_cpus)
        write_text(folder / TABLE_FILE, table + "\n")
        data = ablation_json(rated, faults=faults, num_cpus=num_cpus)
        print(json.dumps(data) if as_json else table)
    if faults:
        raise TrainingError(f"{', '.join(faults)}: failed; see {folder / 'logs'}")


def train_missing(
    folder: Path, runs: Mapping[str, Path], configs: "Mapping[str, RunConfig]", *, num_jobs: int
) -> dict[str, str]:
    """Trains the runs that have not used up their budget.

    Args:
        folder: of the ablation.
        runs: the folder of each run, laid down.
        configs: the configuration of each run.
        num_jobs: runs that are trained at a time.

    Returns:
        By name, what ended those that have failed.

    Raises:
        AblationError: if a run that is missing was there before, or had other CPUs.
        CheckpointError: if a file cannot be read or written.
        KeyboardInterrupt: on Ctrl-C, once the runs that were going on have been saved.
    """
    from scripts.ablations.rating import refuse_replaced
    from scripts.ablations.training import Trainings, agree_on_cpus, compile_kernels
    from selfplay.cpus import shares_of_cpus

    trainings = Trainings(folder, runs, configs)
    if trainings.missing:
        refuse_replaced(folder, trainings.missing)
        shares = shares_of_cpus(num_jobs)
        agree_on_cpus(folder, len(shares[0]), have_begun=trainings.have_begun)
        _tell("compiles what the runs need, outside of their budgets")
        compile_kernels([configs[name] for name in trainings.missing], cpus=shares[0])
        trainings.train(shares, tell=_tell)
    return trainings.faults


def _tell(text: str) -> None:
    print(f"alphago ablate: {text}", file=sys.stderr, flush=True)


def _read_count(
    values: dict[str, str], key: str, *, default: int, at_most: int | None = None
) -> int:
    """Reads how many things are done at a time."""
    bounds = "of at least 1" if at_most is None else f"from 1 to {at_most}, the usable CPUs"
    return read_number(
        values,
        key,
        kind=int,
        default=default,
        allowed=f"an integer {bounds}",
        check=lambda number: number >= 1 and (at_most is None or number <= at_most),
    )


def _make_parser() -> Parser:
    from scripts.ablations.file import ABLATIONS

    names = ", ".join(sorted(path.stem for path in ABLATIONS.glob("*.yaml")))
    parser = Parser(
        "ablate",
        description=(
            "Train variants of a run from nothing, with equal budgets and one switch changed in\n"
            "each, then rate their networks together: how much better or worse is a variant than\n"
            "the base? Whoever stops with Ctrl-C goes on with the same command; what is done is\n"
            "not done again, and a variant that is added to the file is trained and rated too.\n"
            "\n"
            "options:\n"
            "  jobs=N      runs that are trained at a time, with equal shares of the CPUs (1)\n"
            "  workers=N   matches that are played at a time (all usable CPUs)\n"
            "  folder=DIR  where runs, logs, ratings and table go (runs/ablation-NAME)\n"
            "\n"
            f"ablations of the project: {names}"
        ),
        examples=("alphago ablate go_9x9 jobs=2", "alphago ablate mine.yaml folder=runs/mine"),
        usage="FILE [key=value ...] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("file", metavar="FILE", help="a YAML file, or the name of an ablation")
    parser.add_argument("words", nargs="*", default=[], metavar="key=value", help="options")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser
