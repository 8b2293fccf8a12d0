"""A few random games of Go, printed as one hash per rule set, to compare modes of the compiler.

python -m tests.games.go.sample_games
"""

import hashlib
import json

import numba
import numpy as np

from alphago.games.go import Go
from alphago.games.random_play import random_legal_actions

SAMPLES = {
    "go_4x3": {"rules": "new_zealand", "planes": "extended", "max_moves": "60"},
    "go_3x3": {"rules": "tromp_taylor", "max_moves": "60"},
    "go_5x5": {"rules": "japanese", "planes": "extended", "max_moves": "40"},
}


def game_hash(game: Go, *, seed: int, num_games: int) -> str:
    """Returns a hash over all answers of a game along random games played as one batch."""
    rng = np.random.default_rng(seed)
    digest = hashlib.sha256()
    states = game.initial_states(num_games)
    while len(states) > 0:
        for answer in (
            states,
            game.legal_actions(states),
            game.observe(states),
            game.owners(states),
            game.score(states),
            game.returns(states),
            game.pass_alive(states),
            game.heuristic_values(states),
            game.apply_symmetry(states, game.spec.symmetries[-1]),
        ):
            digest.update(answer.tobytes())
        states = states[~game.is_over(states)]
        if len(states) > 0:
            states = game.step(states, random_legal_actions(game, states, rng=rng))
    return digest.hexdigest()


def sample_hashes() -> dict[str, str]:
    return {
        name: game_hash(Go.from_text(name, options), seed=11, num_games=2)
        for name, options in SAMPLES.items()
    }


if __name__ == "__main__":
    settings = {
        "disable_jit": int(numba.config.DISABLE_JIT),
        "boundscheck": int(numba.config.BOUNDSCHECK or 0),
    }
    print(json.dumps({"settings": settings, "hashes": sample_hashes()}))
