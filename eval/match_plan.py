"""Matches in parts: each has a seed of its own, so it does not matter who plays which part when."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alphago.errors import check_config, check_count
from alphago.games.game import Game
from alphago.players.player import Player, SeededPlayer
from eval.matches import MatchProgress, MatchResult, play_match

# At most. Smaller parts are kept sooner, and their batches are smaller too: against 100 pairs side
# by side, two networks took 21 % more processor time in parts of 16 pairs, and 11 % in parts of 32.
PAIRS_PER_PART = 32

_PART_KEY = 3  # spawn key: keeps the seeds of parts apart from the streams of other things


@dataclass(frozen=True, kw_only=True)
class MatchPart:
    """Some games of a match, all of them to be played by the same process.

    Attributes:
        number: its place in the match, from 0.
        openings: the actions of each opening.
        num_games: games to play: two per opening, or one less.
        seed: of the players' random choices in this part.
    """

    number: int
    openings: list[list[int]]
    num_games: int
    seed: int


def plan_match(
    openings: Sequence[Sequence[int]], *, num_games: int | None = None, seed: int
) -> list[MatchPart]:
    """Divides a match into parts of at most `PAIRS_PER_PART` openings, as equal as can be.

    Args:
        openings: the actions of each opening; each is played from both sides.
        num_games: play only so many games of the schedule, None for all.
        seed: of the match.

    Returns:
        The parts in order. Equal arguments give equal parts.

    Raises:
        ConfigError: if there is no game to play or there are too few openings for `num_games`.
    """
    most = 2 * len(openings)
    num_games = most if num_games is None else num_games
    check_config("num_games", num_games, 1 <= num_games <= most, f"1 to {most}, two per opening")
    check_count("seed", seed, at_least=0)
    num_pairs = -(-num_games // 2)
    num_parts = -(-num_pairs // PAIRS_PER_PART)
    bounds = [num_pairs * number // num_parts for number in range(num_parts + 1)]
    return [
        MatchPart(
            number=number,
            openings=[list(opening) for opening in openings[start:end]],
            num_games=min(2 * end, num_games) - 2 * start,
            seed=_part_seed(seed, number),
        )
        for number, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False))
    ]


def play_part(
    game: Game,
    first: Player,
    second: Player,
    part: MatchPart,
    progress: MatchProgress | None = None,
) -> MatchResult:
    """Plays one part of a match.

    The players begin their random streams anew, from the part's seed and their names: the result
    does not depend on what they have played before, and with the players swapped it is the same
    from the other side. (Programs that speak GTP draw their random numbers themselves.)

    Args:
        game: the rules.
        first: the player whose side the result takes.
        second: its opponent, another object.
        part: the games.
        progress: as in `play_match`, of the games of this part.

    Returns:
        The result; `merge_matches` puts parts together.

    Raises:
        AlphagoError: as in `play_match`.
        MatchInterruptedError: on Ctrl-C.
    """
    for player in (first, second):
        if isinstance(player, SeededPlayer):
            is_twin = player is second and first.name == second.name
            player.reseed(_player_seed(part.seed, player.name, is_twin=is_twin))
    return play_match(
        game,
        first,
        second,
        openings=part.openings,
        num_games=part.num_games,
        progress=progress,
    )


def pair_counts(parts: Sequence[MatchResult]) -> list[int]:
    """Counts the pairs of games from one opening by the points that they gave the first player.

    Args:
        parts: whole parts. A last game without its partner is left out.

    Returns:
        [5] how many pairs gave 0, 1/2, 1, 3/2 and 2 points.
    """
    counts = [0] * 5
    for part in parts:
        for one, other in zip(part.outcomes[::2], part.outcomes[1::2], strict=False):
            counts[2 + one + other] += 1
    return counts


def _player_seed(seed: int, name: str, *, is_twin: bool) -> int:
    """Returns the seed of a player in a part; twins have the same name."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    key = (int.from_bytes(digest[:8]), int(is_twin))
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0])


def _part_seed(seed: int, number: int) -> int:
    """Returns the seed of a part."""
    sequence = np.random.SeedSequence(seed, spawn_key=(_PART_KEY, number))
    return int(sequence.generate_state(1, np.uint64)[0])
