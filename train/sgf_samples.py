"""A few of the newest self-play games of a run as SGF, for people to look at: `games/*.sgf`.

Each move carries what the search said of it. The records stay the only thing that is learnt from.
"""

import errno
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from alphago.files import TEMPORARY_SUFFIX
from alphago.games.go.drawing import format_result
from alphago.games.go.game import Go
from alphago.games.notation import replay
from alphago.protocols.sgf import SgfGame, write_sgf
from alphago.protocols.sgf_games import sgf_of_game
from selfplay.records import GameRecord
from train.run_folder import write_errors, write_text

GAMES_FOLDER = "games"
GAMES_PER_ITERATION = 4
MOST_FILES = 200  # in the folder; older ones are removed
_MOVES_SHOWN = 4  # of a policy target


def write_samples(run_dir: Path, game: Go, records: Sequence[GameRecord], *, end: int) -> None:
    """Writes the last games of an iteration, and removes those of long ago.

    Args:
        run_dir: the run's folder.
        game: the rules.
        records: the games of the iteration, in the order in which they were stored.
        end: number of the game that the run will store next; files are named by these numbers.

    Raises:
        CheckpointError: if a file cannot be written or removed.
    """
    folder = run_dir / GAMES_FOLDER
    with write_errors(folder):
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():  # what is outdated is removed, which is meant for a run's own games
            raise OSError(errno.ELOOP, "it is a symbolic link")
    newest = records[-GAMES_PER_ITERATION:]
    for number, record in enumerate(newest, start=end - len(newest)):
        write_text(folder / f"{number:09d}.sgf", write_sgf(sgf_of_record(game, record)))
    with write_errors(folder):
        outdated = sorted(folder.glob("*.sgf"))[:-MOST_FILES]
        for path in (*outdated, *folder.glob(f"*{TEMPORARY_SUFFIX}")):
            path.unlink()


def sgf_of_record(game: Go, record: GameRecord) -> SgfGame:
    """Returns a self-play game with what the search said as comments.

    Args:
        game: the rules by which the record was played.
        record: the game.
    """
    end = replay(game, record.actions.tolist())
    network = f"network {record.network_version}"
    comment = str(record)
    if record.truncated:
        comment += f"\nTruncated after {len(record.actions)} moves; the result counts the board."
    return sgf_of_game(
        game,
        record.actions.tolist(),
        comments=[_move_comment(game, record, ply) for ply in range(len(record.actions))],
        result=format_result(float(game.score(end)[0])),
        black_name=network,
        white_name=network,
        comment=comment,
    )


def _move_comment(game: Go, record: GameRecord, ply: int) -> str:
    """Returns value and policy target of a move, "" where there was no search."""
    actions, shares = record.policy_target(ply)
    value = float(record.root_values[ply])
    if not len(shares) and value == 0.0:
        return ""
    best = np.argsort(-shares, kind="stable")[:_MOVES_SHOWN]
    policy = ", ".join(
        f"{game.action_to_text(int(actions[i]))} {100 * shares[i]:.1f} %" for i in best
    )
    # The view of the player who makes the move.
    text = f"value {value:+.3f}, wins {50 * (1 + value):.1f} %"
    return f"{text}\npolicy {policy}" if policy else text
