"""The trees in tests/golden are still grown, by the oracle and by the search."""

import json
from typing import Any

import numpy as np
import pytest

from alphago.search import run_search
from tests.search.golden_trees import CASES, FOLDER, case_arguments, grow_tree


def read_golden(name: str) -> dict[str, Any]:
    """Returns case and tree of a file."""
    golden: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return golden


def assert_same_tree(tree: dict[str, Any], expected: dict[str, Any]) -> None:
    """Compares two trees, numbers to 1e-6 (the last digits depend on the C library)."""
    for key in ("to_play", "is_over", "visits"):
        assert tree[key] == expected[key]
    assert tree["value"] == pytest.approx(expected["value"], abs=1e-6)
    assert tree["priors"] == pytest.approx(expected["priors"], abs=1e-6)
    assert tree["children"].keys() == expected["children"].keys()
    for action, child in tree["children"].items():
        assert_same_tree(child, expected["children"][action])


def assert_visits_add_up(tree: dict[str, Any]) -> None:
    """An unfinished node has its own visit and its children's; a finished one has no children."""
    if tree["is_over"]:
        assert not tree["children"]
    else:
        assert tree["visits"] == 1 + sum(child["visits"] for child in tree["children"].values())
    for child in tree["children"].values():
        assert_visits_add_up(child)


def test_every_golden_tree_is_a_case() -> None:
    """No file without a case and no case without a file."""
    assert {path.stem for path in FOLDER.glob("search_*.json")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_oracle_grows_the_golden_tree(name: str) -> None:
    """The oracle itself has not changed."""
    golden = read_golden(name)
    assert golden["case"] == CASES[name]
    assert_same_tree(grow_tree(CASES[name]), golden["tree"])
    assert_visits_add_up(golden["tree"])


@pytest.mark.parametrize("name", CASES)
def test_search_finds_the_golden_root(name: str) -> None:
    """Visits, values and priors at the root are those of the file."""
    game, evaluator, state, config = case_arguments(CASES[name])
    num_simulations = CASES[name]["num_simulations"]
    result = run_search(game, evaluator, state, config, num_simulations=num_simulations)
    tree = read_golden(name)["tree"]
    counts = np.zeros(game.spec.num_actions)
    values, priors = counts.copy(), counts.copy()
    for action, child in tree["children"].items():
        sign = 1 if child["to_play"] == tree["to_play"] else -1
        counts[int(action)] = child["visits"]
        values[int(action)] = sign * child["value"]
    for action, prior in tree["priors"].items():
        priors[int(action)] = prior
    assert np.array_equal(result.visit_counts[0], counts)
    np.testing.assert_allclose(result.action_values[0], values, atol=1e-5)
    np.testing.assert_allclose(result.priors[0], priors, atol=1e-6)
    assert result.root_values[0] == pytest.approx(tree["value"], abs=1e-5)
