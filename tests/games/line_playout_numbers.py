"""Numbers of some random playouts of line games, to compare modes of the compiler."""

import json

import numpy as np

from alphago.games import make_game


def playout_numbers() -> dict[str, list[float]]:
    """Returns numbers that depend on every random draw."""
    numbers = {}
    for name in ("tic_tac_toe", "connect_four"):
        game = make_game(name)
        returns = game.playout_returns(game.initial_states(40), rng=np.random.default_rng(7))
        numbers[name] = returns.reshape(-1).tolist()
    return numbers


if __name__ == "__main__":
    print(json.dumps(playout_numbers()))
