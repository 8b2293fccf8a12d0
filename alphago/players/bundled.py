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
    """Returns the name of the network that has learnt a game, or else of one that can play it too.

    None where there is neither.

    Raises:
        CheckpointError: if the manifest of a network is broken.
    """
    from alphago.network.weights import read_info  # torch takes seconds, other players need none

    others = []
    for name, folder in bundled_networks().items():
        info = read_info(folder)
        own = make_game(info.game).spec
        if own.name == game.name:
            return name
        if own.family == game.family and info.network.fits_every_size:
            others.append(name)
    return next(iter(others), None)
