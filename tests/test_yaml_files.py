"""YAML files: keys are compared as what they are."""

from pathlib import Path

from alphago.errors import AlphagoError
from alphago.yaml_files import read_yaml


def test_keys_of_different_kinds_and_several_merges_are_no_repetition(tmp_path: Path) -> None:
    path = tmp_path / "some.yaml"
    path.write_text("a: &a {x: 1}\nb: &b {y: 2}\nc: {1: m, '1': n, <<: *a, <<: *b}\n")
    assert read_yaml(path, error=AlphagoError)["c"] == {1: "m", "1": "n", "x": 1, "y": 2}
