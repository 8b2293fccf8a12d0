"""Analysis commands, their lines read by a strict parser."""

import re

import pytest

from alphago.protocols.gtp_analysis import (
    AnalysisRequest,
    MoveInfo,
    Report,
    kata_line,
    lower_bound,
    lz_line,
    read_request,
)
from tests.protocols.gtp_helpers import Gtp, network
from tests.search.evaluators import FixedEvaluator

LZ_MOVE = re.compile(
    r"info move (?P<move>[A-Z]\d+|pass) visits (?P<visits>\d+) winrate (?P<winrate>\d+)"
    r" prior (?P<prior>\d+) lcb (?P<lcb>\d+) order (?P<order>\d+)"
    r" pv (?P<pv>(?:[A-Z]\d+|pass)(?: (?:[A-Z]\d+|pass))*)"
)
FLOAT = r"-?\d+\.\d+"
KATA_MOVE = re.compile(
    r"info move (?P<move>[A-Z]\d+|pass) visits (?P<visits>\d+) edgeVisits \d+"
    rf" utility (?P<utility>{FLOAT}) winrate (?P<winrate>{FLOAT}) scoreMean 0\.0+ scoreStdev 0\.0+"
    rf" scoreLead 0\.0+ scoreSelfplay 0\.0+ weight {FLOAT} prior (?P<prior>{FLOAT})"
    rf" lcb (?P<lcb>{FLOAT}) utilityLcb {FLOAT} order (?P<order>\d+)(?: noResultValue 0\.0+)?"
    r" pv (?P<pv>(?:[A-Z]\d+|pass)(?: (?:[A-Z]\d+|pass))*)"
    r"(?: pvVisits (?P<pvVisits>\d+(?: \d+)*))?(?: pvEdgeVisits \d+(?: \d+)*)?"
)


def infos(line: str, pattern: re.Pattern[str]) -> list[dict[str, str]]:
    """Reads the moves of a line; every word of it has to belong to one."""
    assert "\n" not in line
    parts = [part.strip() for part in re.split(r" (?=info )", line)]
    found = []
    for part in parts:
        match = pattern.fullmatch(part)
        assert match, part
        found.append(match.groupdict())
    return found


def lines_of(answer: str) -> list[str]:
    """Returns the lines of a streamed response, its frame checked."""
    assert answer.startswith("=\n")
    assert answer.endswith("\n\n")
    return answer[2:-2].split("\n")


def test_lines_of_leela_zero_by_hand() -> None:
    report = Report(
        31,
        0.1,
        [
            MoveInfo("D4", 20, 0.5, 0.25, ("D4", "C3"), (20, 8)),
            MoveInfo("C3", 10, -1.0, 0.5, ("C3",), (10,)),
            MoveInfo("pass", 0, 0.1, 0.25, ("pass",), (0,)),
        ],
    )
    # lcb: 0.75 - 2 * sqrt(0.75 * 0.25 / 20)
    assert lz_line(report, AnalysisRequest()) == (
        "info move D4 visits 20 winrate 7500 prior 2500 lcb 5564 order 0 pv D4 C3"
        " info move C3 visits 10 winrate 0 prior 5000 lcb 0 order 1 pv C3"
    )
    assert "info move pass visits 0" in lz_line(report, AnalysisRequest(min_moves=3))
    assert lz_line(report, AnalysisRequest(max_moves=1)).count("info") == 1
    line = kata_line(report, AnalysisRequest(switches={"rootInfo", "pvVisits"}))
    moves, _, root = line.partition(" rootInfo ")
    assert [info["winrate"] for info in infos(moves, KATA_MOVE)] == ["0.750000", "0.000000"]
    assert infos(moves, KATA_MOVE)[0]["pvVisits"] == "20 8"
    assert root.startswith("visits 31 utility 0.100000 winrate 0.550000 scoreMean 0.000000")


def test_lower_bound_is_within_the_rates() -> None:
    for visits in (0, 1, 10, 10_000):
        for rate in (0.0, 0.3, 0.5, 1.0):
            assert 0 <= lower_bound(rate, visits) <= rate


def test_request_is_read() -> None:
    def read(words):
        return read_request(words.split(), read_action=int)

    assert read("").color is None
    assert read("b 50").color == 0
    assert read("b 50").interval == 0.5
    assert read("W").color == 1
    assert read("100").interval == 1.0
    assert (read("50 w").color, read("50 w").interval) == (1, 0.5)  # as Leela Zero takes it
    assert read("b interval 20 minmoves 3 maxmoves 9").interval == 0.2
    request = read("0 ownership true rootInfo true pvVisits false")
    assert request.interval == 0.01  # nothing is told more often
    assert request.switches == {"ownership", "rootInfo"}
    (restriction,) = read("avoid b 1,2,3 5").restrictions
    assert (restriction.color, restriction.actions) == (0, frozenset({1, 2, 3}))
    assert (restriction.until_depth, restriction.is_allowed) == (5, False)


@pytest.mark.parametrize(
    "words",
    ["x", "b x", "b 1 2", "b w", "1 b 2", "interval", "interval x", "interval -1",
     "minmoves x", "maxmoves 0", "ownership maybe", "avoid b", "avoid b A1", "avoid x A1 1",
     "avoid b Z99 1", "avoid b A1 0", "allow", "nosuch 1", "movesOwnership true",
     "b 10 movesOwnershipStdev true"],
)  # fmt: skip
def test_wrong_request_is_refused(words: str) -> None:
    gtp = Gtp(network())
    for command in ("lz-analyze", "kata-analyze", "analyze", "lz-genmove_analyze"):
        assert gtp.refusal(f"{command} {words}")
    assert gtp.stones("b") == set()


@pytest.mark.parametrize("command", ["lz-analyze", "kata-analyze", "analyze"])
def test_analysis_ends_at_a_word_with_one_line_at_least(command: str) -> None:
    gtp = Gtp(network(), size=(5, 5))
    pattern = LZ_MOVE if command == "lz-analyze" else KATA_MOVE
    for words in ("", "b", "w 10", "interval 5"):
        (line,) = lines_of(gtp.raw(f"{command} {words}"))
        assert infos(line, pattern)


def test_a_line_comes_with_each_interval_until_a_word_arrives() -> None:
    gtp = Gtp(network(), size=(5, 5), clock_step=0.004)
    gtp.watch.looks_until_word = 200
    pieces = gtp.pieces("7 lz-analyze b 10")
    assert pieces[0].startswith("=7\ninfo ")
    assert pieces[-1] == "\n"
    assert all(piece.endswith("\n") for piece in pieces)
    assert len(pieces) >= 6
    visits = [
        sum(int(info["visits"]) for info in infos(piece.removeprefix("=7\n").strip(), LZ_MOVE))
        for piece in pieces[:-1]
    ]
    assert visits == sorted(set(visits))
    # 0.1 seconds at two looks at the clock for each simulation, at most
    assert visits[1] - visits[0] > 5


def test_values_are_those_of_the_side_to_move_and_in_order() -> None:
    gtp = Gtp(network(), size=(5, 5))
    gtp.watch.looks_until_word = 300
    for color in "bw":
        (line,) = lines_of(gtp.raw(f"lz-analyze {color} 100000"))
        moves = infos(line, LZ_MOVE)
        assert [int(info["order"]) for info in moves] == list(range(len(moves)))
        counts = [int(info["visits"]) for info in moves]
        assert counts == sorted(counts, reverse=True)
        for info in moves:
            assert 0 <= int(info["lcb"]) <= int(info["winrate"]) <= 10_000
            assert 0 <= int(info["prior"]) <= 10_000
            assert info["pv"].split()[0] == info["move"]
        gtp.watch.looks_until_word = 300
    # An evaluator that likes whoever is to move likes the replies: every move is bad.
    gtp = Gtp(network(evaluator=lambda game: FixedEvaluator([0.0] * 26, 0.8)), size=(5, 5))
    (line,) = lines_of(gtp.raw("lz-analyze b"))  # with fewer simulations than moves
    assert all(int(info["winrate"]) == 1000 for info in infos(line, LZ_MOVE))


def test_kata_options() -> None:
    gtp = Gtp(network(), size=(5, 4))
    gtp.play("b C3", "w C2")
    gtp.watch.looks_until_word = 100
    options = "rootInfo true ownership true ownershipStdev true pvVisits true noResultValue true"
    (line,) = lines_of(gtp.raw(f"kata-analyze b 1000 {options}"))
    moves, _, rest = line.partition(" rootInfo ")
    for info in infos(moves, KATA_MOVE):
        assert len(info["pvVisits"].split()) == len(info["pv"].split())
        assert 0 <= float(info["lcb"]) <= float(info["winrate"]) <= 1
        assert float(info["utility"]) == pytest.approx(2 * float(info["winrate"]) - 1, abs=1e-5)
    root, _, rest = rest.partition(" ownership ")
    assert root.startswith("visits ")
    owners, _, deviations = rest.partition(" ownershipStdev ")
    owners, deviations = ([float(word) for word in text.split()] for text in (owners, deviations))
    assert len(owners) == len(deviations) == 20
    assert all(-1 <= owner <= 1 for owner in owners)
    assert all(0 <= deviation <= 1 for deviation in deviations)
    # From the top left: the stone on C3 is cell (2, 2) of five rows of four columns.
    gtp("set_position b A5 b B4 b A4 b B5 b C5")
    (line,) = lines_of(gtp.raw("kata-analyze b 1000 ownership true"))
    black = [float(word) for word in line.partition(" ownership ")[2].split()]
    (line,) = lines_of(gtp.raw("kata-analyze w 1000 ownership true"))
    white = [float(word) for word in line.partition(" ownership ")[2].split()]
    assert black == [-owner for owner in white]
    assert "ownership" not in gtp.raw("kata-analyze w 1000")
    assert "ownership" not in gtp.raw("lz-analyze w 1000 ownership true")


def test_minmoves_and_maxmoves() -> None:
    gtp = Gtp(network(), size=(5, 5))
    (line,) = lines_of(gtp.raw("lz-analyze b minmoves 26"))
    assert len(infos(line, LZ_MOVE)) == 26
    (line,) = lines_of(gtp.raw("lz-analyze b minmoves 26 maxmoves 3"))
    assert len(infos(line, LZ_MOVE)) == 3


def first_moves(line: str, *, depth: int) -> set[str]:
    return {
        info["pv"].split()[depth]
        for info in infos(line, LZ_MOVE)
        if len(info["pv"].split()) > depth
    }


def test_avoid_and_allow_hold_to_their_depth() -> None:
    gtp = Gtp(network(), size=(3, 3))

    def analysis(words: str) -> str:
        gtp.watch.looks_until_word = 400
        (line,) = lines_of(gtp.raw(f"lz-analyze b 100000 {words}"))
        return line

    assert first_moves(analysis("allow b A1,B2 1"), depth=0) == {"A1", "B2"}
    avoided = analysis("avoid b A1,pass 1 avoid w B2,pass 2")
    assert not first_moves(avoided, depth=0) & {"A1", "pass"}
    assert first_moves(avoided, depth=1) and not first_moves(avoided, depth=1) & {"B2", "pass"}
    assert {"A1", "pass"} & first_moves(analysis("avoid w A1 1"), depth=0)
    assert gtp.refusal("lz-analyze b avoid b A1,A2,A3,B1,B2,B3,C1,C2,C3,pass 1")
    # A restricted tree is not the engine's own.
    assert "A1" in first_moves(analysis(""), depth=0) | first_moves(analysis("minmoves 9"), depth=0)


def test_allowed_moves_are_tried_though_the_network_gives_them_no_chance_at_all() -> None:
    sure = FixedEvaluator([0.0] + [-200.0] * 9, value=0.0)  # in float32 all other priors are 0
    gtp = Gtp(network(evaluator=lambda game: sure), size=(3, 3))
    gtp.watch.looks_until_word = 40
    (line,) = lines_of(gtp.raw("lz-analyze b 100000 allow b B2,pass 1"))
    assert first_moves(line, depth=0) == {"B2", "pass"}


@pytest.mark.parametrize(
    "command", ["lz-genmove_analyze", "kata-genmove_analyze", "genmove_analyze"]
)
def test_genmove_analyze_ends_with_the_move(command: str) -> None:
    gtp = Gtp(network(40), size=(5, 5), clock_step=0.01)
    lines = lines_of(gtp.raw(f"{command} b 10"))
    pattern = LZ_MOVE if command.startswith("lz") else KATA_MOVE
    assert len(lines) > 2
    assert infos(lines[-2], pattern)
    play, vertex = lines[-1].split()
    assert play == "play"
    assert gtp.stones("b") == {vertex}
    gtp.play("w pass")
    assert lines_of(gtp.raw(f"{command} b"))[-1] == "play pass"  # it wins as it stands
    assert gtp.raw(f"{command} w") == "=\nplay pass\n\n"  # the game is over


def test_player_that_cannot_explain_itself_says_so() -> None:
    gtp = Gtp("random")
    assert gtp.refusal("lz-analyze b 10") == "this player cannot analyse"
    assert gtp.refusal("kata-analyze") == "this player cannot analyse"
    assert re.fullmatch(r"=\nplay ([A-Z]\d+|pass)\n\n", gtp.raw("lz-genmove_analyze b"))


def test_player_without_a_tree_tells_what_it_found() -> None:
    gtp = Gtp("uct:playouts=50", size=(5, 5))
    (line,) = lines_of(gtp.raw("lz-analyze b 10"))
    assert infos(line, LZ_MOVE)
    assert gtp.watch.waits == [None]
    *_, last = lines_of(gtp.raw("kata-genmove_analyze b"))
    assert last.startswith("play ")


def test_player_without_a_tree_refuses_to_leave_moves_out() -> None:
    gtp = Gtp("uct:playouts=50", size=(5, 5))
    for words in ("avoid b A1 1", "allow b A1,B1 1"):
        for command in ("lz-analyze", "kata-analyze", "analyze"):
            expected = "avoid and allow need a player with a network"
            assert gtp.refusal(f"{command} b {words}") == expected
    assert Gtp().refusal("lz-analyze b avoid b A1 1") == "this player cannot analyse"


def test_uct_analysis_ends_when_nobody_reads_it() -> None:
    gtp = Gtp("uct:playouts=100000", size=(5, 5))
    gtp.watch.looks_until_word, gtp.watch.looks_until_end = None, 50
    (line,) = lines_of(gtp.raw("lz-analyze b"))
    assert sum(int(info["visits"]) for info in infos(line, LZ_MOVE)) < 1000


def test_finished_game_can_be_analysed() -> None:
    gtp = Gtp(network(), size=(5, 5))
    gtp.play("b pass", "w pass")
    assert lines_of(gtp.raw("lz-analyze b"))
