"""A run of tic-tac-toe that takes a second, and ways to look into what it left behind."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import numpy as np

from alphago.network.evaluator import EvaluatorConfig
from alphago.network.network import NetworkConfig
from alphago.search import GumbelConfig, SearchConfig
from eval.gating import GateConfig
from eval.yardstick import YardstickConfig
from selfplay.actors import ActorSetup
from selfplay.config import SelfPlayConfig
from selfplay.record_store import RecordStore
from selfplay.records import GameRecord, read_records
from tests.train.training_setups import trainer_config
from train.checkpoint import newest_checkpoint
from train.config import GameConfig, RayConfig, RunConfig, SuiteConfig
from train.progress import ProgressNumbers
from train.replay_buffer import ReplayConfig
from train.run import RunResult, run

NETWORK = NetworkConfig(
    num_blocks=1,
    num_channels=8,
    pooling_channels=0,
    heads="fixed",
    policy_channels=2,
    value_channels=1,
    value_hidden=8,
    auxiliary=[],
)
SEARCH = SearchConfig(
    exploration_init=1.25,
    exploration_base=19652,
    fpu_reduction=0.2,
    root_fpu_reduction=0.0,
    noise_concentration=10.83,
    noise_weight=0.25,
)
GUMBEL = GumbelConfig(num_considered=4, value_scale=0.1, visit_init=50.0)
EVALUATOR = EvaluatorConfig(
    device="cpu",
    backend="auto",
    precision="fp32",
    policy_kl_limit=0.005,
    value_error_limit=0.03,
    num_positions=32,
    num_threads=1,
)


def selfplay_config(**changes: object) -> SelfPlayConfig:
    settings: dict[str, object] = {
        "mode": "inline",
        "search": "puct",
        "num_actors": 2,
        "groups_per_actor": None,
        "num_games": 4,
        "num_simulations": 6,
        "simulations_growth": 1.0,
        "fast_num_simulations": 3,
        "full_search_probability": 0.75,
        "decided_value": None,
        "decided_full_search_probability": 0.1,
        "tree_reuse": False,
        "temperature_early": 1.0,
        "temperature_late": 0.3,
        "temperature_moves": 4,
        "random_opening_probability": 0.3,
        "random_opening_plies": 2,
        "pass_guard": 0.0,
        "eye_guard": False,
        "cache_size": 50,  # small, so that entries are replaced
        "games_per_call": 2,
        "max_in_flight": 2,
        "max_restarts": 2,
        "silence_limit_minutes": 10.0,
    }
    return SelfPlayConfig(**(settings | changes))


def actor_setup(*, seed: int = 1, game: str = "tic_tac_toe", **changes: object) -> ActorSetup:
    return ActorSetup(
        game=game,
        network=NETWORK,
        evaluator=EVALUATOR,
        search=SEARCH,
        gumbel=GUMBEL,
        selfplay=selfplay_config(**changes),
        seed=seed,
    )


def game_config(name: str, **options: object) -> GameConfig:
    """Returns a game with the rules it has where nothing else is said."""
    unset = dict.fromkeys(
        (
            "rules",
            "ko",
            "suicide",
            "scoring",
            "komi",
            "handicap_bonus",
            "handicap",
            "max_moves",
            "planes",
        )
    )
    return GameConfig(name=name, **{**unset, **options})


def tiny_config(changes: Mapping[str, object] | None = None, /, **top: object) -> RunConfig:
    """Returns a run of iterations of six games.

    Args:
        changes: values of components by dotted key, such as {"gate.mode": "off"}.
        top: values of the run itself, such as games=12.
    """
    settings: dict[str, object] = {
        "game": game_config("tic_tac_toe"),
        "network": NETWORK,
        "search": SEARCH,
        "gumbel": GUMBEL,
        "selfplay": selfplay_config(),
        "ray": RayConfig(address=None),
        "evaluator": EVALUATOR,
        "replay": ReplayConfig(
            window_size=500,
            window_growth="fixed",
            window_min=10,
            window_exponent=0.65,
            window_scale=0.4,
            samples_per_position=2.0,
            holdout_fraction=0.25,
            root_value_share=0.25,
            root_value_horizon=3.0,
        ),
        "train": trainer_config(optimizer="adamw", learning_rate=0.01, num_threads=1),
        "gate": GateConfig(
            mode="gate", num_games=4, num_simulations=2, threshold_percent=55, opening_plies=2
        ),
        "suite": SuiteConfig(file=None, every_minutes=1000.0, num_simulations=2),
        "yardstick": YardstickConfig(player=None, num_games=2, opening_plies=1),
        "loop": "synchronous",
        "games_per_iteration": 6,
        "minutes": None,
        "games": None,
        "steps": None,
        "target": None,
        "games_from": None,
        "run_dir": None,
        "seed": 1,
        "keep_checkpoints": 3,
    }
    settings |= top
    for key, value in (changes or {}).items():
        part, name = key.split(".")
        settings[part] = dataclasses.replace(settings[part], **{name: value})
    return RunConfig(**settings)


class FakeProgress:
    """Remembers what it is told, and may do something when a phase begins."""

    def __init__(self, on_phase: Callable[[str], None] | None = None) -> None:
        self.phases: list[str] = []
        self.messages: list[str] = []
        self.numbers: ProgressNumbers = {}
        self.on_phase = on_phase

    def phase(self, name: str) -> None:
        self.phases.append(name)
        if self.on_phase is not None:
            self.on_phase(name)

    def update(self, **numbers: Unpack[ProgressNumbers]) -> None:
        self.numbers.update(numbers)

    def message(self, text: str) -> None:
        self.messages.append(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


def train(
    folder: Path, config: RunConfig, *, progress: FakeProgress | None = None, resume: bool = False
) -> RunResult:
    """Runs in a folder, which is made if need be."""
    folder.mkdir(exist_ok=True)
    return run(config, run_dir=folder, resume=resume, progress=progress or FakeProgress())


def stored_records(folder: Path) -> list[GameRecord]:
    return list(RecordStore(folder / "records", "tic_tac_toe").since(0))


def streams(records: list[GameRecord]) -> list[tuple[int, ...]]:
    """Returns (run seed, actor, number) of each game: what names it among all games of a run."""
    return [record.name for record in records]


def log_lines(folder: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Returns the lines of the log; every one must be JSON as the standard has it."""

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not JSON")

    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    events = [json.loads(line, parse_constant=refuse) for line in lines]
    return [event for event in events if kind is None or event["event"] == kind]


# What two equal runs may differ in: the clock, and memory.
CLOCK_TAGS = ("time", "evaluation_share", "memory/", "suite/minutes", "yardstick/minutes", "_per_s")


def timeless(event: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a line of the log without what depends on the clock."""
    return {
        key: value for key, value in event.items() if not any(part in key for part in CLOCK_TAGS)
    }


def assert_same_runs(one: Path, other: Path) -> None:
    """Fails unless two runs ended with the same weights, state and games, bit for bit."""
    first, second = newest_checkpoint(one), newest_checkpoint(other)
    assert first is not None
    assert second is not None
    assert first[0].name == second[0].name
    for name in ("weights", "best_weights", "trainer_tensors"):
        ours, theirs = getattr(first[1], name), getattr(second[1], name)
        assert ours.keys() == theirs.keys()
        for key, array in ours.items():
            np.testing.assert_array_equal(array, theirs[key], err_msg=f"{name} {key}")
    assert first[1].positions is not None
    assert second[1].positions is not None
    np.testing.assert_array_equal(first[1].positions, second[1].positions)
    for checkpoint in (first[1], second[1]):
        for clock in ("seconds", "last_suite_seconds"):
            checkpoint.state["counters"].pop(clock)
    assert first[1].state == second[1].state
    assert record_files(one) == record_files(other)


def record_files(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Returns the content of every record file by name."""
    return {
        path.name: [
            tuple(
                value.tolist() if isinstance(value, np.ndarray | np.generic) else value
                for value in (getattr(record, f.name) for f in dataclasses.fields(record))
            )
            for record in read_records(path)
        ]
        for path in sorted((folder / "records").glob("*.npz"))
    }
