"""Networks of Go as Leela Zero's weights files, read by a second reader and by leelaz itself."""

import io

import numpy as np
import pytest
import torch
from torch import nn

from alphago.errors import CheckpointError
from alphago.games import make_game
from alphago.network.leela_zero import leela_zero_fault, write_leela_zero
from scripts.composition import compose_config, to_run_config
from tests.network.fake_game import make_config, make_trained, random_observations
from tests.network.leelaz import PROGRAM, heatmaps
from tests.reference.leela_zero import (
    LeelaZeroNetwork,
    leela_zero_planes,
    our_actions,
)

GO = make_game("go_19x19")
PASS = GO.spec.pass_action
needs_leelaz = pytest.mark.skipif(PROGRAM is None, reason="leelaz is not installed")


def make_lively(*, seed, value_hidden):
    """A network every number of which matters: scales of both signs, biases, spread answers."""
    network = make_trained(GO.spec, make_config(value_hidden=value_hidden), seed=seed)
    generator = torch.Generator().manual_seed(seed)
    policy, value = network.policy_head, network.value_head
    with torch.no_grad():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):
                signs = torch.randint(0, 2, module.weight.shape, generator=generator)
                module.weight.mul_(2 * signs - 1)
        for bias in (policy.logits.bias, value.hidden.bias, value.value.bias):
            bias.normal_(0.0, 0.5, generator=generator)
        for norm in (policy.norm, value.norm):
            norm.bias.fill_(0.5)  # else the few channels of a head may all be 0
        policy.logits.bias[PASS] = 2.0
        value.value.weight.mul_(0.3)
        # Few points would be left of the policy in whole thousandths if it were far from uniform.
        logits, _ = network(torch.tensor(GO.observe(GO.initial_states(1))).float())
        policy.logits.weight.div_(logits.std())
    return network


def written(network):
    file = io.BytesIO()
    write_leela_zero(file, network)
    return file.getvalue().decode("ascii")


def play(*, num_plies, passes, seed):
    """Plays random legal moves; returns the actions and the positions, the first one included."""
    rng = np.random.default_rng(seed)
    actions, positions = [], [GO.initial_states(1)]
    for ply in range(num_plies):
        plays = np.flatnonzero(GO.legal_actions(positions[-1])[0, :-1])
        actions.append(PASS if ply in passes else int(rng.choice(plays)))
        positions.append(GO.step(positions[-1], [actions[-1]]))
    return actions, positions


def evaluated(network, observations):
    """Our answers in float64: logits [B, A] and values [B]."""
    with torch.no_grad():
        logits, values = network.double()(torch.tensor(observations, dtype=torch.float64))
    return logits.numpy(), values.numpy()


@pytest.mark.parametrize(("seed", "value_hidden"), [(1, 8), (2, 256)])
def test_a_second_reader_answers_as_the_network_does(seed, value_hidden):
    network = make_lively(seed=seed, value_hidden=value_hidden)
    text = written(network)
    # Passes of both sides, after which a board is there twice; captures, long before the end.
    _, positions = play(num_plies=400, passes=(7, 20, 399), seed=seed)
    plies = [0, 1, 2, 7, 8, 9, 15, 21, 100, 399, 400]
    observations = np.concatenate([GO.observe(positions[ply]) for ply in plies])
    planes = np.stack([leela_zero_planes(GO, positions[: ply + 1]) for ply in plies])
    logits, values = LeelaZeroNetwork(text).evaluate(planes)
    our_logits, our_values = evaluated(network, observations)
    np.testing.assert_allclose(logits, our_logits[:, our_actions(GO)], atol=1e-5)
    np.testing.assert_allclose(values, our_values, atol=1e-5)
    assert np.ptp(our_values) > 0.01


def test_every_plane_takes_its_place():
    network = make_lively(seed=3, value_hidden=8)
    text = written(network)
    observations = random_observations(GO.spec, 4, seed=3)
    planes = np.concatenate([observations[:, :, ::-1], 1 - observations[:, -1:, ::-1]], axis=1)
    logits, values = LeelaZeroNetwork(text).evaluate(planes)
    our_logits, our_values = evaluated(network, observations)
    np.testing.assert_allclose(logits, our_logits[:, our_actions(GO)], atol=1e-5)
    np.testing.assert_allclose(values, our_values, atol=1e-5)


def test_lines_are_as_long_as_leelaz_expects():
    lines = written(make_lively(seed=1, value_hidden=8)).split("\n")
    convolution = [16, 16, 16]
    expected = [
        1,
        *(16 * 18 * 9, *convolution),
        *(16 * 16 * 9, *convolution) * 4,
        *(2 * 16, 2, 2, 2, 362 * 722, 362),
        *(16, 1, 1, 1, 256 * 361, 256, 256, 1),
    ]
    assert [len(line.split(" ")) for line in lines[:-1]] == expected
    assert lines[0] == "1"
    assert lines[-1] == ""


def test_writing_changes_nothing_and_asks_for_no_mode():
    network = make_lively(seed=1, value_hidden=8)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    text = written(network)
    assert written(network.train()) == text
    assert network.training
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, before[name]), name


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_not_finite_is_refused(bad):
    network = make_lively(seed=1, value_hidden=8)
    with torch.no_grad():
        network.value_head.hidden.weight[3, 5] = bad
    with pytest.raises(CheckpointError, match="not finite"):
        written(network)


@pytest.mark.parametrize(
    ("game", "changes", "fault"),
    [
        ("go_19x19", {}, None),
        ("go_19x19:komi=6.5,max_moves=500", {"value_hidden": 256}, None),
        ("go_9x9", {}, "game: got go_9x9, allowed in Leela Zero: go_19x19"),
        ("go_19x18", {}, "game: got go_19x18, allowed in Leela Zero: go_19x19"),
        ("connect_four", {}, "game: got connect_four, allowed in Leela Zero: go_19x19"),
        ("go_19x19:planes=extended", {}, "planes: got 36, allowed in Leela Zero: 17"),
        (
            "go_19x19",
            {"heads": "pooled"},
            "network.heads: got pooled, allowed in Leela Zero: fixed",
        ),
        (
            "go_19x19",
            {"pooling_channels": 4},
            "network.pooling_channels: got 4, allowed in Leela Zero: 0",
        ),
        (
            "go_19x19",
            {"policy_channels": 4},
            "network.policy_channels: got 4, allowed in Leela Zero: 2",
        ),
        (
            "go_19x19",
            {"value_channels": 2},
            "network.value_channels: got 2, allowed in Leela Zero: 1",
        ),
        (
            "go_19x19",
            {"value_hidden": 257},
            "network.value_hidden: got 257, allowed in Leela Zero: at most 256",
        ),
    ],
)
def test_networks_without_a_form_are_refused_with_the_reason(game, changes, fault):
    assert leela_zero_fault(make_game(game).spec, make_config(**changes)) == fault


@pytest.mark.parametrize(
    ("network", "fits"), [("leela_zero", True), ("tiny", True), ("go_small", False)]
)
def test_networks_of_the_configuration(network, fits):
    words = ["game=go_19x19", "game.planes=history", f"network={network}"]
    run = to_run_config(compose_config(words))
    assert (leela_zero_fault(make_game(run.game.text).spec, run.network) is None) == fits


@needs_leelaz
@pytest.mark.parametrize(("seed", "value_hidden"), [(1, 8), (2, 256)])
def test_leelaz_answers_as_the_network_does(tmp_path, seed, value_hidden):
    network = make_lively(seed=seed, value_hidden=value_hidden)
    (tmp_path / "network.txt").write_text(written(network))
    actions, positions = play(num_plies=10, passes=(7,), seed=seed)
    commands, plies = [], (0, 1, 7, 8, 10)
    for ply in range(len(positions)):
        commands += ["heatmap 0"] * (ply in plies)  # 0: the board as it stands, no symmetry
        if ply < len(actions):
            commands.append(f"play {'bw'[ply % 2]} {GO.action_to_text(actions[ply])}")
    answers = heatmaps(tmp_path / "network.txt", commands)
    assert len(answers) == len(plies)
    for ply, answer in zip(plies, answers, strict=True):
        check_heatmap(network, positions[ply], answer)


def check_heatmap(network, states, heatmap):
    logits, values = evaluated(network, GO.observe(states))
    permille = 1000 * np.exp(logits[0]) / np.exp(logits[0]).sum()
    # A number may be cut off either way where rounding reaches across a whole one.
    lowest, highest = np.floor(permille - 0.01), np.floor(permille + 0.01)
    shown = np.append(heatmap.permille.reshape(-1), heatmap.pass_permille)
    is_empty = np.append(GO.board(states).reshape(-1) < 0, True)
    assert ((shown >= lowest) & (shown <= highest))[is_empty].all()
    # Else the points would not be told from each other.
    assert np.count_nonzero(shown) > 50
    assert len(np.unique(shown)) > 8
    assert heatmap.pass_permille > 0
    assert heatmap.winrate == pytest.approx((1 + values[0]) / 2, abs=1e-5)
    assert 0.01 < abs(values[0]) < 0.99


@needs_leelaz
def test_leelaz_reads_the_smallest_numbers(tmp_path):
    # Weight decay leaves such numbers where a channel is dead.
    network = make_lively(seed=1, value_hidden=8)
    smallest = torch.tensor([1.4e-45, -1e-40, 1.1754942e-38, -0.0])
    with torch.no_grad():
        network.value_head.hidden.weight[0, :4] = smallest
    text = written(network)
    assert " 1.40129846e-45 -9.9999461e-41 1.17549421e-38 -0 " in text
    (tmp_path / "network.txt").write_text(text)
    assert len(heatmaps(tmp_path / "network.txt", ["heatmap 0"])) == 1
