"""A run of a second: tic-tac-toe in this process with almost no network."""

from scripts.composition import compose_config, to_run_config
from scripts.overrides import expand
from train.config import RunConfig

TINY = (
    "game=tic_tac_toe",
    "selfplay=inline",
    "network=tiny",
    "network.num_blocks=1",
    "network.num_channels=4",
    "selfplay.num_games=4",
    "selfplay.num_simulations=4",
    "selfplay.fast_num_simulations=2",
    "selfplay.full_search_probability=1.0",
    "evaluator.device=cpu",
    "evaluator.precision=fp32",
    "evaluator.num_threads=1",
    "replay.window_size=1000",
    "replay.holdout_fraction=0.0",
    "train.batch_size=16",
    "train.num_threads=1",
    "gate.num_games=4",
    "gate.num_simulations=2",
    "gate.opening_plies=2",
    "suite.file=null",
    "games_per_iteration=8",
    "minutes=null",
    "games=8",
)


def tiny_config(*overrides: str) -> RunConfig:
    (job,) = expand([*TINY, *overrides], multirun=False)
    return to_run_config(compose_config(job))
