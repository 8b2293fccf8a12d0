"""Fixtures for tests of runs."""

import pytest
from tensorboard.summary.writer import event_file_writer


@pytest.fixture
def ordered_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers TensorBoard's files of one second from 0: names sort as text, 10 before 9."""
    counter = event_file_writer.AtomicCounter(0)
    monkeypatch.setattr(event_file_writer, "_global_uid", counter)
