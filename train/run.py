"""A whole training run: play, learn, gate, measure, save, again and again.

`run` is the picture of AlphaGo Zero's pipeline in code; everything it calls is one stage of it.
"""

from pathlib import Path
from typing import NamedTuple

from alphago.types import Weights
from eval.gating import decide
from eval.matches import MatchResult, merge_matches
from eval.openings import paired_openings
from eval.suites import SuiteResult, merge_suite_results, split_suite
from selfplay.play import PlayReport
from train.actor_tasks import gate_games, suite_scores, yardstick_games
from train.config import RunConfig
from train.distributed import Team
from train.progress import Progress
from train.reporting import Reporter
from train.session import Session, open_session
from train.stopping import stop_on_signal

WAIT_S = 1.0  # longest wait for finished games before the stop rule is looked at again


class RunResult(NamedTuple):
    """How a run ended."""

    run_dir: Path
    step: int  # optimiser steps of all sittings, up to the last save
    num_games: int  # finished games of all sittings
    minutes: float  # wall time of all sittings, up to the last save; a resumed run goes on from it
    stopped_because: str
    best: str  # name of the checkpoint of the best network


def run(
    config: RunConfig,
    *,
    run_dir: Path,
    resume: bool,
    progress: Progress,
    team: Team | None = None,
) -> RunResult:
    """Trains until a limit is reached or Ctrl-C.

    Limits on games and steps end the run with the iteration that reaches them; that on time, and
    Ctrl-C, end its self-play at once.

    Args:
        config: everything that decides the run.
        run_dir: its folder; it exists.
        resume: go on from the newest sound checkpoint of the folder.
        progress: what the user sees.
        team: the processes that learn together, this one leading; None if it learns alone.

    Returns:
        How it ended; the run is saved, but for an iteration that is to be played once more.

    Raises:
        CheckpointError: if the folder cannot be used or resumed.
        TrainingError: if learning cannot go on; the last checkpoint is sound.
    """
    play_and_learn = PLAY_AND_LEARN[config.loop]
    with (
        progress,
        open_session(config, run_dir, resume=resume, team=team) as session,
        stop_on_signal(session.stop_rule, notify=progress.message),
    ):
        reporter = Reporter(session, run_dir, progress)
        reporter.sitting()
        measure_untrained(session, reporter)
        reason = None if session.is_to_go_on() else session.stop_reason()
        while reason is None:
            session.begin_iteration()
            play_and_learn(session, reporter)
            promote_if_better(session, reporter)
            # Asked once: a limit that passes later ends the run after an iteration that measures.
            reason = session.stop_reason()
            if not session.is_given_up():
                measure(session, reporter, is_last=reason is not None)
                session.end_iteration()
            reason = session.stop_rule.reason_beside_limits() or reason
        return RunResult(
            run_dir=run_dir,
            step=session.saved_step,
            num_games=session.store.num_games,
            minutes=session.counters.seconds / 60,
            stopped_because=reason,
            best=session.best_checkpoint,
        )


def play_then_learn(session: Session, reporter: Reporter) -> None:
    """All cores play the games of the iteration; then all learn as much as the new games allow."""
    reporter.phase("self-play")
    while session.games_to_go() > 0 and not session.stop_rule.is_urgent():
        take_in(session, reporter, session.pool.collect(WAIT_S))
    take_in_the_rest(session, reporter)
    reporter.phase("learning")
    while session.learner.may_learn() and not session.stop_rule.interrupted:
        learn_step(session, reporter)


def play_while_learning(session: Session, reporter: Reporter) -> None:
    """Actors play all the time; the trainer steps whenever the bound on reuse allows it."""
    reporter.phase("self-play and learning")
    while session.games_to_go() > 0 and not session.stop_rule.is_urgent():
        may_learn = session.learner.may_learn()
        take_in(session, reporter, session.pool.collect(0.0 if may_learn else WAIT_S))
        if may_learn:
            learn_step(session, reporter)
    if session.stop_reason() is not None:
        take_in_the_rest(session, reporter)


PLAY_AND_LEARN = {"synchronous": play_then_learn, "asynchronous": play_while_learning}


def take_in(session: Session, reporter: Reporter, reports: list[PlayReport]) -> None:
    """Stores finished games and makes their positions available to the trainer."""
    if reports:
        session.take_in(reports)
    reporter.play(num_arrived=len(reports))


def take_in_the_rest(session: Session, reporter: Reporter) -> None:
    """Waits for the calls the actors are at; after Ctrl-C only for what is there already."""
    while session.pool.is_busy() and not session.stop_rule.interrupted:
        take_in(session, reporter, session.pool.drain(WAIT_S))
    take_in(session, reporter, session.pool.drain(0.0))


def learn_step(session: Session, reporter: Reporter) -> None:
    """Makes one optimiser step."""
    reporter.step(session.learner.step(session.progress_made() or 0.0))


def promote_if_better(session: Session, reporter: Reporter) -> None:
    """Lets the candidate play the best network and, if it passes, makes it the one that plays.

    Whatever the outcome, the trainer goes on from the candidate: a rejected one has learnt from the
    same games as the next, only less. After Ctrl-C nothing is decided: a resumed run judges the
    candidate, or what has become of it.
    """
    if session.is_interrupted() or not session.has_new_candidate():
        return
    candidate = session.learner.play_weights()
    match = None
    if session.config.gate.mode != "off":
        reporter.phase("gate")
        match = play_gate(session, candidate)
        if match is None:
            return
    session.note_judged()
    passed = decide(match, session.config.gate)
    if passed:
        session.promote(candidate)
    reporter.gate(match, passed=passed)


def play_gate(session: Session, candidate: Weights) -> MatchResult | None:
    """Plays the games of the gate, spread over the actors; returns None after Ctrl-C."""
    gate, seed = session.config.gate, session.seed_of_iteration()
    positions = session.recent_positions()
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


def measure(session: Session, reporter: Reporter, *, is_last: bool) -> None:
    """Measures the best network when it is time, and writes the numbers of the iteration."""
    if session.is_measurement_due(is_last=is_last):
        measure_strength(session, reporter)
    reporter.iteration()


def measure_strength(session: Session, reporter: Reporter) -> None:
    """Runs the position suite, and plays against the yardstick; as far as there are any."""
    if session.suite is not None:
        reporter.phase("suite")
        result = run_suite_on_actors(session)
        if result is not None:
            session.note_measured(share=result.choice.share)
            reporter.suite(result)
    if session.config.yardstick.player is not None:
        reporter.phase("yardstick")
        match = play_yardstick(session)
        if match is not None:
            session.note_measured()
            reporter.yardstick(match)


def measure_untrained(session: Session, reporter: Reporter) -> None:
    """Measures the network of a new run before it learns anything: where its curves begin.

    A target does not count here: it is meant for what is learnt. Against a yardstick an untrained
    network loses every game, which need not be played.
    """
    if session.suite is None or session.counters.iteration or session.stop_reason() is not None:
        return
    reporter.phase("suite")
    result = run_suite_on_actors(session)
    if result is not None:
        reporter.baseline(result)


def run_suite_on_actors(session: Session) -> SuiteResult | None:
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
