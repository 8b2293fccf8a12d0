"""Position suites: how often does a player choose one of the right moves?

A suite is a file of positions with their right moves (`suite_files.py`). Positions in which every
move is right are not counted.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.errors import SuiteError
from alphago.games.game import Game
from alphago.players.network_player import NetworkPlayer
from alphago.players.player import Player
from alphago.types import BoolArray, States
from eval.intervals import wilson_interval
from eval.suite_files import open_suite, read_positions

SuiteProgress = Callable[[int, int], None]  # how many positions are done, of how many

# Positions per question to a player, where somebody waits: few, so that the bar moves with a slow
# player; a network is faster with more.
_ROWS = 16
_NETWORK_ROWS = 256


class Suite(NamedTuple):
    """The positions of a suite that count, K of them."""

    name: str  # of the file, without folder and ending
    states: States  # [K]
    right_actions: BoolArray  # [K, A], True for each of the right moves
    labels: Sequence[str]  # [K], what the file calls a position
    kinds: Sequence[str | None]  # [K], such as "capture", where the file tells


class Answers(NamedTuple):
    """What a player chose in each position of a suite."""

    player: str
    chosen: npt.NDArray[np.int64]  # [K], the moves it plays
    likeliest: npt.NDArray[np.int64] | None  # [K], of its network alone; None for a player without


class Accuracy(NamedTuple):
    """How often one of the right moves was chosen."""

    num_correct: int
    num_positions: int
    share: float
    interval: tuple[float, float]  # 95 %, Wilson


class SuiteResult(NamedTuple):
    """What a player made of a suite."""

    suite: str
    player: str
    choice: Accuracy  # of the moves it plays
    raw_policy: Accuracy | None  # of its network's likeliest moves; None for players without one


def load_suite(game: Game, path: str | Path) -> Suite:
    """Reads a suite and checks every position of it.

    Args:
        game: the rules.
        path: the JSON file, or the name of a suite that comes with the project.

    Returns:
        Its decisive positions.

    Raises:
        SuiteError: if the file is missing, no such JSON, of another game, or has a position that
            cannot be used; it names the file, the position's number (from 1), what was got and what
            is allowed.
    """
    file = open_suite(path)
    positions = [position for position in read_positions(game, file) if position.is_decisive]
    if not positions:
        raise SuiteError(f"{path}: got no decisive position, allowed: at least one")
    return Suite(
        file.name,
        states=np.concatenate([position.state for position in positions]),
        right_actions=np.stack([position.right_actions for position in positions]),
        labels=[position.label for position in positions],
        kinds=[position.kind for position in positions],
    )


def game_of_suite(path: str | Path) -> str | None:
    """Returns the game that a suite says it is for, None where it says nothing.

    Args:
        path: as in `load_suite`.

    Raises:
        SuiteError: if the file is missing or no suite.
    """
    return open_suite(path).game


def run_suite(player: Player, suite: Suite) -> SuiteResult:
    """Counts how often a player chooses one of the right moves.

    Args:
        player: the player.
        suite: the positions, of the same game.

    Returns:
        The shares with their 95 % intervals.
    """
    return score_answers(suite, ask_player(player, suite))


def ask_player(player: Player, suite: Suite, progress: SuiteProgress | None = None) -> Answers:
    """Lets a player choose in every position.

    One search per position gives both answers of a network player: its choice, and what the network
    alone (the priors of the root) would have chosen.

    Args:
        player: the player.
        suite: the positions, of the same game.
        progress: is told how many positions are done.
    """
    num_positions = len(suite.states)
    num_rows = _NETWORK_ROWS if isinstance(player, NetworkPlayer) else _ROWS
    chosen, likeliest = [], []
    for start in range(0, num_positions, num_rows):
        if progress is not None:
            progress(start, num_positions)
        states = suite.states[start : start + num_rows]
        if isinstance(player, NetworkPlayer):
            result = player.search(states)
            chosen.append(player.most_visited(result))
            likeliest.append(result.priors.argmax(axis=1))
        else:
            chosen.append(player.choose_actions(states))
    return Answers(
        player.name,
        chosen=np.concatenate(chosen),
        likeliest=np.concatenate(likeliest) if likeliest else None,
    )


def score_answers(suite: Suite, answers: Answers) -> SuiteResult:
    """Counts the right ones among a player's answers."""
    likeliest = answers.likeliest
    return SuiteResult(
        suite.name,
        answers.player,
        choice=_accuracy(are_right(suite, answers.chosen)),
        raw_policy=None if likeliest is None else _accuracy(are_right(suite, likeliest)),
    )


def score_kinds(suite: Suite, answers: Answers) -> dict[str, SuiteResult]:
    """Counts the right answers for each kind of position; positions without a kind are left out."""
    results = {}
    for kind in sorted({kind for kind in suite.kinds if kind is not None}):
        rows = np.flatnonzero([other == kind for other in suite.kinds])
        likeliest = None if answers.likeliest is None else answers.likeliest[rows]
        part = Answers(answers.player, answers.chosen[rows], likeliest)
        results[kind] = score_answers(take_positions(suite, rows), part)
    return results


def are_right(suite: Suite, actions: npt.NDArray[np.int64]) -> BoolArray:
    """Tells for one action per position [K] whether it is one of the right ones."""
    right: BoolArray = suite.right_actions[np.arange(len(suite.states)), actions]
    return right


def take_positions(suite: Suite, rows: npt.NDArray[np.int64]) -> Suite:
    """Returns a suite of some positions, given by their places."""
    return Suite(
        suite.name,
        states=suite.states[rows],
        right_actions=suite.right_actions[rows],
        labels=[suite.labels[row] for row in rows],
        kinds=[suite.kinds[row] for row in rows],
    )


def split_suite(suite: Suite, num_parts: int) -> list[Suite]:
    """Deals the positions of a suite out into at most `num_parts` parts, none empty."""
    num_positions = len(suite.states)
    num_parts = min(num_parts, num_positions)
    return [take_positions(suite, np.arange(i, num_positions, num_parts)) for i in range(num_parts)]


def merge_suite_results(parts: Sequence[SuiteResult]) -> SuiteResult:
    """Puts the results of the parts of one suite together: at least one, all of one player."""
    assert len({(part.suite, part.player) for part in parts}) == 1, "parts of different suites"
    policies = [part.raw_policy for part in parts if part.raw_policy is not None]
    return SuiteResult(
        parts[0].suite,
        parts[0].player,
        choice=_add_accuracies([part.choice for part in parts]),
        raw_policy=_add_accuracies(policies) if policies else None,
    )


def suite_summary(result: SuiteResult) -> dict[str, object]:
    """Returns a suite's result, ready for JSON."""
    summary: dict[str, object] = result._asdict()
    for key in ("choice", "raw_policy"):
        accuracy = getattr(result, key)
        summary[key] = None if accuracy is None else accuracy._asdict()
    return summary


def _add_accuracies(parts: Sequence[Accuracy]) -> Accuracy:
    """Returns the accuracy over the positions of all parts."""
    return _accuracy_of(
        sum(part.num_correct for part in parts), sum(part.num_positions for part in parts)
    )


def _accuracy(is_right: BoolArray) -> Accuracy:
    """Returns the accuracy of answers [K]."""
    return _accuracy_of(int(is_right.sum()), len(is_right))


def _accuracy_of(num_correct: int, num_positions: int) -> Accuracy:
    """Adds share and interval to the counts."""
    return Accuracy(
        num_correct=num_correct,
        num_positions=num_positions,
        share=num_correct / num_positions,
        interval=wilson_interval(num_correct, num_positions),
    )
