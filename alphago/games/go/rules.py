"""The rules of Go that differ from place to place, as data, and how they are written.

Sources: Tromp and Taylor's logical rules; the rules of the Chinese, American, Japanese and New
Zealand Go associations, as https://senseis.xmp.net/?RulesOfGo tells them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from alphago.errors import RulesError

KO_RULES = ("simple", "positional", "situational")
SCORINGS = ("area", "territory")
HANDICAP_BONUSES = ("0", "N-1", "N")
DEFAULT_RULE_SET = "chinese"

_MAX_KOMI = 1000.0  # more than the points of the largest board


def check_choice(key: str, got: str, allowed: tuple[str, ...]) -> None:
    """Raises `RulesError` unless a value is one of the allowed ones."""
    if got not in allowed:
        raise RulesError(f"{key}: got {got!r}, allowed: {', '.join(allowed)}")


@dataclass(frozen=True, kw_only=True)
class GoRules:
    """One set of rules. A suicide of a single stone, which changes nothing, is never legal.

    Attributes:
        ko: what a play may not repeat. "simple": it may not take back, at once, the one stone that
            took one stone; "positional": it may not recreate any earlier board; "situational": nor
            any earlier board with the same player to move, passes included.
        suicide: whether a play may leave two or more own stones without liberty, which are removed.
        scoring: "area" (Tromp and Taylor) or "territory" (Japanese counting; see `scoring.py`).
        komi: points White gets, an integer or a half, of either sign.
        handicap_bonus: points White gets for N handicap stones.
    """

    ko: str
    suicide: bool
    scoring: str
    komi: float
    handicap_bonus: str

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            RulesError: if one of them is not allowed.
        """
        check_choice("ko", self.ko, KO_RULES)
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("handicap_bonus", self.handicap_bonus, HANDICAP_BONUSES)
        if not (abs(self.komi) <= _MAX_KOMI and float(2 * self.komi).is_integer()):
            raise RulesError(
                f"komi: got {self.komi}, allowed: an integer or a half,"
                f" from {-_MAX_KOMI:.0f} to {_MAX_KOMI:.0f}"
            )

    def bonus(self, handicap: int) -> float:
        """Returns what White gets for handicap stones, 0 for fewer than two, which are none."""
        if handicap < 2:
            return 0.0
        return {"0": 0.0, "N-1": handicap - 1.0, "N": float(handicap)}[self.handicap_bonus]

    def with_bonus(self, handicap: int) -> "GoRules":
        """Returns rules whose komi holds the points for handicap stones, wherever these stand.

        They are for games that know of no handicap, or its points would count twice.

        Raises:
            RulesError: if that komi is not allowed.
        """
        return replace(self, komi=self.komi + self.bonus(handicap))


RULE_SETS: Mapping[str, GoRules] = {
    "chinese": GoRules(
        ko="positional", suicide=False, scoring="area", komi=7.5, handicap_bonus="N"
    ),
    "tromp_taylor": GoRules(
        ko="positional", suicide=True, scoring="area", komi=7.5, handicap_bonus="0"
    ),
    "aga": GoRules(ko="situational", suicide=False, scoring="area", komi=7.5, handicap_bonus="N-1"),
    "japanese": GoRules(
        ko="simple", suicide=False, scoring="territory", komi=6.5, handicap_bonus="0"
    ),
    "new_zealand": GoRules(
        ko="situational", suicide=True, scoring="area", komi=7.0, handicap_bonus="0"
    ),
}

# The sets that the GTP command `kgs-rules` knows, by the same names.
KGS_NAMES = ("chinese", "aga", "japanese", "new_zealand")

RULE_KEYS = ("rules", *(field.name for field in fields(GoRules)))


def parse_rules(options: Mapping[str, str]) -> GoRules:
    """Reads rules from options: `rules` names a set, the other keys change parts of it.

    Args:
        options: text by key; the keys are `RULE_KEYS`, and each of them may be missing.

    Returns:
        The rules.

    Raises:
        RulesError: if a key or a value is not allowed.
    """
    for key in options:
        check_choice("option", key, RULE_KEYS)
    name = options.get("rules", DEFAULT_RULE_SET)
    check_choice("rules", name, tuple(RULE_SETS))
    base = RULE_SETS[name]
    return GoRules(
        ko=options.get("ko", base.ko),
        suicide=_parse_bool("suicide", options["suicide"])
        if "suicide" in options
        else base.suicide,
        scoring=options.get("scoring", base.scoring),
        komi=_parse_komi(options["komi"]) if "komi" in options else base.komi,
        handicap_bonus=options.get("handicap_bonus", base.handicap_bonus),
    )


def rules_options(rules: GoRules) -> dict[str, str]:
    """Returns the fewest options that `parse_rules` reads as these rules.

    The set with the fewest differences is named; among equals, the first of `RULE_SETS`.
    """
    text = _field_texts(rules)
    differences = {
        name: {key: text[key] for key, value in _field_texts(base).items() if text[key] != value}
        for name, base in RULE_SETS.items()
    }
    nearest = min(differences, key=lambda name: len(differences[name]))
    named = {} if nearest == DEFAULT_RULE_SET else {"rules": nearest}
    return named | differences[nearest]


def rules_text(rules: GoRules) -> str:
    """Returns the options of `rules_options` as `key=value,...`, "" for the default rules."""
    return ",".join(f"{key}={value}" for key, value in rules_options(rules).items())


def rules_json(rules: GoRules) -> str:
    """Returns rules in KataGo's JSON, as its GTP commands take and give them; without the komi."""
    fields_by_name = {
        "hasButton": False,
        "ko": rules.ko.upper(),
        "scoring": rules.scoring.upper(),
        "suicide": rules.suicide,
        "tax": "NONE",
        "whiteHandicapBonus": rules.handicap_bonus,
    }
    return json.dumps(fields_by_name, separators=(",", ":"))


def rule_set_name(rules: GoRules) -> str | None:
    """Returns the name of the set that rules are but for their komi, None where there is none."""
    for name, named in RULE_SETS.items():
        if replace(named, komi=rules.komi) == rules:
            return name
    return None


def format_points(points: float) -> str:
    """Returns points, an integer or a half, without a needless fraction: 7.5, but 7."""
    return f"{points:.1f}".removesuffix(".0")


def _field_texts(rules: GoRules) -> dict[str, str]:
    return {
        "ko": rules.ko,
        "suicide": str(rules.suicide).lower(),
        "scoring": rules.scoring,
        "komi": format_points(rules.komi + 0.0),  # so that -0 is 0
        "handicap_bonus": rules.handicap_bonus,
    }


def _parse_bool(key: str, text: str) -> bool:
    check_choice(key, text.lower(), ("true", "false"))
    return text.lower() == "true"


def _parse_komi(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise RulesError(f"komi: got {text!r}, allowed: an integer or a half") from error
