"""The state of a run in its checkpoints: read back, every entry is there and of the right kind."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from alphago.errors import CheckpointError
from alphago.games.game import GameSpec, game_text
from alphago.network.network import NetworkConfig
from selfplay.random_state import rng_from_state, rng_state
from train.checkpoint import Checkpoint

# What reading data of the wrong kind raises.
_WRONG_KIND = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError)


@dataclass
class Counters:
    """What a run has done, over all sittings.

    Attributes:
        iteration: cycles of play and learning that were begun.
        games_at_start: finished games when the present iteration began, or the next one will: fewer
            than there are in a checkpoint of an iteration that was stopped.
        step_at_start: optimiser steps at that time.
        version: networks that were promoted; the version of the best.
        best_step: optimiser steps of the best network.
        judged_step: optimiser steps of the last candidate whose gate has ended.
        seconds: wall time.
        last_suite_seconds: wall time at which suite and yardstick last measured strength.
        best_progress: share of the run, 0 to 1, that was over when the best network was promoted.
    """

    iteration: int = 0
    games_at_start: int = 0
    step_at_start: int = 0
    version: int = 0
    best_step: int = 0
    judged_step: int = 0
    seconds: float = 0.0
    last_suite_seconds: float = 0.0
    best_progress: float = 0.0


@dataclass(frozen=True, kw_only=True)
class RunState:
    """What a checkpoint keeps of a run beside weights and configuration.

    Attributes:
        trainer: facts of `Trainer.state_dict`.
        sampling_rng: the stream that decides which positions are sampled.
        counters: what the run has done.
        best_checkpoint: name of the checkpoint of the best network.
        num_games: games stored so far.
        buffer: counters of `ReplayBuffer.state_dict`.
        selfplay: the unfinished games, see `SelfPlay.snapshot`, None where they are not kept.
    """

    trainer: dict[str, Any]
    sampling_rng: np.random.Generator
    counters: Counters
    best_checkpoint: str
    num_games: int
    buffer: dict[str, int]
    selfplay: dict[str, Any] | None


def to_json(state: RunState) -> dict[str, Any]:
    """Returns a state as data for JSON."""
    return {
        "trainer": state.trainer,
        "sampling_rng": rng_state(state.sampling_rng),
        "counters": asdict(state.counters),
        "best_checkpoint": state.best_checkpoint,
        "num_games": state.num_games,
        "buffer": state.buffer,
        "selfplay": state.selfplay,
    }


def from_json(data: Mapping[str, Any]) -> RunState:
    """Reads what `to_json` returned.

    Raises:
        CheckpointError: naming what is missing or of the wrong kind.
    """
    with wrong_kind_errors("state"):
        for name in ("positions_seen", "samples_drawn"):
            _check_number(name, data["buffer"][name], is_count=True)
        _check_number("num_games", data["num_games"], is_count=True)
        _check_number("num_steps", data["trainer"]["num_steps"], is_count=True)
        for name, kinds in (("best_checkpoint", str), ("selfplay", dict | None)):
            if not isinstance(data[name], kinds):
                raise ValueError(f"{name}: got {data[name]!r}")
        return RunState(
            trainer=data["trainer"],
            sampling_rng=rng_from_state(data["sampling_rng"]),
            counters=_read_counters(data),
            best_checkpoint=data["best_checkpoint"],
            num_games=data["num_games"],
            buffer=data["buffer"],
            selfplay=data["selfplay"],
        )


def check_is_of_run(
    checkpoint: Checkpoint, *, spec: GameSpec, network: NetworkConfig, run: Path
) -> None:
    """Checks that a checkpoint belongs to a run.

    Args:
        checkpoint: the checkpoint.
        spec: the run's game.
        network: the sizes of its network.
        run: its folder, for the message.

    Raises:
        CheckpointError: if it is of another game or network, or its positions are.
    """
    shape = spec.observation_shape
    positions = shape if checkpoint.positions is None else checkpoint.positions.shape[1:]
    for what, got, here in (
        ("game", checkpoint.game, game_text(spec)),
        ("network", checkpoint.network, network),
        ("shape of the positions", positions, shape),
    ):
        if got != here:
            raise CheckpointError(
                f"{run}: the {what} of checkpoint {checkpoint.step:08d} is {got},"
                f" that of the run {here}"
            )


def _read_counters(state: Mapping[str, Any]) -> Counters:
    """Reads the counters of a state; every one must be there."""
    # Runs saved before these were kept lack them; they were saved between two iterations.
    later = {
        "judged_step": 0,
        "best_progress": 0.0,
        "games_at_start": state["num_games"],
        "step_at_start": state["trainer"]["num_steps"],
    }
    counters = {**later, **state["counters"]}
    for name, default in vars(Counters()).items():
        _check_number(name, counters[name], is_count=isinstance(default, int))
    if counters["best_progress"] > 1:  # searches would outgrow the room for their trees
        raise ValueError(f"best_progress: got {counters['best_progress']!r}")
    return Counters(**counters)


@contextmanager
def wrong_kind_errors(what: str) -> Iterator[None]:
    """Turns whatever data of the wrong kind raises when it is read into a `CheckpointError`."""
    try:
        yield
    except CheckpointError:
        raise
    except _WRONG_KIND as error:
        why = f"has no entry {error}" if isinstance(error, KeyError) else str(error)
        raise CheckpointError(f"{what}: {why}") from error


def _check_number(name: str, value: object, *, is_count: bool) -> None:
    """Raises ValueError unless a value is a number of at least 0, and a count an integer."""
    is_number = isinstance(value, int if is_count else int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:  # type: ignore[operator]
        raise ValueError(f"{name}: got {value!r}")
