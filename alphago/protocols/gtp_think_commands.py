"""Commands that think: genmove and the analyses, and what goes on while the opponent thinks.

How long: a network makes its number of simulations, or thinks for the seconds of the option
`seconds`; a clock only ever shortens that. Simulations of earlier moves that the tree has kept come
on top. A search that is running when the session ends goes on for `ENDING_GRACE` seconds at most,
and then answers with the best move so far.
"""

import itertools
import math
from collections.abc import Iterator, Mapping

from alphago.protocols.colors import BLACK
from alphago.protocols.gtp import SYNTAX_ERROR, Command, GtpError, Handler, check_arguments
from alphago.protocols.gtp_analysis import (
    AnalysisRequest,
    Report,
    kata_line,
    lz_line,
    read_request,
    win_rate,
)
from alphago.protocols.gtp_score import ownership, score
from alphago.protocols.gtp_session import GtpSession
from alphago.protocols.gtp_thinkers import PlayerThinker
from alphago.protocols.gtp_values import read_color
from alphago.protocols.tree_thinker import TreeThinker, restricted_actions
from alphago.types import FloatArray, States

ENDING_GRACE = 2.0  # seconds
_LOST_MOVES_TO_RESIGN = 3  # KataGo's number too
# Of an analysis, so that there is something to tell though the next command is there already.
_FEWEST_SIMULATIONS = 16
_FEWEST_PLAYOUTS = 200
_PONDERED_AT_ONCE = 4  # simulations between two looks at the input
_RESIGN = "resign"


class ThinkCommands:
    """The handlers, and pondering."""

    def __init__(self, session: GtpSession) -> None:
        """Keeps the session."""
        self._session = session

    def handlers(self) -> Mapping[str, Handler]:
        """Returns the handlers by command."""
        return {
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "lz-genmove_analyze": self._lz_genmove_analyze,
            "kata-genmove_analyze": self._kata_genmove_analyze,
            "genmove_analyze": self._kata_genmove_analyze,
            "lz-analyze": self._lz_analyze,
            "kata-analyze": self._kata_analyze,
            "analyze": self._kata_analyze,
            "stop": self._stop,
            "clear_cache": self._clear_cache,
        }

    def ponder(self) -> bool:
        """Thinks a little about the opponent's move; returns False where there is nothing to do."""
        session = self._session
        if not (session.options.ponder and session.ponders) or session.board.is_over:
            return False
        thinker = session.thinkers.of(session.board.game)
        if not isinstance(thinker, TreeThinker):
            return False
        board = session.board
        thinker.set_position(board.states_for(board.to_play), board.moves)
        return all(thinker.simulate() for _ in range(_PONDERED_AT_ONCE))

    def _stop(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        self._session.ponders = False
        return ""

    def _clear_cache(self, command: Command) -> str:
        check_arguments(command, usage="", at_least=0, at_most=0)
        self._session.thinkers.forget()
        return ""

    # --- moves ---

    def _genmove(self, command: Command) -> str:
        check_arguments(command, usage="COLOR", at_least=1, at_most=1)
        color = read_color(command.arguments[0])
        for _ in (thought := _Thought(self._session, color)).run():
            pass
        return self._make_move(color, thought)

    def _reg_genmove(self, command: Command) -> str:
        check_arguments(command, usage="COLOR", at_least=1, at_most=1)
        thought = _Thought(self._session, read_color(command.arguments[0]))
        for _ in thought.run():
            pass
        return self._session.vertex(thought.action)

    def _make_move(self, color: int, thought: "_Thought") -> str:
        """Plays what was thought out, or resigns; returns the text of it."""
        session = self._session
        session.time.end_move(color)
        session.played_colors.add(color)
        if self._has_lost(color, thought.win_rate):
            session.board.resign(color)
            session.ponders = False
            return _RESIGN
        session.board.play(color, thought.action)
        session.ponders = True
        return session.vertex(thought.action)

    def _has_lost(self, color: int, rate: float | None) -> bool:
        """Counts own moves in a row that looked lost; returns whether they are enough to resign."""
        threshold, lost_moves = self._session.options.resign, self._session.lost_moves
        if threshold is None or rate is None:
            return False
        lost_moves[color] = lost_moves[color] + 1 if rate < threshold else 0
        return lost_moves[color] >= _LOST_MOVES_TO_RESIGN

    # --- analyses ---

    def _lz_analyze(self, command: Command) -> Iterator[str]:
        return self._analyze(command, is_lz=True)

    def _kata_analyze(self, command: Command) -> Iterator[str]:
        return self._analyze(command, is_lz=False)

    def _lz_genmove_analyze(self, command: Command) -> Iterator[str]:
        return self._genmove_analyze(command, is_lz=True)

    def _kata_genmove_analyze(self, command: Command) -> Iterator[str]:
        return self._genmove_analyze(command, is_lz=False)

    def _read_request(self, command: Command) -> AnalysisRequest:
        return read_request(command.arguments, read_action=self._session.read_action)

    def _analyze(self, command: Command, *, is_lz: bool) -> Iterator[str]:
        """Yields lines until there is a word on the input; one line there is in any case."""
        session, request = self._session, self._read_request(command)
        session.ponders = False
        writer = _LineWriter(session, request, is_lz=is_lz)
        thinker = session.thinkers.of(session.board.game)
        if isinstance(thinker, PlayerThinker):
            if request.restrictions and thinker.can_report:
                raise GtpError("avoid and allow need a player with a network")
            looks, watch = itertools.count(1), session.watch
            thinker.set_stop(
                lambda: (
                    next(looks) >= _FEWEST_PLAYOUTS and (watch.is_waiting() or watch.is_ending())
                )
            )
            yield writer.line(_report_of(thinker, session, writer.color))
            session.watch.wait(None)
            return
        thinker = self._restrict(thinker, request, color=writer.color)
        thinker.set_position(session.board.states_for(writer.color), session.board.moves)
        next_line = session.now() + request.interval
        is_full = not all(thinker.simulate() for _ in range(_FEWEST_SIMULATIONS))
        has_written = False
        while not session.watch.is_waiting():
            if session.now() >= next_line:
                yield writer.line(thinker.report())
                has_written = True
                next_line = session.now() + request.interval
            elif is_full:
                session.watch.wait(next_line - session.now())
            else:
                is_full = not thinker.simulate()
        if not has_written:
            yield writer.line(thinker.report())

    def _restrict(
        self, thinker: TreeThinker, request: AnalysisRequest, *, color: int
    ) -> TreeThinker:
        """Returns a thinker that keeps to the request's restrictions, itself if there are none.

        Raises:
            GtpError: if they leave no move.
        """
        if not request.restrictions:
            return thinker
        legal = thinker.game.legal_actions(self._session.board.states_for(color))[0]
        if not restricted_actions(legal, request.restrictions, color=color, depth=0).any():
            raise GtpError("avoid and allow leave no move")
        return thinker.restricted(request.restrictions)

    def _genmove_analyze(self, command: Command, *, is_lz: bool) -> Iterator[str]:
        session, request = self._session, self._read_request(command)
        if request.restrictions:
            raise GtpError(f"{SYNTAX_ERROR}: avoid and allow are for analyses only")
        writer = _LineWriter(session, request, is_lz=is_lz)
        thought = _Thought(session, writer.color)
        next_line = session.now() + request.interval
        has_written = False
        for _ in thought.run():
            if session.now() >= next_line:
                yield writer.line(thought.report())
                has_written = True
                next_line = session.now() + request.interval
        if not has_written and thought.can_report:
            yield writer.line(thought.report())
        yield f"play {self._make_move(writer.color, thought)}"


class _LineWriter:
    """Writes the lines of one analysis."""

    def __init__(self, session: GtpSession, request: AnalysisRequest, *, is_lz: bool) -> None:
        """Settles the colour, and the ownership if it is asked for."""
        self.color = session.board.to_play if request.color is None else request.color
        self._request = request
        self._is_lz = is_lz
        self._ownership: FloatArray | None = None
        if not is_lz and request.switches & {"ownership", "ownershipStdev"}:
            sign = 1 if self.color == BLACK else -1
            self._ownership = ownership(session.board) * sign

    def line(self, report: Report) -> str:
        """Returns a report as a line."""
        if self._is_lz:
            return lz_line(report, self._request)
        return kata_line(report, self._request, ownership=self._ownership)


class _Thought:
    """The search of one move.

    Attributes:
        action: the move; only after `run`.
        win_rate: of the side to move; None where the player does not tell.
    """

    action: int
    win_rate: float | None

    def __init__(self, session: GtpSession, color: int) -> None:
        """Turns to the position, with a colour to move."""
        self._session = session
        self._color = color
        self._started = session.now()
        self.win_rate = None
        session.ponders = False
        session.time.start_move()
        self._thinker = session.thinkers.of(session.board.game)
        self._report: Report | None = None
        self._seconds = self._seconds_to_think()
        self._ending_since = math.inf

    @property
    def can_report(self) -> bool:
        """Whether there is something to tell about the moves."""
        return self._report is not None

    def report(self) -> Report:
        """Returns what was found so far."""
        if isinstance(self._thinker, TreeThinker):
            return self._thinker.report()
        assert self._report is not None, "nothing was found yet"
        return self._report

    def run(self) -> Iterator[None]:
        """Thinks, with a pause after each simulation; settles `action`."""
        board = self._session.board
        pass_action = board.game.spec.pass_action
        assert pass_action is not None, "Go has passes"
        if board.is_over or self._shall_answer_pass():
            self.action = pass_action
        elif isinstance(self._thinker, TreeThinker):
            yield from self._run_tree(self._thinker)
        else:
            self._ask_player(self._thinker)

    def _run_tree(self, thinker: TreeThinker) -> Iterator[None]:
        session, board = self._session, self._session.board
        thinker.set_position(self._states(), board.moves)
        left = math.inf if session.options.seconds is not None else session.thinkers.num_simulations
        while left > 0 and thinker.simulate():
            left -= 1
            yield
            if self._must_answer():
                break
        self._settle(thinker.report())

    def _must_answer(self) -> bool:
        """Returns whether time is up, or has been since the session ended."""
        now = self._session.now()
        if self._seconds is not None and now - self._started >= self._seconds:
            return True
        if not self._session.watch.is_ending():
            return False
        self._ending_since = min(self._ending_since, now)
        return now - self._ending_since >= ENDING_GRACE

    def _seconds_to_think(self) -> float | None:
        """Returns how long to think at most, None for as long as it takes."""
        session, board = self._session, self._session.board
        height, width = board.size
        allotted = session.time.allotment(
            self._color, num_points=height * width, num_moves=len(board.moves)
        )
        limits = (allotted, session.options.seconds, session.thinkers.seconds)
        return min((limit for limit in limits if limit is not None), default=None)

    def _ask_player(self, thinker: PlayerThinker) -> None:
        states = self._states()
        thinker.set_stop(self._must_answer)
        if thinker.can_report:
            self._settle(thinker.report(states))
        else:
            self.action = thinker.choose(states)

    def _settle(self, report: Report) -> None:
        self._report = report
        self.action = self._session.read_action(report.moves[0].move)
        self.win_rate = win_rate(report.value)

    def _shall_answer_pass(self) -> bool:
        """Returns whether the opponent has passed and a pass wins by the count of `final_score`."""
        options, board = self._session.options, self._session.board
        if not (options.answer_pass and self._was_passed_to()):
            return False
        return self._is_won(score(board, remove_dead=options.remove_dead))

    def _states(self) -> States:
        """Returns the position [1] to think about, in which a pass is not to be answered.

        Players count the board as it stands. Where that count is won they would pass, UCT without
        a look; then the pass before is forgotten, so that no pass of theirs ends the game.
        """
        board, color = self._session.board, self._color
        states = board.states_for(color)
        if self._was_passed_to() and self._is_won(float(board.game.score(states)[0])):
            states = board.game.with_to_play(states, 1 - color)
            return board.game.with_to_play(states, color)
        return states

    def _was_passed_to(self) -> bool:
        """Returns whether the move before was a pass of the opponent."""
        board = self._session.board
        return bool(board.game.num_passes(board.states_for(self._color))[0])

    def _is_won(self, points: float) -> bool:
        """Returns whether a score wins for the side to move."""
        return points > 0 if self._color == BLACK else points < 0


def _report_of(thinker: PlayerThinker, session: GtpSession, color: int) -> Report:
    """Returns what a player without a tree thinks.

    Raises:
        GtpError: if it does not tell.
    """
    if not thinker.can_report:
        raise GtpError("this player cannot analyse")
    return thinker.report(session.board.states_for(color))
