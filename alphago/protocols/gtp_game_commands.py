"""Commands about whole games: score, status of stones, and records in SGF.

`final_score` and the result that `printsgf` writes come from one function, `gtp_score.score`.
"""

import dataclasses
import os.path
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from alphago.files import reason
from alphago.games.go.rules import GoRules
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.gtp import SYNTAX_ERROR, Command, GtpError, Handler, check_arguments
from alphago.protocols.gtp_board import GtpBoard, Setup
from alphago.protocols.gtp_board_commands import BoardCommands
from alphago.protocols.gtp_score import chains, dead_stones, result_text, score, score_text
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_values import read_integer
from alphago.protocols.sgf import SgfGame, SgfMove, SgfNode, read_sgf, write_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_sgf, rules_name
from alphago.types import EMPTY

_STATUSES = ("alive", "dead", "seki")
_MANY = 1_000_000  # arguments


class GameCommands:
    """The handlers."""

    def __init__(self, session: GtpSession, board_commands: BoardCommands) -> None:
        """Keeps the session, and what makes boards of other sizes."""
        self._session = session
        self._board_commands = board_commands

    def handlers(self) -> Mapping[str, Handler]:
        """Returns the handlers by command."""
        return {
            "final_score": self._final_score,
            "final_status_list": self._final_status_list,
            "loadsgf": self._load_sgf,
            "printsgf": self._print_sgf,
        }

    def _final_score(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        remove_dead = self._session.options.remove_dead
        return score_text(score(self._session.board, remove_dead=remove_dead))

    def _final_status_list(self, command: Command) -> str:
        check_arguments(command, usage="|".join(_STATUSES), at_least=1, at_most=1)
        status = command.arguments[0]
        if status not in _STATUSES:
            raise GtpError(f"{SYNTAX_ERROR}: got {status!r}, allowed: {', '.join(_STATUSES)}")
        if status == "seki":
            return ""
        board = self._session.board
        dead = dead_stones(board)
        _, width = board.size
        found = chains(board.game.board(board.states)[0])
        return "\n".join(
            " ".join(self._session.vertex(row * width + column) for row, column in chain)
            for chain in found
            if dead[chain[0]] == (status == "dead")
        )

    # --- SGF ---

    def _load_sgf(self, command: Command) -> str:
        """Loads the main line, up to but without the move of the given number."""
        check_arguments(command, usage="FILE [MOVE]", at_least=1, at_most=_MANY)
        path, stop = _split_path(command.rest)
        game = read_sgf(path)[0]
        board = self._board_commands.new_board(height=game.height, width=game.width)
        board.set_rules(_with_komi(board, game))
        # Refuses what the rules forbid, and says why.
        replay_sgf(go_of_sgf(game, rules=board.rules), game, up_to_move=stop)
        _play_nodes(board, game, stop=stop)
        self._session.start_game(board)
        return ""

    def _print_sgf(self, command: Command) -> str:
        """Writes the game to a file, or without one as the answer."""
        check_arguments(command, usage="[FILE]", at_least=0, at_most=_MANY)
        text = write_sgf(self._record())
        if not command.rest:
            return text
        try:
            Path(command.rest).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise GtpError(f"cannot save file: {command.rest}: {why}") from error
        return ""

    def _record(self) -> SgfGame:
        board, name = self._session.board, self._session.name
        height, width = board.size
        setup = board.setup
        is_usual = setup.to_play == BLACK
        root = SgfNode(setup.black, setup.white, to_play=None if is_usual else setup.to_play)
        moves = [SgfNode(move=SgfMove(color, action)) for color, action in board.moves]
        return SgfGame(
            width=width,
            height=height,
            nodes=(root, *moves),
            komi=board.rules.komi,
            rules=rules_name(board.rules),
            handicap=setup.num_handicap,
            black_name=name if BLACK in self._session.played_colors else "",
            white_name=name if WHITE in self._session.played_colors else "",
            result=result_text(board, remove_dead=self._session.options.remove_dead),
        )


def _split_path(text: str) -> tuple[str, int | None]:
    """Splits `FILE [MOVE]`; a file's name may hold blanks, and end in a number."""
    path, _, last = text.rpartition(" ")
    # Not `Path.exists`, which raises for names that are too long or in folders that are closed.
    if not path or os.path.exists(text) or not re.fullmatch("[0-9]+", last):
        return text, None
    return path.rstrip(), read_integer(last, what="move", lowest=0)


def _with_komi(board: GtpBoard, game: SgfGame) -> GoRules:
    return board.rules if game.komi is None else dataclasses.replace(board.rules, komi=game.komi)


def _play_nodes(board: GtpBoard, game: SgfGame, *, stop: int | None) -> None:
    """Plays a game's main line on an empty board.

    Args:
        board: changed in place.
        game: the game, whose moves and stones the rules allow.
        stop: number of the first move that is left out, None to play all.
    """
    number = 0
    for node in game.nodes:
        if node.is_set_up or (node.to_play is not None and not board.moves):
            board.set_up(_setup_of(board, game, node))
        elif node.to_play is not None:
            board.give_turn(node.to_play)
        if node.move is None:
            continue
        number += 1
        if stop is not None and number >= stop:
            board.give_turn(node.move.player)
            return
        board.play(node.move.player, node.move.action)


def _setup_of(board: GtpBoard, game: SgfGame, node: SgfNode) -> Setup:
    """Returns what stands on the board once a node's stones are set up."""
    stones = board.game.board(board.states)[0].ravel().copy()
    stones[list(node.empty)] = EMPTY
    stones[list(node.black)] = BLACK
    stones[list(node.white)] = WHITE
    is_handicap = board.is_untouched and game.handicap >= 2 and node.black and not node.white
    to_play = WHITE if is_handicap else board.to_play
    return Setup(
        black=tuple(np.flatnonzero(stones == BLACK).tolist()),
        white=tuple(np.flatnonzero(stones == WHITE).tolist()),
        to_play=to_play if node.to_play is None else node.to_play,
        num_handicap=len(node.black) if is_handicap else board.setup.num_handicap,
    )
