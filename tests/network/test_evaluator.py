import logging
import warnings

import numpy as np
import pytest
import torch

from alphago.errors import CheckpointError, ConfigError, MemoryFullError
from alphago.network import (
    NetworkEvaluator,
    choose_device,
    load_weights,
    make_network,
    weights_of,
)
from alphago.network import evaluator as module
from alphago.network.inference import choose_precision
from tests.network.fake_game import (
    KINDS,
    SHAPES,
    FakeGame,
    make_config,
    make_evaluator_config,
    make_spec,
    make_states,
    make_trained,
    random_observations,
)

# How far answers to one position may lie apart in batches of different sizes.
BOUNDS = [("fp32", 1e-5), ("bf16", 0.02), ("int8", 0.05)]


def make_evaluator(game, *, seed=1, config=None, **settings):
    config = config or make_config()
    # int8 of random networks is further off than of those that have learnt.
    limits = {"policy_kl_limit": 1.0, "value_error_limit": 1.0}
    evaluator = NetworkEvaluator(game, config, make_evaluator_config(**(limits | settings)))
    weights = weights_of(make_trained(game.spec, config, seed=seed))
    evaluator.load_weights(weights, random_observations(game.spec, 64, seed=7))
    return evaluator


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8", "auto"])
@pytest.mark.parametrize("shape", SHAPES)
def test_answers_are_float32_arrays_in_any_precision(shape, precision):
    evaluator = make_evaluator(FakeGame(*shape), precision=precision)
    fastest = choose_precision("auto", device=torch.device("cpu"), backend="openvino")
    assert evaluator.inference.precision == (fastest if precision == "auto" else precision)
    for num_rows in (1, 5):
        logits, values = evaluator.evaluate(make_states(*range(num_rows)))
        assert logits.shape == (num_rows, shape[3])
        assert values.shape == (num_rows,)
        assert logits.dtype == values.dtype == np.float32
        assert np.abs(values).max() <= 1


def test_evaluate_observes_the_states():
    game = FakeGame(3, 6, 7, 7)
    evaluator = make_evaluator(game)
    states = make_states(5, 6)
    by_states = evaluator.evaluate(states)
    by_observations = evaluator.evaluate_observations(game.observe(states))
    np.testing.assert_array_equal(by_states.prior_logits, by_observations.prior_logits)
    np.testing.assert_array_equal(by_states.value, by_observations.value)


@pytest.mark.parametrize(("precision", "bound"), BOUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_position_alone_twice_and_among_64_is_answered_alike(shape, precision, bound):
    game = FakeGame(*shape)
    evaluator = make_evaluator(game, precision=precision)
    observations = random_observations(game.spec, 64, seed=3)
    alone = evaluator.evaluate_observations(observations[17:18])
    again = evaluator.evaluate_observations(observations[17:18])
    together = evaluator.evaluate_observations(observations)
    for one, two, many in zip(alone, again, together, strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one[0], many[17], rtol=0, atol=bound)


@pytest.mark.parametrize(("precision", "bound"), BOUNDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_position_is_answered_alike_whatever_the_others_are(kind, precision, bound):
    game = FakeGame(17, 5, 4, 21)
    evaluator = make_evaluator(game, config=make_config(**KINDS[kind]), precision=precision)
    observations = random_observations(game.spec, 64, seed=3)
    others = 1 - observations
    others[17] = observations[17]
    for one, other, alone in zip(
        evaluator.evaluate_observations(observations),
        evaluator.evaluate_observations(others),
        evaluator.evaluate_observations(observations[17:18]),
        strict=True,
    ):
        np.testing.assert_array_equal(one[17], other[17])
        np.testing.assert_allclose(one[17], alone[0], rtol=0, atol=bound)


def test_pooled_heads_evaluate_a_board_of_another_size_with_the_same_weights():
    config = make_config(**KINDS["both"])
    weights = weights_of(make_trained(make_spec(17, 9, 9, 82), config, seed=1))
    game = FakeGame(17, 13, 7, 92)
    evaluator = NetworkEvaluator(game, config, make_evaluator_config())
    evaluator.load_weights(weights)
    observations = random_observations(game.spec, 8, seed=3)
    network = make_network(game.spec, config, seed=0).eval()
    load_weights(network, weights)
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations).float())
    answer = evaluator.evaluate_observations(observations)
    np.testing.assert_allclose(answer.prior_logits, logits, rtol=0, atol=1e-4)
    np.testing.assert_allclose(answer.value, values, rtol=0, atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_the_order_of_rows_does_not_matter(precision):
    game = FakeGame(3, 6, 7, 7)
    evaluator = make_evaluator(game, precision=precision)
    observations = random_observations(game.spec, 64, seed=3)
    order = np.random.default_rng(4).permutation(64)
    straight = evaluator.evaluate_observations(observations)
    shuffled = evaluator.evaluate_observations(observations[order])
    for one, other in zip(straight, shuffled, strict=True):
        np.testing.assert_allclose(one[order], other, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_bf16_stays_close_to_fp32(kind):
    game = FakeGame(17, 9, 9, 82)
    config = make_config(num_blocks=4, num_channels=32, **KINDS[kind])
    exact = make_evaluator(game, config=config, precision="fp32")
    rough = make_evaluator(game, config=config, precision="bf16")
    observations = random_observations(game.spec, 256, seed=3)
    expected, got = (e.evaluate_observations(observations) for e in (exact, rough))
    spread = expected.prior_logits.std()
    assert np.abs(got.prior_logits - expected.prior_logits).mean() < 0.03 * spread
    assert np.abs(got.value - expected.value).mean() < 0.01


def test_answers_are_those_of_the_weights_loaded_last():
    game, config = FakeGame(3, 6, 7, 7), make_config()
    evaluator = make_evaluator(game, seed=1)
    observations = random_observations(game.spec, 8, seed=3)
    first = evaluator.evaluate_observations(observations)
    network = make_trained(game.spec, config, seed=2)
    evaluator.load_weights(weights_of(network))
    second = evaluator.evaluate_observations(observations)
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations).float())
    assert np.abs(first.prior_logits - second.prior_logits).max() > 0.1
    np.testing.assert_allclose(second.prior_logits, logits, rtol=0, atol=1e-5)
    np.testing.assert_allclose(second.value, values, rtol=0, atol=1e-5)


def test_weights_that_do_not_fit_leave_the_old_ones_in_place():
    game = FakeGame(3, 6, 7, 7)
    evaluator = make_evaluator(game)
    observations = random_observations(game.spec, 8, seed=3)
    before = evaluator.evaluate_observations(observations)
    other = weights_of(make_network(make_spec(4, 6, 7, 7), make_config(), seed=2))
    with pytest.raises(CheckpointError, match="stem.weight"):
        evaluator.load_weights(other)
    after = evaluator.evaluate_observations(observations)
    np.testing.assert_array_equal(before.prior_logits, after.prior_logits)


def test_the_evaluator_shares_nothing_with_the_trainer_and_leaves_it_in_training_mode():
    game, config = FakeGame(3, 6, 7, 7), make_config()
    network = make_trained(game.spec, config, seed=1).train()
    evaluator = NetworkEvaluator(game, config, make_evaluator_config())
    observations = random_observations(game.spec, 16, seed=3)
    evaluator.load_weights(weights_of(network))
    before = evaluator.evaluate_observations(observations)
    mean = network.stem_norm.running_mean.clone()
    assert network.training
    network(torch.from_numpy(observations).float())
    assert not torch.equal(network.stem_norm.running_mean, mean)
    after = evaluator.evaluate_observations(observations)
    np.testing.assert_array_equal(before.prior_logits, after.prior_logits)
    np.testing.assert_array_equal(before.value, after.value)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_numbers_that_are_not_finite_are_passed_on(bad):
    game, config = FakeGame(3, 6, 7, 7), make_config()
    weights = weights_of(make_trained(game.spec, config, seed=1))
    weights["policy_head.logits.bias"][2] = bad
    evaluator = NetworkEvaluator(game, config, make_evaluator_config(precision="bf16"))
    evaluator.load_weights(weights)
    logits, _ = evaluator.evaluate(make_states(1, 2))
    assert np.array_equal(logits[:, 2], [bad, bad], equal_nan=True)
    assert np.isfinite(np.delete(logits, 2, axis=1)).all()


def test_read_only_and_strided_observations_are_taken():
    game = FakeGame(3, 6, 7, 7)
    evaluator = make_evaluator(game)
    observations = random_observations(game.spec, 8, seed=3)
    expected = evaluator.evaluate_observations(observations[::2].copy()).prior_logits
    observations.flags.writeable = False
    got = evaluator.evaluate_observations(observations[::2]).prior_logits
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_are_answered_by_no_rows(kind, precision):
    game = FakeGame(17, 5, 4, 21)
    evaluator = make_evaluator(game, config=make_config(**KINDS[kind]), precision=precision)
    logits, values = evaluator.evaluate_observations(random_observations(game.spec, 0, seed=0))
    assert logits.shape == (0, 21)
    assert values.shape == (0,)


def test_threads_are_set_only_where_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    make_evaluator(FakeGame(3, 6, 7, 7), num_threads=None)
    assert asked == []
    make_evaluator(FakeGame(3, 6, 7, 7), num_threads=1)
    assert asked == [1]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("device", "gpu"),
        ("backend", "onnx"),
        ("precision", "int4"),
        ("policy_kl_limit", -0.1),
        ("policy_kl_limit", float("nan")),
        ("value_error_limit", -0.1),
        ("num_positions", 0),
        ("num_threads", 0),
        ("num_threads", 1.5),
        ("num_threads", True),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(key, value):
    with pytest.raises(ConfigError, match=f"evaluator.{key}"):
        make_evaluator_config(**{key: value})


# --- device and precision ---


@pytest.fixture
def cuda_absent(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.fixture
def cuda_broken(monkeypatch):
    def refuse(*args, **kwargs):
        raise RuntimeError("CUDA error: no kernel image is available\nsecond line")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch, "ones", refuse)


@pytest.fixture
def cuda_driver_old(monkeypatch):
    def is_available():
        warnings.warn("CUDA initialization: the driver is too old\nmore", stacklevel=2)
        return False

    monkeypatch.setattr(torch.cuda, "is_available", is_available)


def test_without_cuda_auto_is_the_cpu_and_no_warning(cuda_absent, caplog):
    with caplog.at_level(logging.INFO):
        assert choose_device("auto") == torch.device("cpu")
    assert [record.levelname for record in caplog.records] == ["INFO"]


@pytest.mark.parametrize(
    ("fixture", "words"),
    [("cuda_broken", "no kernel image"), ("cuda_driver_old", "driver is too old")],
)
def test_cuda_that_does_not_work_is_one_warning_line_for_auto(fixture, words, request, caplog):
    request.getfixturevalue(fixture)
    module._warn_of_cuda.cache_clear()
    for _ in range(3):  # a process has many evaluators
        assert choose_device("auto") == torch.device("cpu")
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert words in record.getMessage()
    assert "\n" not in record.getMessage()


def test_memory_of_a_gpu_that_is_full_is_told_and_the_old_network_stays(monkeypatch):
    game = FakeGame(3, 6, 7, 7)
    evaluator = make_evaluator(game)
    states = make_states(1, 2)
    before = evaluator.evaluate(states)

    def build(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(module, "build_backend", build)
    with pytest.raises(MemoryFullError, match="fewer actors or groups, a smaller network"):
        evaluator.load_weights(weights_of(make_network(game.spec, make_config(), seed=2)))
    for after, earlier in zip(evaluator.evaluate(states), before, strict=True):
        np.testing.assert_array_equal(after, earlier)


@pytest.mark.parametrize("fixture", ["cuda_absent", "cuda_broken", "cuda_driver_old"])
def test_cuda_asked_for_that_does_not_work_is_an_error(fixture, request):
    request.getfixturevalue(fixture)
    with pytest.raises(ConfigError, match="evaluator.device: got 'cuda'"):
        choose_device("cuda")
    with pytest.raises(ConfigError):
        make_evaluator(FakeGame(3, 6, 7, 7), device="cuda")


@pytest.mark.skipif(torch.backends.cuda.is_built(), reason="needs a torch built without CUDA")
def test_a_torch_without_cuda_that_claims_to_have_it(monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == torch.device("cpu")
    assert len(caplog.records) == 1


def test_the_cpu_is_never_asked_about_cuda(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: pytest.fail("asked"))
    assert choose_device("cpu") == torch.device("cpu")


def test_a_device_of_another_name_is_refused():
    with pytest.raises(ConfigError, match="evaluator.device"):
        choose_device("tpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("precision", "bound"), [("fp32", 1e-4), ("bf16", 0.05)])
@pytest.mark.parametrize("kind", KINDS)
def test_the_gpu_answers_like_the_cpu(kind, precision, bound):
    game, config = FakeGame(17, 5, 4, 21), make_config(**KINDS[kind])
    gpu = make_evaluator(game, config=config, device="cuda", precision=precision)
    cpu = make_evaluator(game, config=config)
    observations = random_observations(game.spec, 64, seed=3)
    expected, got = (e.evaluate_observations(observations) for e in (cpu, gpu))
    np.testing.assert_allclose(got.prior_logits, expected.prior_logits, rtol=bound, atol=bound)
    np.testing.assert_allclose(got.value, expected.value, rtol=0, atol=bound)
