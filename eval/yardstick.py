"""The yardstick: a player that never changes, against which a run is measured while it learns.

The gate says that networks get better, not how good they are. A score against a fixed player starts
at nothing and rises before one's eyes, which positions of a small suite do not.
"""

from dataclasses import dataclass

from alphago.errors import ConfigError, PlayerError, check_config, check_count
from alphago.games.game import Game
from alphago.players.text import make_player, split_text
from alphago.types import MAX_GAMES, MAX_PLIES

PLAYERS = ("random", "minimax", "alphabeta", "flat_mc", "uct")


@dataclass(kw_only=True)
class YardstickConfig:
    """Games against a fixed player, played when the suite is due and with its simulations.

    Attributes:
        player: a player's text, such as uct:playouts=300, or null for none.
        num_games: games of one measurement, even: two per opening.
        opening_plies: random moves before the players take over.
    """

    player: str | None
    num_games: int
    opening_plies: int

    def __post_init__(self) -> None:
        """Checks the values."""
        num_games = self.num_games
        is_even = isinstance(num_games, int) and num_games % 2 == 0
        is_match = is_even and 2 <= num_games <= MAX_GAMES
        allowed = f"an even integer from 2 to {MAX_GAMES}"
        check_config("yardstick.num_games", num_games, is_match, allowed)
        plies = self.opening_plies
        check_count("yardstick.opening_plies", plies, at_least=0, at_most=MAX_PLIES)


def check_yardstick(config: YardstickConfig, game: Game) -> None:
    """Checks that the player is always the same one and can play the game, by one move of it.

    A run or a checkpoint may be another network tomorrow, or none; a person and a program may not
    be there.

    Raises:
        ConfigError: if it is not, or cannot.
    """
    text = config.player
    if text is None:
        return
    allowed = f"{', '.join(PLAYERS)} with their options, or null"
    try:
        check_config("yardstick.player", text, split_text(text)[0] in PLAYERS, allowed)
        make_player(text, game=game).choose_actions(game.initial_states(1))
    except PlayerError as error:
        raise ConfigError("yardstick.player", text, f"{allowed} ({error})") from error
