"""Networks that come with the package, called by the names of their folders.

A folder of `alphago/networks/` is a checkpoint for play alone (`alphago/network/bundle.py`) and has
the name of the game that it has learnt. So `go_9x9` is a player right after the installation.
"""

from pathlib import Path

from alphago.files import MANIFEST_FILE
from alphago.games import make_game
from alphago.games.game import GameSpec

FOLDER = Path(__file__).resolve().parent.parent / "networks"


def bundled_networks() -> dict[str, Path]:
    """Returns the folders of the networks that come with the package, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob(f"*/{MANIFEST_FILE}"))}


def bundled_network_for(game: GameSpec) -> str | None:
    """Returns the name of the network that has learnt a game, or else another of its family.

    Whether the latter can play the game, its `heads` decide; None where there is neither.
    """
    names = list(bundled_networks())
    if game.name in names:
        return game.name
    families = {name: make_game(name).spec.family for name in names}
    return next((name for name in names if families[name] == game.family), None)
