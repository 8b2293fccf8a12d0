import numpy as np
import pytest
import torch

from alphago.errors import CheckpointError, ConfigError
from alphago.network import load_weights, make_network, weights_of
from tests.network.fake_game import (
    CELL_SHAPES,
    KINDS,
    SHAPES,
    make_config,
    make_spec,
    make_trained,
    random_observations,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_rows", [1, 5])
def test_answers_have_the_shape_of_the_game(shape, num_rows):
    spec = make_spec(*shape)
    network = make_trained(spec, make_config(policy_channels=3, value_channels=2), seed=0)
    observations = torch.from_numpy(random_observations(spec, num_rows, seed=1)).float()
    logits, values = network(observations)
    assert logits.shape == (num_rows, spec.num_actions)
    assert values.shape == (num_rows,)
    assert logits.dtype == values.dtype == torch.float32
    assert values.abs().max() <= 1


def test_number_of_parameters_counted_by_hand():
    config = make_config(
        num_blocks=1, num_channels=4, policy_channels=2, value_channels=1, value_hidden=5
    )
    network = make_network(make_spec(3, 6, 7, 7), config, seed=0)
    stem = 3 * 4 * 9 + 2 * 4
    block = 2 * (4 * 4 * 9 + 2 * 4)
    policy = 4 * 2 + 2 * 2 + (2 * 42 * 7 + 7)
    value = 4 * 1 + 2 * 1 + (42 * 5 + 5) + (5 + 1)
    assert stem + block + policy + value == 1254
    assert sum(parameter.numel() for parameter in network.parameters()) == 1254


def test_number_of_parameters_with_pooling_counted_by_hand():
    config = make_config(
        num_blocks=3,
        num_channels=4,
        pooling_channels=1,
        heads="pooled",
        policy_channels=2,
        value_channels=5,
        value_hidden=6,
    )
    network = make_network(make_spec(17, 9, 9, 82), config, seed=0)
    stem = 17 * 4 * 9 + 2 * 4
    plain_blocks = 2 * 2 * (4 * 4 * 9 + 2 * 4)  # the first and the third
    pooled = 4 * 1 * 9 + 2 * 1 + 3 * 1 * 3
    pooling_block = pooled + (4 * 3 * 9 + 2 * 3) + (3 * 4 * 9 + 2 * 4)
    policy = 2 * (4 * 2 + 2 * 2) + 3 * 2 * 2 + (2 + 1) + (3 * 2 + 1)
    value = 4 * 5 + 2 * 5 + (3 * 5 * 6 + 6) + (6 + 1)
    assert stem + plain_blocks + pooling_block + policy + value == 1684
    assert sum(parameter.numel() for parameter in network.parameters()) == 1684


def test_every_second_block_pools():
    config = make_config(num_blocks=5, pooling_channels=4)
    blocks = make_network(make_spec(), config, seed=0).blocks
    kinds = [type(block).__name__ for block in blocks]
    assert kinds == ["ResidualBlock", "PoolingBlock"] * 2 + ["ResidualBlock"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_network_is_nearly_uniform_and_nearly_undecided(kind):
    spec = make_spec(17, 9, 9, 82)
    network = make_network(spec, make_config(num_channels=64, **KINDS[kind]), seed=3)
    network.train()
    logits, values = network(torch.from_numpy(random_observations(spec, 64, seed=1)).float())
    assert logits.std() < 0.5
    assert values.abs().max() < 0.5


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_learns_once_the_blocks_are_open(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(**KINDS[kind]), seed=0).train()
    logits, values = network(torch.from_numpy(random_observations(spec, 8, seed=1)).float())
    (logits.square().mean() + values.square().mean()).backward()
    still = [name for name, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert still == []


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_reach_all_of_a_fresh_network_within_three_steps(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_network(spec, make_config(**KINDS[kind]), seed=0).train()
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    observations = torch.from_numpy(random_observations(spec, 32, seed=1)).float()
    targets = torch.randn(32, spec.num_actions + 1, generator=torch.Generator().manual_seed(2))
    for _ in range(3):  # the first opens the blocks
        logits, values = network(observations)
        answer = torch.cat([logits, values[:, None]], dim=1)
        optimizer.zero_grad()
        (answer - targets).square().mean().backward()
        optimizer.step()
    still = [name for name, p in network.named_parameters() if not p.grad.any()]
    assert still == []


def test_batch_norms_keep_statistics_in_training_alone():
    spec = make_spec(17, 5, 4, 21)
    network = make_network(spec, make_config(**KINDS["both"]), seed=0).train()
    observations = torch.from_numpy(random_observations(spec, 32, seed=1)).float()
    before = weights_of(network)
    network.eval()(observations)
    assert all(np.array_equal(before[name], array) for name, array in weights_of(network).items())
    network.train()(observations)
    after = weights_of(network)
    statistics = [name for name in after if "running_" in name]
    # Stem 1, plain block 2, pooling block 3, policy 2, value 1: a mean and a variance each.
    assert len(statistics) == 18
    still = [name for name in statistics if np.array_equal(before[name], after[name])]
    assert still == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_the_global_generator_is_left_alone(kind):
    spec, config = make_spec(17, 5, 4, 21), make_config(**KINDS[kind])
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    first, same, other = (weights_of(make_network(spec, config, seed=s)) for s in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert all(np.array_equal(first[name], same[name]) for name in first)
    assert not np.array_equal(first["stem.weight"], other["stem.weight"])


def test_weights_are_copies_and_travel_whole():
    spec, config = make_spec(), make_config()
    source = make_trained(spec, config, seed=1)
    target = make_network(spec, config, seed=2).eval()
    weights = weights_of(source)
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}
    assert "blocks.1.norm2.running_var" in weights
    load_weights(target, weights)
    observations = torch.from_numpy(random_observations(spec, 8, seed=1)).float()
    for expected, got in zip(source(observations), target(observations), strict=True):
        assert torch.equal(expected, got)
    weights["stem.weight"][:] = 0
    assert source.stem.weight.any()
    assert target.stem.weight.any()


BOARDS = [(1, 1), (5, 4), (9, 9), (3, 13)]  # H, W


@pytest.mark.parametrize("kind", ["pooled heads", "both"])
def test_weights_of_pooled_heads_serve_every_size(kind):
    config = make_config(**KINDS[kind])
    assert config.fits_every_size
    weights = weights_of(make_trained(make_spec(17, 9, 9, 82), config, seed=1))
    for height, width in BOARDS:
        spec = make_spec(17, height, width, height * width + 1)
        network = make_network(spec, config, seed=2).eval()
        load_weights(network, weights)
        observations = torch.from_numpy(random_observations(spec, 3, seed=1)).float()
        with torch.no_grad():
            logits, values = network(observations)
        assert logits.shape == (3, height * width + 1)
        assert values.shape == (3,)
        assert all(np.array_equal(weights[n], array) for n, array in weights_of(network).items())


@pytest.mark.parametrize("kind", ["plain", "pooling blocks"])
def test_weights_of_fixed_heads_serve_one_size(kind):
    config = make_config(**KINDS[kind])
    assert not config.fits_every_size
    weights = weights_of(make_network(make_spec(17, 9, 9, 82), config, seed=1))
    with pytest.raises(CheckpointError, match="policy_head.logits.weight has shape"):
        load_weights(make_network(make_spec(17, 13, 13, 170), config, seed=2), weights)


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_does_not_depend_on_the_others(kind):
    spec = make_spec(17, 5, 4, 21)
    network = make_trained(spec, make_config(**KINDS[kind]), seed=1)
    observations = torch.from_numpy(random_observations(spec, 16, seed=1)).float()
    others = 1 - observations
    others[7] = observations[7]
    with torch.no_grad():
        (logits, values), (other_logits, other_values) = network(observations), network(others)
    assert torch.equal(logits[7], other_logits[7])
    assert torch.equal(values[7], other_values[7])
    assert not torch.equal(logits[6], other_logits[6])


@pytest.mark.parametrize("shape", CELL_SHAPES)
def test_pooled_heads_mirror_their_answer_when_the_board_is_mirrored(shape):
    spec = make_spec(*shape)
    _, height, width = spec.observation_shape
    network = make_trained(spec, make_config(**KINDS["both"]), seed=1)
    with torch.no_grad():
        for conv in (part for part in network.modules() if isinstance(part, torch.nn.Conv2d)):
            conv.weight.copy_((conv.weight + conv.weight.flip(3)) / 2)
        observations = torch.from_numpy(random_observations(spec, 4, seed=1)).float()
        logits, values = network(observations)
        mirrored_logits, mirrored_values = network(observations.flip(3))
    actions = np.arange(spec.num_actions)
    actions[: height * width] = np.arange(height * width).reshape(height, width)[:, ::-1].flat
    np.testing.assert_allclose(mirrored_logits[:, actions], logits, rtol=0, atol=1e-4)
    np.testing.assert_allclose(mirrored_values, values, rtol=0, atol=1e-5)


def test_read_only_weights_and_batch_counters_are_taken():
    network = make_network(make_spec(), make_config(), seed=1)
    weights = weights_of(network) | {"stem_norm.num_batches_tracked": np.array(3)}
    for array in weights.values():
        array.flags.writeable = False
    load_weights(network, weights)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda name: f"_orig_mod.{name}",
        lambda name: f"_orig_mod.module.{name}",  # data parallel, then compiled
        lambda name: f"module._orig_mod.{name}",
        lambda name: f"module.module.{name}",
        lambda name: name.replace("blocks.0.", "blocks.0._orig_mod."),  # a part is compiled
    ],
)
def test_names_given_by_wrappers_are_understood(wrap):
    spec, config = make_spec(), make_config()
    plain = make_trained(spec, config, seed=1)
    wrapped = torch.nn.DataParallel(make_network(spec, config, seed=2))
    load_weights(wrapped, {wrap(name): w for name, w in weights_of(plain).items()})
    assert weights_of(wrapped).keys() == weights_of(plain).keys()
    assert torch.equal(wrapped.module.stem.weight, plain.stem.weight)


def rename(weights):
    weights["value_head.hiden.weight"] = weights.pop("value_head.hidden.weight")


def reshape(weights):
    weights["stem.weight"] = weights["stem.weight"][:, :2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda weights: weights.pop("stem.weight"), ["stem.weight is missing"]),
        (
            rename,
            ["value_head.hidden.weight is missing", "value_head.hiden.weight is unexpected"],
        ),
        (reshape, ["stem.weight", "(16, 2, 3, 3)", "(16, 3, 3, 3)"]),
    ],
)
def test_weights_that_do_not_fit_are_named_and_change_nothing(change, words):
    spec, config = make_spec(), make_config()
    network = make_network(spec, config, seed=1)
    before, weights = weights_of(network), weights_of(make_network(spec, config, seed=2))
    change(weights)
    with pytest.raises(CheckpointError) as caught:
        load_weights(network, weights)
    assert all(word in str(caught.value) for word in words)
    after = weights_of(network)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_weights_of_quite_another_network_are_refused_in_one_short_line():
    network = make_network(make_spec(), make_config(num_blocks=20), seed=1)
    with pytest.raises(
        CheckpointError, match="stem.weight is missing; .* and [0-9]+ more$"
    ) as caught:
        load_weights(network, {})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", sorted(vars(make_config()).keys() - {"heads"}))
@pytest.mark.parametrize("size", [0, -1, 2.5, True, "2"])
def test_a_size_that_makes_no_sense_is_refused_by_name(name, size):
    if (name, size) == ("pooling_channels", 0):
        return  # none of them
    with pytest.raises(ConfigError, match=f"network.{name}"):
        make_config(**{name: size})


@pytest.mark.parametrize("size", [16, 17])
def test_no_more_channels_can_be_pooled_than_leave_others(size):
    make_config(num_channels=16, pooling_channels=15)
    with pytest.raises(ConfigError, match=f"network.pooling_channels: got {size}.* 0 to 15"):
        make_config(num_channels=16, pooling_channels=size)


def test_heads_of_another_kind_are_refused_by_name():
    with pytest.raises(ConfigError, match="network.heads: got 'open', allowed: fixed, pooled"):
        make_config(heads="open")
