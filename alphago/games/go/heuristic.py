"""Who is ahead on a Go board? Points by distance to the nearest stones, safety by liberties.

What the player to move can capture at once counts as captured. Every other stone counts as its
owner's, less the chance that it is lost, by its chain's liberties. An empty point counts for
whoever has the nearer stone, the more the farther the opponent's is (distances lead through empty
points, so that a wall keeps influence off). Komi, and under territory scoring prisoners, are added.

A known weakness: a chain of three or more liberties counts as alive wherever it stands, also as an
invader of safe territory.

All is counted in thousandths of a point: whole numbers have the same sum in any order, so that
images of a position have equal values.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from alphago.games.go.layout import (
    CAPTURES,
    EMPTY,
    TO_PLAY,
    Layout,
    Row,
    Rows,
    Shorts,
    go_rows,
)
from alphago.games.go.moves import fact, game_row
from alphago.games.go.planes import count_liberties
from alphago.kernels import kernel
from alphago.types import NUM_PLAYERS, FloatArray, Int8Array, States

POINT = 1000  # units
FAR = 40  # the distance of what no stone reaches, and the largest one that counts
# What a stone risks, by the liberties of its chain: two points times the chance that it is lost.
# The player to move can save a chain in atari about every second time.
RISKS = np.array([0, 1000, 200, 50, 0], np.int64)  # the last one for any more


class HeuristicRoom(NamedTuple):
    """Memory for the heuristic to work in; kernels allocate none."""

    board: Int8Array  # [K + 1], the stones that are not captured
    liberties: npt.NDArray[np.int16]  # [K], of chains, at their heads
    distances: npt.NDArray[np.int16]  # [P, K + 1], from each player's nearest stone
    queue: Shorts  # [K], cells


def heuristic_room(num_cells: int) -> HeuristicRoom:
    """Allocates the memory that the heuristic needs."""
    return HeuristicRoom(
        board=np.empty(num_cells + 1, np.int8),
        liberties=np.empty(num_cells, np.int16),
        distances=np.empty((NUM_PLAYERS, num_cells + 1), np.int16),
        queue=np.empty(num_cells, np.uint16),
    )


@kernel
def point_share(own: int, opposing: int) -> int:
    """Returns what an empty point counts for a player, by the distances of the nearest stones.

    From one point, where only the player reaches it, over zero at equal distances to minus one.
    """
    share = abs(opposing - own) * POINT // (opposing + own)
    return share if own < opposing else -share


@kernel
def count_stones(row: Row, layout: Layout, stone_points: int, room: HeuristicRoom) -> int:
    """Counts the stones for the player to move and takes the captured ones off.

    Args:
        row: the game.
        layout: its layout.
        stone_points: what a living stone counts.
        room: its board and liberties are filled in place.

    Returns:
        Units, the player's less the opponent's.
    """
    count_liberties(row, layout, room.liberties)
    player = fact(row, layout, TO_PLAY)
    for cell in range(layout.num_cells + 1):  # a slice would be copied twice, which allocates
        room.board[cell] = row.bytes_[layout.board + cell]
    balance = 0
    for cell in range(layout.num_cells):
        stone = room.board[cell]
        if stone == EMPTY:
            continue
        liberties = room.liberties[row.shorts[layout.heads + cell]]
        if stone == player:
            balance += stone_points - RISKS[min(liberties, len(RISKS) - 1)]
        elif liberties > 1:
            balance -= stone_points - RISKS[min(liberties, len(RISKS) - 1)]
        else:  # a prisoner; its point is counted with the empty ones
            balance += POINT - stone_points
            room.board[cell] = EMPTY
    return balance


@kernel
def fill_distances(layout: Layout, player: int, room: HeuristicRoom) -> None:
    """Writes how far each empty cell is from a player's stones, through empty cells. In place.

    The cells are visited in the order of their distance, from a queue.
    """
    distances, queue = room.distances[player], room.queue
    num_queued = 0
    for cell in range(layout.num_cells):
        distances[cell] = FAR
        if room.board[cell] == player:
            distances[cell] = 0
            queue[num_queued] = cell
            num_queued += 1
    first = 0
    while first < num_queued:
        cell = queue[first]
        first += 1
        for side in range(4):
            beside = layout.neighbours[cell, side]
            if room.board[beside] == EMPTY and distances[beside] > distances[cell] + 1:
                distances[beside] = distances[cell] + 1
                queue[num_queued] = beside
                num_queued += 1


@kernel
def count_empty_points(layout: Layout, player: int, room: HeuristicRoom) -> int:
    """Returns what the empty points count for a player, less what they do for the opponent."""
    fill_distances(layout, player, room)
    fill_distances(layout, 1 - player, room)
    balance = 0
    for cell in range(layout.num_cells):
        if room.board[cell] == EMPTY:
            own, opposing = room.distances[player, cell], room.distances[1 - player, cell]
            balance += point_share(int(own), int(opposing))
    return balance


@kernel
def fill_heuristic_values_all(
    rows: Rows,
    layout: Layout,
    is_territory: bool,
    white_units: int,
    room: HeuristicRoom,
    values: FloatArray,
) -> None:
    """Writes the value of each game for its player to move.

    Args:
        rows: the games.
        layout: their layout.
        is_territory: whether territory and prisoners count, not area.
        white_units: what White gets as komi, in units.
        room: to work in.
        values: float32 [B], filled in place.
    """
    even = int(POINT * np.sqrt(layout.num_cells))  # a lead of so much is worth a half
    stone_points = 0 if is_territory else POINT
    for b in range(len(values)):
        row = game_row(rows, b)
        player = fact(row, layout, TO_PLAY)
        balance = count_stones(row, layout, stone_points, room)
        balance += count_empty_points(layout, player, room)
        if is_territory:
            own = fact(row, layout, CAPTURES + player)
            balance += POINT * (own - fact(row, layout, CAPTURES + 1 - player))
        balance += white_units if player else -white_units
        values[b] = balance / (abs(balance) + even)


def go_heuristic_values(
    states: States, layout: Layout, *, is_territory: bool, white_points: float
) -> FloatArray:
    """Returns float32 [B], see `alphago.games.heuristic.HeuristicGame`; `white_points`: komi."""
    values = np.empty(len(states), np.float32)
    white_units = round(POINT * white_points)
    room = heuristic_room(layout.num_cells)
    fill_heuristic_values_all(go_rows(states), layout, is_territory, white_units, room, values)
    return values
