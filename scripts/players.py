"""Makes the players that a command line names, all for one game."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scripts.arguments import CommandLineError

if TYPE_CHECKING:
    from alphago.games import Game
    from alphago.players import Player

PLAYER_HELP = (  # of the argument that names a player
    "random, minimax, alphabeta:depth=N, flat_mc:playouts=N,"
    " uct:playouts=N,seconds=S,exploration=C, gtp:COMMAND LINE, a network of `alphago games`, or"
    " the folder of a run or checkpoint:"
    " RUN:simulations=N,seconds=S,exploration=C,fpu=R,precision=int8,symmetries=N,"
    "step=N (or best, latest)"
)

# Of a game of Go with a GTP program: more moves than nearly all games have.
_FEWEST_MOVES = 100
_MOVES_PER_POINT = 4


def choose_game(
    texts: Sequence[str], *, game_name: str | None, other_name: str | None = None
) -> "Game":
    """Returns the game that is named or that one of the players was trained for.

    Args:
        texts: the players, `KIND_OR_PATH[:key=value,...]`.
        game_name: the game, `NAME[:key=value,...]`; None takes that of a run or checkpoint. Unless
            it says `max_moves`, Go with a GTP program has room for any sensible game: GTP knows no
            cap on moves, and the one that a run learns with is low.
        other_name: the game if nothing else tells it, None if it is open.

    Raises:
        PlayerError: if a text names no player.
        UnknownGameError: if the game is not registered.
        CommandLineError: if nothing tells the game, or runs of different games do.
    """
    from alphago.games import GAME_NAMES, make_game
    from alphago.players import game_of_player
    from alphago.players.text import is_engine

    found = game_name or _common_game([name for name in map(game_of_player, texts) if name])
    found = found or other_name
    if found is None:
        raise CommandLineError(
            f"which game? only a run or a checkpoint tells it; allowed: {', '.join(GAME_NAMES)}"
            f" (game={GAME_NAMES[-1]})"
        )
    game = make_game(found)
    if "max_moves" not in (game_name or "") and any(map(is_engine, texts)):
        game = _with_room(game)
    return game


def make_players(
    texts: Sequence[str],
    *,
    game_name: str | None,
    seed: int,
    other_name: str | None = None,
) -> "tuple[Game, list[Player]]":
    """Makes players for the game that is named or that one of them was trained for.

    Args:
        texts: the players, `KIND_OR_PATH[:key=value,...]`.
        game_name: as in `choose_game`.
        seed: of the first player's random choices; each further one takes the next number.
        other_name: as in `choose_game`.

    Raises:
        PlayerError: if a player cannot be made or plays another game.
        UnknownGameError: if the game is not registered.
        CommandLineError: if nothing tells the game, or runs of different games do.
    """
    from alphago.players import make_player

    game = choose_game(texts, game_name=game_name, other_name=other_name)
    players = [make_player(text, game=game, seed=seed + index) for index, text in enumerate(texts)]
    return game, players


def _common_game(names: Sequence[str]) -> str | None:
    """Returns the game that all runs and checkpoints were trained for, None if there are none.

    Raises:
        CommandLineError: if they were trained for different ones.
    """
    if len(set(names)) > 1:
        listed = " and ".join(dict.fromkeys(names))
        raise CommandLineError(f"which game? the players were trained for {listed}; write game=...")
    return names[0] if names else None


def _with_room(game: "Game") -> "Game":
    """Returns the same game, one of Go with a high cap on moves."""
    from alphago.games.go import Go

    if not isinstance(game, Go):
        return game
    room = _FEWEST_MOVES + _MOVES_PER_POINT * game.height * game.width
    return Go(
        height=game.height,
        width=game.width,
        rules=game.rules,
        max_moves=max(game.spec.max_moves, room),
        planes=game.planes,
        handicap=game.handicap,
    )


def split_player(player: str | None, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Tells the player of a command line, which may be left out, from its `key=value` words.

    Args:
        player: the first word, None if there is none.
        words: the others.

    Returns:
        The player, None if no word names one, and the `key=value` words.
    """
    if player is not None and is_option(player):
        return None, [player, *words]
    return player, list(words)


def is_option(text: str) -> bool:
    """Tells whether a word is `key=value`, and not the name of a player."""
    key, equals, _ = text.partition("=")
    return bool(equals) and key.isidentifier() and not os.path.exists(text)


def bundled_player(game_name: str | None) -> str:
    """Returns the network that comes with the package for a game: who plays if nobody is named.

    Raises:
        CommandLineError: if there is none.
        UnknownGameError: if the game is not registered.
    """
    from alphago.games import make_game
    from alphago.players.bundled import bundled_network_for, bundled_networks

    if game_name is None:
        listed = ", ".join(bundled_networks()) or "none"
        raise CommandLineError(
            f"which player? name one, or a game that a network comes for (game=NAME: {listed})"
        )
    found = bundled_network_for(make_game(game_name).spec)
    if found is None:
        raise CommandLineError(
            f"which player? no network comes for {game_name}; name one, such as uct:playouts=1000"
            f" or the folder of a run (alphago train game={game_name})"
        )
    return found


def refuse_people(texts: Sequence[str]) -> None:
    """Checks that nobody is asked for a move.

    Raises:
        CommandLineError: if a player is `human`.
    """
    if any(text.partition(":")[0] == "human" for text in texts):
        raise CommandLineError("human: only `alphago play` has a person at the board")
