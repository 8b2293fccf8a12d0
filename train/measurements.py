"""How strong a run's networks are: gate, suite and yardstick, each spread over the actors."""

from alphago.types import Weights
from eval.matches import MatchResult, merge_matches
from eval.openings import paired_openings
from eval.suites import SuiteResult, merge_suite_results, split_suite
from train.actor_tasks import gate_games, suite_scores, yardstick_games
from train.session import Session


def play_gate(session: Session, candidate: Weights) -> MatchResult | None:
    """Plays the games of the gate, spread over the actors; returns None after Ctrl-C."""
    gate, seed = session.config.gate, session.seed_of_iteration()
    positions = session.recent_positions()  # newer than those of the best: the candidate's own
    shares = deal_openings(
        session, num_games=gate.num_games, num_plies=gate.opening_plies, seed=seed
    )
    parts = session.pool.map(
        gate_games,
        [
            (session.setup, gate, candidate, session.best, positions, share, seed)
            for share in shares
        ],
        give_up=session.is_interrupted,
    )
    return None if parts is None else merge_matches(parts)


def run_suite(session: Session) -> SuiteResult | None:
    """Measures the best network on the suite, spread over the actors; returns None after Ctrl-C."""
    assert session.suite is not None, "no suite is configured"
    num_simulations, seed = session.config.suite.num_simulations, session.config.seed
    results = session.pool.map(
        suite_scores,
        [
            (session.setup, session.best, session.positions, part, num_simulations, seed)
            for part in split_suite(session.suite, session.pool.num_actors)
        ],
        give_up=session.is_interrupted,
    )
    return None if results is None else merge_suite_results(results)


def play_yardstick(session: Session) -> MatchResult | None:
    """Plays the best network against the yardstick, spread over the actors; None after Ctrl-C.

    The openings are the same ones every time, so that they do not move the curve.
    """
    config, seed = session.config.yardstick, session.seed_of_yardstick()
    shares = deal_openings(
        session, num_games=config.num_games, num_plies=config.opening_plies, seed=seed
    )
    network = (session.best, session.positions, session.config.suite.num_simulations)
    parts = session.pool.map(
        yardstick_games,
        [
            (session.setup, config.player, *network, share, seed + number)
            for number, share in enumerate(shares)
        ],
        give_up=session.is_interrupted,
    )
    return None if parts is None else merge_matches(parts)


def deal_openings(
    session: Session, *, num_games: int, num_plies: int, seed: int
) -> list[list[list[int]]]:
    """Draws the openings of a match, two games each, and deals them out to the actors."""
    openings = paired_openings(
        session.game, num_pairs=num_games // 2, num_plies=num_plies, seed=seed
    )
    num_shares = min(session.pool.num_actors, len(openings))
    return [openings[part::num_shares] for part in range(num_shares)]
