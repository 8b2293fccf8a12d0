"""Go: rules, board, scoring, input planes and the `Game` made of them."""

from alphago.games.go.game import Go
from alphago.games.go.rules import RULE_SETS, GoRules, parse_rules, rules_text

__all__ = ["RULE_SETS", "Go", "GoRules", "parse_rules", "rules_text"]
