"""Heads that only training sees."""

import numpy as np
import pytest
import torch

from alphago.errors import ConfigError
from alphago.games import make_game
from alphago.network import NetworkInfo, make_network, weights_of
from alphago.network.auxiliary_heads import HeadInputs, OwnershipHead, ScoreHead
from alphago.network.export import FORMATS, export_network, make_subject
from alphago.network.freezing import freeze
from alphago.network.heads import ValueFeatures
from tests.network.fake_game import KINDS, make_config, make_spec, make_trained, random_observations

HEADS = ["ownership", "score"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_outputs_are_those_that_play_and_more(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(auxiliary=HEADS, **KINDS[kind]))
    observations = torch.from_numpy(random_observations(spec, 6, seed=1)).float()
    with torch.no_grad():
        logits, values = network(observations)
        outputs = network.all_outputs(observations)
    assert torch.equal(outputs.logits, logits)
    assert torch.equal(outputs.values, values)
    assert list(outputs.auxiliary) == HEADS
    assert outputs.auxiliary["ownership"].shape == (6, 20)
    assert outputs.auxiliary["score"].shape == (6,)


def test_a_network_without_such_heads_is_as_it_was():
    spec = make_spec(17, 5, 4, 21)
    network = make_network(spec, make_config(), seed=1)
    observations = torch.from_numpy(random_observations(spec, 2, seed=1)).float()
    assert network.all_outputs(observations).auxiliary == {}
    assert not any(name.startswith("auxiliary") for name in weights_of(network))


def inputs(cells, hidden):
    """What heads read, with planes that these heads do not look at."""
    return HeadInputs(torch.full((len(cells), 1, 1, 1), torch.nan), ValueFeatures(cells, hidden))


def test_ownership_by_hand():
    head = OwnershipHead(make_spec(3, 2, 2, 4), make_config(value_channels=2))
    cells = torch.tensor([[[[1.0, 2.0], [0.0, 3.0]], [[0.0, 1.0], [1.0, 0.0]]]])
    with torch.no_grad():
        head.final.weight.copy_(torch.tensor([2.0, -4.0]).view(1, 2, 1, 1))
        head.final.bias.fill_(0.5)
        logits = head(inputs(cells, torch.zeros(1, 3)))
    assert logits.tolist() == [[2.5, 0.5, -3.5, 6.5]]


def test_score_by_hand():
    head = ScoreHead(make_spec(), make_config(value_hidden=2))
    with torch.no_grad():
        head.final.weight.copy_(torch.tensor([[0.5, -2.0]]))
        head.final.bias.fill_(1.0)
        leads = head(inputs(torch.zeros(2, 1, 1, 1), torch.tensor([[2.0, 1.0], [0.0, 0.0]])))
    assert leads.tolist() == [0.0, 1.0]


def test_ownership_is_mirrored_with_the_board():
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(auxiliary=HEADS, **KINDS["both"]))
    observations = torch.from_numpy(random_observations(spec, 4, seed=1)).float()
    with torch.no_grad():
        for conv in (part for part in network.modules() if isinstance(part, torch.nn.Conv2d)):
            conv.weight.copy_((conv.weight + conv.weight.flip(3)) / 2)
        one = network.all_outputs(observations).auxiliary
        other = network.all_outputs(observations.flip(3)).auxiliary
    cells = one["ownership"].reshape(4, 5, 4).flip(2).flatten(1)
    np.testing.assert_allclose(other["ownership"], cells, atol=1e-5)
    np.testing.assert_allclose(other["score"], one["score"], atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_network_is_nearly_undecided(kind):
    spec = make_spec(17, 9, 9, 82)
    config = make_config(num_channels=64, auxiliary=HEADS, **KINDS[kind])
    observations = torch.from_numpy(random_observations(spec, 64, seed=1)).float()
    outputs = make_network(spec, config, seed=3).train().all_outputs(observations)
    for said in outputs.auxiliary.values():
        assert said.abs().max() < 0.5


def test_every_head_learns_and_teaches_the_trunk():
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(auxiliary=HEADS, **KINDS["both"])).train()
    observations = torch.from_numpy(random_observations(spec, 8, seed=1)).float()
    for said in network.all_outputs(observations).auxiliary.values():
        network.zero_grad()
        said.square().mean().backward(retain_graph=True)
        assert network.stem.weight.grad.any()
    assert all(p.grad.any() for p in network.auxiliary_heads["score"].parameters())


def test_a_frozen_network_has_none_of_them():
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(auxiliary=HEADS, **KINDS["both"]))
    with_heads = freeze(network, spec).operations
    network.auxiliary_heads = torch.nn.ModuleDict()
    for one, other in zip(with_heads, freeze(network, spec).operations, strict=True):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("format_name", ["safetensors", "torchscript", "onnx", "openvino"])
def test_every_format_can_be_exported(format_name, tmp_path):
    game = make_game("go_5x5")
    config = make_config(auxiliary=HEADS, **KINDS["both"])
    info = NetworkInfo(game="go_5x5", network=config, step=1)
    subject = make_subject(game, info, weights_of(make_trained(game.spec, config)))
    path = tmp_path / f"network{FORMATS[format_name].suffix}"
    positions = random_observations(game.spec, 16, seed=5)
    difference = export_network(subject, path, format_name=format_name, positions=positions)
    assert difference.value < 1e-4


@pytest.mark.parametrize("heads", [["owner"], ["score", "score"], ["ownership", "policy"]])
def test_unknown_heads_are_refused(heads):
    with pytest.raises(ConfigError, match=r"^network.auxiliary: got .*ownership, score"):
        make_config(auxiliary=heads)
