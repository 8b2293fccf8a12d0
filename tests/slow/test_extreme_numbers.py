"""Numbers no run needs: each is refused in one line, or a run with it ends as any other does."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from alphago.errors import AlphagoError
from tests.train.tiny import tiny_config, train

pytestmark = pytest.mark.slow

COUNTS = (10**19,)
NUMBERS = (1e308, 1e9, 5e-324)
# Calls of so many games, and so many steps, do not end, which is what was asked for.
ENDLESS = {
    ("selfplay.games_per_call", 10**19),
    ("replay.samples_per_position", 1e9),
}


def extreme_numbers() -> Iterator[tuple[str, float]]:
    """Yields every option that is a number, with numbers of its type."""
    for part, component in vars(tiny_config()).items():
        if is_dataclass(component):
            for name, hint in get_type_hints(type(component)).items():
                yield from ((f"{part}.{name}", number) for number in _numbers_of(hint))
    for name in ("steps", "seed", "keep_checkpoints"):
        yield from ((name, number) for number in COUNTS)
    yield from (("minutes", number) for number in NUMBERS)


def _numbers_of(hint: object) -> tuple[float, ...]:
    kinds = get_args(hint) or (hint,)
    return COUNTS if int in kinds else NUMBERS if float in kinds else ()


@pytest.mark.parametrize(
    ("key", "number"), [case for case in extreme_numbers() if case not in ENDLESS]
)
def test_a_number_no_run_needs_is_refused_or_does_no_harm(
    key: str, number: float, tmp_path: Path
) -> None:
    parts: dict[str, object] = {
        "selfplay.search": "gumbel" if key.startswith("gumbel.") else "puct",
        "replay.window_growth": "katago",
        "yardstick.player": "random",
    }
    limits: dict[str, object] = {"games": 6}
    (parts if "." in key else limits)[key] = number
    try:
        config = tiny_config(parts, **limits)
        assert train(tmp_path / "run", config).num_games >= (0 if key == "minutes" else 6)
    except AlphagoError as error:
        assert "\n" not in str(error)
