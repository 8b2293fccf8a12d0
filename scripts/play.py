"""`alphago play`: a person at the terminal against a player."""

import sys
from collections.abc import Sequence

from scripts.arguments import CommandLineError, Parser, parse_words, seed_from
from scripts.players import make_players

SIDES = ("first", "second")
KEYS = ("game", "side", "seed")


def main(argv: Sequence[str]) -> None:
    """Plays one game."""
    parser = Parser(
        "play",
        description=(
            "Play in the terminal against PLAYER: a run, a checkpoint, random, minimax, alphabeta\n"
            "or human. Type a move, or: hint (of a network), undo, help, quit."
        ),
        examples=(
            "alphago play runs/first:simulations=200",
            "alphago play alphabeta:depth=6 game=connect_four side=second",
        ),
        usage="PLAYER [game=GAME] [side=first|second] [seed=N]",
        keys=lambda: KEYS,
    )
    parser.add_argument("player", metavar="PLAYER", help="KIND_OR_PATH[:key=value,...]")
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help="game (a run or checkpoint knows its own), side (yours, first by default), seed",
    )
    arguments = parser.parse(argv)
    values = parse_words(arguments.words, allowed=KEYS)
    side = values.get("side", SIDES[0])
    if side not in SIDES:
        raise CommandLineError(f"side: got {side!r}, allowed: {' or '.join(SIDES)}")
    _play(
        arguments.player,
        game_name=values.get("game"),
        second=side == SIDES[1],
        seed=seed_from(values),
    )


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
