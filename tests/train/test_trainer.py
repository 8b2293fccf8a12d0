import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
import torch

import train.trainer as trainer_module
from alphago.errors import CheckpointError, ConfigError, TrainingError
from alphago.games import make_game
from alphago.network.network import load_weights, make_network, weights_of
from tests.train.training_setups import (
    TINY,
    TTT,
    make_trainer,
    random_rows,
    trainer_config,
)
from train.losses import compute_losses, total_loss
from train.trainer import Trainer
from train.trainer_config import learning_rate

OPTIMIZERS = ("sgd", "adamw")


def state_of(trainer: Trainer) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in trainer.state_dict()[0].items()}


def assert_same_state(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_one_batch_can_be_learnt_by_heart(optimizer: str) -> None:
    trainer = make_trainer(optimizer=optimizer, learning_rate=0.02)
    rows = random_rows(1)
    first = trainer.step(rows, 0.0)
    for _ in range(300):
        last = trainer.step(rows, 0.0)
    assert last.kl < 0.15 * first.kl
    assert last.value_loss < 0.15 * first.value_loss
    assert trainer.num_steps == 301


def test_the_first_step_of_sgd_by_hand() -> None:
    config = {"learning_rate": 0.5, "weight_decay": 0.01, "gradient_clip": None}
    trainer = make_trainer(**config)
    rows = random_rows(1)
    network = make_network(TTT.spec, TINY, seed=0).train()
    logits, values = network(torch.tensor(rows.observations).float())
    terms = compute_losses(
        logits,
        values,
        policy_targets=torch.tensor(rows.policy_targets),
        value_targets=torch.tensor(rows.value_targets),
    )
    total = total_loss(terms, {}, {})
    total.backward()
    metrics = trainer.step(rows, 0.0)

    gradients = [weight.grad for weight in network.parameters()]
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
    matrices = [weight for weight in network.parameters() if weight.ndim > 1]
    squares = sum(float(weight.detach().square().sum()) for weight in matrices)
    assert metrics.loss == pytest.approx(total.item(), rel=1e-5)
    assert metrics.policy_loss == pytest.approx(terms.policy.item(), rel=1e-5)
    assert metrics.grad_norm == pytest.approx(norm, rel=1e-4)
    assert metrics.learning_rate == 0.5
    assert metrics.l2 == pytest.approx(0.01 / 2 * squares, rel=1e-5)
    after = dict(trainer.network.named_parameters())
    for name, weight in network.named_parameters():
        decay = 0.01 if weight.ndim > 1 else 0.0  # L2 on matrices and kernels only
        expected = weight - 0.5 * (weight.grad + decay * weight)
        torch.testing.assert_close(after[name], expected, rtol=1e-4, atol=1e-5)


def test_the_gradient_is_clipped_to_the_norm_and_reported_before() -> None:
    settings = {"learning_rate": 1.0, "weight_decay": 0.0, "momentum": 0.0}
    trainer = make_trainer(gradient_clip=0.01, **settings)
    before = [weight.detach().clone() for weight in trainer.network.parameters()]
    metrics = trainer.step(random_rows(1), 0.0)
    after = [weight.detach() for weight in trainer.network.parameters()]
    moved = sum(float((b - a).square().sum()) for a, b in zip(after, before, strict=True))
    assert metrics.grad_norm > 0.1
    assert math.sqrt(moved) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("ema_decay", [None, 0.9])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_five_steps_and_five_after_a_resume_are_ten(
    optimizer: str, ema_decay: float | None, momentum: float
) -> None:
    settings = {"optimizer": optimizer, "ema_decay": ema_decay, "momentum": momentum}
    settings |= {"warmup_steps": 7, "schedule": "cosine"}
    never_stopped = make_trainer(**settings)
    stopped = make_trainer(**settings)
    for step in range(5):
        for trainer in (never_stopped, stopped):
            trainer.step(random_rows(step), step / 10)
    resumed = make_trainer(seed=99, **settings)
    resumed.load_state_dict(*stopped.state_dict())
    assert resumed.num_steps == 5
    for step in range(5, 10):
        one = never_stopped.step(random_rows(step), step / 10)
        other = resumed.step(random_rows(step), step / 10)
        assert one == other
    assert_same_state(state_of(resumed), state_of(never_stopped))
    for name, array in never_stopped.play_weights().items():
        np.testing.assert_array_equal(array, resumed.play_weights()[name])


def test_a_state_saved_before_the_first_step_can_be_loaded() -> None:
    trainer = make_trainer(seed=5)
    trainer.load_state_dict(*make_trainer(seed=0).state_dict())
    assert_same_state(state_of(trainer), state_of(make_trainer(seed=0)))


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    trainer = make_trainer()
    trainer.step(random_rows(1), 0.0)
    tensors, facts = trainer.state_dict()
    other = make_trainer(optimizer="adamw")
    with pytest.raises(CheckpointError, match="optimizer is sgd, the run has adamw"):
        other.load_state_dict(tensors, facts)
    with pytest.raises(CheckpointError, match="has_average is False, the run has True"):
        make_trainer(ema_decay=0.9).load_state_dict(tensors, facts)
    before = state_of(make_trainer(seed=3))
    other = make_trainer(seed=3)
    lacking = {name: array for name, array in tensors.items() if name != "network.stem.weight"}
    with pytest.raises(CheckpointError, match=r"missing \['network.stem.weight'\]"):
        other.load_state_dict(lacking, facts)
    reshaped = tensors | {"network.stem.weight": np.zeros(3, np.float32)}
    with pytest.raises(CheckpointError, match=r"network.stem.weight is \[3\]"):
        other.load_state_dict(reshaped, facts)
    assert_same_state({k: v for k, v in state_of(other).items() if k in before}, before)


@pytest.mark.parametrize("field", ["policy_targets", "value_targets"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_names_the_step_and_touches_nothing(
    field: str, optimizer: str, value: float
) -> None:
    trainer = make_trainer(optimizer=optimizer, ema_decay=0.9)
    for step in range(3):
        trainer.step(random_rows(step), 0.0)
    before = state_of(trainer)
    rows = random_rows(3)
    getattr(rows, field).flat[0] = value
    with pytest.raises(TrainingError, match=r"step 3: training has diverged: loss (nan|inf)"):
        trainer.step(rows, 0.0)
    assert_same_state(state_of(trainer), before)
    # And it can go on as if nothing had been.
    other = make_trainer(optimizer=optimizer, ema_decay=0.9)
    for step in (0, 1, 2, 4):
        other.step(random_rows(step), 0.0)
    trainer.step(random_rows(4), 0.0)
    assert_same_state(state_of(trainer), state_of(other))


def test_a_gradient_that_is_not_finite_stops_too() -> None:
    trainer = make_trainer()
    before = state_of(trainer)
    weight = next(trainer.network.parameters())
    weight.register_hook(lambda gradient: gradient * torch.inf)
    with pytest.raises(TrainingError, match="step 0: training has diverged.*gradient norm inf"):
        trainer.step(random_rows(0), 0.0)
    assert_same_state(state_of(trainer), before)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("weight_decay", [0.0, 1e-4])
@pytest.mark.parametrize("gradient_clip", [None, 1.0])
def test_an_absurd_learning_rate_soon_ends_in_an_error_that_names_the_step(
    optimizer: str, weight_decay: float, gradient_clip: float | None
) -> None:
    trainer = make_trainer(
        optimizer=optimizer,
        learning_rate=1e6,
        weight_decay=weight_decay,
        gradient_clip=gradient_clip,
    )
    with pytest.raises(TrainingError, match=r"step \d+: training has diverged"):
        for step in range(10):
            trainer.step(random_rows(step), 0.0)
    for array in trainer.play_weights().values():
        assert np.isfinite(array).all()


def test_weights_that_are_not_finite_are_not_handed_out() -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.network.stem.weight[0] = torch.inf
    with pytest.raises(TrainingError, match="stem.weight is not finite"):
        trainer.play_weights()


def test_validation_changes_nothing_and_leaves_training_mode_on() -> None:
    trainer = make_trainer(ema_decay=0.9)
    trainer.step(random_rows(0), 0.0)
    before = state_of(trainer)
    trainer.validate(random_rows(1, num_rows=40))
    assert_same_state(state_of(trainer), before)
    assert trainer.network.training
    # R45: batch norm's statistics go on moving after a validation between two steps.
    mean = trainer.network.stem_norm.running_mean.clone()
    trainer.step(random_rows(2), 0.0)
    assert not torch.equal(mean, trainer.network.stem_norm.running_mean)


@pytest.mark.parametrize("ema_decay", [None, 0.8])
def test_validation_measures_the_weights_that_play(ema_decay: float | None) -> None:
    trainer = make_trainer(ema_decay=ema_decay)
    for step in range(4):
        trainer.step(random_rows(step), 0.0)
    rows = random_rows(9, num_rows=37)  # not a multiple of the batch
    network = make_network(TTT.spec, TINY, seed=1).eval()
    load_weights(network, trainer.play_weights())
    with torch.no_grad():
        logits, values = network(torch.tensor(rows.observations).float())
        terms = compute_losses(
            logits,
            values,
            policy_targets=torch.tensor(rows.policy_targets),
            value_targets=torch.tensor(rows.value_targets),
        )
    metrics = trainer.validate(rows)
    assert metrics.policy_loss == pytest.approx(terms.policy.item(), rel=1e-5)
    assert metrics.value_loss == pytest.approx(terms.value.item(), rel=1e-5)
    assert metrics.kl == pytest.approx(terms.kl.item(), rel=1e-4)
    np.testing.assert_allclose(metrics.values, values, rtol=1e-4, atol=1e-6)


def test_training_mode_is_restored_when_validation_fails() -> None:
    trainer = make_trainer()
    rows = random_rows(0)._replace(observations=np.zeros((16, 5, 3, 3), np.uint8))
    with pytest.raises(RuntimeError):
        trainer.validate(rows)
    assert trainer.network.training


def test_the_average_by_hand() -> None:
    trainer = make_trainer(ema_decay=0.25)
    expected = weights_of(trainer.network)
    # A young average forgets faster: (1 + n) / (10 + n) after n steps, at most 0.25.
    for step, decay in ((0, 2 / 11), (1, 3 / 12), (2, 0.25)):
        trainer.step(random_rows(step), 0.0)
        for name, array in weights_of(trainer.network).items():
            expected[name] = decay * expected[name] + (1 - decay) * array
    averaged = trainer.play_weights()
    assert averaged.keys() == expected.keys()
    assert "stem_norm.running_var" in averaged
    for name, array in expected.items():
        np.testing.assert_allclose(averaged[name], array, rtol=1e-5, atol=1e-6, err_msg=name)
    tensors, _ = trainer.state_dict()
    assert tensors["average.stem_norm.num_batches_tracked"] == 3


def test_play_weights_are_a_copy() -> None:
    trainer = make_trainer()
    weights = trainer.play_weights()
    kept = {name: array.copy() for name, array in weights.items()}
    trainer.step(random_rows(0), 0.0)
    for name, array in kept.items():
        np.testing.assert_array_equal(weights[name], array)


def test_the_learning_rate_by_hand() -> None:
    changes = {"learning_rate": 0.8, "final_learning_rate_fraction": 0.01}

    def rate(schedule: str, progress: float, *, num_steps: int = 10**6, warmup: int = 0) -> float:
        config = trainer_config(schedule=schedule, warmup_steps=warmup, **changes)
        return learning_rate(config, num_steps, progress=progress)

    check: Callable[[float], object] = pytest.approx
    assert [rate("constant", p) for p in (0.0, 0.5, 1.0)] == [0.8] * 3
    assert rate("cosine", 0.0) == check(0.8)
    assert rate("cosine", 0.5) == check(0.8 * (0.01 + 0.99 / 2))
    assert rate("cosine", 1.0) == check(0.008)
    assert [rate("step", p) for p in (0.0, 0.49)] == [0.8] * 2
    assert [rate("step", p) for p in (0.5, 0.74)] == [check(0.08)] * 2
    assert [rate("step", p) for p in (0.75, 1.0)] == [check(0.008)] * 2
    assert rate("constant", 0.0, num_steps=0, warmup=4) == check(0.2)
    assert rate("constant", 0.0, num_steps=2, warmup=4) == check(0.6)
    assert rate("cosine", 1.0, num_steps=4, warmup=4) == check(0.008)


def test_two_trainers_of_one_seed_are_equal_and_another_seed_differs() -> None:
    one, same, other = (make_trainer(seed=seed) for seed in (4, 4, 5))
    for trainer in (one, same, other):
        trainer.step(random_rows(0), 0.0)
    assert_same_state(state_of(one), state_of(same))
    assert not np.array_equal(
        state_of(one)["network.stem.weight"], state_of(other)["network.stem.weight"]
    )


def test_bf16_learns_and_keeps_float32_weights() -> None:
    trainer = make_trainer(precision="bf16", optimizer="adamw", learning_rate=0.02)
    rows = random_rows(1)
    first = trainer.step(rows, 0.0)
    for _ in range(150):
        last = trainer.step(rows, 0.0)
    assert last.kl < 0.5 * first.kl
    assert all(weight.dtype == torch.float32 for weight in trainer.network.parameters())


def test_read_only_rows_are_accepted() -> None:
    rows = random_rows(0)
    for array in rows.arrays():
        array.flags.writeable = False
    make_trainer().step(rows, 0.0)
    make_trainer().validate(rows)


def test_the_threads_of_the_caller_are_restored() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        make_trainer(num_threads=1).step(random_rows(0), 0.0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_steps_take_other_threads_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def note(num_threads: int) -> AbstractContextManager[None]:
        taken.append(num_threads)
        return nullcontext()

    trainer = make_trainer(num_threads=1)
    monkeypatch.setattr(trainer_module, "torch_threads", note)
    with trainer.on_threads(3):
        trainer.step(random_rows(0), 0.0)
    trainer.step(random_rows(0), 0.0)
    assert taken == [3, 1]


def test_a_game_on_a_board_that_is_not_square() -> None:
    game = make_game("connect_four")
    trainer = Trainer(game.spec, TINY, trainer_config(), device="cpu", seed=0)
    rng = np.random.default_rng(0)
    rows = random_rows(0)._replace(
        observations=rng.integers(0, 2, (16, 3, 6, 7)).astype(np.uint8),
        policy_targets=rng.dirichlet(np.ones(7), 16).astype(np.float32),
    )
    assert math.isfinite(trainer.step(rows, 0.0).loss)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batch_size", 1),
        ("optimizer", "adam"),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("momentum", 1.0),
        ("weight_decay", -1.0),
        ("warmup_steps", -1),
        ("schedule", "linear"),
        ("final_learning_rate_fraction", 0.0),
        ("gradient_clip", 0.0),
        ("ema_decay", 1.0),
        ("precision", "fp16"),
        ("num_threads", 0),
        ("ownership_weight", -0.1),
        ("score_weight", float("nan")),
    ],
)
def test_settings_out_of_range_are_named(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"train.{key}"):
        trainer_config(**{key: value})


NO_MEMORY = [
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB."),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:116] err == 0. DefaultCPUAllocator: can't allocate memory:"
        " you tried to allocate 800000000000 bytes. Error code 12 (Cannot allocate memory)"
    ),
    RuntimeError("CUDNN_STATUS_ALLOC_FAILED"),
]


@pytest.mark.parametrize("error", NO_MEMORY, ids=["cuda", "cpu", "library"])
def test_a_device_without_memory_names_the_batch_size_and_changes_nothing(
    error: RuntimeError,
) -> None:
    trainer = make_trainer()
    before = trainer.play_weights()

    def refuse(*arguments: object) -> None:
        raise error

    hook = next(trainer.network.children()).register_forward_hook(refuse)
    for action in (
        lambda: trainer.step(random_rows(1), 0.0),
        lambda: trainer.validate(random_rows(1)),
    ):
        with pytest.raises(
            TrainingError, match=r"out of memory; lower train.batch_size \(now 16\)"
        ):
            action()
    hook.remove()
    for name, array in trainer.play_weights().items():
        np.testing.assert_array_equal(array, before[name])
    assert trainer.num_steps == 0
    assert trainer.network.training


def test_a_device_without_memory_for_the_network_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(torch.nn.Module, "to", refuse)
    with pytest.raises(TrainingError, match="out of memory; use a smaller network"):
        make_trainer()


def test_a_device_without_memory_for_the_average_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise NO_MEMORY[0]

    monkeypatch.setattr("train.trainer.WeightAverage", refuse)
    with pytest.raises(TrainingError, match="out of memory; use a smaller network"):
        make_trainer(ema_decay=0.9)


def test_other_errors_of_torch_come_through() -> None:
    trainer = make_trainer()

    def refuse(*arguments: object) -> None:
        raise RuntimeError("shapes do not fit")

    next(trainer.network.children()).register_forward_hook(refuse)
    with pytest.raises(RuntimeError, match="^shapes do not fit"):
        trainer.step(random_rows(1), 0.0)
