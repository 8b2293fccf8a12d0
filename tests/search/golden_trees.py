"""Small search trees kept as JSON: what they are, how they are made and how they are written anew.

The trees are the oracle's. After a change of the formulas that is meant, and only then:

    python -m tests.search.golden_trees
"""

import json
from pathlib import Path
from typing import Any

from alphago.games.game import Game
from alphago.search import SearchConfig
from alphago.types import Evaluator, States
from tests.reference import mcts
from tests.search.positions import evaluator_of_kind, game_named, search_config, state_after

FOLDER = Path(__file__).resolve().parents[1] / "golden"

CASES: dict[str, dict[str, Any]] = {
    "search_tic_tac_toe": {
        "game": "tic_tac_toe",
        "actions": [4, 1, 0],
        "evaluator": "mild",
        "config": {},
        "num_simulations": 24,
    },
    "search_connect_four": {
        "game": "connect_four",
        "actions": [3, 3, 3, 3, 3, 3, 2],
        "evaluator": "sharp",
        "config": {"exploration_base": 50.0, "root_fpu_reduction": 0.3},
        "num_simulations": 24,
    },
    "search_forced_pass": {
        "game": "forced_pass",
        "actions": [3],
        "evaluator": "coarse",
        "config": {"fpu_reduction": 0.5},
        "num_simulations": 32,
    },
}


def case_arguments(case: dict[str, Any]) -> tuple[Game, Evaluator, States, SearchConfig]:
    """Returns the game, the evaluator, the position [1] and the constants of a case."""
    game = game_named(case["game"])
    evaluator = evaluator_of_kind(case["evaluator"], game)
    return game, evaluator, state_after(game, case["actions"]), search_config(**case["config"])


def grow_tree(case: dict[str, Any]) -> dict[str, Any]:
    """Returns the oracle's tree of a case as nested plain dicts."""
    game, evaluator, state, config = case_arguments(case)
    root = mcts.make_root(state, game, evaluator=evaluator, config=config)
    for _ in range(case["num_simulations"]):
        mcts.simulate(root, game, evaluator=evaluator, config=config)
    return mcts.tree_as_json(root)


def write_golden_files() -> None:
    """Writes every case with its tree."""
    for name, case in CASES.items():
        text = json.dumps({"case": case, "tree": grow_tree(case)}, indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    write_golden_files()
