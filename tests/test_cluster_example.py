"""The example of a cluster on Kubernetes is a RayCluster as KubeRay's operator wants it."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from packaging.requirements import Requirement

from scripts.overrides import CONFIG_FOLDER

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = CONFIG_FOLDER / "clusters" / "kuberay.yaml"
# Written after `raycluster_types.go` of KubeRay 1.5 and the core API of Kubernetes.
SCHEMA = json.loads((ROOT / "tests" / "data" / "raycluster_schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@pytest.fixture
def claim_and_cluster() -> tuple[dict[str, Any], dict[str, Any]]:
    claim, cluster = yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8"))
    return claim, cluster


def containers(cluster: dict[str, Any]) -> list[dict[str, Any]]:
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    return [each for group in groups for each in group["template"]["spec"]["containers"]]


def test_the_example_follows_the_schema(
    claim_and_cluster: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    claim, cluster = claim_and_cluster
    assert [error.message for error in VALIDATOR.iter_errors(cluster)] == []
    (volume,) = cluster["spec"]["headGroupSpec"]["template"]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("apiVersion",), "ray.io/v1alpha1"),
        (("spec", "authOptions", "mode"), "password"),
        (("spec", "headGroupSpec", "rayStartParams", "num-cpus"), 0),  # all of them are strings
        (("spec", "workerGroupSpecs", 0, "replicas"), "4"),
        (("spec", "workerGroupSpecs", 0, "groupname"), "cpu"),
        (("spec", "workerGroupSpecs", 0, "template", "spec", "containers"), []),
    ],
)
def test_mistakes_are_found(
    path: tuple[str | int, ...],
    value: object,
    claim_and_cluster: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    cluster = copy.deepcopy(claim_and_cluster[1])
    place: Any = cluster
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert not VALIDATOR.is_valid(cluster)


def test_the_example_fits_this_project(
    claim_and_cluster: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    spec = claim_and_cluster[1]["spec"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (ray,) = [Requirement(text) for text in project["dependencies"] if text.startswith("ray")]
    assert spec["rayVersion"] in ray.specifier
    assert spec["authOptions"] == {"mode": "token"}
    assert len({container["image"] for container in containers(claim_and_cluster[1])}) == 1
    for container in containers(claim_and_cluster[1]):
        assert container["resources"]["limits"] == container["resources"]["requests"]
    gpus = [container["resources"]["limits"] for container in containers(claim_and_cluster[1])]
    assert [int(limits.get("nvidia.com/gpu", "0")) for limits in gpus] == [0, 0, 1]
    for group in spec["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
