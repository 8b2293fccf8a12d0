"""`alphago check`: verifies the folder of a run, and sets aside what is broken in it."""

import json
from collections.abc import Sequence
from pathlib import Path

from alphago.errors import FaultsFoundError
from alphago.files import CHECKPOINTS_FOLDER
from scripts.arguments import Parser
from scripts.progress_bar import progress_bar
from scripts.run_folder import check_is_run


def main(argv: Sequence[str]) -> None:
    """Checks a run and prints what was found.

    Raises:
        FaultsFoundError: if something is wrong, and was not repaired.
    """
    parser = Parser(
        "check",
        description=(
            "Verify the folder of a run: configuration, checkpoints (manifests, checksums, finite\n"
            "weights, counters), games (checksums, replayed by the rules, results computed anew,\n"
            "none twice), and the small files beside them. A run may be training meanwhile: it is\n"
            "not disturbed. The exit code is 0 where all is sound, 1 where something is wrong."
        ),
        examples=("alphago check runs/first", "alphago check runs/first --repair"),
        usage="RUN [--repair] [--json]",
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--repair",
        action="store_true",
        help="move what is broken into folders named `broken`, so that `alphago resume` works",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    arguments = parser.parse(argv)
    run = Path(arguments.run)
    # A run that has lost its configuration is one still: its checkpoints have copies.
    if not (run / CHECKPOINTS_FOLDER).is_dir():
        check_is_run(run)
    report(run, repair=arguments.repair, as_json=arguments.json)


def report(run: Path, *, repair: bool, as_json: bool) -> None:
    """Checks a run, repairs it if asked, and prints the result.

    Raises:
        FaultsFoundError: if something is wrong, and was not repaired.
        CheckpointError: if it is to be repaired and a process works on it, or it cannot be written.
        RecordError: if a file of games cannot be written.
    """
    from scripts.checks.findings import describe, to_json
    from scripts.checks.run import check_run, repair_run

    with progress_bar("checked") as show:
        result = (repair_run if repair else check_run)(run, show=show)
    print(json.dumps(to_json(result)) if as_json else describe(result))
    if result.num_wrong:
        raise FaultsFoundError(f"{run} is not sound")
