"""How strong a run has become, as far as its folder tells: ratings, gate and position suite."""

from collections.abc import Mapping
from pathlib import Path

from alphago.errors import CheckpointError
from eval.rating_store import RATINGS_FILE
from scripts.rate import RATINGS_FOLDER
from scripts.report_page.json_files import Json, number, read_json, text
from scripts.report_page.run_log import RunLog

_SUITE = "suite/"
_SUITE_MINUTES = "suite/minutes"  # when it was run; no score
_RATED = ("elo", "low", "high")  # numbers that every rated player has
_PLAYER_NUMBERS = (*_RATED, "num_games", "score", "step", "games", "minutes")


def read_ratings(run: Path) -> Json | None:
    """Reads what `alphago rate` found; None before that.

    Returns:
        `ratings`, the players: `player`, `kind`, `is_fixed`, and numbers, of which `elo`, `low` and
        `high` (95 % interval) are there; `simulations` of a checkpoint's move; `alarm`, a text or
        None.

    Raises:
        CheckpointError: if the file cannot be read or holds something else.
    """
    path = run / RATINGS_FOLDER / RATINGS_FILE
    content = read_json(path)
    if content is None:
        return None
    players = content.get("ratings")
    if not (isinstance(players, list) and all(_is_rated(player) for player in players)):
        raise CheckpointError(f"{path}: got other JSON, allowed: the ratings of `alphago rate`")
    return {
        "ratings": [_rating(player) for player in players],
        "simulations": number(content.get("simulations")),
        "alarm": text(content.get("alarm")),
    }


def final_rating(ratings: Json | None) -> Json | None:
    """Returns the rating of the last checkpoint, None without one."""
    players = ratings["ratings"] if ratings else []
    checkpoints = [player for player in players if player["kind"] == "checkpoint"]
    return max(checkpoints, key=lambda player: player["step"] or 0, default=None)


def gate_of(log: RunLog, config: Json) -> Json:
    """Returns what the gate said of every candidate.

    Returns:
        `mode`, `threshold` (share of the points) and `num_games` of a match; `num_candidates` and
        `num_promoted`; `last`, the newest candidate with `score` and `promoted`, None before one.
    """
    settings = config["gate"]
    threshold = number(settings.get("threshold_percent"))
    candidates = [row for row in log.iterations if row.get("gate/promoted") is not None]
    last = candidates[-1] if candidates else None
    return {
        "mode": text(settings.get("mode")),
        "threshold": None if threshold is None else threshold / 100,
        "num_games": number(settings.get("num_games")),
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
    return (
        isinstance(player, dict)
        and text(player.get("player")) is not None
        and all(number(player.get(key)) is not None for key in _RATED)
    )


def _rating(player: Mapping[str, object]) -> Json:
    return {
        "player": player["player"],
        "kind": "checkpoint" if player.get("kind") == "checkpoint" else "anchor",
        "is_fixed": player.get("is_fixed") is True,
        **{key: number(player.get(key)) for key in _PLAYER_NUMBERS},
    }
