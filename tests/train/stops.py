"""Ways to stop a tiny run at a chosen moment, as Ctrl-C or `kill -9` would."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.train.tiny import FakeProgress, train
from train.config import RunConfig
from train.session import Session


class Killed(BaseException):
    """Stands in for `kill -9`: nothing in the program catches it, and nothing is saved."""


def kill() -> None:
    raise Killed


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


STOPS: dict[str, Callable[[], None]] = {"ctrl-c": press_ctrl_c, "kill": kill}


def stop_in_phase(
    folder: Path, config: RunConfig, phase: str, *, nth: int, stop: Callable[[], None]
) -> None:
    """Trains until a phase begins for the n-th time (from 1) and stops the run there."""
    seen: list[str] = []

    def look(name: str) -> None:
        seen.append(name)
        if name == phase and seen.count(phase) == nth:
            stop()

    run_to_its_stop(folder, config, FakeProgress(on_phase=look))


def stop_at_call(
    folder: Path,
    config: RunConfig,
    owner: type | object,
    name: str,
    *,
    nth: int,
    stop: Callable[[], None],
    after: bool = False,
) -> None:
    """Trains until a function is called for the n-th time (from 1); stops before or after it."""
    calls: list[str] = []
    original = getattr(owner, name)

    def called(*arguments: object, **keywords: object) -> object:
        calls.append(name)
        is_now = len(calls) == nth
        if is_now and not after:
            stop()
        result = original(*arguments, **keywords)
        if is_now and after:
            stop()
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, called)
        run_to_its_stop(folder, config, FakeProgress())


def run_to_its_stop(folder: Path, config: RunConfig, progress: FakeProgress) -> None:
    """Trains; the run ends by what stops it, and not by its limit."""
    resume = (folder / "config.yaml").is_file()
    try:
        result = train(folder, config, resume=resume, progress=progress)
    except Killed:
        return
    assert result.stopped_because == "interrupted", "the moment did not come"


def end_after(folder: Path, config: RunConfig, *, iterations: int) -> None:
    """Goes on with a run, or begins it, until it has finished so many iterations."""

    def stop_reason(session: Session) -> str | None:
        return "enough" if session.counters.iteration >= iterations else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "stop_reason", stop_reason)
        train(folder, config, resume=(folder / "config.yaml").is_file())
