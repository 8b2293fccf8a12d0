"""How strong a run has become, as far as its folder tells: ratings, gate and position suite."""

import json
import math
from pathlib import Path

from alphago.errors import CheckpointError
from alphago.files import reason
from eval.rating_store import RATINGS_FILE
from scripts.rate import RATINGS_FOLDER
from scripts.report_page.run_log import Json, RunLog

_SUITE = "suite/"
_SUITE_MINUTES = "suite/minutes"  # when it was run; no score
_PLAYER_NUMBERS = ("elo", "low", "high")  # that every rated player has


def read_ratings(run: Path) -> Json | None:
    """Reads what `alphago rate` found: players with Elo and 95 % interval; None before that.

    Raises:
        CheckpointError: if the file cannot be read or holds something else.
    """
    path = run / RATINGS_FOLDER / RATINGS_FILE
    try:
        ratings = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {reason(error)}") from error
    except ValueError as error:
        raise CheckpointError(f"{path}: no JSON ({error})") from error
    players = ratings.get("ratings") if isinstance(ratings, dict) else None
    if not (isinstance(players, list) and all(_is_rated(player) for player in players)):
        raise CheckpointError(f"{path}: got other JSON, allowed: the ratings of `alphago rate`")
    assert isinstance(ratings, dict)
    return ratings


def final_rating(ratings: Json | None) -> Json | None:
    """Returns the rating of the last checkpoint, None without one."""
    players = ratings["ratings"] if ratings else []
    checkpoints = [player for player in players if player.get("kind") == "checkpoint"]
    return max(checkpoints, key=lambda player: player.get("step") or 0, default=None)


def gate_of(log: RunLog, config: Json) -> Json:
    """Returns what the gate said of every candidate.

    Returns:
        `mode`, `threshold` (share of the points) and `num_games` of a match; `num_candidates` and
        `num_promoted`; `last`, the newest candidate with `score` and `promoted`, None before one.
    """
    settings = config.get("gate") or {}
    threshold = settings.get("threshold_percent")
    candidates = [row for row in log.iterations if row.get("gate/promoted") is not None]
    last = candidates[-1] if candidates else None
    return {
        "mode": settings.get("mode"),
        "threshold": threshold / 100 if isinstance(threshold, int | float) else None,
        "num_games": settings.get("num_games"),
        "num_candidates": len(candidates),
        "num_promoted": sum(row["gate/promoted"] == 1 for row in candidates),
        "last": last
        and {
            "step": last["step"],
            "score": last.get("gate/score"),
            "promoted": last["gate/promoted"] == 1,
        },
    }


def last_suite(log: RunLog) -> Json | None:
    """Returns the newest scores of the position suite by tag, None where it was never run."""
    for row in [*reversed(log.iterations), log.baseline or {}]:
        scores = {tag: row[tag] for tag in row if tag.startswith(_SUITE) and tag != _SUITE_MINUTES}
        if scores:
            return scores
    return None


def _is_rated(player: object) -> bool:
    if not (isinstance(player, dict) and isinstance(player.get("player"), str)):
        return False
    numbers = [player.get(name) for name in _PLAYER_NUMBERS]
    return all(isinstance(n, int | float) and math.isfinite(n) for n in numbers)
