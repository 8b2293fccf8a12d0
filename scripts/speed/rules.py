"""How fast the rules are, and a search whose network costs nothing."""

from collections.abc import Callable

import numpy as np

from alphago.games import Game
from alphago.games.go import Go
from alphago.games.go.playout import play_uniformly
from alphago.games.line_game import LineGame
from alphago.games.random_play import (
    UniformPlayouts,
    playouts_of,
    random_legal_actions,
    random_states,
)
from alphago.players.text import DEFAULT_EXPLORATION
from alphago.search import BatchSearch, SearchConfig
from alphago.search.uct import run_uct
from alphago.types import Evaluation, States
from scripts.speed import openspiel
from scripts.speed.timing import calls_per_second

NUM_ROWS = 64  # games at once
UCT_PLAYOUTS = 1000  # of one search without a network


class FreeEvaluator:
    """Knows nothing and costs nothing: equal priors and value 0."""

    def __init__(self, game: Game, *, num_rows: int) -> None:
        """Allocates the one answer."""
        self._evaluation = Evaluation(
            np.zeros((num_rows, game.spec.num_actions), np.float32), np.zeros(num_rows, np.float32)
        )

    def evaluate(self, states: States) -> Evaluation:
        """Returns the one answer."""
        del states
        return self._evaluation


def measure_rules(game: Game, *, seconds: float) -> dict[str, float]:
    """Returns how fast the rules are on one core.

    Args:
        game: the rules.
        seconds: how long to measure each figure.

    Returns:
        `playouts_per_s`, random games from the start as UCT plays them, `uniform_playouts_per_s`,
        games of actions that are all equally likely, and of positions up to the middle of a game,
        64 at a time, `legal_actions_us` and `step_us`, the time of one. `uct_playouts_per_s` are
        those of UCT, one position at a time. Also `openspiel_playouts_per_s`, OpenSpiel's uniform
        games, if it is installed and has the game.
    """
    rng = np.random.default_rng(0)
    starts = game.initial_states(NUM_ROWS)
    _, height, width = game.spec.observation_shape
    states = random_states(game, rng, num_rows=NUM_ROWS, most_moves=height * width // 2)
    actions = random_legal_actions(game, states, rng=rng)
    playouts = playouts_of(game)

    def per_second(action: Callable[[], object], *, num_items: int = NUM_ROWS) -> float:
        return num_items * calls_per_second(action, seconds=seconds)

    rates = {
        "playouts_per_s": per_second(lambda: playouts.playout_returns(starts, rng=rng)),
        "uniform_playouts_per_s": per_second(lambda: _play_uniformly(game, starts, rng)),
        "legal_actions_us": 1e6 / per_second(lambda: game.legal_actions(states)),
        "step_us": 1e6 / per_second(lambda: game.step(states, actions)),
        "uct_playouts_per_s": per_second(lambda: _search_by_uct(game, rng), num_items=UCT_PLAYOUTS),
    }
    name = openspiel.openspiel_name(game)
    if name is not None and openspiel.is_installed():
        theirs = openspiel.OpenSpielPlayouts(name)
        rates["openspiel_playouts_per_s"] = per_second(theirs.play, num_items=openspiel.ROLLOUTS)
    return rates


def measure_search(
    game: Game, config: SearchConfig, *, num_simulations: int, seconds: float
) -> dict[str, float]:
    """Returns how fast the search is with a network that costs nothing.

    Args:
        game: the rules.
        config: the constants of the search.
        num_simulations: budget of one search.
        seconds: how long to measure.

    Returns:
        `simulations_per_s`, and the budget, `num_simulations`.
    """
    states = random_states(game, np.random.default_rng(0), num_rows=NUM_ROWS, most_moves=10)
    evaluator = FreeEvaluator(game, num_rows=NUM_ROWS)
    search = BatchSearch(
        game, evaluator, config, num_rows=NUM_ROWS, max_simulations=num_simulations
    )
    rows, budgets = np.arange(NUM_ROWS), np.full(NUM_ROWS, num_simulations)

    def search_all() -> None:
        search.start(rows, states, budgets)
        while search.finished_rows().size < NUM_ROWS:
            search.run_simulation()

    rate = NUM_ROWS * num_simulations * calls_per_second(search_all, seconds=seconds)
    return {"simulations_per_s": rate, "num_simulations": num_simulations}


def _play_uniformly(game: Game, states: States, rng: np.random.Generator) -> None:
    """Plays games to their end, all legal actions equally likely, by a kernel if there is one."""
    if isinstance(game, Go):
        play_uniformly(game, states, rng=rng)
    elif isinstance(game, LineGame):
        game.playout_returns(states, rng=rng)
    else:
        UniformPlayouts(game).playout_returns(states, rng=rng)


def _search_by_uct(game: Game, rng: np.random.Generator) -> None:
    states = game.initial_states(1)
    run_uct(game, states, num_playouts=UCT_PLAYOUTS, exploration=DEFAULT_EXPLORATION, rng=rng)
