"""The frame of GTP: lines, ids, comments, and the administrative commands."""

import pytest

from alphago.protocols.gtp import Command, format_failure, format_success, parse_command
from tests.protocols.gtp_helpers import Gtp

# By the specification of GTP 2, section 6, and what was promised beside it.
REQUIRED = """
    protocol_version name version known_command list_commands quit boardsize clear_board komi
    play genmove undo set_position rectangular_boardsize is_legal list_stones captures
    time_settings time_left kgs-rules kata-set-rules kata-get-rules kgs-time_settings
    fixed_handicap place_free_handicap set_free_handicap final_score final_status_list loadsgf
    printsgf showboard reg_genmove lz-analyze lz-genmove_analyze kata-analyze
    kata-genmove_analyze analyze genmove_analyze stop clear_cache
"""


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("name", Command("", "name", (), "")),
        ("12 play b D4", Command("12", "play", ("b", "D4"), "b D4")),
        ("6\tkomi\t7.5", Command("6", "komi", ("7.5",), "7.5")),
        ("boardsize 9\r", Command("", "boardsize", ("9",), "9")),
        ("3 known_command genmove # x", Command("3", "known_command", ("genmove",), "genmove")),
        ("  0007   loadsgf  a  b  ", Command("0007", "loadsgf", ("a", "b"), "a  b")),
        ("na\x00m\x07e\x7f", Command("", "name", (), "")),
        ("\ufeff1 name", Command("1", "name", (), "")),
        ("5", Command("5", "", (), "")),
        ("-5 name", Command("", "-5", ("name",), "name")),
    ],
)
def test_line_is_read(line: str, command: Command) -> None:
    assert parse_command(line) == command


@pytest.mark.parametrize("line", ["", " ", "\t", "# note", "   # play b D4", "\r", "\x00"])
def test_line_without_a_command_gets_no_response(line: str) -> None:
    assert parse_command(line) is None
    assert Gtp().pieces(line) == []


def test_responses_are_framed() -> None:
    assert format_success("") == "=\n\n"
    assert format_success("3", "D4") == "=3 D4\n\n"
    assert format_success("", "a\n\n \nb\n") == "= a\nb\n\n"  # no empty line ends it too soon
    assert format_success("7", "\n  A B\n") == "=7\n  A B\n\n"
    assert format_failure("4", "no\nsuch  thing") == "?4 no such thing\n\n"


def test_refusals_tell_back_no_more_than_the_ends_of_what_is_long() -> None:
    assert format_failure("", "got " + 60 * "x") == "? got " + 60 * "x" + "\n\n"
    expected = "? got " + 30 * "a" + "..." + 27 * "b" + " here\n\n"
    assert format_failure("", "got " + 999 * "a" + 999 * "b" + " here") == expected
    assert len(format_failure("", 9999 * "a ")) == 400 + len("? \n\n")
    path = "/folder" * 40
    assert format_failure("", path) == f"? {path}\n\n"
    assert len(format_failure("", 99 * path)) == 400 + len("? \n\n")
    gtp = Gtp()
    long = 100_000 * "9"
    for line in ("komi", "kata-set-rules", "kgs-rules", "lz-analyze b", "kata-set-rule ko",
                 "time_settings 1 1", "final_status_list", "loadsgf", "boardsize"):  # fmt: skip
        assert len(gtp.refusal(f"{line} {long}")) < 200, line


def test_reported_session_has_the_reported_answers() -> None:
    lines = [
        "1 protocol_version",
        "",
        "# note",
        "3 known_command genmove # x",
        "4 foo",
        "boardsize 9\r",
        "6\tkomi 7.5",
        "7 known_command nosuch",
        "quit",
    ]
    gtp = Gtp()
    answers = "".join(gtp.raw(line) for line in lines)
    assert answers == "=1 2\n\n=3 true\n\n?4 unknown command\n\n=\n\n=6\n\n=7 false\n\n=\n\n"
    assert gtp.engine.has_quit


def test_every_response_is_one_piece() -> None:
    gtp = Gtp()
    for line in ("1 list_commands", "2 showboard", "3 nosuch", "4 genmove b"):
        assert len(gtp.pieces(line)) == 1


def test_all_commands_are_there_and_listed() -> None:
    gtp = Gtp()
    listed = gtp("list_commands").split("\n")
    assert set(REQUIRED.split()) <= set(listed)
    assert len(listed) == len(set(listed))
    for name in listed:
        assert gtp(f"known_command {name}") == "true"
    assert gtp("name") == "alphago"
    assert gtp("version") == "1"
    assert gtp.refusal("known_command") == "syntax error: expected known_command COMMAND"


def test_every_command_refuses_words_too_many_without_changing_anything() -> None:
    gtp = Gtp(size=(5, 5))
    gtp.play("b C3", "w C4")
    before = gtp("printsgf")
    takes_any = {
        "quit", "name", "version", "protocol_version", "list_commands", "loadsgf", "printsgf",
    }  # fmt: skip
    for name in set(gtp("list_commands").split("\n")) - takes_any:
        assert gtp.refusal(f"{name} x y z u v"), name
        assert gtp("printsgf") == before, name
