"""Positions of Go that one move decides, each with a proof of two plies.

Found near the ends of random games. After the right move its player has won whatever follows: the
points that no play can take away any more (Benson's pass-alive stones and territory) are more than
the other player could get with komi, or the game is over and counted. After each other move the
opponent has a reply after which the same is true for the opponent. So the answer is a matter of
counting alone. Three kinds:

    capture   the move captures a big chain
    save      it saves an own big chain from being captured
    pass      the opponent has passed, and a pass ends the game in time
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from alphago.games.go import Go
from alphago.types import EMPTY, BoolArray, Int8Array, States

KINDS = ("capture", "save", "pass")

_NUM_GAMES = 32  # random games at a time
_SMALLEST_CHAIN = 0.07  # of the board's points: smaller chains are not big,
_BIG_CHAIN = 6  # unless they have so many stones

Entry = dict[str, object]


def one_ply_go(game: Go, *, num_positions: int, seed: int) -> Iterator[Entry]:
    """Yields so many positions of each kind, at most one of a kind from each random game."""
    rng = np.random.default_rng(seed)
    missing = dict.fromkeys(KINDS, num_positions)
    while any(missing.values()):
        taken = set()
        for row, board, mover in _turning_points(game, rng):
            for passes in (0, 1):
                entry = _entry(game, board, mover, passes=passes)
                kind = None if entry is None else str(entry["kind"])
                if entry is None or kind is None or (row, kind) in taken or missing[kind] == 0:
                    continue
                taken.add((row, kind))
                missing[kind] -= 1
                yield entry


def only_winning_move(game: Go, state: States) -> int | None:
    """Returns the move that is proven to win, every other one being proven to lose; else None."""
    mover = int(game.to_play(state)[0])
    children = _children(game, state)
    has_won = _has_won(game, children, mover)
    if has_won.sum() != 1:
        return None
    for child in np.flatnonzero(~has_won):
        after = children[child : child + 1]
        replies = after if game.is_over(after)[0] else _children(game, after)
        if not _has_won(game, replies, 1 - mover).any():
            return None
    return int(np.flatnonzero(game.legal_actions(state)[0])[has_won][0])


def _turning_points(game: Go, rng: np.random.Generator) -> Iterator[tuple[int, Int8Array, int]]:
    """Plays random games; yields game, board and mover before moves that make the win certain."""
    states = game.initial_states(_NUM_GAMES)
    winners = _certain_winners(game, states)
    while not game.is_over(states).all():
        rows = np.flatnonzero(~game.is_over(states))
        movers, boards = game.to_play(states), game.board(states)
        game.play(states, _random_moves(game, states[rows], rng), rows)
        before, winners = winners, _certain_winners(game, states)
        for row in np.flatnonzero((winners == movers) & (before != movers)).tolist():
            yield row, boards[row], int(movers[row])


def _random_moves(game: Go, states: States, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Returns a random move [B] of those that fill no own eye, a pass where there is none."""
    noise = rng.random((len(states), game.spec.num_actions))
    noise[:, game.spec.pass_action] = 0.0
    return np.where(game.playout_actions(states), noise, -1.0).argmax(axis=1)


def _entry(game: Go, board: Int8Array, mover: int, *, passes: int) -> Entry | None:
    """Returns a position as it stands in a suite, None where no single move is proven right."""
    black, white = (np.flatnonzero(board == player).tolist() for player in (0, 1))
    state = game.position(black, white, mover)
    if passes:
        state = game.step(state, [game.spec.pass_action])
    right = only_winning_move(game, state)
    kind = None if right is None else _kind(game, state, right)
    if right is None or kind is None:
        return None
    entry: Entry = {
        "kind": kind,
        "black": [game.action_to_text(stone) for stone in black],
        "white": [game.action_to_text(stone) for stone in white],
        "to_play": "white" if mover else "black",
    }
    if passes:
        entry["moves"] = "pass"
    return {**entry, "best": [game.action_to_text(right)]}


def _kind(game: Go, state: States, action: int) -> str | None:
    """Tells what a right move does; None where it is none of the three kinds."""
    if action == game.spec.pass_action:
        return "pass"
    mover = int(game.to_play(state)[0])
    after = game.step(state, [action])
    smallest = min(_BIG_CHAIN, round(_SMALLEST_CHAIN * game.height * game.width))
    captured = game.captures(after)[0, mover] - game.captures(state)[0, mover]
    if captured >= smallest:
        return "capture"
    board, board_after = game.board(state)[0], game.board(after)[0]
    for stone in np.argwhere(board == mover).tolist():
        chain, num_liberties = _chain(board, stone)
        if num_liberties == 1 and len(chain) >= smallest and _chain(board_after, stone)[1] > 1:
            return "save" if captured == 0 else None
    return None


def _chain(board: Int8Array, stone: list[int]) -> tuple[set[tuple[int, int]], int]:
    """Returns the stones of a chain and how many liberties it has."""
    player = board[tuple(stone)]
    chain, liberties, edge = set(), set(), [tuple(stone)]
    while edge:
        row, column = edge.pop()
        chain.add((row, column))
        for beside in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            if not (0 <= beside[0] < board.shape[0] and 0 <= beside[1] < board.shape[1]):
                continue
            if board[beside] == EMPTY:
                liberties.add(beside)
            elif board[beside] == player and beside not in chain:
                edge.append(beside)
    return chain, len(liberties)


def _children(game: Go, state: States) -> States:
    """Returns the states after each legal move of one state, in the order of the moves."""
    actions = np.flatnonzero(game.legal_actions(state)[0])
    return game.step(state.repeat(len(actions)), actions)


def _has_won(game: Go, states: States, player: int) -> BoolArray:
    """Tells [B] whether a player has won, or will win by passing alone."""
    over = game.is_over(states)
    certain: BoolArray = _certain_winners(game, states) == player
    return np.where(over, game.returns(states)[:, player] > 0, certain)


def _certain_winners(game: Go, states: States) -> Int8Array:
    """Returns the player [B] who has more pass-alive points than half with komi, or EMPTY."""
    assert game.rules.scoring == "area" and game.handicap == 0
    owners = game.pass_alive(states).reshape(len(states), -1)
    num_cells, komi = owners.shape[1], game.rules.komi
    winners = np.full(len(states), EMPTY, np.int8)
    winners[2 * (owners == 0).sum(axis=1) > num_cells + komi] = 0
    winners[2 * (owners == 1).sum(axis=1) > num_cells - komi] = 1
    return winners
