"""Numbers of some random playouts and a UCT search, to compare modes of the compiler."""

import json

import numpy as np

from alphago.games.go import RULE_SETS, Go
from alphago.games.go.playout import play_uniformly, random_playouts
from alphago.search.uct import run_uct


def playout_numbers() -> dict[str, list[float]]:
    """Returns numbers that depend on every random draw."""
    game = Go(height=5, width=4, rules=RULE_SETS["tromp_taylor"])
    states = game.initial_states(2)
    rng = np.random.default_rng(7)
    light = random_playouts(game, states, num_playouts=4, rng=rng)
    finished = play_uniformly(game, states, rng=rng)
    search = run_uct(game, states, num_playouts=40, exploration=0.4, rng=rng)
    return {
        "scores": light.scores.reshape(-1).tolist(),
        "owners": light.owners.reshape(-1).tolist(),
        "actions": finished["actions"].reshape(-1).tolist(),
        "visits": search.visit_counts.reshape(-1).tolist(),
        "values": search.action_values.reshape(-1).tolist(),
    }


if __name__ == "__main__":
    print(json.dumps(playout_numbers()))
