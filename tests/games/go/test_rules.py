"""Rules as data and as text."""

import dataclasses
import itertools

import pytest

from alphago.errors import RulesError
from alphago.games.go import RULE_SETS, GoRules, parse_rules, rules_text
from alphago.games.go.rules import rule_set_name, rules_json


def options(text: str) -> dict[str, str]:
    return dict(part.split("=") for part in text.split(",")) if text else {}


def test_named_sets() -> None:
    assert parse_rules({}) == RULE_SETS["chinese"]
    assert RULE_SETS["tromp_taylor"] == GoRules(
        ko="positional", suicide=True, scoring="area", komi=7.5, handicap_bonus="0"
    )
    assert RULE_SETS["japanese"] == GoRules(
        ko="simple", suicide=False, scoring="territory", komi=6.5, handicap_bonus="0"
    )


def test_options_change_parts_of_a_set() -> None:
    rules = parse_rules({"rules": "aga", "komi": "-3", "suicide": "True"})
    assert rules == GoRules(
        ko="situational", suicide=True, scoring="area", komi=-3.0, handicap_bonus="N-1"
    )


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (RULE_SETS["chinese"], ""),
        (RULE_SETS["new_zealand"], "rules=new_zealand"),
        (parse_rules({"komi": "5.5", "ko": "simple"}), "ko=simple,komi=5.5"),
        (parse_rules({"rules": "japanese", "komi": "-0"}), "rules=japanese,komi=0"),
    ],
)
def test_text_is_short(rules: GoRules, text: str) -> None:
    assert rules_text(rules) == text


def test_text_is_read_as_the_same_rules() -> None:
    for ko, suicide, scoring, komi, bonus in itertools.product(
        ("simple", "positional", "situational"),
        (False, True),
        ("area", "territory"),
        (-7.5, 0.0, 6.5, 7.0),
        ("0", "N-1", "N"),
    ):
        rules = GoRules(ko=ko, suicide=suicide, scoring=scoring, komi=komi, handicap_bonus=bonus)
        assert parse_rules(options(rules_text(rules))) == rules


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rules", "klingon"),
        ("ko", "super"),
        ("suicide", "maybe"),
        ("scoring", "stone"),
        ("komi", "7.3"),
        ("komi", "much"),
        ("komi", "nan"),
        ("komi", "inf"),
        ("komi", "1e9"),
        ("handicap_bonus", "2"),
    ],
)
def test_other_values_are_refused(key: str, value: str) -> None:
    with pytest.raises(RulesError, match=f"{key}: got .*{value}|{key}: got .*allowed"):
        parse_rules({key: value})


def test_other_keys_are_refused() -> None:
    with pytest.raises(RulesError, match="option: got 'kommi', allowed: rules, ko"):
        parse_rules({"kommi": "7"})


def test_handicap_bonus() -> None:
    assert RULE_SETS["chinese"].bonus(4) == 4
    assert RULE_SETS["chinese"].bonus(1) == 0
    assert RULE_SETS["chinese"].with_bonus(4).komi == 11.5
    assert RULE_SETS["aga"].bonus(4) == 3
    assert RULE_SETS["aga"].bonus(0) == 0
    assert RULE_SETS["japanese"].bonus(4) == 0


def test_name_of_a_set_whatever_the_komi() -> None:
    for name, rules in RULE_SETS.items():
        assert rule_set_name(dataclasses.replace(rules, komi=0.5)) == name
    assert rule_set_name(dataclasses.replace(RULE_SETS["aga"], suicide=True)) is None


def test_json() -> None:
    assert rules_json(RULE_SETS["new_zealand"]) == (
        '{"hasButton":false,"ko":"SITUATIONAL","scoring":"AREA","suicide":true,"tax":"NONE",'
        '"whiteHandicapBonus":"0"}'
    )
