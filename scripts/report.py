"""`alphago report`: a training run as one HTML page that works without a network."""

from collections.abc import Sequence
from pathlib import Path

from alphago.files import reason, replace_file
from scripts.arguments import CommandLineError, Parser, parse_words, read_number
from scripts.run_folder import check_is_run

KEYS = ("out", "games")
PAGE_NAME = "report.html"
NUM_GAMES = 6  # sample games, unless the command says another number
MAX_GAMES = 50


def main(argv: Sequence[str]) -> None:
    """Writes the report and says where."""
    parser = Parser(
        "report",
        description=(
            "Write a training run as one HTML page: learning curves, Elo, gate, calibration,\n"
            "sample games to step through, configuration. It can be made while the run goes\n"
            "on, needs nothing but a browser, and loads nothing from the network."
        ),
        examples=(
            "alphago report runs/first",
            "alphago report runs/first out=first.html games=12",
        ),
        usage="RUN [out=FILE] [games=N]",
        keys=lambda: KEYS,
    )
    parser.add_argument("run", metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help=f"out: RUN/{PAGE_NAME} by default; games: how many sample games, {NUM_GAMES}",
    )
    arguments = parser.parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    num_games = read_number(
        values,
        "games",
        kind=int,
        default=NUM_GAMES,
        allowed=f"an integer from 0 to {MAX_GAMES}",
        check=lambda number: 0 <= number <= MAX_GAMES,
    )
    run = Path(arguments.run)
    write_report(run, Path(values.get("out", run / PAGE_NAME)), num_games=num_games)


def write_report(run: Path, path: Path, *, num_games: int) -> None:
    """Writes the page of a run, whole or not at all.

    Raises:
        CheckpointError: if the folder is no run.
        CommandLineError: if the page cannot be written.
    """
    check_is_run(run)
    if path.is_dir():
        raise CommandLineError(f"out: {path} is a folder; name a file")
    if not path.parent.is_dir():
        raise CommandLineError(f"out: {path.parent}: no such folder")
    from scripts.report_page.collect import collect_report
    from scripts.report_page.facts import path_text
    from scripts.report_page.render import render_page

    page = render_page(collect_report(run, num_games=num_games)).encode()
    try:
        with replace_file(path) as file:
            file.write(page)
    except OSError as error:
        raise CommandLineError(f"out: {path}: {reason(error)}") from None
    print(f"{path_text(path)}: {len(page) / 1e6:.2f} MB; open it in a browser")
