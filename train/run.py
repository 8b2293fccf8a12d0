"""A whole training run: play, learn, gate, measure, save, again and again.

`run` is the picture of AlphaGo Zero's pipeline in code; everything it calls is one stage of it.
"""

import logging
from pathlib import Path
from typing import NamedTuple

from alphago.types import Weights
from eval.gating import decide
from eval.matches import MatchResult, merge_matches
from eval.openings import paired_openings
from eval.suites import SuiteResult, merge_suite_results, split_suite
from train.actor_tasks import gate_games, suite_scores
from train.config import RunConfig
from train.progress import Progress
from train.session import Session, open_session
from train.stopping import stop_on_signal

logger = logging.getLogger(__name__)

WAIT_S = 1.0  # longest wait for records before the stop rule is looked at again
QUIET_S = 20.0  # without a record for so long, the run says what it is waiting for


class RunResult(NamedTuple):
    """How a run ended."""

    run_dir: Path
    step: int  # optimiser steps of all sittings
    num_games: int  # finished games of all sittings
    minutes: float  # wall time of all sittings
    stopped_because: str
    best: str  # name of the checkpoint of the best network


def run(config: RunConfig, *, run_dir: Path, resume: bool, progress: Progress) -> RunResult:
    """Trains until a limit is reached or Ctrl-C.

    Args:
        config: everything that decides the run.
        run_dir: its folder; it exists.
        resume: go on from the newest sound checkpoint of the folder.
        progress: what the user sees.

    Returns:
        How it ended; the run is saved.

    Raises:
        CheckpointError: if the folder cannot be used or resumed.
        TrainingError: if learning cannot go on; the last checkpoint is sound.
    """
    play_and_learn = {"synchronous": play_then_learn, "asynchronous": play_while_learning}
    with progress, open_session(config, run_dir, resume=resume, progress=progress) as session:
        with stop_on_signal(session.stop_rule, notify=progress.message):
            while session.stop_reason() is None:
                session.begin_iteration()
                play_and_learn[config.loop](session)
                promote_if_better(session)
                measure(session)
                session.save()
        return RunResult(
            run_dir=run_dir,
            step=session.trainer.num_steps,
            num_games=session.store.num_games,
            minutes=session.clock.seconds() / 60,
            stopped_because=session.stop_reason() or "",
            best=session.best_checkpoint,
        )


def play_then_learn(session: Session) -> None:
    """All cores play the games of the iteration; then all learn as much as the new games allow."""
    session.phase("self-play")
    while session.games_to_go() > 0 and session.stop_reason() is None:
        session.take_in(session.pool.collect(WAIT_S))
    session.take_in(session.pool.drain())
    session.phase("learning")
    while session.learner.may_learn() and not session.stop_rule.interrupted:
        session.learn_step()


def play_while_learning(session: Session) -> None:
    """Actors play all the time; the trainer steps whenever the bound on the use of positions allows."""
    session.phase("self-play and learning")
    while session.games_to_go() > 0 and session.stop_reason() is None:
        may_learn = session.learner.may_learn()
        session.take_in(session.pool.collect(0.0 if may_learn else WAIT_S))
        if may_learn:
            session.learn_step()


def promote_if_better(session: Session) -> None:
    """Lets the candidate play the best network and, if it passes, makes it the one that plays.

    Whatever the outcome, the trainer goes on from the candidate.
    """
    if session.is_interrupted_or_idle():
        return
    candidate = session.trainer.play_weights()
    match = play_gate(session, candidate) if session.config.gate.mode != "off" else None
    passed = decide(match, session.config.gate)
    if passed:
        session.promote(candidate)
    session.note_gate(match, passed=passed)


def play_gate(session: Session, candidate: Weights) -> MatchResult:
    """Plays the games of the gate, spread over the actors."""
    session.phase("gate")
    gate, seed = session.config.gate, session.seed_of_iteration()
    openings = paired_openings(
        session.game, num_pairs=gate.num_games // 2, num_plies=gate.opening_plies, seed=seed
    )
    shares = [openings[part :: session.pool.num_actors] for part in range(session.pool.num_actors)]
    parts = session.pool.map(
        gate_games,
        [(session.setup, gate, candidate, session.best, share, seed) for share in shares if share],
    )
    return merge_matches(parts)


def measure(session: Session) -> None:
    """Runs the position suite on the best network when it is time, and writes the metrics of the iteration."""
    if session.is_suite_due():
        session.phase("suite")
        result = run_suite_on_actors(session)
        session.note_suite(result)
    session.write_metrics()


def run_suite_on_actors(session: Session) -> SuiteResult:
    """Measures the best network on the position suite, spread over the actors."""
    assert session.suite is not None, "no suite is configured"
    parts = split_suite(session.suite, session.pool.num_actors)
    num_simulations, seed = session.config.suite.num_simulations, session.config.seed
    results = session.pool.map(
        suite_scores, [(session.setup, session.best, part, num_simulations, seed) for part in parts]
    )
    return merge_suite_results(results)
