"""`alphago play`: a person at the terminal against a player."""

import sys
from collections.abc import Sequence

from scripts.arguments import Parser, seed_from
from scripts.players import make_players


def main(argv: Sequence[str]) -> None:
    """Plays one game."""
    parser = Parser(
        "play",
        description=(
            "Play in the terminal against PLAYER: a run, a checkpoint, random, minimax, alphabeta\n"
            "or human. Type a move, or: hint, undo, help, quit."
        ),
        examples=(
            "alphago play runs/first:simulations=200",
            "alphago play alphabeta:depth=6 --game connect_four --second",
        ),
        usage="PLAYER [--game GAME] [--first | --second] [--seed N]",
    )
    parser.add_argument("player", metavar="PLAYER", help="KIND_OR_PATH[:key=value,...]")
    parser.add_argument("--game", help="the game; a run or checkpoint knows its own")
    seats = parser.add_mutually_exclusive_group()
    seats.add_argument("--first", action="store_true", help="you move first (the default)")
    seats.add_argument("--second", action="store_true", help="you move second")
    parser.add_argument("--seed", default="0", help="decides the player's random choices")
    arguments = parser.parse(argv)
    seed = seed_from({"seed": arguments.seed})
    _play(arguments.player, game_name=arguments.game, second=arguments.second, seed=seed)


def _play(text: str, *, game_name: str | None, second: bool, seed: int) -> None:
    from alphago.players.human import HumanPlayer, HumanQuit
    from alphago.players.session import play_game

    game, (player,) = make_players([text], game_name=game_name, seed=seed)
    human = HumanPlayer(game, lines=sys.stdin, screen=sys.stdout, name="you")
    print(f"{game.spec.name}, you move {'second' if second else 'first'}, against {player.name}")
    try:
        play_game(game, (player, human) if second else (human, player), tell=print)
    except HumanQuit as reason:
        print(f"Goodbye: {reason}.")
