"""`alphago games`: the registered games and their facts."""

from collections.abc import Sequence

from scripts.arguments import Parser
from scripts.tables import format_table


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

    rows = [("game", "actions", "moves", "observation", "longest game", "symmetries")]
    for name in GAME_NAMES:
        game = make_game(name)
        spec = game.spec
        planes, height, width = spec.observation_shape
        rows.append(
            (
                name,
                str(spec.num_actions),
                f"{game.action_to_text(0)} .. {game.action_to_text(spec.num_actions - 1)}",
                f"{planes} planes of {height} x {width}",
                f"{spec.max_moves} moves",
                str(len(spec.symmetries)),
            )
        )
    print(format_table(rows))
