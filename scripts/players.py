"""Makes the players that a command line names, all for one game."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scripts.arguments import CommandLineError

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.players import Player
    from alphago.players.engine import EngineSettings


def make_players(
    texts: Sequence[str],
    *,
    game_name: str | None,
    seed: int,
    other_name: str | None = None,
    engines: "EngineSettings | None" = None,
) -> "tuple[Game, list[Player]]":
    """Makes players for the game that is named or that one of them was trained for.

    Args:
        texts: the players, `KIND_OR_PATH[:key=value,...]`.
        game_name: the game, `NAME[:key=value,...]`; None takes that of a run or checkpoint.
        seed: of the first player's random choices; each further one takes the next number.
        other_name: the game if nothing else tells it, None if it is open.
        engines: how GTP programs are run; None for the defaults.

    Raises:
        PlayerError: if a player cannot be made or plays another game.
        UnknownGameError: if the game is not registered.
        CommandLineError: if nothing tells the game.
    """
    from alphago.games import GAME_NAMES, make_game
    from alphago.players import game_of_player, make_player

    found = game_name or next((name for name in map(game_of_player, texts) if name), None)
    found = found or other_name
    if found is None:
        raise CommandLineError(
            f"which game? only a run or a checkpoint tells it; allowed: {', '.join(GAME_NAMES)}"
            f" (game={GAME_NAMES[-1]})"
        )
    game = make_game(found)
    players = [
        make_player(text, game=game, seed=seed + index, engines=engines)
        for index, text in enumerate(texts)
    ]
    return game, players


def refuse_people(texts: Sequence[str]) -> None:
    """Checks that nobody is asked for a move.

    Raises:
        CommandLineError: if a player is `human`.
    """
    if any(text.partition(":")[0] == "human" for text in texts):
        raise CommandLineError("human: only `alphago play` has a person at the board")
