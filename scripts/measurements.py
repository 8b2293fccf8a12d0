"""How fast rules, network, search and self-play are; each function measures one thing."""

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from alphago.games import Game, make_game
from alphago.games.go import Go
from alphago.games.go.playout import play_uniformly
from alphago.games.notation import replay
from alphago.games.random_play import (
    UniformPlayouts,
    playouts_of,
    random_actions,
    random_legal_actions,
)
from alphago.network.evaluator import NetworkEvaluator
from alphago.network.network import make_network, weights_of
from alphago.players.text import DEFAULT_EXPLORATION
from alphago.search import BatchSearch, SearchConfig
from alphago.search.uct import run_uct
from alphago.types import Evaluation, States, Weights
from scripts import openspiel
from selfplay.actors import SelfPlayActor
from selfplay.play import PlayStats
from selfplay.pool import RayPool, SelfPlayPool
from train.config import RunConfig, actor_setup

SEARCH_GAMES = 64  # rows of the search alone
SEARCH_SIMULATIONS = (32, 200)  # budgets of the search alone
UCT_PLAYOUTS = 1000  # of one search without a network
RULES_GAMES = 64  # rows of the rules alone

T = TypeVar("T")


class Rates(NamedTuple):
    """What self-play did per second of wall time, all actors together."""

    evaluations: float  # rows sent to the network
    simulations: float


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


def fresh_weights(config: RunConfig) -> Weights:
    """Returns the weights a run starts with."""
    spec = make_game(config.game.text).spec
    return weights_of(make_network(spec, config.network, seed=config.seed))


def random_states(game: Game, *, num_rows: int, seed: int, most_moves: int = 10) -> States:
    """Returns [B] unfinished positions after fewer than `most_moves` random moves."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, most_moves, size=num_rows)
    openings = [random_actions(game, rng, num_moves=int(length)) for length in lengths]
    return np.concatenate([replay(game, actions) for actions in openings])


def measure_rules(game: Game, *, seconds: float) -> dict[str, float]:
    """Returns how fast the rules are on one core.

    Args:
        game: the rules.
        seconds: how long to measure each figure.

    Returns:
        `playouts_per_s`, random games from the start as UCT plays them, `uniform_playouts_per_s`,
        games of actions that are all equally likely, and of positions up to the middle of a game,
        64 at a time, `legal_actions_us` and `step_us`, the time of one. Also
        `openspiel_playouts_per_s`, OpenSpiel's uniform games, if it is installed and has the game.
    """
    rng = np.random.default_rng(0)
    starts = game.initial_states(RULES_GAMES)
    _, height, width = game.spec.observation_shape
    states = random_states(game, num_rows=RULES_GAMES, seed=0, most_moves=height * width // 2)
    actions = random_legal_actions(game, states, rng=rng)
    playouts = playouts_of(game)

    def per_second(action: Callable[[], object], *, num_items: int = RULES_GAMES) -> float:
        def run() -> None:
            action()  # its result is dropped: thousands of batches of states would fill the memory

        calls, elapsed = _repeat(run, seconds=seconds)
        return len(calls) * num_items / elapsed

    rates = {
        "playouts_per_s": per_second(lambda: playouts.playout_returns(starts, rng=rng)),
        "uniform_playouts_per_s": per_second(lambda: _play_uniformly(game, starts, rng)),
        "legal_actions_us": 1e6 / per_second(lambda: game.legal_actions(states)),
        "step_us": 1e6 / per_second(lambda: game.step(states, actions)),
    }
    name = openspiel.openspiel_name(game)
    if name is not None and openspiel.is_installed():
        theirs = openspiel.OpenSpielPlayouts(name)
        rates["openspiel_playouts_per_s"] = per_second(theirs.play, num_items=openspiel.ROLLOUTS)
    return rates


def _play_uniformly(game: Game, states: States, rng: np.random.Generator) -> None:
    """Plays games to their end, all legal actions equally likely; Go has a kernel for it."""
    if isinstance(game, Go):
        play_uniformly(game, states, rng=rng)
    else:
        UniformPlayouts(game).playout_returns(states, rng=rng)


def measure_uct(game: Game, *, seconds: float) -> float:
    """Returns playouts per second of UCT, one position at a time."""
    rng = np.random.default_rng(0)
    states = game.initial_states(1)

    def search() -> None:
        run_uct(game, states, num_playouts=UCT_PLAYOUTS, exploration=DEFAULT_EXPLORATION, rng=rng)

    searches, elapsed = _repeat(search, seconds=seconds)
    return len(searches) * UCT_PLAYOUTS / elapsed


def measure_network(config: RunConfig, *, weights: Weights, seconds: float) -> float:
    """Returns evaluations per second of the bare network at the batch size of self-play."""
    game = make_game(config.game.text)
    evaluator = NetworkEvaluator(game, config.network, config.evaluator)
    evaluator.load_weights(weights)
    num_rows = config.selfplay.num_games
    observations = game.observe(random_states(game, num_rows=num_rows, seed=config.seed))
    calls, elapsed = _repeat(lambda: evaluator.evaluate_observations(observations), seconds=seconds)
    return len(calls) * num_rows / elapsed


def measure_self_play(config: RunConfig, *, weights: Weights, seconds: float) -> Rates:
    """Returns what one actor in this process does."""
    actor = SelfPlayActor(actor_setup(config), actor=0)
    actor.set_weights(0, weights)
    reports, _ = _repeat(lambda: actor.play(1), seconds=seconds)
    return _rates([report.stats for report in reports], num_actors=1)


def measure_search(game: Game, config: SearchConfig, *, budget: int, seconds: float) -> float:
    """Returns simulations per second of the search with a network that costs nothing.

    Args:
        game: the rules.
        config: the constants of the search.
        budget: simulations of one search.
        seconds: how long to measure.
    """
    states = random_states(game, num_rows=SEARCH_GAMES, seed=0)
    evaluator = FreeEvaluator(game, num_rows=SEARCH_GAMES)
    search = BatchSearch(game, evaluator, config, num_rows=SEARCH_GAMES, max_simulations=budget)
    rows, budgets = np.arange(SEARCH_GAMES), np.full(SEARCH_GAMES, budget)

    def search_all() -> None:
        search.start(rows, states, budgets)
        while search.finished_rows().size < SEARCH_GAMES:
            search.run_simulation()

    searches, elapsed = _repeat(search_all, seconds=seconds)
    return len(searches) * SEARCH_GAMES * budget / elapsed


def measure_actors(
    config: RunConfig, *, num_actors: int, weights: Weights, seconds: float
) -> Rates:
    """Returns what several actors do at once, each in a process of its own. Ray must be running."""
    pool = RayPool(actor_setup(config), num_actors=num_actors, first_actor=0)
    try:
        pool.publish(0, weights)
        _collect(pool, until=lambda stats: len(stats) >= 2 * num_actors)  # all are warm
        deadline = time.perf_counter() + seconds
        stats = _collect(pool, until=lambda _: time.perf_counter() >= deadline)
    finally:
        pool.close()
    return _rates(stats, num_actors=num_actors)


def _collect(pool: SelfPlayPool, *, until: Callable[[list[PlayStats]], bool]) -> list[PlayStats]:
    stats: list[PlayStats] = []
    while not until(stats):
        stats += [report.stats for report in pool.collect(timeout_s=1.0)]
    return stats


def _rates(stats: list[PlayStats], *, num_actors: int) -> Rates:
    """Returns the sum over all actors, which were all playing all the time."""
    seconds = sum(each.seconds for each in stats) / num_actors
    return Rates(
        evaluations=sum(each.num_evaluations for each in stats) / seconds,
        simulations=sum(each.num_simulations for each in stats) / seconds,
    )


def _repeat(action: Callable[[], T], *, seconds: float) -> tuple[list[T], float]:
    """Calls once to warm up, then until the time is over; returns the results and the seconds."""
    action()
    results = []
    started = time.perf_counter()
    elapsed = 0.0
    while elapsed < seconds:
        results.append(action())
        elapsed = time.perf_counter() - started
    return results, elapsed
