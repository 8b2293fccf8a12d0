"""`alphago games`: the registered games and their facts."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from scripts.arguments import Parser


def main(argv: Sequence[str]) -> None:
    """Prints one row per game."""
    parser = Parser(
        "games",
        description="List the games that can be learnt and played.",
        examples=["alphago games", "alphago train game=tic_tac_toe"],
        usage="",
    )
    parser.parse(argv)
    from alphago.games import GAME_NAMES, make_game

    table = Table(
        "game", "actions", "planes x rows x columns", "longest game", "symmetries", "moves"
    )
    for name in GAME_NAMES:
        game = make_game(name)
        spec = game.spec
        table.add_row(
            name,
            str(spec.num_actions),
            " x ".join(map(str, spec.observation_shape)),
            str(spec.max_moves),
            str(len(spec.symmetries)),
            f"{game.action_to_text(0)} to {game.action_to_text(spec.num_actions - 1)}",
        )
    Console(soft_wrap=True).print(table)
