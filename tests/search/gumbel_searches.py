"""Searches by Gumbel's rule, one position per row, for the tests."""

from typing import NamedTuple

import numpy as np

from alphago.games.game import Game
from alphago.search import BatchSearch, GumbelConfig, gumbel_numbers
from alphago.types import Evaluator, FloatArray, SearchResult, States
from tests.search.positions import run_to_end, search_config

MCTX = {"num_considered": 16, "value_scale": 0.1, "visit_init": 50.0}


class Found(NamedTuple):
    """Both results of some rows."""

    result: SearchResult
    policy_targets: FloatArray  # [B, A]
    actions: np.ndarray  # [B]
    values: FloatArray  # [B], of the improved policies


def gumbel_config(**changes: float) -> GumbelConfig:
    """Returns mctx's constants with some of them changed."""
    return GumbelConfig(**{**MCTX, **changes})


def drawn_numbers(game: Game, states: States, *, seed: int) -> FloatArray:
    """Returns Gumbel numbers, float32 [B, A]."""
    rng = np.random.default_rng(seed)
    return np.stack([gumbel_numbers(legal, rng=rng) for legal in game.legal_actions(states)])


def search_by_gumbel(
    game: Game,
    evaluator: Evaluator,
    states: States,
    config: GumbelConfig,
    *,
    numbers: FloatArray,
    num_simulations: int,
) -> Found:
    """Searches one position per row."""
    rows = np.arange(len(states))
    search = BatchSearch(
        game,
        evaluator,
        search_config(),
        num_rows=len(rows),
        max_simulations=num_simulations,
        gumbel_config=config,
    )
    search.start(rows, states, np.full(len(rows), num_simulations))
    search.run_simulation()
    search.explore_by_halving(rows, numbers)
    run_to_end(search, rows.tolist(), max_calls=num_simulations)
    return Found(search.result(rows), *search.gumbel_result(rows))
