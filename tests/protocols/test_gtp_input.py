"""The input, with a reader made of pieces that are let through one by one."""

import queue
from collections.abc import Callable

from alphago.protocols.gtp_engine import serve
from alphago.protocols.gtp_input import InputLines
from tests.protocols.gtp_helpers import Gtp, network


def reader() -> tuple[InputLines, Callable[[bytes], None]]:
    """Returns the lines of what is fed; b"" ends the input."""
    pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    return InputLines(lambda size: pieces.get()), pieces.put


def test_lines_come_whole_and_in_order() -> None:
    lines, feed = reader()
    for piece in (b"na", b"me\nver", b"sion\n\n", b"la\xc3", b"\xa9\r\nend", b""):
        feed(piece)
    assert [lines.next() for _ in range(6)] == ["name", "version", "", "la\u00e9\r", "end", None]
    assert lines.next() is None


def test_names_that_are_no_utf8_survive() -> None:
    lines, feed = reader()
    feed(b"loadsgf a\xff.sgf\n")
    line = lines.next()
    assert line is not None
    assert line.encode("utf-8", "surrogateescape") == b"loadsgf a\xff.sgf"
    feed(b"")


def test_what_is_waiting_and_whether_it_is_the_end() -> None:
    lines, feed = reader()
    assert not lines.is_waiting() and not lines.is_ending()
    assert not lines.wait(0)
    feed(b"\n")
    assert lines.wait(60)
    assert lines.is_waiting() and not lines.is_ending()  # a bare newline is a word
    feed(b"# quit\nname quit\n")
    assert [lines.next() for _ in range(3)] == ["", "# quit", "name quit"]
    assert not lines.is_ending()
    feed(b"name\n 7 quit\n")
    assert lines.wait(60) and lines.is_ending()  # whatever comes before it
    assert [lines.next(), lines.next()] == ["name", " 7 quit"]
    feed(b"")
    assert lines.next() is None


def test_end_of_the_input_is_the_end_though_lines_are_left() -> None:
    lines, feed = reader()
    feed(b"name\nna")
    assert lines.wait(60) and not lines.is_ending()
    feed(b"")
    assert [lines.next(), lines.next(), lines.next()] == ["name", "na", None]
    assert lines.is_ending()
    lines, feed = reader()
    for piece in (b"na", b""):
        feed(piece)
    assert lines.wait(60)
    while lines.is_waiting() and not lines.is_ending():  # "na" is there just before the end
        pass
    assert lines.is_ending() and lines.next() == "na"


def test_reader_of_the_answers_that_goes_away_is_the_end() -> None:
    readers = [True]
    pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    lines = InputLines(lambda size: pieces.get(), is_read=lambda: readers[0])
    assert not lines.is_ending()
    readers[0] = False
    assert lines.is_ending() and not lines.is_waiting()
    pieces.put(b"")


def test_reader_that_fails_is_the_end() -> None:
    def read(size: int) -> bytes:
        raise OSError("gone")

    assert InputLines(read).next() is None


def test_loop_answers_ponders_and_ends() -> None:
    lines, feed = reader()
    gtp = Gtp(network(20), size=(5, 5), ponder=True)
    written: list[str] = []
    rounds = []
    ponder = gtp.engine.ponder

    def count() -> bool:
        """Lets the opponent move after some pondering."""
        is_pondering = ponder()
        if is_pondering:
            rounds.append(len(written))
            if len(rounds) == 5:
                feed(b"play w pass\ngenmove b\nquit\nname\n")
        return is_pondering

    gtp.engine.ponder = count
    feed(b"1 genmove b\n")
    serve(gtp.engine, lines, write=written.append)
    assert [piece[:2] for piece in written] == ["=1", "=\n", "= ", "=\n"]
    assert len(rounds) >= 5 and rounds[0] == 1
    feed(b"")


def test_loop_ends_quietly_when_nobody_reads() -> None:
    lines, feed = reader()
    feed(b"name\nname\n")

    def write(text: str) -> None:
        raise BrokenPipeError

    serve(Gtp().engine, lines, write=write)
    assert lines.next() == "name"
    feed(b"")


def test_a_line_too_long_for_any_command_is_refused_by_its_number_and_the_next_answered() -> None:
    lines, feed = reader()
    feed(b"12 play b ")
    for _ in range(40):
        feed(b"A1 " * 20_000)
    feed(b"\nname\n")
    feed(b"x" * (3 << 20))
    feed(b"")
    answers: list[str] = []
    serve(Gtp("random").engine, lines, write=answers.append)
    assert answers == ["?12 unknown command\n\n", "= alphago\n\n", "? unknown command\n\n"]


def test_whoever_sends_many_lines_waits_until_some_are_answered() -> None:
    asked = 0

    def read(size: int) -> bytes:
        nonlocal asked
        asked += 1
        return b"name\n" * 1000 if asked <= 100 else b""

    lines = InputLines(read)
    for _ in range(100_000):
        assert lines.next() == "name"
        assert len(lines._lines) <= 11_000
    assert lines.next() is None
