"""Small runs to report on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.main import main
from tests.train.tiny import game_config, tiny_config, train

GAMES = ("tic_tac_toe", "connect_four", "go_5x5")


def make_run(folder: Path, game: str) -> Path:
    """Learns a game for two iterations of six games; returns the folder."""
    options = {"max_moves": 20} if game.startswith("go_") else {}
    train(folder, tiny_config(game=game_config(game, **options), games=12))
    return folder


def make_report(run: Path, *words: str) -> Path:
    """Writes the report of a run by the command line; returns its file."""
    assert main(["report", str(run), *words]) == 0
    return run / "report.html"


def write_log(run: Path, *lines: object) -> None:
    """Writes a log: texts as they are, everything else as JSON."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (run / "log.jsonl").write_text("\n".join(texts), encoding="utf-8")


def write_ratings(run: Path, ratings: object) -> None:
    """Writes `ratings.json`: a text as it is, everything else as JSON."""
    (run / "ratings").mkdir(exist_ok=True)
    text = ratings if isinstance(ratings, str) else json.dumps(ratings)
    (run / "ratings" / "ratings.json").write_text(text, encoding="utf-8")


def ratings_of(
    *checkpoints: tuple[int, float], anchors: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Returns ratings of (step, Elo) as `alphago rate` writes them, and an alarm.

    Args:
        checkpoints: those of the run.
        anchors: Elo by player, None for `random` alone.
    """
    fixed = [
        {
            "player": player,
            "kind": "anchor",
            "is_fixed": True,
            "elo": elo,
            "low": elo,
            "high": elo,
            "num_games": 80,
            "score": 0.25,
        }
        for player, elo in ({"random": 0.0} if anchors is None else anchors).items()
    ]
    rated = [
        {
            "player": f"step {step}",
            "kind": "checkpoint",
            "step": step,
            "games": 10 * step,
            "minutes": step / 10,
            "elo": elo,
            "low": elo - 50,
            "high": elo + 50,
            "num_games": 40,
        }
        for step, elo in checkpoints
    ]
    return {"game": "tic_tac_toe", "ratings": [*fixed, *rated], "alarm": "Strength has fallen."}
