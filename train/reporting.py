"""What a run tells: the terminal (`Progress`), TensorBoard and the log (`MetricsWriter`)."""

import time
from pathlib import Path

import numpy as np
import psutil

from alphago.games.go.game import Go
from alphago.games.notation import format_moves, replay
from alphago.network.evaluator import NetworkEvaluator
from alphago.network.precision import BITS, Inference
from alphago.types import FloatArray, States, Weights
from eval.matches import MatchResult
from eval.suites import SuiteResult
from selfplay.records import GameRecord
from train.metrics import MetricsWriter
from train.pictures import draw_position
from train.play_totals import MEGABYTE
from train.progress import Progress
from train.session import Session
from train.sgf_samples import write_samples
from train.step_metrics import StepMetrics

QUIET_S = 20.0  # without a finished game for so long, the run says what it is waiting for
_STEPS_PER_UPDATE = 10  # optimiser steps between two updates of the terminal


class Reporter:
    """Tells what the stages of `run.py` did; reads the session, and takes the learner's numbers."""

    def __init__(self, session: Session, run_dir: Path, progress: Progress) -> None:
        """Opens the log and TensorBoard; what an interrupted sitting logged later is forgotten."""
        self._session = session
        self._progress = progress
        # An iteration that was stopped is drawn once, when it ends. A run without an iteration
        # begins anew, its suite before learning included.
        first_step = session.counters.step_at_start + 1 if session.counters.iteration else 0
        self._metrics = MetricsWriter(run_dir, first_step=first_step)
        config = session.config
        self._evaluator = NetworkEvaluator(session.game, config.network, config.evaluator)
        self._drawn: Weights | None = None  # the network that the evaluator holds
        self._results: dict[str, float] = {}  # of gate and suite, until the iteration is written
        self._inference: dict[str, Inference] = {}  # that was shown last, by backend
        self._actors: dict[str, int] | None = None  # numbers that were shown last
        self._actors_shown = time.monotonic()  # when
        self._quiet_since = time.monotonic()

    def sitting(self) -> None:
        """Logs where this process begins, and shows it where that is not the start of the run."""
        step, games = self._session.trainer.num_steps, self._session.store.num_games
        device = str(self._evaluator.device)
        self._metrics.event("sitting", {"step": step, "games": games, "device": device})
        if games:
            self.message(f"going on at step {step} with {games} games{self._again()}")

    def _again(self) -> str:
        """Says what becomes of the games with which the last sitting ended."""
        if not self._session.pool.keeps_games:
            return "; those that were unfinished are dropped"
        num_games = self._session.games_again.num_games
        text = f"; {num_games} of them, of an iteration that was stopped, are played again"
        return text if num_games else ""

    def phase(self, name: str) -> None:
        """Says what the run is doing now."""
        self._quiet_since = time.monotonic()  # nobody played while the last phase went on
        self._progress.phase(name)
        self._show_time()

    def message(self, text: str) -> None:
        """Shows a line that stays."""
        self._progress.message(text)

    def play(self, *, num_reports: int, num_games: int) -> None:
        """Shows how actors play; when no game arrives for a while, says what is waited for.

        Args:
            num_reports: reports of actors that have arrived just now.
            num_games: finished games in them.
        """
        now = time.monotonic()
        self._show_actors(now)
        if num_reports:
            self._show_play()
            self._show_inference()
        if num_games:
            self._quiet_since = now
        elif now - self._quiet_since > QUIET_S:
            self._quiet_since = now
            self.message(self._what_is_awaited())

    def step(self, metrics: StepMetrics) -> None:
        """Shows an optimiser step."""
        session = self._session
        if session.trainer.num_steps % _STEPS_PER_UPDATE == 0:
            self._progress.update(
                steps=session.trainer.num_steps,
                policy_loss=metrics.policy_loss,
                value_loss=metrics.value_loss,
                learning_rate=metrics.learning_rate,
                minutes=session.clock.seconds() / 60,
                fraction=session.progress_made(),
            )

    def gate(self, match: MatchResult | None, *, passed: bool) -> None:
        """Shows the outcome of a gate; no match where the gate is off."""
        self._results["gate/promoted"] = float(passed)
        if match is None:
            return
        wins, draws, losses = match.total
        self._results["gate/score"] = match.score
        self._results["gate/draws"] = draws / len(match.games)
        self._results["gate/distinct_games"] = match.num_distinct_games
        text = (
            f"{100 * match.score:.1f} % ({wins} won, {draws} drawn, {losses} lost;"
            f" {match.num_distinct_games} distinct games),"
            f" {'promoted' if passed else 'rejected'}"
        )
        self._progress.update(gate=text)
        self.message(f"gate at step {self._session.trainer.num_steps}: {text}")

    def suite(self, result: SuiteResult) -> None:
        """Shows the scores of the best network on the position suite."""
        values = self._suite_values(result)
        self._results |= values
        self._show_suite(result, when=f"after {values['suite/minutes']:.1f} minutes")

    def baseline(self, result: SuiteResult) -> None:
        """Logs and shows the scores of the untrained network on the position suite."""
        self._metrics.baseline(self._suite_values(result))
        self._show_suite(result, when="before learning")

    def yardstick(self, match: MatchResult) -> None:
        """Shows the score of the best network against the yardstick."""
        minutes = self._session.clock.seconds() / 60
        self._results |= {"yardstick/score": match.score, "yardstick/minutes": minutes}
        num_simulations = self._session.config.suite.num_simulations
        text = (
            f"{100 * match.score:.0f} % of {len(match.games)} games against {match.second}"
            f" ({num_simulations} simulations a move)"
        )
        self._progress.update(yardstick=text)
        self.message(f"yardstick after {minutes:.1f} minutes: {text}")

    def iteration(self, *, heldout: dict[str, float]) -> None:
        """Writes the numbers of the iteration, a sample game and a picture; of Go, SGF files.

        Args:
            heldout: what the network makes of held-out games, by tag.
        """
        session = self._session
        totals = session.totals
        values = totals.game_facts() | totals.rates(session.pool.num_actors)
        values |= totals.memory()
        values |= session.learner.take_metrics() | heldout
        values |= self._results | self._state_of_the_run()
        self._results = {}
        is_shown = self._metrics.scalars(session.trainer.num_steps, values)
        if is_shown and totals.newest:
            self._show_sample_game(totals.newest[-1])
        if isinstance(session.game, Go):
            end = session.num_games
            write_samples(session.run_dir, session.game, list(totals.newest), end=end)

    def _suite_values(self, result: SuiteResult) -> dict[str, float]:
        assert result.raw_policy is not None, "a network player has a raw policy"
        return {
            "suite/policy": result.raw_policy.share,
            "suite/search": result.choice.share,
            "suite/minutes": self._session.clock.seconds() / 60,
        }

    def _show_suite(self, result: SuiteResult, *, when: str) -> None:
        assert result.raw_policy is not None, "a network player has a raw policy"
        num_simulations = self._session.config.suite.num_simulations
        text = (
            f"policy {100 * result.raw_policy.share:.1f} %,"
            f" search {100 * result.choice.share:.1f} % of {result.choice.num_positions} positions"
            f" ({num_simulations} simulations a move)"
        )
        self._progress.update(suite=text)
        self._show_time()
        self.message(f"suite {result.suite} {when}: {text}")

    def _state_of_the_run(self) -> dict[str, float]:
        session = self._session
        buffer, step = session.learner.buffer, session.trainer.num_steps
        values = {
            "replay/window": buffer.window,
            "replay/positions": buffer.positions_seen,
            "replay/samples_per_position": buffer.samples_drawn / max(buffer.positions_seen, 1),
            "selfplay/games": session.num_games,
            "selfplay/full_budget": session.full_budget(),
            "selfplay/weights_age": step - session.counters.best_step,
            "time/minutes": session.clock.seconds() / 60,
            "time/iteration_s": time.monotonic() - session.iteration_started,
            "memory/driver_mb": psutil.Process().memory_info().rss / MEGABYTE,
        }
        return values | self._pool_values() | self._inference_values()

    def _pool_values(self) -> dict[str, float]:
        """Returns how the actors are doing, and how much of what is bounded they use."""
        session = self._session
        state, buffer = session.pool.state(), session.learner.buffer
        # What has stopped the run may be ending Ray too, which is asked nothing then.
        is_asked = not session.is_interrupted()
        store = {"caps/object_store": session.pool.store_share()} if is_asked else {}
        return store | {
            "selfplay/actors": float(state.num_actors),
            "selfplay/actors_starting": float(state.num_starting),
            "selfplay/machines": float(state.num_machines),
            "selfplay/actor_restarts": float(state.num_restarts),
            "memory/replay_mb": buffer.num_bytes / MEGABYTE,
            "caps/calls_in_flight": state.num_in_flight / max(state.most_in_flight, 1),
            "caps/replay_window": buffer.window / session.config.replay.window_size,
        }

    def _inference_values(self) -> dict[str, float]:
        inference = self._session.pool.inference
        if inference is None or inference.error is None:
            return {}
        return {
            "inference/bits": BITS[inference.precision],
            "inference/policy_kl": inference.error.policy_kl,
            "inference/value_error": inference.error.value_error,
        }

    def _show_inference(self) -> None:
        """Shows how networks are evaluated, again when that changes and while one is refused."""
        inference = self._session.pool.inference
        if inference is None:
            return
        shown = self._inference.get(inference.backend)
        if inference == shown:
            return
        self._inference[inference.backend] = inference
        if shown is None or inference.refused or inference[:2] != shown[:2]:
            # Without the network's number: an actor may answer after the next one was promoted.
            self.message(f"inference: {inference}")

    def _show_actors(self, now: float) -> None:
        """Shows and logs how many actors play on how many machines, whenever that changes.

        Not while some are starting, or every single one would be shown; but some may wait for room
        for ever. With one machine from the beginning there is nothing to show.
        """
        state, shown = self._session.pool.state(), self._actors
        counts = {"actors": state.num_actors, "machines": state.num_machines}
        if counts == shown or (state.num_starting and now - self._actors_shown < QUIET_S):
            return
        self._actors, self._actors_shown = counts, now
        if state.num_machines > 1 or (shown is not None and shown["machines"] > 1):
            self._metrics.event("actors", counts | {"starting": state.num_starting})
            self.message("{actors} actors play on {machines} machines".format(**counts))

    def _show_time(self) -> None:
        session = self._session
        self._progress.update(
            minutes=session.clock.seconds() / 60, fraction=session.progress_made()
        )

    def _show_play(self) -> None:
        session = self._session
        buffer, totals = session.learner.buffer, session.totals
        rates = totals.rates(session.pool.num_actors)
        self._progress.update(
            iteration=session.counters.iteration,
            games=session.num_games,
            iteration_games=session.games_of_iteration(),
            iteration_games_total=session.config.games_per_iteration,
            positions=buffer.positions_seen,
            window=buffer.window,
            positions_per_s=rates["selfplay/positions_per_s"],
            evaluations_per_s=rates["selfplay/evaluations_per_s"],
            minutes=session.clock.seconds() / 60,
            fraction=session.progress_made(),
        )

    def _what_is_awaited(self) -> str:
        if self._session.learner.may_learn():
            return "waiting for finished games: no actor has handed any over for a while"
        buffer = self._session.learner.buffer
        if not buffer.positions_seen:
            return "waiting for the first finished games"
        used = buffer.samples_drawn / max(buffer.positions_seen, 1)
        bound = buffer.config.samples_per_position
        return (
            f"the trainer waits for new games: {buffer.positions_seen} positions were used"
            f" {used:.2f} times each, the bound is replay.samples_per_position={bound:g}"
        )

    def _show_sample_game(self, record: GameRecord) -> None:
        """Logs a game as text, and one of its positions with what network and search say of it."""
        game, step = self._session.game, self._session.trainer.num_steps
        actions = record.actions.tolist()
        board, moves = game.render(replay(game, actions)[0]), format_moves(game, actions)
        result = record.returns.tolist()
        self._metrics.text(step, "games/sample", f"{moves}\n\n{board}\n\nreturns {result}")
        learnt = np.flatnonzero(record.is_target)
        if not learnt.size:
            return
        ply = int(learnt[learnt.size // 2])
        state = replay(game, actions[:ply])
        target = record.policy_target(ply).dense(game.spec.num_actions)
        pixels = draw_position(game, state, policy=self._policy(state), target=target)
        self._metrics.image(step, "games/position", pixels)

    def _policy(self, state: States) -> FloatArray:
        """Returns the best network's policy [A] over the legal actions of one state [1]."""
        best = self._session.best
        if best is not self._drawn:
            self._evaluator.load_weights(best, self._session.positions)
            self._drawn = best
        logits = self._evaluator.evaluate(state).prior_logits[0]
        legal = self._session.game.legal_actions(state)[0]
        weights = np.where(legal, np.exp(logits - logits[legal].max()), 0.0)
        return np.asarray(weights / weights.sum(), dtype=np.float32)
