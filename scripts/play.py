"""`alphago play`: a person at the terminal against a player."""

import sys
from collections.abc import Sequence

from scripts.arguments import CommandLineError, Parser, parse_words, seed_from
from scripts.players import PLAYER_HELP, bundled_player, make_players, split_player

SIDES = ("first", "second")
KEYS = ("game", "side", "seed")


def main(argv: Sequence[str]) -> None:
    """Plays one game."""
    arguments = _make_parser().parse(argv)
    player, words = split_player(arguments.player, arguments.words)
    values = parse_words(words, allowed=KEYS)
    if player is None:
        player = bundled_player(values.get("game"))
    side = values.get("side", SIDES[0])
    if side not in SIDES:
        raise CommandLineError(f"side: got {side!r}, allowed: {' or '.join(SIDES)}")
    _play(
        player,
        game_name=values.get("game"),
        second=side == SIDES[1],
        seed=seed_from(values),
    )


def _make_parser() -> Parser:
    parser = Parser(
        "play",
        description=(
            "Play in the terminal against PLAYER: a run, a checkpoint, random, minimax,\n"
            "alphabeta, flat_mc, uct, human, or gtp:COMMAND LINE, a program that plays Go. Where\n"
            "none is named it is the network that comes with alphago for the game. Type a move,\n"
            "or: hint, undo, help, quit."
        ),
        examples=(
            "alphago play game=go_9x9",
            "alphago play runs/first:simulations=200",
            "alphago play alphabeta:depth=6 game=connect_four side=second",
            "alphago play uct:playouts=5000 game=go_9x9:rules=japanese",
        ),
        usage="[PLAYER] [game=GAME] [side=first|second] [seed=N]",
        keys=lambda: KEYS,
    )
    parser.add_argument("player", nargs="?", metavar="PLAYER", help=PLAYER_HELP)
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="key=value",
        help=(
            "game (a run or checkpoint knows its own), side (first, the default: you make the"
            " first move, which is White's in a handicap game), seed"
        ),
    )
    return parser


def _play(text: str, *, game_name: str | None, second: bool, seed: int) -> None:
    from alphago.games import game_text
    from alphago.players.human import HumanPlayer, HumanQuit
    from alphago.players.session import first_mover, play_game

    game, (player,) = make_players([text], game_name=game_name, seed=seed)
    human = HumanPlayer(game, lines=sys.stdin, screen=sys.stdout, name="you")
    order = SIDES[1] if second else SIDES[0]
    print(f"{game_text(game.spec)}, you move {order}, against {player.name}")
    human_has_id_0 = (first_mover(game) == 0) != second
    try:
        play_game(game, (human, player) if human_has_id_0 else (player, human), tell=print)
    except HumanQuit as reason:
        print(f"Goodbye: {reason}.")
