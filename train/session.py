"""One sitting of a run: its parts and counters, and how they are saved and restored."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from alphago.errors import CheckpointError
from alphago.files import CHECKPOINTS_FOLDER, CONFIG_FILE
from alphago.games import game_text, make_game
from alphago.games.random_play import random_states
from alphago.network.evaluator import choose_device
from alphago.types import UInt8Array, Weights
from eval.suites import load_suite
from selfplay.record_store import RecordStore
from selfplay.records import GameName
from selfplay.reports import NewNetwork, PlayReport
from selfplay.snapshots import without_finished
from train.checkpoint import (
    Checkpoint,
    newest_checkpoint,
    prune,
    save_checkpoint,
    set_aside_newer,
    write_best,
)
from train.config import RunConfig, actor_setup, config_text
from train.distributed import Team
from train.given_games import given_games
from train.learner import Learner
from train.play_totals import PlayTotals
from train.pools import make_pool
from train.replay_buffer import ReplayBuffer
from train.run_folder import (
    RECORDS_FOLDER,
    begin_sitting,
    locked,
    write_state,
    write_text,
)
from train.run_state import (
    Counters,
    RunState,
    check_is_of_run,
    from_json,
    to_json,
    wrong_kind_errors,
)
from train.stopping import Clock, StopRule
from train.stored_games import GamesAgain, append_stored_games, refill_window
from train.trainer_setup import (
    cpus_while_actors_play,
    make_trainer,
    num_threads_of,
    trainer_setup,
)

logger = logging.getLogger(__name__)

# Spawn keys keep these streams apart from those of the games, which are named by plain entropy. A
# large number in the entropy would not: numpy cuts it into words, and [1, 2**32] is [1, 0, 1].
_SAMPLING_KEY = 1
_GATE_KEY = 2
_POSITIONS_KEY = 3
_YARDSTICK_KEY = 4


class Session:
    """The parts of a run, put together. Made by `open_session`."""

    def __init__(
        self, config: RunConfig, run_dir: Path, *, sitting: int, team: Team | None = None
    ) -> None:
        """Builds everything for a new run; `restore` then takes it to where a checkpoint was."""
        self.config = config
        self.run_dir = run_dir
        self.game = make_game(config.game.text)
        self.setup = actor_setup(config)
        self.store = RecordStore(run_dir / RECORDS_FOLDER, self.game.spec.name)
        setup = trainer_setup(config, device=choose_device(config.evaluator.device).type)
        self.trainer = make_trainer(setup, team)
        self._threads_alone = num_threads_of(replace(setup, is_beside_actors=False), team)
        self.learner = Learner(
            self.game,
            self.store,
            ReplayBuffer(self.game.spec, config.replay, auxiliary=config.network.auxiliary),
            self.trainer,
            rng=np.random.default_rng(
                np.random.SeedSequence(config.seed, spawn_key=(_SAMPLING_KEY,))
            ),
        )
        self.suite = None if config.suite.file is None else load_suite(self.game, config.suite.file)
        self.best: Weights = self.trainer.play_weights()
        # Observations that the best network's precision is checked on, uint8 [M, C, H, W].
        self.positions = self.recent_positions()
        self.best_checkpoint = f"{0:08d}"
        self.counters = Counters()
        self.pool = make_pool(
            self.setup,
            cluster=config.ray.address,
            num_spared=cpus_while_actors_play(setup, team),
            sitting=sitting,
        )
        self.totals = PlayTotals()
        self.games_again = GamesAgain()
        self.saved_step = 0  # optimiser steps of the newest checkpoint
        self._goes_on = False  # whether the iteration of `counters` was stopped and is the next
        self.iteration_started = 0.0  # time.monotonic()
        self._set_limits()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Goes on from a checkpoint, with every finished game on the disk, later ones included.

        An iteration that was stopped goes on; what was stored after the checkpoint is part of it.

        Raises:
            CheckpointError: if it is of another game or network, or its state cannot be used.
        """
        check_is_of_run(
            checkpoint,
            spec=self.game.spec,
            network=self.config.network,
            run=self.run_dir,
        )
        state = from_json(checkpoint.state)
        place = f"{self.run_dir}: checkpoint {checkpoint.step:08d}"
        with wrong_kind_errors(f"{place}: state of the trainer"):
            self.trainer.load_state_dict(checkpoint.trainer_tensors, state.trainer)
        self.learner.rng = state.sampling_rng
        self.counters = state.counters
        self.saved_step = checkpoint.step
        self.best = checkpoint.best_weights
        if (self.run_dir / CHECKPOINTS_FOLDER / state.best_checkpoint).is_dir():
            self.best_checkpoint = state.best_checkpoint
        else:  # removed when a later one became the best, which is broken; this one has a copy
            self.best_checkpoint = f"{checkpoint.step:08d}"
        self._restore_games(state, place=place)
        positions = checkpoint.positions
        self.positions = self.recent_positions() if positions is None else positions
        self._set_limits()

    def take_over_games(self) -> None:
        """Stores the games that a new run is given by another, and fills its window with them.

        Raises:
            ConfigError, RecordError: if they are not fit for this run.
        """
        if self.config.games_from is None:
            return
        records = given_games(
            Path(self.config.games_from),
            self.game.spec,
            seed=self.config.seed,
            num_positions=self.config.replay.window_size,
        )
        self.store.append(records)
        append_stored_games(self.learner.buffer, self.game, records, store=self.store)
        self.counters.games_at_start = self.num_games
        self.positions = self.recent_positions()

    def close(self) -> None:
        """Ends the actors."""
        self.pool.close()

    # ----- what run.py asks for

    def learning_alone(self) -> AbstractContextManager[None]:
        """Encloses learning while nobody plays: it may take all CPUs."""
        return self.trainer.on_threads(self._threads_alone)

    def is_interrupted(self) -> bool:
        """Tells whether Ctrl-C was pressed."""
        return self.stop_rule.interrupted

    def stop_reason(self) -> str | None:
        """Returns why the run is to end now, or None."""
        return self.stop_rule.reason(games=self.num_games, steps=self.trainer.num_steps)

    def is_to_go_on(self) -> bool:
        """Tells whether an iteration follows: a new one, or one that was stopped and has games."""
        has_games = self.num_games > self.counters.games_at_start
        return not self.is_interrupted() and (has_games or self.stop_reason() is None)

    @property
    def num_games(self) -> int:
        """Finished games of the run, without those on the disk that are yet to be played again."""
        return self.store.num_games - self.games_again.num_games

    def begin_iteration(self) -> None:
        """Counts a new cycle of play and learning, unless one that was stopped goes on."""
        if not self._goes_on:
            self.counters.iteration += 1
        self._goes_on = False
        self.totals = PlayTotals()
        self.iteration_started = time.monotonic()

    def games_of_iteration(self) -> int:
        """Returns how many games this iteration has, those before it was stopped included."""
        return self.num_games - self.counters.games_at_start

    def games_to_go(self) -> int:
        """Returns how many games this iteration still lacks."""
        return self.config.games_per_iteration - self.games_of_iteration()

    def seed_of_iteration(self) -> int:
        """Returns a seed for gate games: different in each iteration, equal after a resume."""
        seeds = np.random.SeedSequence(
            self.config.seed, spawn_key=(_GATE_KEY, self.counters.iteration)
        )
        return int(seeds.generate_state(1)[0])

    def seed_of_yardstick(self) -> int:
        """Returns the seed for games against the yardstick, the same in the whole run."""
        seeds = np.random.SeedSequence(self.config.seed, spawn_key=(_YARDSTICK_KEY,))
        return int(seeds.generate_state(1)[0])

    def recent_positions(self) -> UInt8Array:
        """Draws observations [M, C, H, W] of the replay window, of random games while it is empty.

        The same ones for the same steps and window.
        """
        num_rows = self.config.evaluator.num_positions
        seeds = np.random.SeedSequence(
            self.config.seed, spawn_key=(_POSITIONS_KEY, self.trainer.num_steps)
        )
        rng = np.random.default_rng(seeds)
        buffer = self.learner.buffer
        if buffer.window == 0:
            return self.game.observe(random_states(self.game, rng, num_rows=num_rows))
        return buffer.draw_observations(rng, num_rows=num_rows)

    def take_in(self, reports: Sequence[PlayReport]) -> None:
        """Stores finished games and makes their positions available to the trainer."""
        self.totals.add(reports)
        records = [record for report in reports for record in report.records]
        if not self.games_again.are_expected(records):
            logger.warning("%s: games played again differ from those on the disk", self.run_dir)
            stored = self._settle_games_again()
            records = [record for record in records if record.name not in stored]
        known = self.games_again.take(len(records))
        self.learner.take_in(records, num_stored=len(known))

    def progress_made(self) -> float | None:
        """Returns the share of the run that is done, None without a limit."""
        return self.stop_rule.progress(games=self.num_games, steps=self.trainer.num_steps)

    def has_new_candidate(self) -> bool:
        """Tells whether the trainer has made a step since the last candidate that was judged."""
        return self.trainer.num_steps > self.counters.judged_step

    def note_judged(self) -> None:
        """Remembers that the present candidate was promoted or rejected."""
        self.counters.judged_step = self.trainer.num_steps

    def promote(self, candidate: Weights) -> None:
        """Makes the candidate the best network, which plays from now on."""
        self.best = candidate
        self.counters.version += 1
        self.counters.best_step = self.trainer.num_steps
        self.best_checkpoint = f"{self.trainer.num_steps:08d}"
        self.positions = self.recent_positions()
        self.counters.best_progress = self.progress_made() or 0.0
        self.publish()

    def full_budget(self) -> int:
        """Returns the simulations of a full search by the best network."""
        return self.config.selfplay.full_search_budget(self.counters.best_progress)

    def publish(self) -> None:
        """Gives the actors the best network to play with, and how deeply to search."""
        self.pool.publish(
            NewNetwork(self.counters.version, self.best, self.positions, self.full_budget())
        )

    def is_measurement_due(self, *, is_last: bool) -> bool:
        """Tells whether strength is to be measured now.

        Args:
            is_last: whether the run ends with this iteration; then it always is.
        """
        if self.stop_rule.interrupted:
            return False
        waited = self.clock.seconds() - self.counters.last_suite_seconds
        return waited >= 60 * self.config.suite.every_minutes or is_last

    def note_measured(self, *, share: float = 0.0) -> None:
        """Remembers when strength was measured, and ends the run if the target is reached.

        Args:
            share: search score of the suite, where it was the suite.
        """
        self.counters.last_suite_seconds = self.clock.seconds()
        target = self.config.target
        self.stop_rule.target_reached |= target is not None and share >= target

    def is_to_be_replayed(self) -> bool:
        """Tells whether this iteration is to be played once more, from the checkpoint before it.

        Running searches cannot be kept. So a run in one process that was stopped while it played
        goes on from there, with the same games. Not where it was playing them once more already:
        a run whose sittings are shorter than an iteration would never get beyond it.
        """
        is_playing = not self.stop_rule.is_late() and self.games_to_go() > 0
        is_kept = self.pool.keeps_games and not self.games_again.num_games
        return self.is_interrupted() and is_playing and is_kept

    def end_iteration(self) -> None:
        """Saves the run; an iteration that Ctrl-C has stopped goes on after a resume."""
        # Where the newest checkpoint was broken these may be those of several iterations: they all
        # become part of this one.
        self._settle_games_again()
        if not self.is_interrupted():
            self.counters.games_at_start = self.num_games
            self.counters.step_at_start = self.trainer.num_steps
        elif self.games_of_iteration() == 0:  # it was begun in vain, and is counted when it begins
            self.counters.iteration -= 1
        self.save()

    def save(self) -> None:
        """Writes a checkpoint and what people read: `best` and `state.json`."""
        self.counters.seconds = self.clock.seconds()
        self.saved_step = self.trainer.num_steps
        trainer_tensors, trainer_facts = self.trainer.state_dict()
        folder = save_checkpoint(
            self.run_dir,
            Checkpoint(
                game=game_text(self.game.spec),
                network=self.config.network,
                step=self.trainer.num_steps,
                weights=self.learner.play_weights(),
                best_weights=self.best,
                positions=self.positions,
                trainer_tensors=trainer_tensors,
                state=self._state(trainer_facts),
                config_text=config_text(self.config),
            ),
        )
        write_best(self.run_dir, self.best_checkpoint)
        prune(self.run_dir, keep=self.config.keep_checkpoints)
        write_state(
            self.run_dir,
            asdict(self.counters)
            | {
                "game": game_text(self.game.spec),
                "step": self.trainer.num_steps,
                "games": self.store.num_games,
                "checkpoint": folder.name,
                "best": self.best_checkpoint,
            },
        )

    # ----- details

    def _restore_games(self, state: RunState, *, place: str) -> None:
        """Fills the window from the disk, and has the unfinished games of a checkpoint go on."""
        self._goes_on = self.counters.games_at_start < state.num_games
        buffer = self.learner.buffer
        refill_window(buffer, self.game, self.store, num_games=state.num_games, state=state.buffer)
        self.games_again = GamesAgain(list(self.store.since(state.num_games)))
        if state.selfplay is None or not self.pool.keeps_games:
            self._settle_games_again()
            return
        with wrong_kind_errors(f"{place}: state of the unfinished games"):
            self.pool.restore(state.selfplay)

    def _settle_games_again(self) -> set[GameName]:
        """Learns from stored games as they are, plays none of them again; returns their names."""
        stored = self.games_again.take(self.games_again.num_games)
        if stored:
            append_stored_games(self.learner.buffer, self.game, stored, store=self.store)
            snapshot = self.pool.snapshot()
            if snapshot is not None:
                self.pool.restore(without_finished(snapshot, stored))
        return {record.name for record in stored}

    def _state(self, trainer_facts: dict[str, Any]) -> dict[str, Any]:
        """Returns what a checkpoint keeps beside the weights."""
        state = RunState(
            trainer=trainer_facts,
            sampling_rng=self.learner.rng,
            counters=self.counters,
            best_checkpoint=self.best_checkpoint,
            num_games=self.store.num_games,
            buffer=self.learner.buffer.state_dict(),
            selfplay=self.pool.snapshot(),
        )
        return to_json(state)

    def _set_limits(self) -> None:
        """Starts the clock, on top of earlier sittings, and sets the limits."""
        config = self.config
        self.clock = Clock(self.counters.seconds)
        self.stop_rule = StopRule(
            minutes=config.minutes, games=config.games, steps=config.steps, clock=self.clock
        )


@contextmanager
def open_session(
    config: RunConfig, run_dir: Path, *, resume: bool, team: Team | None = None
) -> Iterator[Session]:
    """Locks the run's folder and starts a sitting, from the newest sound checkpoint on resuming.

    Raises:
        CheckpointError: if the folder is in use, or there is nothing to resume.
    """
    with locked(run_dir):
        found = newest_checkpoint(run_dir, check=_check_state) if resume else None
        if resume and found is None and any((run_dir / RECORDS_FOLDER).glob("*.npz")):
            raise CheckpointError(f"{run_dir}: has games but no checkpoint to go on from")
        sitting = begin_sitting(run_dir)
        if found is None:  # at once: a folder with this file can be resumed, whatever happens next
            write_text(run_dir / CONFIG_FILE, config_text(config))
        session = Session(config, run_dir, sitting=sitting, team=team)
        try:
            if found is None:
                session.take_over_games()
                session.save()
            else:
                set_aside_newer(found[0])
                session.restore(found[1])
                write_best(run_dir, session.best_checkpoint)  # where a kill came before it
                # Not before: what a checkpoint contradicts must not become the configuration.
                write_text(run_dir / CONFIG_FILE, config_text(config))
            session.publish()
            yield session
        finally:
            session.close()


def _check_state(checkpoint: Checkpoint) -> None:
    """Raises CheckpointError if a checkpoint does not hold the state of a run."""
    from_json(checkpoint.state)
