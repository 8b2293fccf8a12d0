"""One sitting of a run: its folder, its parts, its counters. `run.py` says in which order they act."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from omegaconf import OmegaConf

from alphago.errors import CheckpointError
from alphago.games import make_game
from alphago.games.notation import format_moves, replay
from alphago.network.evaluator import NetworkEvaluator, choose_device
from alphago.types import Weights
from eval.matches import MatchResult
from eval.suites import SuiteResult, load_suite
from selfplay.actors import ActorSetup
from selfplay.cpus import usable_cpus
from selfplay.play import PlayReport
from selfplay.pool import InlinePool, RayPool
from selfplay.records import RecordStore
from train.checkpoint import (
    Checkpoint,
    newest_checkpoint,
    prune,
    rng_from_state,
    rng_state,
    save_checkpoint,
    write_best,
)
from train.config import RunConfig
from train.learner import Learner
from train.metrics import MetricsWriter
from train.pictures import draw_position
from train.play_totals import PlayTotals
from train.progress import Progress
from train.replay_buffer import ReplayBuffer
from train.run_folder import (
    CONFIG_FILE,
    RECORDS_FOLDER,
    begin_sitting,
    locked,
    write_state,
    write_text,
)
from train.stopping import Clock, StopRule
from train.trainer import Trainer

logger = logging.getLogger(__name__)

ACTORS_PER_SITTING = 100_000  # actors of different sittings never share a random stream
QUIET_S = 20.0  # without a finished game for so long, the run says what it is waiting for
_SAMPLING_STREAM = 2**32  # apart from the streams of the actors, whose numbers are smaller


@dataclass
class Counters:
    """What a run has done, over all sittings.

    Attributes:
        iteration: cycles of play and learning that were begun.
        version: networks that were promoted; the version of the best.
        best_step: optimiser steps of the best network.
        seconds: wall time.
        last_suite_seconds: wall time at which the suite was last run.
    """

    iteration: int = 0
    version: int = 0
    best_step: int = 0
    seconds: float = 0.0
    last_suite_seconds: float = 0.0


class Session:
    """The parts of a run, put together. Made by `open_session`."""

    def __init__(
        self, config: RunConfig, run_dir: Path, *, sitting: int, progress: Progress
    ) -> None:
        """Builds everything for a new run; `restore` then takes it to where a checkpoint was."""
        self.config = config
        self.run_dir = run_dir
        self.progress = progress
        self.game = make_game(config.game.name)
        self.setup = ActorSetup(
            game=config.game.name,
            network=config.network,
            evaluator=config.evaluator,
            search=config.search,
            selfplay=config.selfplay,
            seed=config.seed,
        )
        self.store = RecordStore(run_dir / RECORDS_FOLDER, self.game.spec.name)
        self.trainer = Trainer(
            self.game.spec,
            config.network,
            config.train,
            device=choose_device(config.evaluator.device),
            seed=config.seed,
        )
        self.learner = Learner(
            self.game,
            self.store,
            ReplayBuffer(self.game.spec, config.replay),
            self.trainer,
            rng=np.random.default_rng([config.seed, _SAMPLING_STREAM]),
        )
        self.suite = None if config.suite.file is None else load_suite(self.game, config.suite.file)
        self.best: Weights = self.trainer.play_weights()
        self.best_checkpoint = f"{0:08d}"
        self.counters = Counters()
        self.pool = make_pool(self.setup, sitting=sitting)
        self.totals = PlayTotals()
        self._pictures = NetworkEvaluator(self.game, config.network, config.evaluator)
        self._results: dict[str, float] = {}  # of gate and suite, until the metrics are written
        self._gated_step = 0  # optimiser steps when a candidate was last looked at
        self._last_arrival = time.monotonic()
        self._set_limits()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from a checkpoint, with every finished game on the disk, later ones included."""
        state = checkpoint.state
        self.trainer.load_state_dict(checkpoint.trainer_tensors, state["trainer"])
        self.learner.rng = rng_from_state(state["sampling_rng"])
        self.counters = Counters(**state["counters"])
        self.best = checkpoint.best_weights
        self.best_checkpoint = state["best_checkpoint"]
        self._gated_step = self.trainer.num_steps
        self._refill_buffer(num_games=state["num_games"], buffer_state=state["buffer"])
        if state["selfplay"] is not None and isinstance(self.pool, InlinePool):
            self.pool.restore(state["selfplay"])
        self._set_limits()

    def open_metrics(self) -> None:
        """Opens log and TensorBoard, and gives the actors their first weights."""
        self.metrics = MetricsWriter(self.run_dir, first_step=self.trainer.num_steps + 1)
        self.metrics.event(
            "sitting", {"step": self.trainer.num_steps, "games": self.store.num_games}
        )
        self.pool.publish(self.counters.version, self.best)
        self._pictures.load_weights(self.best)

    def close(self) -> None:
        """Ends the actors and closes the files."""
        self.pool.close()
        self.metrics.close()

    # ----- what run.py asks for

    def stop_reason(self) -> str | None:
        """Returns why the run is to end now, or None."""
        return self.stop_rule.reason(games=self.store.num_games, steps=self.trainer.num_steps)

    def begin_iteration(self) -> None:
        """Counts a new cycle of play and learning."""
        self.counters.iteration += 1
        self.totals = PlayTotals()
        self._iteration_started = time.monotonic()

    def games_to_go(self) -> int:
        """Returns how many games this iteration still lacks."""
        return self.config.games_per_iteration - self.totals.num_games

    def seed_of_iteration(self) -> int:
        """Returns a seed for gate games: different in each iteration, equal after a resume."""
        seeds = np.random.SeedSequence(
            [self.config.seed, _SAMPLING_STREAM + 1, self.counters.iteration]
        )
        return int(seeds.generate_state(1)[0])

    def phase(self, name: str) -> None:
        """Says what the run is doing now."""
        self.progress.phase(name)

    def take_in(self, reports: Sequence[PlayReport]) -> None:
        """Stores finished games and makes their positions available; says so when none come."""
        now = time.monotonic()
        if not reports:
            if now - self._last_arrival > QUIET_S:
                self._last_arrival = now
                self.progress.message(self._what_is_awaited())
            return
        self._last_arrival = now
        self.totals.add(reports)
        self.learner.take_in([record for report in reports for record in report.records])
        self._show_play()

    def learn_step(self) -> None:
        """Makes one optimiser step."""
        progress = self.progress_made()
        metrics = self.learner.step(progress or 0.0)
        if self.trainer.num_steps % 10 == 0:
            self.progress.update(
                steps=self.trainer.num_steps,
                policy_loss=metrics.policy_loss,
                value_loss=metrics.value_loss,
                learning_rate=metrics.learning_rate,
                minutes=self.clock.seconds() / 60,
                fraction=progress,
            )

    def progress_made(self) -> float | None:
        """Returns the share of the run that is done, None without a limit."""
        return self.stop_rule.progress(games=self.store.num_games, steps=self.trainer.num_steps)

    def is_interrupted_or_idle(self) -> bool:
        """Tells whether there is no candidate to look at: Ctrl-C, or no step since the last one."""
        return self.stop_rule.interrupted or self.trainer.num_steps == self._gated_step

    def promote(self, candidate: Weights) -> None:
        """Makes the candidate the best network, which plays from now on."""
        self.best = candidate
        self.counters.version += 1
        self.counters.best_step = self.trainer.num_steps
        self.best_checkpoint = f"{self.trainer.num_steps:08d}"
        self.pool.publish(self.counters.version, candidate)
        self._pictures.load_weights(candidate)

    def note_gate(self, match: MatchResult | None, *, passed: bool) -> None:
        """Keeps the gate's result for the metrics and shows it."""
        self._gated_step = self.trainer.num_steps
        self._results["gate/promoted"] = float(passed)
        if match is None:
            return
        self._results["gate/score"] = match.score
        self._results["gate/draws"] = match.total.draws / len(match.games)
        self._results["gate/distinct_games"] = match.num_distinct_games
        verdict = "promoted" if passed else "rejected"
        wins, draws, losses = match.total
        text = (
            f"{100 * match.score:.1f} % ({wins} won, {draws} drawn, {losses} lost;"
            f" {match.num_distinct_games} distinct games), {verdict}"
        )
        self.progress.update(gate=text)
        self.progress.message(f"gate at step {self.trainer.num_steps}: {text}")

    def is_suite_due(self) -> bool:
        """Tells whether the position suite is to be run now; at the end of a run it always is."""
        if self.suite is None or self.stop_rule.interrupted:
            return False
        waited = self.clock.seconds() - self.counters.last_suite_seconds
        return waited >= 60 * self.config.suite.every_minutes or self.stop_reason() is not None

    def note_suite(self, result: SuiteResult) -> None:
        """Keeps the suite's scores for the metrics, shows them, and ends the run at its target."""
        self.counters.last_suite_seconds = self.clock.seconds()
        assert result.raw_policy is not None, "a network player has a raw policy"
        self._results["suite/search"] = result.choice.share
        self._results["suite/policy"] = result.raw_policy.share
        self._results["suite/minutes"] = self.clock.seconds() / 60
        text = (
            f"search {100 * result.choice.share:.1f} %, policy {100 * result.raw_policy.share:.1f} %"
            f" of {result.choice.num_positions} positions"
        )
        self.progress.update(suite=text)
        self.progress.message(f"suite {result.suite}: {text}")
        target = self.config.target
        self.stop_rule.target_reached = target is not None and result.choice.share >= target

    def write_metrics(self) -> None:
        """Logs the numbers of the iteration, a sample game and a picture."""
        step, buffer = self.trainer.num_steps, self.learner.buffer
        now = self.clock.seconds()
        values = self.totals.game_facts() | self.totals.rates(self.pool.num_actors)
        values |= self.learner.take_metrics() | self.learner.validate() | self._results
        values |= {
            "replay/window": buffer.window,
            "replay/positions": buffer.positions_seen,
            "replay/samples_per_position": buffer.samples_drawn / max(buffer.positions_seen, 1),
            "selfplay/games": self.store.num_games,
            "selfplay/weights_age": step - self.counters.best_step,
            "selfplay/actor_restarts": self.pool.num_restarts,
            "time/minutes": now / 60,
            "time/iteration_s": time.monotonic() - self._iteration_started,
            "memory/driver_mb": psutil.Process().memory_info().rss / 2**20,
        }
        actors = self.pool.resident_bytes()
        if actors:
            values["memory/largest_actor_mb"] = max(actors) / 2**20
        self.metrics.scalars(step, values)
        self._results = {}
        self._show_sample_game()

    def save(self) -> None:
        """Writes a checkpoint and what people read: `best` and `state.json`."""
        self.counters.seconds = self.clock.seconds()
        folder = save_checkpoint(
            self.run_dir,
            Checkpoint(
                game=self.game.spec.name,
                network=self.config.network,
                step=self.trainer.num_steps,
                weights=self.trainer.play_weights(),
                best_weights=self.best,
                trainer_tensors=self.trainer.state_dict()[0],
                state=self._state(),
                config_text=OmegaConf.to_yaml(OmegaConf.structured(self.config)),
            ),
        )
        write_best(self.run_dir, self.best_checkpoint)
        prune(self.run_dir, keep_last=self.config.keep_checkpoints)
        write_state(
            self.run_dir,
            asdict(self.counters)
            | {
                "game": self.game.spec.name,
                "step": self.trainer.num_steps,
                "games": self.store.num_games,
                "checkpoint": folder.name,
                "best": self.best_checkpoint,
            },
        )

    # ----- details

    def _state(self) -> dict[str, Any]:
        """Returns what a checkpoint keeps beside the weights."""
        return {
            "trainer": self.trainer.state_dict()[1],
            "sampling_rng": rng_state(self.learner.rng),
            "counters": asdict(self.counters),
            "best_checkpoint": self.best_checkpoint,
            "num_games": self.store.num_games,
            "buffer": self.learner.buffer.state_dict(),
            "selfplay": self.pool.snapshot(),
        }

    def _set_limits(self) -> None:
        """Starts the clock, on top of earlier sittings, and sets the limits."""
        config = self.config
        self.clock = Clock(self.counters.seconds)
        self.stop_rule = StopRule(
            minutes=config.minutes, games=config.games, steps=config.steps, clock=self.clock
        )

    def _refill_buffer(self, *, num_games: int, buffer_state: dict[str, int]) -> None:
        """Fills the window from the disk: as the checkpoint had it, then the games that came later."""
        buffer, replay_config = self.learner.buffer, self.config.replay
        kept = self.store.newest(
            replay_config.window_size,
            end=num_games,
            holdout_fraction=replay_config.holdout_fraction,
        )
        buffer.append_games(self.game, kept)
        buffer.load_state_dict(buffer_state)
        buffer.append_games(self.game, self.store.since(num_games))

    def _what_is_awaited(self) -> str:
        buffer = self.learner.buffer
        if self.learner.may_learn():
            return "waiting for finished games: no actor has handed any over for a while"
        used = buffer.samples_drawn / max(buffer.positions_seen, 1)
        return (
            f"the trainer waits for new games: each of {buffer.positions_seen} positions was used"
            f" {used:.2f} times, replay.samples_per_position={buffer.config.samples_per_position:g}"
        )

    def _show_play(self) -> None:
        rates = self.totals.rates(self.pool.num_actors)
        self.progress.update(
            iteration=self.counters.iteration,
            games=self.store.num_games,
            iteration_games=self.totals.num_games,
            iteration_games_total=self.config.games_per_iteration,
            positions=self.learner.buffer.positions_seen,
            window=self.learner.buffer.window,
            positions_per_s=rates["selfplay/positions_per_s"],
            evaluations_per_s=rates["selfplay/evaluations_per_s"],
            minutes=self.clock.seconds() / 60,
            fraction=self.progress_made(),
        )

    def _show_sample_game(self) -> None:
        """Logs the newest game as text, and its middle position with what network and search say of it."""
        if not self.totals.records:
            return
        record = self.totals.records[-1]
        step, actions = self.trainer.num_steps, record.actions.tolist()
        board = self.game.render(replay(self.game, actions)[0])
        moves = format_moves(self.game, actions)
        self.metrics.text(
            step, "games/sample", f"{moves}\n\n{board}\n\nreturns {record.returns.tolist()}"
        )
        learnt = np.flatnonzero(record.is_target)
        if not learnt.size:
            return
        ply = int(learnt[learnt.size // 2])
        state = replay(self.game, actions[:ply])
        logits = np.where(
            self.game.legal_actions(state), self._pictures.evaluate(state).prior_logits, -np.inf
        )[0]
        policy = np.exp(logits - logits.max())
        target = np.zeros_like(policy)
        entries = slice(record.target_offsets[ply], record.target_offsets[ply + 1])
        target[record.target_actions[entries]] = record.target_shares[entries]
        pixels = draw_position(self.game, state, policy=policy / policy.sum(), target=target)
        self.metrics.image(step, "games/position", pixels)


def make_pool(setup: ActorSetup, *, sitting: int) -> InlinePool | RayPool:
    """Starts the actors that the configuration asks for."""
    if setup.selfplay.mode == "inline":
        return InlinePool(setup)
    available = usable_cpus()
    num_actors = setup.selfplay.num_actors or available
    if num_actors > available:
        logger.warning(
            "selfplay.num_actors=%d on %d usable CPUs: the actors share them", num_actors, available
        )
    return RayPool(setup, num_actors=num_actors, first_actor=sitting * ACTORS_PER_SITTING)


@contextmanager
def open_session(
    config: RunConfig, run_dir: Path, *, resume: bool, progress: Progress
) -> Iterator[Session]:
    """Locks the run's folder and starts a sitting, from the newest sound checkpoint when it resumes.

    Raises:
        CheckpointError: if the folder is in use, or there is nothing to resume.
    """
    with locked(run_dir):
        found = newest_checkpoint(run_dir) if resume else None
        if resume and found is None and any((run_dir / RECORDS_FOLDER).glob("*.npz")):
            raise CheckpointError(f"{run_dir}: has games but no checkpoint to go on from")
        sitting = begin_sitting(run_dir)
        write_text(run_dir / CONFIG_FILE, OmegaConf.to_yaml(OmegaConf.structured(config)))
        session = Session(config, run_dir, sitting=sitting, progress=progress)
        if found is not None:
            folder, checkpoint = found
            progress.message(f"resuming from checkpoint {folder.name}")
            session.restore(checkpoint)
        session.open_metrics()
        try:
            if found is None:
                session.save()
            yield session
        finally:
            session.close()
