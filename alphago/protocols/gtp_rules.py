"""Rules as controllers write them: names, and KataGo's JSON.

A name means the project's own rule set of that name (`alphago.games.go.rules`), so `chinese` has
positional superko. What a JSON text does not mention stays as it was. The komi is never changed by
a rule set, since controllers send it apart. KataGo's tax and button are not played here, and a
text that asks for them is refused.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from alphago.games.go.rules import (
    HANDICAP_BONUSES,
    KO_RULES,
    RULE_SETS,
    SCORINGS,
    GoRules,
)
from alphago.protocols.gtp import GtpError
from alphago.protocols.gtp_values import read_float

_ALIASES: Mapping[str, str] = {
    "chinese_ogs": "chinese",
    "chinese_kgs": "chinese",
    "korean": "japanese",
    "bga": "aga",
    "tromptaylor": "tromp_taylor",
    "newzealand": "new_zealand",
    "nz": "new_zealand",
}
# Fields that have to have this value, since nothing else is played.
_FIXED: Mapping[str, object] = {"tax": "NONE", "hasButton": False}
_IGNORED = ("friendlyPassOk",)  # says when KataGo passes, not what is legal or how to count


def read_rules(text: str, *, current: GoRules) -> GoRules:
    """Reads rules, a name or JSON.

    Args:
        text: the name of a rule set, hyphens and upper case allowed, or a JSON object.
        current: the rules so far: they tell the komi, and what JSON does not mention.

    Raises:
        GtpError: if the text cannot be read or asks for what is not played here.
    """
    return _read_json(text, current) if text.startswith("{") else read_name(text, current=current)


def read_name(text: str, *, current: GoRules) -> GoRules:
    """Returns the rule set of a name, with the current komi.

    Raises:
        GtpError: if there is none.
    """
    name = text.strip("\"'").lower().replace("-", "_").replace(" ", "_")
    name = _ALIASES.get(name, name)
    if name not in RULE_SETS:
        raise GtpError(f"unknown rules: got {text!r}, allowed: {', '.join(RULE_SETS)}")
    return dataclasses.replace(RULE_SETS[name], komi=current.komi)


def change_rule(key: str, value: str, *, current: GoRules) -> GoRules:
    """Returns rules with one field of KataGo's JSON changed, the value written without quotes.

    Raises:
        GtpError: if field or value is unknown.
    """
    if key == "komi":
        return _change(current, {key: read_float(value, what="rules: komi")})
    switches: Mapping[str, object] = {"true": True, "false": False}
    return _change(current, {key: switches.get(value.lower(), value)})


def _read_json(text: str, current: GoRules) -> GoRules:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GtpError(f"rules: no JSON ({error})") from error
    assert isinstance(fields, dict), "a JSON text that begins with a brace is an object"
    return _change(current, fields)


def _change(rules: GoRules, fields: Mapping[str, object]) -> GoRules:
    """Returns the rules with the fields of a JSON object taken over."""
    changes: dict[str, Any] = {}
    for key, value in fields.items():
        if key == "ko":
            changes["ko"] = _one_of(key, value, KO_RULES)
        elif key in ("scoring", "scoringRule"):
            changes["scoring"] = _one_of(key, value, SCORINGS)
        elif key == "suicide":
            changes["suicide"] = _switch(key, value)
        elif key == "whiteHandicapBonus":
            changes["handicap_bonus"] = _one_of(key, value, HANDICAP_BONUSES)
        elif key == "komi":
            changes["komi"] = _number(key, value)
        elif key in _FIXED:
            _check_fixed(key, value)
        elif key not in _IGNORED:
            raise GtpError(f"rules: unknown field {key!r}")
    return dataclasses.replace(rules, **changes)


def _one_of(key: str, value: object, allowed: tuple[str, ...]) -> str:
    """Returns which of our own words a value is in upper case."""
    for word in allowed:
        if str(value).upper() == word.upper():
            return word
    names = ", ".join(word.upper() for word in allowed)
    raise GtpError(f"rules: {key}: got {value!r}, allowed: {names}")


def _switch(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise GtpError(f"rules: {key}: got {value!r}, allowed: true, false")
    return value


def _number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GtpError(f"rules: {key}: got {value!r}, allowed: a number")
    try:
        return float(value) + 0.0  # no negative zero
    except OverflowError as error:  # an integer of hundreds of digits
        raise GtpError(f"rules: {key}: the number is too large") from error


def _check_fixed(key: str, value: object) -> None:
    if value != _FIXED[key]:
        raise GtpError(f"rules: {key}: got {value!r}, allowed: {json.dumps(_FIXED[key])}")
