"""The options of `alphago match`, read and checked."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scripts.arguments import CommandLineError, read_number, seed_from

if TYPE_CHECKING:
    from eval.sprt import SprtConfig

NUM_GAMES = 40  # as in the gate
MOST_GAMES = 400  # of a sequential test
OPENING_PLIES = 4  # as in the gate
TIMEOUT_S = 60.0  # for a move of a GTP program
ELO0, ELO1, ALPHA, BETA = 0.0, 35.0, 0.05, 0.05

RANDOM, POLICY = "random", "policy"  # kinds of openings; anything else is a file

_TEST_KEYS = ("elo0", "elo1", "alpha", "beta")
KEYS = (
    *("games", "openings", "opening_plies", "game", "seed", "workers", "results", "sgf"),
    *_TEST_KEYS,
    "timeout",
)

_DAY_S = 86_400.0  # longer waits are a slip of the pen


class MatchSettings(NamedTuple):
    """What a match is to be like.

    Attributes:
        num_games: how many games; None for two for each opening of the file. With a test: at most.
        openings: `random`, `policy` or a file.
        num_plies: moves of an opening that does not come from a file.
        seed: of the openings and of the players' random choices.
        num_workers: how many parts are played at a time.
        timeout_s: seconds that a move of a GTP program may take.
        test: when to stop early; None for never.
        results: the file that keeps the finished parts, None for none.
        sgf_folder: the folder for the games, None for none.
    """

    num_games: int | None
    openings: str
    num_plies: int
    seed: int
    num_workers: int
    timeout_s: float
    test: "SprtConfig | None"
    results: Path | None
    sgf_folder: Path | None


def read_settings(values: Mapping[str, str]) -> MatchSettings:
    """Reads the `key=value` words of a match.

    Raises:
        CommandLineError: if one is wrong.
        ConfigError: if the bounds of the test are.
    """
    openings = values.get("openings", RANDOM)
    is_from_file = openings not in (RANDOM, POLICY)
    if is_from_file and "opening_plies" in values:
        raise CommandLineError(
            f"opening_plies: got {values['opening_plies']!r}, allowed: nothing with a file, whose"
            f" openings are as long as they are ({openings})"
        )
    test = _read_test(values)
    most = None if is_from_file else MOST_GAMES if test is not None else NUM_GAMES
    return MatchSettings(
        num_games=most if "games" not in values else _read_num_games(values),
        openings=openings,
        num_plies=read_number(
            values,
            "opening_plies",
            kind=int,
            default=OPENING_PLIES,
            allowed="an integer of at least 0",
            check=lambda number: number >= 0,
        ),
        seed=seed_from(values),
        num_workers=read_number(
            values,
            "workers",
            kind=int,
            default=1,
            allowed="an integer of at least 1",
            check=lambda number: number >= 1,
        ),
        timeout_s=read_number(
            values,
            "timeout",
            kind=float,
            default=TIMEOUT_S,
            allowed=f"seconds, above 0 and at most {_DAY_S:.0f}",
            check=lambda number: 0 < number <= _DAY_S,
        ),
        test=test,
        results=_read_path(values, "results", allowed="a file"),
        sgf_folder=_read_path(values, "sgf", allowed="a folder"),
    )


def _read_path(values: Mapping[str, str], key: str, *, allowed: str) -> Path | None:
    """Reads a path; None where none is asked for."""
    if values.get(key) == "":  # pathlib takes it for the current folder
        raise CommandLineError(f"{key}: got '', allowed: {allowed}")
    return Path(values[key]) if key in values else None


def _read_num_games(values: Mapping[str, str]) -> int:
    return read_number(
        values,
        "games",
        kind=int,
        default=NUM_GAMES,
        allowed="an even integer of at least 2",
        check=lambda number: number >= 2 and number % 2 == 0,
    )


def _read_test(values: Mapping[str, str]) -> "SprtConfig | None":
    """Reads the sequential test; None where none is asked for."""
    given = [key for key in _TEST_KEYS if key in values]
    if not given:
        return None
    if "elo0" not in values and "elo1" not in values:
        raise CommandLineError(f"{given[0]}: needs elo0 or elo1, which turn the test on")
    from eval.sprt import SprtConfig

    return SprtConfig(
        elo0=_read_finite(values, "elo0", default=ELO0),
        elo1=_read_finite(values, "elo1", default=ELO1),
        alpha=_read_finite(values, "alpha", default=ALPHA),
        beta=_read_finite(values, "beta", default=BETA),
    )


def _read_finite(values: Mapping[str, str], key: str, *, default: float) -> float:
    return read_number(
        values, key, kind=float, default=default, allowed="a number", check=math.isfinite
    )
