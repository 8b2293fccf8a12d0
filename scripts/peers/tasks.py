"""What is compared: for each task our runner and those of the peers, with their settings."""

from collections.abc import Mapping
from dataclasses import dataclass

OURS = "ours"  # the environment that this program runs in


@dataclass(frozen=True, kw_only=True)
class Runner:
    """One program to be measured.

    Attributes:
        name: what the table calls it.
        environment: a key of `environments.REQUIREMENTS`, or OURS.
        file: in this folder; its `prepare` takes the settings.
        settings: plain data for JSON.
    """

    name: str
    environment: str
    file: str
    settings: Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Task:
    """The same work for all: equal game, size of network and number of simulations.

    Attributes:
        text: what the table calls it.
        unit: what is counted, `positions` (moves made) or `simulations`.
        ours: our runner.
        peers: the runners to compare with.
    """

    text: str
    unit: str
    ours: Runner
    peers: tuple[Runner, ...]


def _connect_four() -> Task:
    """All games begin with an empty board and all moves are searched in full, as the peers do."""
    sizes = {"num_blocks": 4, "num_channels": 64, "num_simulations": 100}
    overrides = (
        "game=connect_four",
        "network.num_blocks=4",
        "network.num_channels=64",
        "selfplay.num_simulations=100",
        "selfplay.random_opening_probability=0",
    )

    def openspiel(name: str, *, compiled: bool) -> Runner:
        settings = {**sizes, "compiled": compiled}
        return Runner(
            name=name, environment="openspiel", file="run_openspiel.py", settings=settings
        )

    return Task(
        text="Connect Four, 4x64, 100 simulations",
        unit="positions",
        ours=_ours(*overrides, unit="positions"),
        peers=(
            openspiel("OpenSpiel's Python AlphaZero", compiled=False),
            openspiel("the same, its network compiled", compiled=True),
            Runner(
                name="alpha-zero-general, a network of torch's",
                environment="alpha_zero_general",
                file="run_alpha_zero_general.py",
                settings=sizes,
            ),
        ),
    )


def _go(num_simulations: int, *policies: str) -> Task:
    """64 games a batch.

    Ours begin after 1 to 80 random moves and end at 81, so that they are spread over all stages of
    a game at once; else the first game would end, and tell its simulations, after minutes. What
    mctx and pgx do takes the same time in every position.
    """
    sizes = {"num_blocks": 6, "num_channels": 64, "num_games": 64}
    overrides = (
        "game=go_9x9",
        "network.num_blocks=6",
        "network.num_channels=64",
        f"selfplay.num_simulations={num_simulations}",
        "game.max_moves=81",
        "selfplay.random_opening_probability=1",
        "selfplay.random_opening_plies=80",
    )
    return Task(
        text=f"Go 9x9, 6x64, 64 games, {num_simulations} simulations",
        unit="simulations",
        ours=_ours(*overrides, unit="simulations"),
        peers=tuple(
            Runner(
                name=f"mctx and pgx, {policy}",
                environment="mctx",
                file="run_mctx.py",
                settings={**sizes, "num_simulations": num_simulations, "policy": policy.lower()},
            )
            for policy in policies
        ),
    )


def _ours(*overrides: str, unit: str) -> Runner:
    common = (
        "selfplay=inline",
        "selfplay.num_games=64",
        "selfplay.full_search_probability=1",
        "evaluator.device=cpu",
        "evaluator.num_threads=1",
    )
    settings = {"overrides": [*overrides, *common], "unit": unit}
    return Runner(name="ours", environment=OURS, file="run_ours.py", settings=settings)


TASKS = (_connect_four(), _go(32, "Gumbel"), _go(200, "Gumbel", "PUCT"))
