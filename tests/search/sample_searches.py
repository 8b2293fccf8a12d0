"""A few searches, printed as one hash per result, to compare modes of the compiler.

python -m tests.search.sample_searches
"""

import hashlib
import json

import numba
import numpy as np

from alphago.search import BatchSearch, run_search
from alphago.search.evaluation_cache import EvaluationCache
from tests.search.evaluators import ObservedNetwork
from tests.search.gumbel_searches import drawn_numbers, gumbel_config, search_by_gumbel
from tests.search.positions import (
    GAME_NAMES,
    evaluator_of_kind,
    game_named,
    random_states,
    run_to_end,
    search_config,
)


def array_hash(*arrays: np.ndarray) -> str:
    """Returns a hash of every bit of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.tobytes())
    return digest.hexdigest()


def sample_hashes() -> dict[str, str]:
    """Returns a hash by name for a few searches of every kind: plain, noisy, hostile, restarted."""
    hashes = {}
    for name in GAME_NAMES:
        game = game_named(name)
        states = random_states(game, np.random.default_rng(80), num_states=5)
        for kind in ("mild", "hostile"):
            evaluator = evaluator_of_kind(kind, game)
            rng = np.random.default_rng(81)
            plain = run_search(game, evaluator, states, search_config(), num_simulations=40)
            noisy = run_search(
                game, evaluator, states, search_config(), num_simulations=20, rng=rng
            )
            search = BatchSearch(game, evaluator, search_config(), num_rows=5, max_simulations=20)
            search.start(np.arange(5), states, np.array([20, 5, 0, 1, 12]))
            for simulation in range(20):
                if simulation == 8:
                    search.start(np.array([1, 3]), states[[2, 4]], np.array([10, 12]))
                search.run_simulation()
            run_to_end(search, list(range(5)), max_calls=2)
            mixed = search.result(np.arange(5))
            network = ObservedNetwork(game, spread=1.0)
            cache = EvaluationCache(game, network, num_entries=7)
            cached = run_search(game, cache, states, search_config(), num_simulations=20)
            halved = search_by_gumbel(
                game,
                evaluator,
                states,
                gumbel_config(num_considered=4),
                numbers=drawn_numbers(game, states, seed=82),
                num_simulations=40,
            )
            parts = {"plain": plain, "noisy": noisy, "mixed": mixed, "cached": cached}
            for part, result in (parts | {"halved": halved.result}).items():
                hashes[f"{name} {kind} {part}"] = array_hash(*result)
            hashes[f"{name} {kind} improved"] = array_hash(halved.policy_targets, halved.actions)
    return hashes


if __name__ == "__main__":
    settings = {
        "disable_jit": int(numba.config.DISABLE_JIT),
        "boundscheck": int(numba.config.BOUNDSCHECK or 0),
    }
    print(json.dumps({"settings": settings, "hashes": sample_hashes()}))
