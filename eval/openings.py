"""Openings, so that two players without randomness do not play one game over and over."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from alphago.errors import AlphagoError, OpeningsError, check_count
from alphago.files import MIB, read_text_file, reason
from alphago.games.game import Game
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_actions
from alphago.players.state_keys import state_keys

# So many draws in a row without a new position, per position known, say that there are no more:
# one of K equally likely positions would be overlooked with probability exp(-20).
_PATIENCE = 20
_MOST_BYTES = 16 * MIB  # of a file


def paired_openings(game: Game, *, num_pairs: int, num_plies: int, seed: int) -> list[list[int]]:
    """Draws openings of random legal moves, each meant for a pair of games with the sides swapped.

    No two lead to the same position, as long as the game has enough of them; then each is used
    equally often (give or take one). No opening ends the game.

    Args:
        game: the rules.
        num_pairs: how many openings.
        num_plies: moves of an opening; fewer where the next one would end the game, 0 for none.
        seed: of the random stream; equal seeds give equal openings.

    Returns:
        A list of actions per pair.

    Raises:
        ConfigError: if a number is negative.
    """
    check_count("num_pairs", num_pairs, at_least=0)
    check_count("opening_plies", num_plies, at_least=0)
    rng = np.random.default_rng(seed)
    openings: dict[bytes, list[int]] = {}
    num_failures = 0
    while len(openings) < num_pairs and num_failures < _PATIENCE * (len(openings) + 1):
        actions = random_actions(game, rng, num_moves=num_plies)
        key = state_keys(replay(game, actions))[0]
        num_failures = num_failures + 1 if key in openings else 0
        openings.setdefault(key, actions)
    return repeat_evenly(list(openings.values()), num_pairs)


def repeat_evenly(openings: Sequence[list[int]], num_pairs: int) -> list[list[int]]:
    """Returns so many openings, each equally often (give or take one)."""
    return [openings[pair % len(openings)] for pair in range(num_pairs)]


def read_openings(game: Game, file: Path) -> list[list[int]]:
    """Reads openings, one in each line, as moves (see `parse_moves`); `#` begins a comment.

    Args:
        game: the rules.
        file: the file, in UTF-8.

    Returns:
        The actions of each opening, at least one.

    Raises:
        OpeningsError: if the file cannot be read or holds no opening, or a line has something that
            is no move, cannot be played, ends the game or leads to a position that an earlier line
            leads to; it names the line.
    """
    try:
        lines = read_text_file(file, at_most=_MOST_BYTES).splitlines()
    except (OSError, ValueError) as error:  # ValueError: no text, or a NUL in the path
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise OpeningsError(f"{file}: cannot be read ({why})") from error
    openings: list[list[int]] = []
    found: dict[bytes, int] = {}  # position -> the line that leads to it
    for number, line in enumerate(lines, start=1):
        moves = line.partition("#")[0].strip()
        if not moves:
            continue
        try:
            opening = _read_opening(game, moves, number=number, found=found)
        except AlphagoError as error:
            raise OpeningsError(f"{file}, line {number}: {error}") from error
        openings.append(opening)
    if not openings:
        raise OpeningsError(f"{file}: holds no opening, allowed: moves, one opening in each line")
    return openings


def _read_opening(game: Game, moves: str, *, number: int, found: dict[bytes, int]) -> list[int]:
    """Reads one opening and enters its position, by its bytes, with the line's number.

    Raises:
        AlphagoError: if it cannot be used.
    """
    actions = parse_moves(game, moves)
    state = replay(game, actions)
    if game.is_over(state)[0]:
        raise OpeningsError("ends the game")
    earlier = found.setdefault(state_keys(state)[0], number)
    if earlier != number:
        raise OpeningsError(f"leads to the same position as line {earlier}")
    return actions
