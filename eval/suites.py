"""Position suites: how often does a player choose one of the best moves?

A suite is a JSON file:

    {"game": "connect_four",
     "positions": [{"moves": "11224211", "best": ["2", "3"], "decisive": true}, ...]}

`game` may be left out; a suite that has it is refused for any other game. `moves` lead from the
start to the position, `best` are the moves that keep its value. A position in which every move does
has `decisive: false` and is not counted; without the key a position counts. Other keys are ignored.
The suites that come with the project lie in `configs/suites/` and may be given by name.
"""

import difflib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import configs
from alphago.errors import AlphagoError, IllegalActionError, NotationError, SuiteError
from alphago.files import reason
from alphago.games.game import Game
from alphago.games.notation import format_moves, parse_moves, replay
from alphago.players.network_player import NetworkPlayer
from alphago.players.player import Player
from alphago.types import BoolArray, States
from eval.intervals import wilson_interval

_SUITES = Path(configs.__file__).parent / "suites"


class Suite(NamedTuple):
    """The positions of a suite that count, K of them."""

    name: str  # of the file, without folder and ending
    states: States  # [K]
    best_actions: BoolArray  # [K, A], True for each of the best moves


class Accuracy(NamedTuple):
    """How often one of the best moves was chosen."""

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
    content = _read_content(_suite_file(path))
    name, suite_game = Path(path).stem, _read_game(path, content)
    if suite_game not in (None, game.spec.name):
        raise SuiteError(f"suite {name} is for {suite_game}, the player plays {game.spec.name}")
    entries = _read_entries(path, content)
    states, best_actions = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            state, best = _read_position(game, entry)
            counts = _is_decisive(entry)
        except AlphagoError as error:
            raise SuiteError(f"{path}: position {number} of {len(entries)}: {error}") from error
        if counts:
            states.append(state)
            best_actions.append(best)
    if not states:
        raise SuiteError(f"{path}: got no decisive position, allowed: at least one")
    return Suite(name, np.concatenate(states), np.stack(best_actions))


def game_of_suite(path: str | Path) -> str | None:
    """Returns the name of the game that a suite says it is for, None where it says nothing.

    Args:
        path: as in `load_suite`.

    Raises:
        SuiteError: if the file is missing or no suite.
    """
    return _read_game(path, _read_content(_suite_file(path)))


def run_suite(player: Player, suite: Suite) -> SuiteResult:
    """Counts how often a player chooses one of the best moves.

    One search per position gives both numbers of a network player: its choice, and what the
    network alone (the priors of the root) would have chosen.

    Args:
        player: the player.
        suite: the positions, of the same game.

    Returns:
        The shares with their 95 % intervals.
    """
    if not isinstance(player, NetworkPlayer):
        choice = _compare(suite, player.choose_actions(suite.states))
        return SuiteResult(suite.name, player.name, choice, raw_policy=None)
    result = player.search(suite.states)
    return SuiteResult(
        suite.name,
        player.name,
        choice=_compare(suite, player.most_visited(result)),
        raw_policy=_compare(suite, result.priors.argmax(axis=1)),
    )


def split_suite(suite: Suite, num_parts: int) -> list[Suite]:
    """Deals the positions of a suite out into at most `num_parts` parts, none empty."""
    num_parts = min(num_parts, len(suite.states))
    return [
        Suite(suite.name, suite.states[part::num_parts], suite.best_actions[part::num_parts])
        for part in range(num_parts)
    ]


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


def _compare(suite: Suite, actions: npt.NDArray[np.int64]) -> Accuracy:
    """Compares one action per position [K] with the best ones."""
    is_best = suite.best_actions[np.arange(len(suite.states)), actions]
    return _accuracy(int(is_best.sum()), len(is_best))


def _add_accuracies(parts: Sequence[Accuracy]) -> Accuracy:
    """Returns the accuracy over the positions of all parts."""
    return _accuracy(
        sum(part.num_correct for part in parts), sum(part.num_positions for part in parts)
    )


def _accuracy(num_correct: int, num_positions: int) -> Accuracy:
    """Adds share and interval to the counts."""
    return Accuracy(
        num_correct=num_correct,
        num_positions=num_positions,
        share=num_correct / num_positions,
        interval=wilson_interval(num_correct, num_positions),
    )


def _suite_file(path: str | Path) -> Path:
    """Returns the file of a suite given by path or by name; a file of the caller goes first."""
    names = sorted(file.stem for file in _SUITES.glob("*.json"))
    if str(path) in names and not os.path.isfile(path):
        return _SUITES / f"{path}.json"
    if not os.path.exists(path):  # pathlib raises where a name is too long
        nearest = difflib.get_close_matches(str(path), names, n=1)
        hint = f", did you mean {nearest[0]}?" if nearest else ""
        raise SuiteError(f"{path}: no such file{hint} (also allowed: {', '.join(names)})")
    return Path(path)


def _read_content(path: Path) -> object:
    """Returns the JSON of a file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SuiteError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, or lists too deep
        raise SuiteError(f"{path}: got no JSON ({error}), allowed: a suite in JSON") from error


def _read_game(path: str | Path, content: object) -> str | None:
    """Returns the name of the game in a suite's JSON, None without one."""
    name = content.get("game") if isinstance(content, dict) else None
    if name is not None and not isinstance(name, str):
        raise SuiteError(f"{path}: game: got {name!r}, allowed: the name of a game")
    return name


def _read_entries(path: str | Path, content: object) -> list[object]:
    """Returns the raw positions in a suite's JSON, at least one."""
    positions = content.get("positions") if isinstance(content, dict) else None
    if not isinstance(positions, list) or not positions:
        raise SuiteError(f"{path}: got no list 'positions', allowed: a list of at least one")
    return positions


def _read_position(game: Game, entry: object) -> tuple[States, BoolArray]:
    """Returns the state [1] and the mask of best actions [A] of a raw position."""
    if not isinstance(entry, dict):
        raise SuiteError(f"got {entry!r}, allowed: an object with 'moves' and 'best'")
    moves, best = entry.get("moves"), entry.get("best")
    if not isinstance(moves, str):
        raise SuiteError(f"moves: got {moves!r}, allowed: the moves as one text")
    if not isinstance(best, list) or not best:
        raise SuiteError(f"best: got {best!r}, allowed: a list of at least one move")
    try:
        state = replay(game, parse_moves(game, moves))
    except (NotationError, IllegalActionError) as error:
        raise SuiteError(f"moves {moves!r}: {error}") from error
    if game.is_over(state)[0]:
        raise SuiteError(f"moves {moves!r}: the game is over, allowed: an unfinished game")
    legal = game.legal_actions(state)[0]
    mask = np.zeros_like(legal)
    for move in best:
        mask[_read_best(game, move, legal)] = True
    return state, mask


def _read_best(game: Game, move: object, legal: BoolArray) -> int:
    """Returns the action of one of the best moves, legal being bool [A]."""
    allowed = f"one of {format_moves(game, np.flatnonzero(legal))}"
    if not isinstance(move, str):
        raise SuiteError(f"best: got {move!r}, allowed: {allowed}")
    try:
        action = game.text_to_action(move)
    except NotationError as error:
        raise SuiteError(f"best: got {move!r}, allowed: {allowed}") from error
    if not legal[action]:
        raise SuiteError(f"best: got {move!r}, allowed: {allowed}")
    return action


def _is_decisive(entry: object) -> bool:
    """Returns whether a raw position counts."""
    decisive = entry.get("decisive", True) if isinstance(entry, dict) else True
    if not isinstance(decisive, bool):
        raise SuiteError(f"decisive: got {decisive!r}, allowed: true or false")
    return decisive
