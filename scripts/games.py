"""`alphago games`: the registered games and their facts."""

from collections.abc import Sequence

from scripts.arguments import Parser
from scripts.tables import format_table


def main(argv: Sequence[str]) -> None:
    """Prints one row per game, the networks that there are, and that Go has more boards."""
    parser = Parser(
        "games",
        description="List the games that can be learnt and played, and the networks there are.",
        examples=["alphago games", "alphago train game=tic_tac_toe"],
        usage="",
    )
    parser.parse(argv)
    from alphago.games import GAME_NAMES, make_game
    from alphago.games.go.vertices import MAX_SIZE
    from alphago.players.bundled import bundled_networks

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
    networks = bundled_networks()
    if networks:
        print(f"Networks that come with alphago: {', '.join(networks)} (alphago play NETWORK)")
    print(f"Go has other boards too: go_COLUMNSxROWS, each from 1 to {MAX_SIZE}, such as go_11x7")
