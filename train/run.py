"""A whole training run: play, learn, gate, measure, save, again and again.

`run` is the picture of AlphaGo Zero's pipeline in code; everything it calls is one stage of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from alphago.errors import ActorsError, EvaluationError, TrainingError
from eval.gating import decide
from selfplay.reports import PlayReport
from train.config import RunConfig
from train.distributed import Team
from train.measurements import play_gate, play_yardstick, run_suite
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
        _evaluation_errors(),
        progress,
        open_session(config, run_dir, resume=resume, team=team) as session,
        stop_on_signal(session.stop_rule, notify=progress.message),
    ):
        reporter = Reporter(session, run_dir, progress)
        reporter.sitting()
        with excused_if_stopped(session, reporter):
            measure_untrained(session, reporter)
            learn_from_given_games(session, reporter)
        reason = None if session.is_to_go_on() else session.stop_reason()
        while reason is None:
            session.begin_iteration()
            with excused_if_stopped(session, reporter):
                play_and_learn(session, reporter)
                promote_if_better(session, reporter)
                # Asked once: a limit that passes later ends the run after one that measures.
                reason = session.stop_reason()
                measure(session, reporter, is_last=reason is not None)
            if not session.is_to_be_replayed():
                reporter.iteration(heldout=session.learner.validate())
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


@contextmanager
def _evaluation_errors() -> Iterator[None]:
    """Turns what a network of the run's own making did into what ends learning."""
    try:
        yield
    except EvaluationError as error:
        raise TrainingError(str(error)) from error


@contextmanager
def excused_if_stopped(session: Session, reporter: Reporter) -> Iterator[None]:
    """Has a run that was stopped be saved though its actors are gone.

    What stops it may end them too, and all of Ray: a machine that shuts down, a job's time limit.
    """
    try:
        yield
    except ActorsError as error:
        if not session.is_interrupted():
            raise
        reporter.message(f"games that had not arrived are lost: {error}")


def learn_from_given_games(session: Session, reporter: Reporter) -> None:
    """Learns from games of another run as much as they allow, before the run plays its own.

    Of no effect where there are none. What Ctrl-C or a limit of time leaves undone, a resumed run
    does.
    """
    if session.counters.iteration or not session.learner.may_learn():
        return
    reporter.phase("learning from given games")
    with session.learning_alone():
        while session.learner.may_learn() and not session.stop_rule.is_urgent():
            learn_step(session, reporter)
    promote_if_better(session, reporter)
    session.save()


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
    num_games = sum(len(report.records) for report in reports)
    reporter.play(num_reports=len(reports), num_games=num_games)


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


def measure(session: Session, reporter: Reporter, *, is_last: bool) -> None:
    """Measures the best network when it is time; takes in what arrived meanwhile if the run ends.

    While actors play gate, suite and yardstick, nobody fetches the games that they finished before.
    """
    if session.is_measurement_due(is_last=is_last):
        measure_strength(session, reporter)
    is_last |= session.stop_rule.reason_beside_limits() is not None
    if is_last and session.pool.is_busy():
        reporter.phase("self-play")
        take_in_the_rest(session, reporter)


def measure_strength(session: Session, reporter: Reporter) -> None:
    """Runs the position suite, and plays against the yardstick; as far as there are any."""
    if session.suite is not None:
        reporter.phase("suite")
        result = run_suite(session)
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
    result = run_suite(session)
    if result is not None:
        reporter.baseline(result)
