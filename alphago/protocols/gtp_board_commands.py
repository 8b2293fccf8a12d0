"""Commands that set up the board, play on it and show it. Nothing here thinks."""

import copy
import dataclasses
from collections.abc import Mapping

from alphago.errors import CheckpointError, PlayerError, RulesError
from alphago.games.go.rules import KGS_NAMES, GoRules, rules_json
from alphago.protocols.colors import BLACK, WHITE
from alphago.protocols.gtp import (
    INVALID_VERTEX,
    SYNTAX_ERROR,
    Command,
    GtpError,
    Handler,
    check_arguments,
)
from alphago.protocols.gtp_board import GtpBoard, Setup
from alphago.protocols.gtp_rules import change_rule, read_name, read_rules
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_values import find_integer, read_color, read_float

SMALLEST, LARGEST = 2, 25  # sides of a board
UNACCEPTABLE_SIZE = "unacceptable size"
INVALID_HANDICAP = "invalid number of stones"
BAD_VERTICES = "bad vertex list"
_MANY = 1_000_000  # arguments


class BoardCommands:
    """The handlers."""

    def __init__(self, session: GtpSession) -> None:
        """Keeps the session."""
        self._session = session

    def handlers(self) -> Mapping[str, Handler]:
        """Returns the handlers by command."""
        return {
            "boardsize": self._board_size,
            "rectangular_boardsize": self._rectangular_board_size,
            "clear_board": self._clear_board,
            "set_position": self._set_position,
            "komi": self._komi,
            "get_komi": self._get_komi,
            "play": self._play,
            "undo": self._undo,
            "is_legal": self._is_legal,
            "list_stones": self._list_stones,
            "captures": self._captures,
            "showboard": self._show_board,
            "fixed_handicap": self._fixed_handicap,
            "place_free_handicap": self._place_free_handicap,
            "set_free_handicap": self._set_free_handicap,
            "kgs-rules": self._kgs_rules,
            "kata-set-rules": self._set_rules,
            "kata-set-rule": self._set_rule,
            "kata-get-rules": self._get_rules,
        }

    # --- the board as a whole ---

    def _board_size(self, command: Command) -> str:
        check_arguments(command, usage="SIZE", at_least=1, at_most=2)
        return self._resize(command.arguments[0], command.arguments[-1])

    def _rectangular_board_size(self, command: Command) -> str:
        check_arguments(command, usage="WIDTH HEIGHT", at_least=2, at_most=2)
        return self._resize(*command.arguments)

    def _resize(self, width_text: str, height_text: str) -> str:
        width, height = find_integer(width_text), find_integer(height_text)
        if width is None or height is None:
            raise GtpError(f"{SYNTAX_ERROR}: the size is an integer from {SMALLEST} to {LARGEST}")
        if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
            raise GtpError(f"{UNACCEPTABLE_SIZE}: allowed: {SMALLEST} to {LARGEST}")
        self._session.start_game(self.new_board(height=height, width=width))
        return ""

    def new_board(self, *, height: int, width: int) -> GtpBoard:
        """Returns an empty board that the player can play on, with the rules so far.

        Raises:
            GtpError: if the player plays other sizes only.
        """
        session = self._session
        board = session.board.resized(height=height, width=width)
        if board.size != session.board.size:
            try:
                session.thinkers.check(board.game)
            except (PlayerError, CheckpointError) as error:
                raise GtpError(f"{UNACCEPTABLE_SIZE}: {error}") from error
        return board

    def _clear_board(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        height, width = self._session.board.size
        self._session.start_game(self._session.board.resized(height=height, width=width))
        return ""

    def _set_position(self, command: Command) -> str:
        check_arguments(command, usage="[COLOR VERTEX]...", at_least=0, at_most=_MANY)
        words = command.arguments
        if len(words) % 2:
            raise GtpError(f"{SYNTAX_ERROR}: expected set_position [COLOR VERTEX]...")
        stones: tuple[list[int], list[int]] = ([], [])
        for color, vertex in zip(words[::2], words[1::2], strict=True):
            stones[read_color(color)].append(self._read_point(vertex))
        board = copy.copy(self._session.board)
        board.set_up(Setup(tuple(stones[BLACK]), tuple(stones[WHITE])))
        self._session.start_game(board)
        return ""

    def _read_point(self, text: str) -> int:
        height, width = self._session.board.size
        action = self._session.read_action(text)
        if action == height * width:  # a pass is a vertex, but no point of the board
            raise GtpError(INVALID_VERTEX)
        return action

    # --- rules ---

    def _komi(self, command: Command) -> str:
        check_arguments(command, usage="KOMI", at_least=1, at_most=1)
        komi = read_float(command.arguments[0], what="komi")
        self._change_rules(dataclasses.replace(self._session.board.rules, komi=komi))
        return ""

    def _get_komi(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        return str(self._session.board.rules.komi)

    def _set_rules(self, command: Command) -> str:
        check_arguments(command, usage="NAME_OR_JSON", at_least=1, at_most=_MANY)
        self._change_rules(read_rules(command.rest, current=self._session.board.rules))
        return ""

    def _set_rule(self, command: Command) -> str:
        check_arguments(command, usage="FIELD VALUE", at_least=2, at_most=2)
        key, value = command.arguments
        self._change_rules(change_rule(key, value, current=self._session.board.rules))
        return ""

    def _kgs_rules(self, command: Command) -> str:
        check_arguments(command, usage="|".join(KGS_NAMES), at_least=1, at_most=1)
        name = command.arguments[0]
        if name not in KGS_NAMES:
            raise GtpError(f"unknown rules: got {name!r}, allowed: {', '.join(KGS_NAMES)}")
        self._change_rules(read_name(name, current=self._session.board.rules))
        return ""

    def _change_rules(self, rules: GoRules) -> None:
        self._session.board.set_rules(rules)
        self._session.ponders = False

    def _get_rules(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        return rules_json(self._session.board.rules)

    # --- moves ---

    def _play(self, command: Command) -> str:
        check_arguments(command, usage="COLOR VERTEX", at_least=2, at_most=2)
        color = read_color(command.arguments[0])
        self._session.board.play(color, self._session.read_action(command.arguments[1]))
        return ""

    def _undo(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        self._session.board.undo()
        self._session.lost_moves = [0, 0]
        self._session.ponders = False
        return ""

    def _is_legal(self, command: Command) -> str:
        check_arguments(command, usage="COLOR VERTEX", at_least=2, at_most=2)
        color = read_color(command.arguments[0])
        action = self._session.read_action(command.arguments[1])
        return str(int(self._session.board.is_legal(color, action)))

    # --- what stands on the board ---

    def _list_stones(self, command: Command) -> str:
        check_arguments(command, usage="COLOR", at_least=1, at_most=1)
        color = read_color(command.arguments[0])
        board = self._session.board
        stones = board.game.board(board.states)[0].ravel()
        return " ".join(self._session.vertex(i) for i in range(stones.size) if stones[i] == color)

    def _captures(self, command: Command) -> str:
        check_arguments(command, usage="COLOR", at_least=1, at_most=1)
        color = read_color(command.arguments[0])
        board = self._session.board
        return str(board.game.captures(board.states)[0, color])

    def _show_board(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        board = self._session.board
        return "\n" + board.game.render(board.states[0])

    # --- handicap ---

    def _fixed_handicap(self, command: Command) -> str:
        check_arguments(command, usage="NUMBER", at_least=1, at_most=1)
        number = find_integer(command.arguments[0])
        if number is None:
            raise GtpError(f"{SYNTAX_ERROR}: the number of stones is an integer")
        try:
            points = self._session.board.handicap_points(number)
        except RulesError as error:
            raise GtpError(f"{INVALID_HANDICAP}: {error}") from error
        return self._place(points)

    def _place_free_handicap(self, command: Command) -> str:
        """Places stones on fixed points; fewer where there are fewer, as the protocol allows."""
        check_arguments(command, usage="NUMBER", at_least=1, at_most=1)
        number = find_integer(command.arguments[0])
        if number is None or number < 2:
            raise GtpError(INVALID_HANDICAP)
        height, width = self._session.board.size
        for count in range(min(number, height * width - 1), 1, -1):
            try:
                points = self._session.board.handicap_points(count)
            except RulesError:  # not so many on this board
                continue
            return self._place(points)
        raise GtpError(f"{INVALID_HANDICAP}: this board has no handicap points")

    def _set_free_handicap(self, command: Command) -> str:
        check_arguments(command, usage="VERTEX VERTEX...", at_least=1, at_most=_MANY)
        points = [self._read_point(text) for text in command.arguments]
        height, width = self._session.board.size
        if len(points) < 2 or len(points) >= height * width or len(set(points)) < len(points):
            raise GtpError(f"{BAD_VERTICES}: allowed: two or more points, each of them once")
        self._place(points)
        return ""

    def _place(self, points: list[int]) -> str:
        self._session.board.place_handicap(points)
        self._session.thinkers.forget()
        return " ".join(self._session.vertex(point) for point in points)
