"""Games to step through: the board after each move, and what network and search said of it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game, GameSpec
from alphago.games.go.drawing import COLOURS, format_result
from alphago.games.go.game import Go
from alphago.games.go.vertices import COLUMN_LETTERS, star_points
from alphago.games.line_game import STONES
from alphago.types import Evaluator, FloatArray, Int8Array, States
from scripts.report_page.json_files import Json
from scripts.report_page.recorded_games import NumberedRecord, num_random_moves
from selfplay.records import GameRecord

MAX_POSITIONS = 3000  # of all games together: each costs an evaluation, and room in the page
_MOVES_SHOWN = 16  # of a policy, and none with a share below the next number
_LEAST_SHARE = 0.002
_BATCH = 64  # positions that the network is asked at once


def board_of(game: Game) -> Json:
    """Returns how the boards of a game are drawn.

    Returns:
        `height`, `width`; `style`: "go", the game's name or "generic"; `actions`: "cells" where the
        first actions are the cells, rows first, "columns" where each is a column, else "other";
        `moves`, the text of each action; `columns`, `rows`, labels or none; `stars`, cells;
        `players`, names by id.
    """
    spec = game.spec
    height, width = spec.observation_shape[1:]
    is_go = isinstance(game, Go)
    actions = _kind_of_actions(spec)
    moves = [game.action_to_text(action) for action in range(spec.num_actions)]
    columns = list(COLUMN_LETTERS[:width]) if is_go else moves if actions == "columns" else []
    return {
        "height": height,
        "width": width,
        "style": spec.family,
        "actions": actions,
        "moves": moves,
        "columns": columns,
        "rows": [str(height - row) for row in range(height)] if is_go else [],
        "stars": star_points(height=height, width=width) if is_go else [],
        "players": list(COLOURS if is_go else STONES),
    }


def sample_games(
    game: Game, records: Sequence[NumberedRecord], evaluator: Evaluator | None
) -> list[Json]:
    """Describes games for the page, as many as fit: the later ones matter most.

    Args:
        game: the rules of the records.
        records: the games, oldest first.
        evaluator: the network that is asked for its raw policy, None if there is none yet.

    Returns:
        The games, oldest first, see `_describe`.
    """
    games: list[Json] = []
    num_positions = 0
    for numbered in reversed(records):
        num_positions += len(numbered.record.actions)
        if games and num_positions > MAX_POSITIONS:
            break
        games.insert(0, _describe(game, numbered, evaluator))
    return games


def _kind_of_actions(spec: GameSpec) -> str:
    _, height, width = spec.observation_shape
    num_moves = spec.num_actions - (spec.pass_action is not None)
    if num_moves == height * width:
        return "cells"
    return "columns" if spec.num_actions == width else "other"


def _describe(game: Game, numbered: NumberedRecord, evaluator: Evaluator | None) -> Json:
    """Describes one game; all values are in the view of player 0.

    Returns:
        The game's facts; `start`, its first board; `plies`, what was known before each move and
        what the move did: see `_ply`.
    """
    record = numbered.record
    states = _replay(game, record)
    boards = game.board(states).reshape(len(states), -1)
    players = game.to_play(states)
    network = _ask(game, states[:-1], evaluator)
    plies = [
        _ply(record, ply, boards=boards, player=int(players[ply]), network=network)
        for ply in range(len(record.actions))
    ]
    return {
        "number": numbered.number,
        "network_version": record.network_version,
        "returns": record.returns.tolist(),
        "result": format_result(float(game.score(states[-1:])[0])) if isinstance(game, Go) else "",
        "truncated": record.truncated,
        "num_random": num_random_moves(record),
        "start": boards[0].tolist(),
        "plies": plies,
    }


def _replay(game: Game, record: GameRecord) -> States:
    """Returns the T + 1 states of a game."""
    states = [game.initial_states(1)]
    for action in record.actions.tolist():
        states.append(game.step(states[-1], [action]))
    return np.concatenate(states)


def _ask(
    game: Game, states: States, evaluator: Evaluator | None
) -> tuple[FloatArray, FloatArray] | None:
    """Returns the network's policy [T, A] and value [T] (player to move), None without one."""
    if evaluator is None or not len(states):
        return None
    parts = [evaluator.evaluate(states[at : at + _BATCH]) for at in range(0, len(states), _BATCH)]
    logits = np.concatenate([part.prior_logits for part in parts])
    masked = np.where(game.legal_actions(states), logits, -np.inf)
    weights = np.exp(masked - masked.max(axis=1, keepdims=True))
    policy: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return policy, np.concatenate([part.value for part in parts])


def _ply(
    record: GameRecord,
    ply: int,
    *,
    boards: Int8Array,
    player: int,
    network: tuple[FloatArray, FloatArray] | None,
) -> Json:
    """Describes one move.

    Returns:
        `action`, `player`; `changes`, [cell, new owner] of each cell that the move changed;
        `search_value`, `search` (shares), `network_value`, `network`: None where there is none.
    """
    sign = 1.0 if player == 0 else -1.0
    actions, shares = record.policy_target(ply)
    was_searched = ply >= num_random_moves(record)
    changed = np.flatnonzero(boards[ply] != boards[ply + 1])
    described: Json = {
        "action": int(record.actions[ply]),
        "player": player,
        "changes": [[int(cell), int(boards[ply + 1, cell])] for cell in changed],
        "search_value": round(sign * float(record.root_values[ply]), 4) if was_searched else None,
        "search": _shown(actions.astype(np.int64), shares) if record.is_target[ply] else None,
        "network_value": None,
        "network": None,
    }
    if network is not None:
        policy, values = network
        described["network_value"] = round(sign * float(values[ply]), 4)
        described["network"] = _shown(np.arange(policy.shape[1]), policy[ply])
    return described


def _shown(actions: npt.NDArray[np.int64], shares: FloatArray) -> list[object]:
    """Returns the largest shares as [action, share], the largest first."""
    order = np.argsort(-shares, kind="stable")[:_MOVES_SHOWN]
    return [
        [int(actions[index]), round(float(shares[index]), 4)]
        for index in order
        if shares[index] >= _LEAST_SHARE
    ]
