"""Work that a run spreads over its actors beside self-play: the games of a gate, the positions of a suite.

Plain functions of plain data; `pool.map` carries them to the actors' processes.
"""

from alphago.games import make_game
from alphago.network.evaluator import NetworkEvaluator
from alphago.players.network_player import NetworkPlayer
from alphago.types import Weights
from eval.gating import GateConfig, play_gate_games
from eval.matches import MatchResult
from eval.suites import Suite, SuiteResult, run_suite
from selfplay.actors import ActorSetup


def gate_games(
    setup: ActorSetup,
    config: GateConfig,
    candidate: Weights,
    best: Weights,
    openings: list[list[int]],
    seed: int,
) -> MatchResult:
    """Plays a gate's games of some openings, the candidate against the best network."""
    game = make_game(setup.game)
    evaluators = []
    for weights in (candidate, best):
        evaluator = NetworkEvaluator(game, setup.network, setup.evaluator)
        evaluator.load_weights(weights)
        evaluators.append(evaluator)
    return play_gate_games(game, *evaluators, setup.search, config, openings=openings, seed=seed)


def suite_scores(
    setup: ActorSetup, weights: Weights, suite: Suite, num_simulations: int, seed: int
) -> SuiteResult:
    """Measures a network on some positions of a suite."""
    game = make_game(setup.game)
    evaluator = NetworkEvaluator(game, setup.network, setup.evaluator)
    evaluator.load_weights(weights)
    player = NetworkPlayer(
        game,
        evaluator,
        search_config=setup.search,
        num_simulations=num_simulations,
        name="network",
        seed=seed,
    )
    return run_suite(player, suite)
