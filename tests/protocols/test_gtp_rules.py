"""Rules over GTP: names, KataGo's JSON, KGS's names, komi, handicap."""

import json

import pytest

from alphago.games.go import RULE_SETS
from alphago.games.go.vertices import COLUMN_LETTERS
from tests.protocols.gtp_helpers import Gtp

CHINESE = {
    "hasButton": False,
    "ko": "POSITIONAL",
    "scoring": "AREA",
    "suicide": False,
    "tax": "NONE",
    "whiteHandicapBonus": "N",
}


def rules_of(gtp: Gtp) -> dict[str, object]:
    return json.loads(gtp("kata-get-rules"))


def test_default_is_chinese() -> None:
    assert rules_of(Gtp()) == CHINESE


@pytest.mark.parametrize(
    ("name", "rule_set"),
    [
        ("chinese", "chinese"),
        ("Chinese-OGS", "chinese"),
        ("tromp-taylor", "tromp_taylor"),
        ("aga", "aga"),
        ("bga", "aga"),
        ("japanese", "japanese"),
        ("korean", "japanese"),
        ("new-zealand", "new_zealand"),
        ("new_zealand", "new_zealand"),
    ],
)
def test_named_rules_keep_the_komi(name: str, rule_set: str) -> None:
    gtp = Gtp()
    gtp("komi 3.5")
    assert gtp(f"kata-set-rules {name}") == ""
    expected = RULE_SETS[rule_set]
    rules = rules_of(gtp)
    assert rules["ko"] == expected.ko.upper()
    assert rules["scoring"] == expected.scoring.upper()
    assert rules["suicide"] is expected.suicide
    assert rules["whiteHandicapBonus"] == expected.handicap_bonus
    assert gtp("get_komi") == "3.5"


def test_json_changes_what_it_names_and_reads_its_own_answer() -> None:
    gtp = Gtp()
    gtp('kata-set-rules {"ko": "SIMPLE", "suicide": true, "friendlyPassOk": true}')
    assert rules_of(gtp) == {**CHINESE, "ko": "SIMPLE", "suicide": True}
    gtp(f"kata-set-rules {json.dumps(CHINESE)}")
    assert rules_of(gtp) == CHINESE
    gtp("kata-set-rule whiteHandicapBonus N-1")
    gtp("kata-set-rule suicide true")
    gtp("kata-set-rule komi 6.5")
    assert rules_of(gtp) == {**CHINESE, "whiteHandicapBonus": "N-1", "suicide": True}
    assert gtp("get_komi") == "6.5"


@pytest.mark.parametrize(
    "line",
    [
        "kata-set-rules",
        "kata-set-rules nosuch",
        "kata-set-rules aga-button",
        "kata-set-rules {",
        'kata-set-rules {"ko": "TRIPLE"}',
        'kata-set-rules {"ko": "SIMPLE", "tax": "ALL"}',
        'kata-set-rules {"ko": "SIMPLE", "hasButton": true}',
        'kata-set-rules {"ko": "SIMPLE", "nosuch": 1}',
        'kata-set-rules {"ko": "SIMPLE", "suicide": "yes"}',
        'kata-set-rules {"ko": "SIMPLE", "komi": 6.7}',
        "kata-set-rule ko",
        "kata-set-rule ko nosuch",
        "kata-set-rule komi 6.7",
        "kata-set-rule komi nan",
        "kata-set-rule komi true",
        "kgs-rules tromp-taylor",
        "kgs-rules",
        "komi",
        "komi x",
        "komi nan",
        "komi inf",
        "komi 6.7",
        "komi 1_0",
        "komi 7 5",
    ],
)
def test_wrong_rules_are_refused_and_nothing_changes(line: str) -> None:
    gtp = Gtp()
    gtp.play("b E5")
    assert gtp.refusal(line)
    assert rules_of(gtp) == CHINESE
    assert gtp("get_komi") == "7.5"
    assert gtp.stones("b") == {"E5"}


def test_rules_of_kgs() -> None:
    gtp = Gtp()
    assert gtp("kgs-rules japanese") == ""
    assert rules_of(gtp)["scoring"] == "TERRITORY"


def test_rules_change_in_the_middle_of_a_game() -> None:
    gtp = Gtp()
    gtp.play("b G8", "w J8", "b F9", "w H8", "b H9", "w E5", "b J9", "w G9")
    assert gtp("is_legal b H9") == "0"
    gtp("kata-set-rules japanese")
    assert gtp("is_legal b H9") == "1"
    gtp("kata-set-rules tromp-taylor")
    assert gtp.refusal("play b H9") == "illegal move"
    gtp("clear_board")
    assert rules_of(gtp)["suicide"] is True  # rules survive, as size and komi do


def test_territory_counts_prisoners_and_takes_dead_stones_off() -> None:
    gtp = Gtp(size=(5, 5))
    gtp("kata-set-rules japanese")
    gtp("komi 0")
    gtp.alternate("C1 D1 C2 D2 C3 D3 C4 D4 C5 D5 pass pass")
    assert gtp("final_score") == "B+5.0"  # ten points against five
    gtp("boardsize 7")
    gtp.alternate("D1 E1 D2 E2 D3 E3 D4 E4 D5 E5 D6 E6 D7 E7 B4 A1 pass pass")
    # 20 points and the dead stone on A1, once as a point and once as a prisoner; White has 14.
    assert set(gtp("final_status_list dead").split()) == {"A1"}
    assert gtp("final_score") == "B+7.0"
    alive = gtp("final_status_list alive").split("\n")
    assert sorted(len(chain.split()) for chain in alive) == [1, 7, 7]
    assert gtp("final_status_list seki") == ""
    assert gtp.refusal("final_status_list x").startswith("syntax error")


# Two chains of two stones share two liberties; all else lives. Row 2, row 1.
SEKI = (".X.XO.XO.O.", "XXXXO.XOOOO")
# Each chain has an eye, and they share one liberty.
SEKI_WITH_EYES = (".X.XOOOOXXXO.O.", "XXXXO.O.X.XOOOO")
# The first seki, and a ko: White takes M1 by N1.
SEKI_AND_KO = (".X.XO.XO.O.OXX.X.X", "XXXXO.XOOOOX.XXXXX")


def set_position(rows: tuple[str, ...]) -> str:
    """Returns the command that sets up a board drawn with X for Black and O for White."""
    words = [
        f"{'bw'['XO'.index(stone)]} {COLUMN_LETTERS[column]}{len(rows) - row}"
        for row, text in enumerate(rows)
        for column, stone in enumerate(text)
        if stone != "."
    ]
    return " ".join(["set_position", *words])


@pytest.mark.parametrize(
    ("rows", "rules", "score"),
    [
        (SEKI, "chinese", "0"),
        (SEKI, "japanese", "0"),
        (SEKI_WITH_EYES, "chinese", "W+1.0"),
        (SEKI_WITH_EYES, "japanese", "0"),
    ],
)
def test_stones_in_seki_are_alive(rows: tuple[str, ...], rules: str, score: str) -> None:
    gtp = Gtp(size=(len(rows), len(rows[0])), remove_dead=True)
    gtp(f"kata-set-rules {rules}")
    gtp("komi 0")
    gtp(set_position(rows))
    for _ in range(3):  # before the passes, after one, and after both
        assert gtp("final_status_list dead") == ""
        assert gtp("final_score") == score
        gtp.play(f"{'bw'[gtp.session.board.to_play]} pass")


def test_a_ko_elsewhere_changes_no_seki() -> None:
    gtp = Gtp(size=(2, 18), remove_dead=True)
    gtp(set_position(SEKI_AND_KO))
    gtp.play("w N1")
    assert gtp("captures w") == "1"
    found = set()
    for _ in range(3):
        dead = gtp("final_status_list dead")
        assert not {"E1", "E2", "G1", "G2"} & set(dead.split())
        found.add((dead, gtp("final_score")))
        gtp.play(f"{'bw'[gtp.session.board.to_play]} pass")
    assert len(found) == 1


def test_a_stone_in_atari_that_cannot_live_is_dead() -> None:
    gtp = Gtp(size=(7, 7), remove_dead=True)
    gtp(set_position((*["...XO.."] * 4, ".X.XO..", "O..XO..", "XX.XO..")))
    assert gtp("final_status_list dead") == "A2"


@pytest.mark.parametrize(
    ("rules", "bonus"), [("chinese", 3), ("aga", 2), ("japanese", 0), ("tromp-taylor", 0)]
)
def test_handicap_points(rules: str, bonus: int) -> None:
    gtp = Gtp()
    gtp(f"kata-set-rules {rules}")
    gtp("komi 0.5")
    assert gtp("fixed_handicap 3") == "C3 G7 C7"
    points = 81 if rules != "japanese" else 78
    assert gtp("final_score") == f"B+{points - bonus - 0.5}"
    assert gtp.session.board.to_play == 1
    gtp("kata-set-rules japanese")
    gtp(f"kata-set-rules {rules}")
    assert gtp("final_score") == f"B+{points - bonus - 0.5}"
    gtp("clear_board")
    assert gtp("final_score") == "W+0.5"


def test_handicap_is_refused_where_there_is_none() -> None:
    gtp = Gtp()
    for number in ("1", "0", "10", "-2"):
        assert gtp.refusal(f"fixed_handicap {number}").startswith("invalid number of stones")
    assert gtp.refusal("fixed_handicap x").startswith("syntax error")
    assert gtp.refusal("place_free_handicap 1") == "invalid number of stones"
    for vertices in ("A1", "A1 A1", "A1 pass", "A1 Z9"):
        assert gtp.refusal(f"set_free_handicap {vertices}")
    assert gtp.stones("b") == set()
    gtp.play("b E5")
    for line in ("fixed_handicap 2", "place_free_handicap 2", "set_free_handicap A1 B1"):
        assert gtp.refusal(line) == "board not empty"
    gtp("clear_board")
    assert len(gtp("place_free_handicap 20").split()) == 9
    gtp("boardsize 5")
    assert gtp.refusal("place_free_handicap 2").startswith("invalid number of stones")
    gtp("set_free_handicap A1 B2")
    assert gtp.stones("b") == {"A1", "B2"}
    assert gtp.refusal("undo") == "cannot undo"


def test_set_position() -> None:
    gtp = Gtp()
    gtp.play("b E5")
    assert gtp("set_position b A1 W A2 black C3") == ""
    assert gtp.stones("b") == {"A1", "C3"}
    assert gtp.stones("w") == {"A2"}
    assert gtp.refusal("undo") == "cannot undo"
    for line in ("b", "b A1 w A1", "x A1", "b pass", "b A1 w A2 w B1", "b Z1"):
        assert gtp.refusal(f"set_position {line}")
        assert gtp.stones("b") == {"A1", "C3"}
    gtp.play("w B1")
    assert gtp("captures w") == "1"
    assert gtp("set_position") == ""
    assert gtp.stones("b") == gtp.stones("w") == set()
    assert gtp("captures w") == "0"


def test_number_without_end_is_refused() -> None:
    gtp = Gtp()
    assert "too large" in gtp.refusal('kata-set-rules {"komi":1' + 400 * "0" + "}")
    assert gtp("get_komi") == "7.5"


def test_komi_of_nothing_has_no_sign() -> None:
    gtp = Gtp()
    for line in ("komi -0", "komi -0.0", 'kata-set-rules {"komi":-0.0}'):
        gtp("komi 1")
        gtp(line)
        assert gtp("get_komi") == "0.0"
