"""The configuration of a run: the dataclasses of all parts. Values live in `configs/` only."""

import math
import re
from dataclasses import dataclass

from omegaconf import OmegaConf

from alphago.errors import ConfigError, RulesError, check_config, check_count
from alphago.games import make_game
from alphago.network.evaluator import EvaluatorConfig
from alphago.network.heads import check_actions_are_cells
from alphago.network.network import NetworkConfig
from alphago.network.weights import MOST_POSITION_BYTES
from alphago.search import GumbelConfig, SearchConfig
from alphago.types import MAX_SIMULATIONS
from eval.gating import GateConfig
from eval.yardstick import YardstickConfig
from selfplay.actors import ActorSetup
from selfplay.config import SelfPlayConfig
from train.auxiliary import check_auxiliary
from train.replay_buffer import ReplayConfig
from train.trainer_config import TrainerConfig

LOOPS = ("synchronous", "asynchronous")
# `HOST:PORT` of a cluster, an IPv6 address in brackets; behind `ray://` of its server for clients.
_CLUSTER = re.compile(r"auto|(ray://)?(\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+):(?P<port>[0-9]{1,5})")
_MAX_PORT = 65535


@dataclass(kw_only=True)
class GameConfig:
    """Which game is learnt, and by which rules.

    All but the name are for Go, and null for the others. Null leaves a rule as the rule set has it.

    Attributes:
        name: a registered game, see `alphago games`; Go boards are named go_WIDTHxHEIGHT.
        rules: a named rule set: tromp_taylor, chinese, aga, japanese or new_zealand.
        ko: simple, positional or situational.
        suicide: whether a chain of several stones may be put to death by its own player.
        scoring: area or territory.
        komi: points for White, whole or half (AlphaGo Zero: 7.5).
        handicap_bonus: 0, N-1 or N, points for White where Black has N handicap stones.
        handicap: Black's handicap stones.
        max_moves: moves after which a game is truncated (AlphaGo Zero on 19x19: 722).
        planes: history (AlphaGo Zero's 17) or extended (those, liberties, ko and komi).
    """

    name: str
    rules: str | None
    ko: str | None
    suicide: bool | None
    scoring: str | None
    komi: float | None
    handicap_bonus: str | None
    handicap: int | None
    max_moves: int | None
    planes: str | None

    def __post_init__(self) -> None:
        """Checks the values by making the game."""
        try:
            make_game(self.text)
        except RulesError as error:  # which begins with the rule's name
            raise RulesError(f"game.{error}") from error

    @property
    def text(self) -> str:
        """The game and its options in the form that `make_game` reads."""
        options = {key: value for key, value in vars(self).items() if key != "name"}
        parts = [f"{key}={_text(value)}" for key, value in options.items() if value is not None]
        return f"{self.name}:{','.join(parts)}" if parts else self.name


def _text(value: object) -> str:
    """Returns a value as the text of a game has it: true and false, 7 rather than 7.0."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(kw_only=True)
class SuiteConfig:
    """The position suite that is run while training, to draw a curve of strength.

    Attributes:
        file: a JSON file of positions, the name of a suite that comes with the project, or null for
            none.
        every_minutes: minutes between two measurements, by suite and yardstick, at the end of an
            iteration.
        num_simulations: simulations per position of the search score, and per move against the
            yardstick.
    """

    file: str | None
    every_minutes: float
    num_simulations: int

    def __post_init__(self) -> None:
        """Checks the values."""
        check_config(
            "suite.every_minutes", self.every_minutes, self.every_minutes > 0, "a number above 0"
        )
        check_count(
            "suite.num_simulations", self.num_simulations, at_least=1, at_most=MAX_SIMULATIONS
        )


@dataclass(kw_only=True)
class RayConfig:
    """Where the actors of `selfplay=ray` run.

    Attributes:
        address: a running cluster, whose machines all play (see selfplay/CLUSTER.md): `auto` for
            the one that `ray start` has made this machine a part of, `HOST:PORT`, or
            `ray://HOST:PORT`; null for a Ray of our own on this machine alone.
    """

    address: str | None

    def __post_init__(self) -> None:
        """Checks the form."""
        address = "auto" if self.address is None else self.address
        found = _CLUSTER.fullmatch(address)
        is_address = found is not None and int(found["port"] or 1) in range(1, _MAX_PORT + 1)
        allowed = "auto, HOST:PORT, ray://HOST:PORT, or null"
        check_config("ray.address", self.address, is_address, allowed)


@dataclass(kw_only=True)
class RunConfig:
    """Everything that decides a run.

    Attributes:
        game: the game.
        network: the shape of the residual network.
        search: the constants of PUCT and root noise.
        gumbel: the constants of Gumbel's rule, where `selfplay.search` names it.
        selfplay: how games are played and by how many actors.
        ray: where these actors run.
        evaluator: device and precision of the networks that play; the trainer uses the same device.
        replay: the window of positions that are learnt from.
        train: optimiser and losses.
        gate: when a candidate becomes the best network.
        suite: positions that measure strength while training.
        yardstick: games against a fixed player, which do the same.
        loop: `synchronous` (all cores play, then all learn) or `asynchronous` (actors never wait
            for the trainer).
        games_per_iteration: finished games between two gates; a checkpoint is written after each
            iteration.
        minutes: stop after this wall time, null for no limit.
        games: stop at the end of the iteration that reaches this many finished games in total, null
            for no limit.
        steps: stop at the end of the iteration that reaches this many optimiser steps in total,
            null for no limit.
        target: stop when the search score of the suite reaches this share (0 to 1) after an
            iteration, null for no target.
        games_from: folder of another run of the same game, with another seed, whose newest games, a
            whole window of them, become this run's first and are learnt from before it plays; null
            for none.
        run_dir: folder of the run, null for runs/<game>-<date>-<time>.
        seed: root of every random stream of the run.
        keep_checkpoints: checkpoints that stay, spread over the whole run; among them the newest
            three, the best and the first.
    """

    game: GameConfig
    network: NetworkConfig
    search: SearchConfig
    gumbel: GumbelConfig
    selfplay: SelfPlayConfig
    ray: RayConfig
    evaluator: EvaluatorConfig
    replay: ReplayConfig
    train: TrainerConfig
    gate: GateConfig
    suite: SuiteConfig
    yardstick: YardstickConfig
    loop: str
    games_per_iteration: int
    minutes: float | None
    games: int | None
    steps: int | None
    target: float | None
    games_from: str | None
    run_dir: str | None
    seed: int
    keep_checkpoints: int

    def __post_init__(self) -> None:
        """Checks the values that no component owns, or more than one."""
        game = make_game(self.game.text)
        if self.network.fits_every_size:
            check_actions_are_cells(game.spec)
        check_auxiliary(game, self.network.auxiliary)
        most = 8 * MOST_POSITION_BYTES // math.prod(game.spec.observation_shape)
        if self.evaluator.num_positions > most:  # no checkpoint could be read again
            raise ConfigError(
                "evaluator.num_positions",
                self.evaluator.num_positions,
                f"at most {most} of {game.spec.name}",
            )
        check_config("loop", self.loop, self.loop in LOOPS, " or ".join(LOOPS))
        for key in ("games_per_iteration", "keep_checkpoints"):
            check_count(key, getattr(self, key), at_least=1)
        for key in ("games", "steps"):
            check_count(key, getattr(self, key), at_least=1, or_null=True)
        has_actors = self.selfplay.mode == "ray" or self.ray.address is None
        check_config("ray.address", self.ray.address, has_actors, "null with selfplay=inline")
        minutes, target = self.minutes, self.target
        check_config("minutes", minutes, minutes is None or minutes > 0, "above 0, or null")
        check_config("seed", self.seed, 0 <= self.seed < 2**63, "an integer from 0 to 2^63 - 1")
        batch_size, window_size = self.train.batch_size, self.replay.window_size
        check_config(
            "train.batch_size",
            batch_size,
            batch_size <= window_size,
            f"at most replay.window_size, which is {window_size}",
        )
        if target is not None:
            check_config("target", target, 0 < target <= 1, "above 0, at most 1, or null")
            has_suite = self.suite.file is not None
            check_config("target", target, has_suite, "null while suite.file is null")


def actor_setup(config: RunConfig) -> ActorSetup:
    """Returns the part of a run's configuration that its actors need."""
    return ActorSetup(
        game=config.game.text,
        network=config.network,
        evaluator=config.evaluator,
        search=config.search,
        gumbel=config.gumbel,
        selfplay=config.selfplay,
        seed=config.seed,
    )


def config_text(config: RunConfig) -> str:
    """Returns a configuration as YAML."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))
