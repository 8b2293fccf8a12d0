"""Players: anything that can choose moves, and the one text form that names them (`text.py`)."""

from alphago.players.advice import advice_table
from alphago.players.human import HumanPlayer, HumanQuit, UndoRequested
from alphago.players.player import Advisor, MoveAdvice, Player
from alphago.players.session import play_game
from alphago.players.text import KINDS, game_of_player, make_player

__all__ = [
    "KINDS",
    "Advisor",
    "HumanPlayer",
    "HumanQuit",
    "MoveAdvice",
    "Player",
    "UndoRequested",
    "advice_table",
    "game_of_player",
    "make_player",
    "play_game",
]
