"""Small runs to report on."""

from pathlib import Path

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


def ratings_of(*checkpoints: tuple[int, float]) -> dict[str, object]:
    """Returns ratings of (step, Elo) as `alphago rate` writes them, and an alarm."""
    anchor = {
        "player": "random",
        "kind": "anchor",
        "is_fixed": True,
        "elo": 0.0,
        "low": 0.0,
        "high": 0.0,
        "num_games": 80,
        "score": 0.25,
    }
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
    return {"game": "tic_tac_toe", "ratings": [anchor, *rated], "alarm": "Strength has fallen."}
