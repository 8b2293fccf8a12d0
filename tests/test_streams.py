"""Streams that take every text, whatever has become of reader, terminal and disk."""

import errno
import io
import os
from pathlib import Path

import pytest

from alphago.streams import LastingStream, discard, tell


class FullFile(io.StringIO):
    """A file on a disk that is full for a while."""

    is_full = True

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_what_can_be_written_is_written_and_all_else_is_as_below() -> None:
    below = io.StringIO()
    stream = LastingStream(below)
    assert stream.write("a line\n") == 7
    stream.flush()
    stream.end()
    assert below.getvalue() == "a line\n"
    assert not stream.isatty()


def test_a_disk_that_has_room_again_gets_the_lines_that_follow() -> None:
    below = FullFile()
    stream = LastingStream(below)
    stream.write("lost\n")
    below.is_full = False
    stream.write("kept\n")
    assert below.getvalue() == "kept\n"


def test_a_disk_that_stays_full_fails_nobody_at_the_end() -> None:
    with Path("/dev/full").open("w") as below:
        stream = LastingStream(below)
        stream.write("lost\n")
        stream.flush()
        with pytest.raises(OSError, match="No space"):
            below.flush()
        stream.end()
        below.flush()


def test_a_reader_that_has_gone_is_written_to_no_more() -> None:
    reader, writer = os.pipe()
    with open(writer, "w", encoding="utf-8") as below:
        os.close(reader)
        stream = LastingStream(below)
        stream.write("lost\n")
        stream.flush()
        assert os.path.samestat(os.fstat(writer), os.stat(os.devnull))


def test_what_is_told_arrives_or_is_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    tell("one\ntwo")
    assert capsys.readouterr().out == "one\ntwo\n"
    with Path("/dev/full").open("w") as full:
        tell("lost", full)


def test_a_discarded_stream_leads_nowhere(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w") as stream:
        discard(stream)
        stream.write("lost\n")
    assert (tmp_path / "file").read_text() == ""
