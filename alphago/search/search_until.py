"""A search that may be stopped at any simulation, for those who play by a clock."""

from collections.abc import Callable

import numpy as np

from alphago.errors import check_count
from alphago.games.game import Game
from alphago.search.config import SearchConfig
from alphago.search.search import BatchSearch
from alphago.types import Evaluator, SearchResult, States


def run_search_until(
    game: Game,
    evaluator: Evaluator,
    states: States,
    config: SearchConfig,
    *,
    num_simulations: int,
    should_stop: Callable[[], bool],
) -> SearchResult:
    """Searches one position per row, without noise, until it is told to stop.

    Simulations are made one by one: near the end of a game one call of `run_simulation` could make
    thousands, which end in finished games and need no evaluation.

    Args:
        game: the rules.
        evaluator: the network.
        states: [B] positions, none over.
        config: the constants; its noise is not used.
        num_simulations: the most simulations per row beside the root's own evaluation.
        should_stop: asked before each simulation; True ends the search.

    Returns:
        As `run_search` for the number of simulations that were made.

    Raises:
        ConfigError: if `num_simulations` is negative.
        StateError: if the states are not those of the game.
        FinishedGameError: if a position is over.
        EvaluationError: if the evaluator's answer cannot be used.
    """
    check_count("num_simulations", num_simulations, at_least=0)
    num_rows = len(states)
    search = BatchSearch(
        game, evaluator, config, num_rows=num_rows, max_simulations=num_simulations
    )
    rows = np.arange(num_rows)
    search.start(rows, states, np.zeros(num_rows, np.int64))
    if num_rows > 0:
        search.run_simulation()  # the roots' own evaluation
    for _ in range(num_simulations):
        if num_rows == 0 or should_stop():
            break
        for row in range(num_rows):
            search.resume(row, 1)
        search.run_simulation()
    return search.result(rows)
