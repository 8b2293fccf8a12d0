"""`alphago suite`: how often does a player choose one of the right moves of a file of positions?"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from alphago.errors import AlphagoError
from scripts.arguments import CommandLineError, Parser, parse_words, seed_from
from scripts.players import PLAYER_HELP, make_players, refuse_people
from scripts.progress_bar import progress_bar
from scripts.tables import format_table

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.players import Player
    from eval.suites import Accuracy, Answers, Suite, SuiteResult

KEYS = ("game", "seed")
_STEP_WIDTH, _SHARE_WIDTH = 10, 22  # columns of a table whose rows are printed as they come
_MOST_MOVES = 8  # right moves of a position in a table; where few are wrong there are many


class Failure(NamedTuple):
    """A position in which a player chose a wrong move."""

    id: str
    kind: str | None
    chosen: str
    best: list[str]


def main(argv: Sequence[str]) -> None:
    """Runs the suite and prints the shares; without words, prints which suites there are."""
    arguments = _make_parser().parse(argv)
    if arguments.player is None:
        print(_list_suites())
        return
    if arguments.file is None:
        from eval.suite_files import shipped_suites

        names = ", ".join(shipped_suites())
        raise CommandLineError(f"FILE: got none, allowed: a JSON file of positions or {names}")
    values = parse_words(arguments.words, allowed=KEYS)
    seed = seed_from(values)
    refuse_people([arguments.player])
    if arguments.checkpoints:
        _print_curve(arguments, game_name=values.get("game"), seed=seed)
        return
    game, suite, player = _prepare(
        arguments.player, arguments.file, game_name=values.get("game"), seed=seed
    )
    answers = _ask(player, suite)
    if arguments.json:
        print(_json(game, suite, answers))
    else:
        search = _search(player)
        print(_report(game, suite, answers, search=search, failures=arguments.failures))


def _make_parser() -> Parser:
    parser = Parser(
        "suite",
        description=(
            "Measure a player on a JSON file of positions, or a suite of the project: the share\n"
            "of decisive positions in which it chooses a right move, with a 95 % interval, by raw\n"
            "policy and by search. Without words, list the suites."
        ),
        examples=(
            "alphago suite runs/first:simulations=200 connect_four",
            "alphago suite runs/first connect_four --checkpoints",
            "alphago suite uct:playouts=10000 go_9x9 --failures",
        ),
        usage="[PLAYER FILE] [game=GAME] [seed=N] [--failures] [--checkpoints] [--json]",
        keys=lambda: KEYS,
    )
    parser.add_argument("player", metavar="PLAYER", nargs="?", help=PLAYER_HELP)
    parser.add_argument("file", metavar="FILE", nargs="?", help="a JSON file or name of a suite")
    parser.add_argument("words", nargs="*", default=[], metavar="key=value", help="game, seed")
    parser.add_argument("--failures", action="store_true", help="list the positions it fails in")
    parser.add_argument("--checkpoints", action="store_true", help="a row for each of a run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _prepare(
    text: str, file: str, *, game_name: str | None, seed: int
) -> "tuple[Game, Suite, Player]":
    """Loads a suite and makes a player, given as text, for its game."""
    from eval.suites import game_of_suite, load_suite

    game, (player,) = make_players(
        [text], game_name=game_name, seed=seed, other_name=game_of_suite(file)
    )
    return game, load_suite(game, file), player


def _search(player: "Player") -> str:
    """Returns how long a network's search is; of other players their text tells it, if anything."""
    from alphago.players.network_player import NetworkPlayer

    if not isinstance(player, NetworkPlayer):
        return ""
    if player.seconds is not None:
        return f", {player.seconds:g} s a move"
    return f", {player.num_simulations} simulations a move"


def _ask(player: "Player", suite: "Suite") -> "Answers":
    """Lets a player choose in every position, with a progress bar."""
    from eval.suites import ask_player

    with progress_bar("positions") as show:
        return ask_player(player, suite, lambda done, total: show(done, total, ""))


def _describe(accuracy: "Accuracy | None") -> str:
    """Returns a share in words, "-" for none."""
    if accuracy is None:
        return "-"
    return f"{accuracy.share:.1%} ({accuracy.num_correct} of {accuracy.num_positions})"


def _print_curve(arguments: argparse.Namespace, *, game_name: str | None, seed: int) -> None:
    """Prints the shares of each checkpoint of a run, oldest first: a row at a time, or JSON."""
    from eval.suites import score_answers, suite_summary

    summaries: list[dict[str, Any]] = []
    for step, suite, player in _loaded_checkpoints(arguments, game_name=game_name, seed=seed):
        if not (summaries or arguments.json):
            print(_row("step", "raw policy", f"moves played{_search(player)}"), flush=True)
        result = score_answers(suite, _ask(player, suite))
        summaries.append({"step": step, **suite_summary(result)})
        if not arguments.json:
            shares = _describe(result.raw_policy), _describe(result.choice)
            print(_row(str(step), *shares), flush=True)
    if arguments.json:
        print(json.dumps(summaries))


def _row(step: str, raw_policy: str, choice: str) -> str:
    return f"{step:<{_STEP_WIDTH}}  {raw_policy:<{_SHARE_WIDTH}}  {choice}"


def _loaded_checkpoints(
    arguments: argparse.Namespace, *, game_name: str | None, seed: int
) -> "Iterator[tuple[int, Suite, Player]]":
    """Yields step, suite and player of each checkpoint of a run, oldest first.

    A run that trains removes old checkpoints: those that are gone when their turn comes are left
    out, with a remark.
    """
    from eval.suites import game_of_suite, load_suite

    suite: Suite | None = None
    for step, folder, text in _checkpoint_players(arguments.player):
        try:
            game, (player,) = make_players(
                [text], game_name=game_name, seed=seed, other_name=game_of_suite(arguments.file)
            )
        except AlphagoError:
            if folder.exists():
                raise
            print(f"alphago suite: step {step}: removed by its run, left out", file=sys.stderr)
            continue
        suite = suite or load_suite(game, arguments.file)
        yield step, suite, player


def _checkpoint_players(text: str) -> list[tuple[int, Path, str]]:
    """Returns step, folder and player as text of each checkpoint of a run, oldest first.

    Raises:
        CommandLineError: if the text names no run, or one checkpoint of it.
    """
    from alphago.players.text import split_text
    from train.checkpoint import checkpoint_folders

    run, options = split_text(text)
    folders = checkpoint_folders(Path(run)) if Path(run).is_dir() else {}
    if not folders or "step" in options:
        raise CommandLineError(f"--checkpoints: got {text}, allowed: a run, without step=...")
    words = [f"{key}={value}" for key, value in options.items()]
    return [
        (step, folders[step], f"{run}:{','.join([*words, f'step={step}'])}")
        for step in sorted(folders)
    ]


def _list_suites() -> str:
    """Returns the suites that come with the project as a table."""
    from eval.suite_files import open_suite, shipped_suites

    rows = [("suite", "game", "positions", "decisive", "kinds")]
    for name in shipped_suites():
        file = open_suite(name)
        entries = [entry for entry in file.entries if isinstance(entry, dict)]
        kinds = sorted({entry["kind"] for entry in entries if "kind" in entry})
        decisive = sum(entry.get("decisive", True) for entry in entries)
        counts = (str(len(entries)), str(decisive))
        rows.append((name, file.game or "any", *counts, ", ".join(kinds)))
    return format_table(rows)


def _report(
    game: "Game", suite: "Suite", answers: "Answers", *, search: str, failures: bool
) -> str:
    """Returns what a player made of a suite as text."""
    from eval.suites import score_answers, score_kinds

    result = score_answers(suite, answers)
    parts = [f"{result.suite}: {result.player}{search}"]
    for what, accuracy in (("raw policy", result.raw_policy), ("moves played", result.choice)):
        if accuracy is not None:
            low, high = accuracy.interval
            interval = f"95 % interval {low:.1%} to {high:.1%}"
            parts.append(f"  {what:<12}  {_describe(accuracy)}, {interval}")
    kinds = score_kinds(suite, answers)
    if kinds:
        parts.append(_kind_table(kinds))
    if failures:
        parts.append(_failure_table(game, suite, answers))
    return "\n".join(parts)


def _kind_table(kinds: "dict[str, SuiteResult]") -> str:
    """Returns the shares of each kind of position, a row each."""
    has_policy = any(one.raw_policy is not None for one in kinds.values())
    rows = [["kind", "moves played", *["raw policy"] * has_policy]]
    for kind, one in kinds.items():
        rows.append([kind, _describe(one.choice), *[_describe(one.raw_policy)] * has_policy])
    return format_table(rows)


def _failure_table(game: "Game", suite: "Suite", answers: "Answers") -> str:
    """Returns the positions in which the move played is wrong, a row each."""
    failures = _failures(game, suite, answers)
    if not failures:
        return "no failures"
    rows = [("failed", "kind", "played", "right")]
    for one in failures:
        best = one.best[:_MOST_MOVES]
        more = [f"and {len(one.best) - len(best)} more"] if len(one.best) > len(best) else []
        rows.append((one.id, one.kind or "-", one.chosen, " ".join([*best, *more])))
    return format_table(rows)


def _json(game: "Game", suite: "Suite", answers: "Answers") -> str:
    """Returns what a player made of a suite as JSON, its failures too."""
    from eval.suites import score_answers, score_kinds, suite_summary

    kinds = score_kinds(suite, answers)
    return json.dumps(
        {
            "game": game.spec.name,
            **suite_summary(score_answers(suite, answers)),
            "kinds": {kind: suite_summary(result) for kind, result in kinds.items()},
            "failures": [failure._asdict() for failure in _failures(game, suite, answers)],
        }
    )


def _failures(game: "Game", suite: "Suite", answers: "Answers") -> list[Failure]:
    """Returns the positions in which the move played is wrong."""
    from eval.suites import are_right

    is_right = are_right(suite, answers.chosen)
    return [
        Failure(
            id=suite.labels[row],
            kind=suite.kinds[row],
            chosen=game.action_to_text(int(answers.chosen[row])),
            best=[game.action_to_text(a) for a in suite.right_actions[row].nonzero()[0].tolist()],
        )
        for row in (~is_right).nonzero()[0].tolist()
    ]
