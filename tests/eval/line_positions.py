"""Positions of games of stones in a line with their right moves, found by plain rules.

All unfinished positions of tic-tac-toe, solved to the end, and positions that one ply decides: a
move wins at once, or is the only one after which the opponent does not. Nothing here comes from the
rules, the players or the search of the project.
"""

import functools
import random
from collections.abc import Iterator

from tests.reference.games import NaiveConnectFour, NaiveGame, NaiveTicTacToe

Entry = dict[str, object]
Moves = tuple[int, ...]
Cells = tuple[int | None, ...]  # of tic-tac-toe, as `NaiveTicTacToe` numbers them

NUM_CONNECT_FOUR = 100  # positions of either kind
SEED = 2026


def solved_tic_tac_toe() -> Iterator[Entry]:
    """Yields all unfinished positions with the moves that keep the value of the game."""
    for moves in _all_lines():
        best = _best_moves(moves)
        entry: Entry = {"moves": _text(moves), "best": [str(move) for move in best]}
        yield entry if len(best) < 9 - len(moves) else {**entry, "decisive": False}


def one_ply_tic_tac_toe() -> Iterator[Entry]:
    """Yields every position with one winning move alone, or one winning move to stop.

    Positions are left out where another move is no mistake: one that wins later, or any move where
    a second threat follows and all is lost.
    """
    for moves in _all_lines():
        kind, move = one_ply_kind(NaiveTicTacToe, moves)
        if kind is not None and _best_moves(moves) == [move]:
            yield {"kind": kind, "moves": _text(moves), "best": [str(move)]}


def one_ply_connect_four() -> Iterator[Entry]:
    """Yields positions from the last two plies of random games, as many wins as blocks."""
    rng = random.Random(SEED)
    missing = {"win": NUM_CONNECT_FOUR, "block": NUM_CONNECT_FOUR}
    seen = set()
    while any(missing.values()):
        moves = _random_game(rng)
        for beginning in (moves[:-1], moves[:-2]):
            kind, move = one_ply_kind(NaiveConnectFour, beginning)
            board = str(_played(NaiveConnectFour, beginning).board)
            if kind is not None and missing[kind] > 0 and board not in seen:
                seen.add(board)
                missing[kind] -= 1
                text = "".join(str(column + 1) for column in beginning)
                yield {"kind": kind, "moves": text, "best": [str(move + 1)]}


def one_ply_kind(rules: type[NaiveGame], moves: Moves) -> tuple[str | None, int]:
    """Returns "win" or "block" and the move, or None where one ply does not tell a single move."""
    legal = _played(rules, moves).legal_actions()
    wins = _winning_moves(rules, moves)
    if len(wins) == 1:
        return "win", wins[0]
    replies = {move: _winning_moves(rules, (*moves, move)) for move in legal}
    safe = [move for move in legal if not replies[move]]
    if wins or len(safe) != 1:
        return None, -1
    is_block = all(safe[0] in replies[move] for move in legal if move != safe[0])
    return ("block", safe[0]) if is_block and len(legal) > 1 else (None, -1)


def _winning_moves(rules: type[NaiveGame], moves: Moves) -> list[int]:
    """Returns the moves that win at once."""
    legal = _played(rules, moves).legal_actions()
    return [move for move in legal if _played(rules, (*moves, move)).winner() is not None]


def _played(rules: type[NaiveGame], moves: Moves) -> NaiveGame:
    game = rules()
    for move in moves:
        game.play(move)
    return game


def _random_game(rng: random.Random) -> Moves:
    """Returns the moves of a game of Connect Four played to its end at random."""
    game, moves = NaiveConnectFour(), []
    while legal := game.legal_actions():
        moves.append(rng.choice(legal))
        game.play(moves[-1])
    return tuple(moves)


def _all_lines() -> Iterator[Moves]:
    """Yields the moves to each unfinished position of tic-tac-toe once, the fewest moves first."""
    lines: dict[Cells, Moves] = {(None,) * 9: ()}
    while lines:
        yield from lines.values()
        longer: dict[Cells, Moves] = {}
        for cells, moves in lines.items():
            for move in _empty(cells):
                after = _put(cells, move)
                if _winner(after) is None and None in after:
                    longer.setdefault(after, (*moves, move))
        lines = longer


def _best_moves(moves: Moves) -> list[int]:
    """Returns the moves that keep the value of a position of tic-tac-toe."""
    cells = functools.reduce(_put, moves, (None,) * 9)
    values = {move: -_value(_put(cells, move)) for move in _empty(cells)}
    return [move for move, value in values.items() if value == max(values.values())]


@functools.cache
def _value(cells: Cells) -> int:
    """Returns what the player to move gets: 1, 0 or -1."""
    if _winner(cells) is not None:
        return -1  # the last stone has won
    return max((-_value(_put(cells, move)) for move in _empty(cells)), default=0)


def _winner(cells: Cells) -> int | None:
    for a, b, c in NaiveTicTacToe.LINES:
        if cells[a] is not None and cells[a] == cells[b] == cells[c]:
            return cells[a]
    return None


def _put(cells: Cells, move: int) -> Cells:
    player = (9 - cells.count(None)) % 2
    return (*cells[:move], player, *cells[move + 1 :])


def _empty(cells: Cells) -> list[int]:
    return [cell for cell in range(9) if cells[cell] is None]


def _text(moves: Moves) -> str:
    return "".join(map(str, moves))
