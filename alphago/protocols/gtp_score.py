"""Who owns what at the end: score, dead stones, results.

The score is by the rules of the game on the board as it stands. Under area scoring all stones are
alive, as Tromp and Taylor have it: what is dead has to be captured before the passes. Under
territory scoring dead stones are taken off first; an option asks for the same under area scoring.

A chain is dead if random playouts lose most of its points whoever moves first, and Benson's
algorithm does not prove it alive. So stones in seki are alive: they are lost only where their own
side has to move first. The playouts have a fixed seed and know nothing but the stones on the
board, so that the same stones have the same score, before the passes as after them.
"""

import numpy as np

from alphago.games.go.drawing import format_result
from alphago.games.go.playout import random_playouts
from alphago.protocols.colors import BLACK, COLOR_LETTERS, WHITE
from alphago.protocols.gtp_board import GtpBoard
from alphago.types import BoolArray, FloatArray, Int8Array

_NUM_PLAYOUTS = 500  # for each side to move
_SEED = 1
# Mean owner, in the view of the chain's side. Of dead chains it was found from -1 to -0.6; of
# chains in seki, beside open areas, down to -0.4.
_DEAD_BELOW = -0.5


def score(board: GtpBoard, *, remove_dead: bool) -> float:
    """Returns Black's points less White's, komi included.

    Args:
        board: the game.
        remove_dead: whether dead stones are taken off under area scoring too.
    """
    dead = None
    if remove_dead or board.rules.scoring == "territory":
        dead = dead_stones(board)[np.newaxis]
    return float(board.game.score(board.states, dead)[0])


def score_text(points: float) -> str:
    """Returns `B+3.5`, `W+3.0` or `0`: the usual text, with the decimal that engines write."""
    text = format_result(points)
    return text if points == 0 or "." in text else f"{text}.0"


def result_text(board: GtpBoard, *, remove_dead: bool) -> str | None:
    """Returns the result of a finished game, None while it goes on."""
    if board.resigned is not None:
        return f"{COLOR_LETTERS[1 - board.resigned]}+R"
    return score_text(score(board, remove_dead=remove_dead)) if board.is_over else None


def ownership(board: GtpBoard) -> FloatArray:
    """Returns float32 [H, W], the mean owner in random playouts: Black 1, White -1."""
    mean: FloatArray = _mean_owners(board).mean(axis=0)
    return mean


def _mean_owners(board: GtpBoard) -> FloatArray:
    """Returns float32 [P, H, W], the mean owners where each player moves first, by player id."""
    game = board.game
    stones = game.board(board.states)[0].reshape(-1)
    black, white = (np.flatnonzero(stones == color).tolist() for color in (BLACK, WHITE))
    means = [
        random_playouts(
            game,
            game.position(black, white, color),
            num_playouts=_NUM_PLAYOUTS,
            rng=np.random.default_rng(_SEED + color),
        ).owners[0]
        for color in (BLACK, WHITE)
    ]
    return np.stack(means)


def dead_stones(board: GtpBoard) -> BoolArray:
    """Returns bool [H, W], True where a dead stone stands."""
    stones = board.game.board(board.states)[0]
    safe = board.game.pass_alive(board.states)[0] == stones
    owners = _mean_owners(board)
    dead = np.zeros(stones.shape, np.bool_)
    for chain in chains(stones):
        rows, columns = np.array(chain).T
        sign = 1 if stones[rows[0], columns[0]] == BLACK else -1
        kept = sign * owners[:, rows, columns].mean(axis=1)
        dead[rows, columns] = kept.max() < _DEAD_BELOW and not safe[rows, columns].all()
    return dead


def chains(stones: Int8Array) -> list[list[tuple[int, int]]]:
    """Returns the chains of a board [H, W] as lists of (row, column), in the order of their tops.

    Args:
        stones: the colour of each point, negative where it is empty.
    """
    height, width = stones.shape
    seen = stones < 0
    found = []
    for start in zip(*np.nonzero(~seen), strict=True):
        if seen[start]:
            continue
        seen[start] = True
        chain = [(int(start[0]), int(start[1]))]
        for row, column in chain:  # grows while it is walked
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                near = (row + down, column + right)
                is_inside = 0 <= near[0] < height and 0 <= near[1] < width
                if is_inside and not seen[near] and stones[near] == stones[start]:
                    seen[near] = True
                    chain.append(near)
        found.append(sorted(chain))
    return found
