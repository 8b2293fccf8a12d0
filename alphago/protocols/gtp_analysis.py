"""The analysis commands: what a controller asks for, and the lines it gets.

The syntax is that of Leela Zero (`lz-analyze`) and KataGo (`kata-analyze`, `analyze`). All values
are in the view of the side to move. Win rates are (1 + value) / 2. There is no estimate of the
score, so KataGo's score fields are zero, and `lcb` is the win rate less two standard deviations of
as many won or lost games as there are visits, which no value in between can exceed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from alphago.protocols.gtp import INVALID_VERTEX, SYNTAX_ERROR, GtpError
from alphago.protocols.gtp_values import find_color, find_integer, read_integer, read_switch
from alphago.types import FloatArray

DEFAULT_INTERVAL = 1.0  # seconds between two lines where the controller does not say
_SHORTEST_INTERVAL = 0.01  # seconds
_CENTISECONDS = 100
_LARGEST = 10_000  # Leela Zero's unit: hundredths of a per cent
_LCB_DEVIATIONS = 2.0

_SCORES = ("scoreMean", "scoreStdev", "scoreLead", "scoreSelfplay")
_SWITCHES = (
    "rootInfo",
    "ownership",
    "ownershipStdev",
    "pvVisits",
    "pvEdgeVisits",
    "noResultValue",
)


class MoveInfo(NamedTuple):
    """What was found about one move.

    Attributes:
        move: its text.
        visits: simulations that took it.
        value: mean value in [-1, 1] of the side to move; of the position where there are no visits.
        prior: probability before the search.
        variation: the move and the likeliest ones after it.
        variation_visits: visits of each move of the variation.
    """

    move: str
    visits: int
    value: float
    prior: float
    variation: tuple[str, ...]
    variation_visits: tuple[int, ...]


class Report(NamedTuple):
    """What was found about a position: the root's visits and value, and its moves, best first."""

    visits: int
    value: float
    moves: list[MoveInfo]


class Restriction(NamedTuple):
    """Moves that a colour must avoid, or to which it is held, in the first plies of the search."""

    color: int
    actions: frozenset[int]
    until_depth: int  # holds at depths below this; 1 is the first move only
    is_allowed: bool  # True: nothing but these actions; False: none of them


@dataclass(kw_only=True)
class AnalysisRequest:
    """What an analysis command asks for.

    Attributes:
        color: the side to move, None for the one whose turn it is.
        interval: seconds between two lines.
        min_moves: so many moves at least are told, unvisited ones too.
        max_moves: so many at most.
        restrictions: see `Restriction`.
        switches: KataGo's switches that are on.
    """

    color: int | None = None
    interval: float = DEFAULT_INTERVAL
    min_moves: int = 0
    max_moves: int | None = None
    restrictions: list[Restriction] = field(default_factory=list)
    switches: set[str] = field(default_factory=set)


def read_request(arguments: Sequence[str], *, read_action: Callable[[str], int]) -> AnalysisRequest:
    """Reads `[color] [interval] [key value]...`, the first two in either order.

    Args:
        arguments: the words after the command.
        read_action: reads a vertex.

    Raises:
        GtpError: if something cannot be understood.
    """
    request = AnalysisRequest()
    words = list(arguments)
    has_color = has_interval = False
    while words:
        color = find_color(words[0])
        if color is not None and not has_color:
            request.color, has_color = color, True
            del words[0]
        elif find_integer(words[0]) is not None and not has_interval:
            request.interval, has_interval = _read_interval(words.pop(0)), True
        else:
            break
    while words:
        _read_pair(request, words, read_action)
    return request


def _read_pair(
    request: AnalysisRequest, words: list[str], read_action: Callable[[str], int]
) -> None:
    """Takes one key and its value off the front of the words."""
    key = words.pop(0)
    if key in ("avoid", "allow"):
        if len(words) < 3:
            raise GtpError(f"{SYNTAX_ERROR}: expected {key} COLOR VERTEX,... UNTILDEPTH")
        request.restrictions.append(_read_restriction(key, words[:3], read_action))
        del words[:3]
        return
    if not words:
        raise GtpError(f"{SYNTAX_ERROR}: {key} has no value")
    value = words.pop(0)
    if key == "interval":
        request.interval = _read_interval(value)
    elif key == "minmoves":
        request.min_moves = read_integer(value, what=key, lowest=0)
    elif key == "maxmoves":
        request.max_moves = read_integer(value, what=key, lowest=1)
    elif key in _SWITCHES:
        is_on = read_switch(value, what=key)
        request.switches = request.switches | {key} if is_on else request.switches - {key}
    else:
        raise GtpError(f"{SYNTAX_ERROR}: unknown key {key}")


def _read_interval(text: str) -> float:
    centiseconds = read_integer(text, what="interval", lowest=0)
    return max(_SHORTEST_INTERVAL, centiseconds / _CENTISECONDS)


def _read_restriction(
    key: str, words: Sequence[str], read_action: Callable[[str], int]
) -> Restriction:
    color = find_color(words[0])
    if color is None:
        raise GtpError(INVALID_VERTEX)
    actions = frozenset(read_action(text) for text in words[1].split(",") if text)
    depth = read_integer(words[2], what=f"{key}: depth", lowest=1)
    return Restriction(color, actions, depth, key == "allow")


def told_moves(report: Report, request: AnalysisRequest) -> list[MoveInfo]:
    """Returns the moves to tell: the visited ones, within the bounds of the request."""
    num_visited = sum(1 for move in report.moves if move.visits > 0)
    count = max(num_visited, request.min_moves)
    return report.moves[: count if request.max_moves is None else min(count, request.max_moves)]


def lz_line(report: Report, request: AnalysisRequest) -> str:
    """Returns a line in Leela Zero's form, with integers from 0 to 10000."""
    parts = []
    for order, move in enumerate(told_moves(report, request)):
        rate = win_rate(move.value)
        parts.append(
            f"info move {move.move} visits {move.visits} winrate {_scaled(rate)}"
            f" prior {_scaled(move.prior)} lcb {_scaled(lower_bound(rate, move.visits))}"
            f" order {order} pv {' '.join(move.variation)}"
        )
    return " ".join(parts)


def kata_line(
    report: Report, request: AnalysisRequest, *, ownership: FloatArray | None = None
) -> str:
    """Returns a line in KataGo's form, with floats.

    Args:
        report: what was found.
        request: what is asked for.
        ownership: float32 [H, W] in [-1, 1], 1 for the side to move; None where not asked for.
    """
    parts = [
        _kata_move(move, order, request) for order, move in enumerate(told_moves(report, request))
    ]
    if "rootInfo" in request.switches:
        rate = win_rate(report.value)
        parts.append(f"rootInfo visits {report.visits} {_kata_values(rate, report.visits)}")
    if ownership is not None and "ownership" in request.switches:
        parts.append("ownership " + " ".join(_float(float(cell)) for cell in ownership.ravel()))
    if ownership is not None and "ownershipStdev" in request.switches:
        # A point is owned wholly, by either side, in each game that the mean was taken over.
        deviations = np.sqrt(np.maximum(0.0, 1.0 - ownership.ravel() ** 2))
        parts.append("ownershipStdev " + " ".join(_float(float(cell)) for cell in deviations))
    return " ".join(parts)


def _kata_move(move: MoveInfo, order: int, request: AnalysisRequest) -> str:
    rate = win_rate(move.value)
    bound = lower_bound(rate, move.visits)
    text = (
        f"info move {move.move} visits {move.visits} edgeVisits {move.visits}"
        f" {_kata_values(rate, move.visits)} prior {_float(move.prior)} lcb {_float(bound)}"
        f" utilityLcb {_float(2.0 * bound - 1.0)} order {order}"
    )
    if "noResultValue" in request.switches:
        text += f" noResultValue {_float(0.0)}"
    text += f" pv {' '.join(move.variation)}"
    for switch in ("pvVisits", "pvEdgeVisits"):
        if switch in request.switches:
            text += f" {switch} {' '.join(map(str, move.variation_visits))}"
    return text


def _kata_values(rate: float, visits: int) -> str:
    """Returns the fields that moves and root have in common."""
    scores = " ".join(f"{name} {_float(0.0)}" for name in _SCORES)
    utility = _float(2.0 * rate - 1.0)
    return f"utility {utility} winrate {_float(rate)} {scores} weight {_float(visits)}"


def win_rate(value: float) -> float:
    """Turns a value in [-1, 1] into a share of games won in [0, 1]."""
    return min(1.0, max(0.0, (1.0 + value) / 2.0))


def lower_bound(rate: float, visits: int) -> float:
    """Returns a win rate less two standard deviations of so many games, at least 0."""
    if visits == 0:
        return 0.0
    return max(0.0, rate - _LCB_DEVIATIONS * math.sqrt(rate * (1.0 - rate) / visits))


def _scaled(share: float) -> int:
    return round(_LARGEST * share)


def _float(number: float) -> str:
    """Returns a float with a decimal point, and zero without a sign."""
    return f"{number + 0.0:.6f}"
