import numpy as np
import pytest
import torch

from alphago.games import make_game
from scripts.speed.trainer import make_bare_step, measure_trainer, random_rows
from tests.scripts.tiny_run import tiny_config
from train.trainer import Trainer

CPU = torch.device("cpu")


def test_rates_and_ratios_fit_together() -> None:
    rates = measure_trainer(tiny_config(), seconds=0.01)
    assert rates.keys() == {"samples_per_s", "bare_samples_per_s", "ratio", "cpu_ratio"}
    assert rates["ratio"] == pytest.approx(rates["samples_per_s"] / rates["bare_samples_per_s"])
    assert 0.0 < rates["cpu_ratio"] < 2.0


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("game", ["tic_tac_toe", "go_5x5"])  # the latter with auxiliary heads
def test_the_bare_loop_learns_what_the_trainer_learns(
    precision: str, optimizer: str, game: str
) -> None:
    config = tiny_config(
        f"game={game}",
        "train.gradient_clip=null",
        "train.warmup_steps=0",
        f"train.precision={precision}",
        f"train.optimizer={optimizer}",
    )
    spec = make_game(config.game.text).spec
    trainer = Trainer(spec, config.network, config.train, device=CPU, seed=config.seed)
    heads = config.network.auxiliary
    assert bool(heads) == (game == "go_5x5")
    rows = random_rows(spec, heads, num_rows=16, rng=np.random.default_rng(0))
    step = make_bare_step(config, rows, device=CPU, precision=precision)
    ours = [trainer.step(rows, 0.0).loss for _ in range(4)]
    theirs = [step().item() for _ in range(4)]
    assert theirs == pytest.approx(ours, rel=1e-2 if precision == "bf16" else 1e-5)
    assert len(set(theirs)) == 4
