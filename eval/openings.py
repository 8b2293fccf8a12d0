"""Random openings, so that two players without randomness do not play one game over and over."""

import numpy as np

from alphago.errors import check_count
from alphago.games.game import Game
from alphago.games.notation import replay
from alphago.games.random_play import random_actions
from alphago.players.state_keys import state_keys

# So many draws in a row without a new position, per position known, say that there are no more:
# one of K equally likely positions would be overlooked with probability exp(-20).
_PATIENCE = 20


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
    distinct = list(openings.values())
    return [distinct[pair % len(distinct)] for pair in range(num_pairs)]
