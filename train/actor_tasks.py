"""Work that a run spreads over its actors beside self-play: games and positions that measure.

Plain functions of plain data; `pool.map` carries them to the actors' processes.
"""

from alphago.games import make_game
from alphago.network.evaluator import NetworkEvaluator
from alphago.players.network_player import NetworkPlayer
from alphago.players.text import make_player
from alphago.types import UInt8Array, Weights
from eval.gating import GateConfig, play_gate_games
from eval.matches import MatchResult, play_match
from eval.suites import Suite, SuiteResult, run_suite
from selfplay.actors import ActorSetup


def gate_games(
    setup: ActorSetup,
    config: GateConfig,
    candidate: Weights,
    best: Weights,
    positions: UInt8Array,
    openings: list[list[int]],
    seed: int,
) -> MatchResult:
    """Plays a gate's games of some openings, the candidate against the best network."""
    candidate_evaluator, best_evaluator = (
        _loaded_evaluator(setup, weights, positions) for weights in (candidate, best)
    )
    return play_gate_games(
        make_game(setup.game),
        candidate_evaluator,
        best_evaluator,
        setup.search,
        config,
        openings=openings,
        seed=seed,
    )


def suite_scores(
    setup: ActorSetup,
    weights: Weights,
    positions: UInt8Array,
    suite: Suite,
    num_simulations: int,
    seed: int,
) -> SuiteResult:
    """Measures a network on some positions of a suite."""
    player = _network_player(setup, weights, positions, num_simulations=num_simulations, seed=seed)
    return run_suite(player, suite)


def yardstick_games(
    setup: ActorSetup,
    yardstick: str,
    weights: Weights,
    positions: UInt8Array,
    num_simulations: int,
    openings: list[list[int]],
    seed: int,
) -> MatchResult:
    """Plays a network against a fixed player, given by its text, from both sides of openings."""
    game = make_game(setup.game)
    return play_match(
        game,
        _network_player(setup, weights, positions, num_simulations=num_simulations, seed=seed),
        make_player(yardstick, game=game, seed=seed),
        openings=openings,
    )


def _network_player(
    setup: ActorSetup,
    weights: Weights,
    positions: UInt8Array,
    *,
    num_simulations: int,
    seed: int,
) -> NetworkPlayer:
    return NetworkPlayer(
        make_game(setup.game),
        _loaded_evaluator(setup, weights, positions),
        search_config=setup.search,
        num_simulations=num_simulations,
        name="network",
        seed=seed,
    )


def _loaded_evaluator(
    setup: ActorSetup, weights: Weights, positions: UInt8Array
) -> NetworkEvaluator:
    evaluator = NetworkEvaluator(make_game(setup.game), setup.network, setup.evaluator)
    evaluator.load_weights(weights, positions)
    return evaluator
