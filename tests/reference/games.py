"""Slow, plain rules of the games, written apart from the kernels: lists, loops, every line.

Boards are lists of rows, top row first; a cell is None or the id of the stone's player.
"""

from collections.abc import Mapping
from typing import Protocol


class NaiveGame(Protocol):
    """One game, changed by `play`."""

    board: list[list[int | None]]

    def play(self, action: int) -> None: ...

    def legal_actions(self) -> list[int]: ...

    def to_play(self) -> int: ...

    def winner(self) -> int | None: ...


class NaiveTicTacToe:
    LINES = (
        (0, 1, 2),
        (3, 4, 5),
        (6, 7, 8),
        (0, 3, 6),
        (1, 4, 7),
        (2, 5, 8),
        (0, 4, 8),
        (2, 4, 6),
    )

    def __init__(self) -> None:
        self.board: list[list[int | None]] = [[None] * 3 for _ in range(3)]

    def play(self, action: int) -> None:
        self.board[action // 3][action % 3] = self.to_play()

    def legal_actions(self) -> list[int]:
        if self.winner() is not None:
            return []
        return [cell for cell in range(9) if self.board[cell // 3][cell % 3] is None]

    def to_play(self) -> int:
        return num_stones(self.board) % 2

    def winner(self) -> int | None:
        cells = [cell for row in self.board for cell in row]
        for a, b, c in self.LINES:
            if cells[a] is not None and cells[a] == cells[b] == cells[c]:
                return cells[a]
        return None


class NaiveConnectFour:
    def __init__(self) -> None:
        self.board: list[list[int | None]] = [[None] * 7 for _ in range(6)]

    def play(self, action: int) -> None:
        player = self.to_play()
        for row in reversed(self.board):
            if row[action] is None:
                row[action] = player
                return
        raise AssertionError("the column is full")

    def legal_actions(self) -> list[int]:
        if self.winner() is not None:
            return []
        return [column for column in range(7) if any(row[column] is None for row in self.board)]

    def to_play(self) -> int:
        return num_stones(self.board) % 2

    def winner(self) -> int | None:
        """Looks for four equal letters in every row, column and diagonal written as text."""
        text = [["." if c is None else "XO"[c] for c in row] for row in self.board]
        lines = ["".join(row) for row in text]
        lines += ["".join(column) for column in zip(*text, strict=True)]
        for shift in range(-6, 13):
            lines.append("".join(text[r][r + shift] for r in range(6) if 0 <= r + shift < 7))
            lines.append("".join(text[r][shift - r] for r in range(6) if 0 <= shift - r < 7))
        for player, stone in enumerate("XO"):
            if any(stone * 4 in line for line in lines):
                return player
        return None


def num_stones(board: list[list[int | None]]) -> int:
    return sum(cell is not None for row in board for cell in row)


def planes(game: NaiveGame) -> list[list[list[int]]]:
    """The observation: own stones, the opponent's, all ones if player 0 is to move."""
    own, opponent = game.to_play(), 1 - game.to_play()
    return [
        [[int(cell == own) for cell in row] for row in game.board],
        [[int(cell == opponent) for cell in row] for row in game.board],
        [[int(own == 0) for _ in row] for row in game.board],
    ]


NAIVE_GAMES: Mapping[str, type[NaiveTicTacToe] | type[NaiveConnectFour]] = {
    "tic_tac_toe": NaiveTicTacToe,
    "connect_four": NaiveConnectFour,
}
