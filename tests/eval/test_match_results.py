import json
import logging
import os
from dataclasses import replace

import pytest

from alphago.errors import ResultsError
from alphago.games import make_game
from alphago.players import make_player
from alphago.players.game_follower import Forfeit, ForfeitKind
from eval.endings import GameEnding
from eval.match_plan import plan_match, play_part
from eval.match_results import ResultsFile
from eval.matches import MatchResult, Thinking

GAME = make_game("tic_tac_toe")
HEADER = {"players": ("random", "random"), "seed": 3, "openings": "random"}
PARTS = plan_match([[cell] for cell in range(9)] * 8, seed=3)


def play(part):
    return play_part(GAME, *(make_player("random", game=GAME) for _ in range(2)), part)


RESULTS = [play(part) for part in PARTS]


def open_file(path, **changes):
    return ResultsFile(path, HEADER | changes, planned=PARTS)


@pytest.fixture
def path(tmp_path):
    """A file with all parts."""
    path = tmp_path / "results.jsonl"
    with open_file(path) as file:
        for number, result in enumerate(RESULTS):
            file.add(number, result)
    return path


def test_every_part_comes_back_as_it_was(path):
    assert len(RESULTS) == 3
    with open_file(path) as file:
        assert file.parts == dict(enumerate(RESULTS))
        assert [file.parts[number].thinking for number in range(3)] == [
            result.thinking for result in RESULTS
        ]


def test_a_match_that_has_begun_without_a_finished_part_is_not_new(tmp_path):
    for is_new in (True, False):
        with open_file(tmp_path / "file") as file:
            assert file.is_new == is_new
            file.begin()


@pytest.mark.parametrize("num_bytes_kept", [1, 40, -1])
def test_a_broken_first_line_alone_is_written_anew(path, num_bytes_kept):
    first, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first[:num_bytes_kept])
    with open_file(path) as file:
        assert file.is_new
        file.begin()
    assert path.read_bytes() == first


def test_who_comes_second_keeps_what_the_first_has_written(tmp_path):
    path = tmp_path / "file"
    with open_file(path) as file:
        file.add(0, RESULTS[0])
        with pytest.raises(ResultsError, match="another match is writing it"):
            open_file(path)
        file.add(1, RESULTS[1])
    with open_file(path) as file:
        assert file.parts == dict(enumerate(RESULTS[:2]))


def test_parts_of_a_match_that_was_divided_otherwise_are_refused(path):
    halves = [replace(part, openings=part.openings[:12], num_games=24) for part in PARTS]
    others = [replace(part, openings=part.openings[::-1]) for part in PARTS]
    for planned in (halves, others):
        with pytest.raises(ResultsError, match="line 2: part 0 has other games than it is planned"):
            ResultsFile(path, HEADER, planned=planned)


def test_forfeits_and_claims_come_back_as_they_were(tmp_path):
    odd = MatchResult(
        first="gtp:a b",
        second="b",
        games=[[1, 2], [], [3]],
        first_seats=[0, 1, 0],
        outcomes=[-1, 0, 1],
        endings=[
            GameEnding(False, Forfeit(ForfeitKind.CRASH, 'said "no"\n'), 0, None, (None, None)),
            GameEnding(True, None, None, 0.0, (None, None)),
            GameEnding(False, None, None, -6.5, (-6.5, "no answer")),
        ],
        thinking=(Thinking(0.1 + 0.2, 3), Thinking(1e-9, 4)),
    )
    planned = [PARTS[0], replace(PARTS[1], openings=[[], []], num_games=3)]
    with open_file(tmp_path / "new") as file:
        file.add(1, odd)
    with ResultsFile(tmp_path / "new", HEADER, planned=planned) as file:
        assert file.parts == {1: odd}
        assert file.parts[1].thinking == odd.thinking
        assert isinstance(file.parts[1].endings[0].forfeit.kind, ForfeitKind)


def test_an_empty_file_is_a_new_one(tmp_path):
    path = tmp_path / "touched"
    path.touch()
    with open_file(path) as file:
        assert file.is_new
        assert file.parts == {}
        file.begin()
        assert not file.is_new
    assert json.loads(path.read_text()) == {
        "match_results": 1,
        "players": ["random", "random"],
        "seed": 3,
        "openings": "random",
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 4}, "is of another match, seed: got 4, the file has 3"),
        ({"seed": 4, "openings": "policy"}, "is of another match, seed: "),
        ({"openings": "policy"}, 'openings: got "policy", the file has "random"'),
        (
            {"players": ("random", "minimax")},
            'players: got \\["random", "minimax"\\], the file has',
        ),
        ({"more": 1}, "more: got 1, the file has null"),
    ],
)
def test_another_match_is_refused_by_the_first_key_that_differs(path, changes, message):
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=message):
        open_file(path, **changes)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", ["hello", "hello\nthere\n", '{"seed": 3}\n', "[" * 99999, "\x00"]
)
def test_a_file_of_another_kind_is_left_alone(tmp_path, content):
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(ResultsError, match="holds something else than results of a match"):
        open_file(path)
    assert path.read_text() == content


@pytest.mark.parametrize("num_bytes_kept", [1, 40, -2, -1])
def test_a_broken_last_line_is_dropped_and_said(path, caplog, num_bytes_kept):
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:num_bytes_kept])
    with caplog.at_level(logging.WARNING), open_file(path) as file:
        assert file.parts == dict(enumerate(RESULTS[:2]))
        assert f"{path}, line 4: is broken and dropped (incomplete)" in caplog.text
        file.add(2, RESULTS[2])
    assert path.read_bytes() == b"".join(whole) + last
    caplog.clear()
    with open_file(path) as file:
        assert file.parts == dict(enumerate(RESULTS))
    assert caplog.text == ""


@pytest.mark.parametrize("line", [b"{}\n", b"\n", b"[1]\n", b'{"part": 7}\n', b"\xff\n"])
def test_a_broken_line_before_the_last_is_named(path, line):
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + line + lines[2])
    with pytest.raises(ResultsError, match=r"results\.jsonl, line 2: no part of a match"):
        open_file(path)


@pytest.mark.parametrize("number", [0, 3, -1])
def test_parts_that_are_there_twice_or_none_of_the_match_are_refused(path, number):
    lines = path.read_text().splitlines(keepends=True)
    odd = json.dumps(json.loads(lines[3]) | {"part": number}) + "\n"
    path.write_text("".join([*lines[:2], odd, lines[2]]))
    with pytest.raises(ResultsError, match=f"line 3: .*part {number} is none of this match"):
        open_file(path)


def test_a_file_in_use_is_refused(path):
    with open_file(path), pytest.raises(ResultsError, match="another match is writing it"):
        open_file(path)
    open_file(path).__exit__()


def test_a_file_that_cannot_be_made_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "no" / "folder", tmp_path / "a\0b"):
        with pytest.raises(ResultsError, match="no file for results"):
            open_file(path)
