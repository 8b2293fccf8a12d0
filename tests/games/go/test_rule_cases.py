"""Positions with known answers, asked of the engine and of the referee that checks the engine."""

from typing import Any

import numpy as np
import pytest

from alphago.errors import IllegalActionError, RulesError
from alphago.games.go.game import Go
from alphago.games.go.vertices import handicap_actions
from alphago.types import States
from tests.games.go.engine import (
    PLAYERS,
    drawing,
    go_cases,
    height_and_width,
    make_go,
    play_moves,
    referee_plays,
)
from tests.reference.go_referee import BLACK, EMPTY, WHITE, Geometry, GoReferee

CASES = [case for case in go_cases() if case["query"]["type"] != "fixed_handicap"]
HANDICAP_CASES = [case for case in go_cases() if case["query"]["type"] == "fixed_handicap"]
WAYS = [
    pytest.param(case, way, id=f"{case['id']}-{way}")
    for case in CASES
    for way in ("moves", "flat_moves")
    if case[way] is not None
]


def case_ids(case: dict[str, Any]) -> str:
    return case["id"]


class EngineAnswers:
    """The queries' answers by the public functions of `Go`."""

    def __init__(self, case: dict[str, Any], *, way: str) -> None:
        self.height, self.width = height_and_width(case["size"])
        self.go: Go = make_go(self.height, self.width, **case["rules"])
        self.states: States = self.go.initial_states(1)
        if way == "moves":
            setup = case["setup"]
            stones = [[self.go.text_to_action(v) for v in setup[c]] for c in ("black", "white")]
            self.states = self.go.position(*stones, PLAYERS[setup["to_play"]])
        self.setup_board = self.go.board(self.states)
        self.states = play_moves(self.go, self.states, case[way])

    def drawing(self, cells: Any) -> list[str]:
        return drawing(cells, self.height, self.width)

    def legal_mask(self, color: str) -> np.ndarray:
        return self.go.legal_actions(self.go.with_to_play(self.states, PLAYERS[color]))[0]

    def vertices(self, mask: np.ndarray) -> list[str]:
        return sorted(self.go.action_to_text(int(action)) for action in np.flatnonzero(mask))

    def game_over(self) -> bool:
        return bool(self.go.is_over(self.states)[0])

    def score(self) -> float:
        return float(self.go.score(self.states)[0])

    def area(self) -> dict[str, int]:
        owners = self.go.owners(self.states)
        counts = {name: int(np.sum(owners == player)) for name, player in PLAYERS.items()}
        return counts | {"neutral": int(np.sum(owners == EMPTY))}

    def board(self) -> list[str]:
        return self.drawing(self.go.board(self.states))

    def board_equals_setup(self) -> bool:
        return np.array_equal(self.go.board(self.states), self.setup_board)

    def ko_illegal(self, color: str) -> list[str]:
        board = self.go.board(self.states).reshape(-1)
        stones = [np.flatnonzero(board == player).tolist() for player in (BLACK, WHITE)]
        fresh = self.go.legal_actions(self.go.position(*stones, PLAYERS[color]))[0]
        return self.vertices(fresh & ~self.legal_mask(color))

    def legal(self, color: str, move: str) -> bool:
        return bool(self.legal_mask(color)[self.go.text_to_action(move)])

    def legal_set(self, color: str, moves: dict[str, bool]) -> bool:
        return all(self.legal(color, move) == is_legal for move, is_legal in moves.items())

    def legal_moves(self, color: str) -> list[str]:
        return [move for move in self.vertices(self.legal_mask(color)) if move != "pass"]

    def legal_count_with_pass(self, color: str) -> int:
        return int(np.sum(self.legal_mask(color)))

    def captures(self) -> dict[str, int]:
        taken = self.go.captures(self.states)[0]
        return {name: int(taken[player]) for name, player in PLAYERS.items()}

    def pass_alive_map(self) -> list[str]:
        return self.drawing(self.go.pass_alive(self.states))

    def area_map_passalive(self) -> list[str]:
        board, alive = self.go.board(self.states), self.go.pass_alive(self.states)
        dead = (board != EMPTY) & (alive != EMPTY) & (alive != board)
        return self.drawing(self.go.owners(self.states, dead=dead))


class RefereeAnswers:
    """The same answers by the referee."""

    def __init__(self, case: dict[str, Any], *, way: str) -> None:
        self.height, self.width = height_and_width(case["size"])
        self.komi = case["rules"]["komi"]
        point = Geometry(self.height, self.width).point
        rules = {"ko": case["rules"]["ko"], "suicide": case["rules"]["suicide"]}
        setup = case["setup"] if way == "moves" else {"black": [], "white": [], "to_play": "b"}
        self.referee = GoReferee(
            self.height,
            self.width,
            **rules,
            black=map(point, setup["black"]),
            white=map(point, setup["white"]),
            to_play=PLAYERS[setup["to_play"]],
        )
        self.setup_board = self.referee.board
        referee_plays(self.referee, case[way])

    def of_color(self, color: str) -> GoReferee:
        self.referee.set_to_play(PLAYERS[color])
        return self.referee

    def vertices(self, points: list[int]) -> list[str]:
        return sorted(map(self.referee.geometry.vertex, points))

    def game_over(self) -> bool:
        return self.referee.is_over()

    def score(self) -> float:
        return self.referee.area() - self.komi

    def area(self) -> dict[str, int]:
        owners = self.referee.owners()
        names = {"b": BLACK, "w": WHITE, "neutral": EMPTY}
        return {name: owners.count(owner) for name, owner in names.items()}

    def board(self) -> list[str]:
        return drawing(self.referee.board, self.height, self.width)

    def board_equals_setup(self) -> bool:
        return self.referee.board == self.setup_board

    def ko_illegal(self, color: str) -> list[str]:
        return self.vertices(self.of_color(color).ko_illegal())

    def legal(self, color: str, move: str) -> bool:
        return self.of_color(color).is_legal(self.referee.geometry.point(move))

    def legal_set(self, color: str, moves: dict[str, bool]) -> bool:
        return all(self.legal(color, move) == is_legal for move, is_legal in moves.items())

    def legal_moves(self, color: str) -> list[str]:
        legal = self.of_color(color).legal_actions()
        return [move for move in self.vertices(legal) if move != "pass"]

    def legal_count_with_pass(self, color: str) -> int:
        return len(self.of_color(color).legal_actions())

    def captures(self) -> dict[str, int]:
        return {name: self.referee.captures[player] for name, player in PLAYERS.items()}

    def pass_alive_map(self) -> list[str]:
        return drawing(self.referee.pass_alive(), self.height, self.width)

    def area_map_passalive(self) -> list[str]:
        alive = self.referee.pass_alive()
        cells = enumerate(self.referee.board)
        dead = [p for p, cell in cells if cell != EMPTY and alive[p] == 1 - cell]
        return drawing(self.referee.owners(dead), self.height, self.width)


def answer(answers: EngineAnswers | RefereeAnswers, query: dict[str, Any]) -> Any:
    arguments = {key: value for key, value in query.items() if key != "type"}
    return getattr(answers, query["type"])(**arguments)


@pytest.mark.parametrize(("case", "way"), WAYS)
def test_case(case: dict[str, Any], way: str) -> None:
    assert answer(EngineAnswers(case, way=way), case["query"]) == case["expected"], case["name"]


@pytest.mark.parametrize(("case", "way"), WAYS)
def test_referee_passes_the_cases_it_judges_by(case: dict[str, Any], way: str) -> None:
    assert answer(RefereeAnswers(case, way=way), case["query"]) == case["expected"], case["name"]


@pytest.mark.parametrize("case", HANDICAP_CASES, ids=case_ids)
def test_fixed_handicap(case: dict[str, Any]) -> None:
    height, width = height_and_width(case["size"])
    if case["expected"] == "error":
        with pytest.raises(RulesError, match=str(case["query"]["n"])):
            handicap_actions(case["query"]["n"], height=height, width=width)
    else:
        actions = handicap_actions(case["query"]["n"], height=height, width=width)
        assert sorted(map(Geometry(height, width).vertex, actions)) == case["expected"]


def test_all_78_cases_are_here() -> None:
    assert len(go_cases()) == len({case["id"] for case in go_cases()}) == 78


# --- bug reports of other programs ---


def after(go: Go, text: str) -> States:
    """Plays moves such as "b C3, w D4" from the empty board."""
    return play_moves(go, go.initial_states(1), [move.split() for move in text.split(",")])


def is_legal(go: Go, states: States, text: str) -> bool:
    """Tells whether one more move is legal; a refused one is refused by `step` too."""
    color, move = text.split()
    states, action = go.with_to_play(states, PLAYERS[color]), go.text_to_action(move)
    before = states.copy()
    legal = bool(go.legal_actions(states)[0, action])
    if legal:
        go.step(states, [action])
    else:
        with pytest.raises(IllegalActionError):
            go.step(states, [action])
    assert states.tobytes() == before.tobytes()
    return legal


def stones(go: Go, states: States) -> dict[str, str]:
    """Returns the vertices of each colour's stones, in order of the board from the top."""
    board = go.board(states).reshape(-1)
    return {
        color: " ".join(go.action_to_text(int(a)) for a in np.flatnonzero(board == player))
        for color, player in PLAYERS.items()
    }


TAKE_TWO = "b G8, w J8, b F9, w H8, b H9, w E5, b J9, w G9"
# The same, but the board that Black's H9 would bring back had White to move before.
TAKE_TWO_AFTER_A_PASS = "b G8, w J8, b F9, w H8, w E5, b H9, w pass, b J9, w G9"


@pytest.mark.parametrize(
    ("ko", "moves", "is_allowed"),
    [
        ("simple", TAKE_TWO, True),
        ("positional", TAKE_TWO, False),
        ("situational", TAKE_TWO, True),
        ("simple", TAKE_TWO_AFTER_A_PASS, True),
        ("positional", TAKE_TWO_AFTER_A_PASS, False),
        ("situational", TAKE_TWO_AFTER_A_PASS, False),
    ],
)
def test_one_stone_taken_back_after_two(ko: str, moves: str, is_allowed: bool) -> None:
    go = make_go(9, 9, ko=ko, suicide=False)
    states = after(go, moves)
    assert go.captures(states).tolist() == [[0, 2]]
    assert is_legal(go, states, "b H9") == is_allowed
    elsewhere = play_moves(go, states, [["b", "A1"], ["w", "A2"]])
    assert is_legal(go, elsewhere, "b H9")


@pytest.mark.parametrize(
    ("ko", "is_allowed"), [("simple", True), ("positional", False), ("situational", False)]
)
def test_superko_outlasts_passes(ko: str, is_allowed: bool) -> None:
    go = make_go(9, 9, ko=ko, suicide=False)
    states = after(go, f"{TAKE_TWO_AFTER_A_PASS}, b pass")
    assert is_legal(go, go.with_to_play(states, BLACK), "b H9") == is_allowed


FALSE_KO = (
    "B5 B2 E4 B3 E3 B4 E1 E5 pass C2 B1 D2 D3 D1 D4 A5 A4 pass A2 E2 C1 pass C3 A3 C5 pass D5 A1"
)


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
@pytest.mark.parametrize("suicide", [False, True])
def test_no_ko_where_three_stones_were_taken(ko: str, suicide: bool) -> None:
    go = make_go(5, 5, ko=ko, suicide=suicide)
    moves = [f"{'bw'[i % 2]} {move}" for i, move in enumerate(FALSE_KO.split())]
    assert is_legal(go, after(go, ", ".join(moves)), "b B1")


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
@pytest.mark.parametrize("suicide", [False, True])
class TestSuicide:
    def test_of_two_stones_is_a_matter_of_the_rules(self, ko: str, suicide: bool) -> None:
        go = make_go(9, 9, ko=ko, suicide=suicide)
        states = after(go, "b A2, w A3, w B2, w B1")
        assert is_legal(go, states, "b A1") == suicide
        if suicide:
            states = play_moves(go, states, [["b", "A1"]])
            assert stones(go, states) == {"b": "", "w": "A3 B2 B1"}
            assert go.captures(states).tolist() == [[0, 2]]
            assert go.to_play(states).tolist() == [WHITE]

    def test_may_not_bring_back_an_earlier_board(self, ko: str, suicide: bool) -> None:
        go = make_go(9, 9, ko=ko, suicide=suicide)
        states = after(go, "w A3, w B2, w B1, b A2")  # White's three stones stood alone before
        assert is_legal(go, states, "b A1") == (suicide and ko != "positional")

    def test_of_one_stone_is_never_legal(self, ko: str, suicide: bool) -> None:
        go = make_go(9, 9, ko=ko, suicide=suicide)
        assert not is_legal(go, after(go, "w A2, w B1"), "b A1")

    def test_is_none_where_the_play_takes_stones(self, ko: str, suicide: bool) -> None:
        go = make_go(9, 9, ko=ko, suicide=suicide)
        states = after(go, "w A2, w B1, b A3, b B2, b C1")
        assert is_legal(go, states, "b A1")
        states = play_moves(go, states, [["b", "A1"]])
        assert stones(go, states) == {"b": "A3 B2 A1 C1", "w": ""}
        assert go.captures(states).tolist() == [[2, 0]]

    def test_of_a_whole_side_of_the_board(self, ko: str, suicide: bool) -> None:
        go = make_go(3, 3, ko=ko, suicide=suicide)
        states = after(go, "b A1, b A3, w B1, w B2, w B3")
        assert is_legal(go, states, "b A2") == suicide


SGF_BLACK = "ed de ee fe ge ie bf cf df ff gf hf if ag fg bh eh gh ei fi hi"
SGF_WHITE = "cc dc ec fc bd dd fd gd hd id ae be ce he af dg eg gg hg hh"


def sgf_actions(text: str) -> list[int]:
    return [(ord(row) - 97) * 9 + ord(column) - 97 for column, row in text.split()]


def test_dead_stones_change_the_score_only_where_they_are_named() -> None:
    go = make_go(9, 9, ko="positional", suicide=True)
    states = go.position(sgf_actions(SGF_BLACK), sgf_actions(SGF_WHITE), BLACK)
    dead = np.zeros((1, 9, 9), dtype=bool)
    for move in ("D3", "E3", "G3", "H3", "H2"):
        dead.reshape(-1)[go.text_to_action(move)] = True
    for _ in range(3):  # before, between and after the passes
        assert go.score(states).tolist() == [-22.0]
        assert go.score(states, dead=dead).tolist() == [1.0]
        counts = [int(np.sum(go.owners(states) == owner)) for owner in (BLACK, WHITE, EMPTY)]
        assert counts == [23, 45, 13]
        if not go.is_over(states)[0]:
            states = go.step(states, [go.spec.pass_action])
    assert go.returns(states).tolist() == [[-1.0, 1.0]]


@pytest.mark.parametrize(
    ("komi", "score", "returns"),
    [
        (5.0, 0.0, [0.0, 0.0]),
        (5.5, -0.5, [-1.0, 1.0]),
        (4.5, 0.5, [1.0, -1.0]),
        (-3.0, 8.0, [1.0, -1.0]),
        (-0.5, 5.5, [1.0, -1.0]),
    ],
)
def test_integer_komi_may_draw(komi: float, score: float, returns: list[float]) -> None:
    go = make_go(5, 5, ko="simple", suicide=False, komi=komi)
    moves = [f"{color} {column}{row}" for row in range(1, 6) for color, column in ("bC", "wD")]
    states = after(go, ", ".join([*moves, "b pass", "w pass"]))
    assert go.is_over(states).tolist() == [True]
    assert not go.is_truncated(states)[0]
    assert go.score(states).tolist() == [score]
    assert go.returns(states).tolist() == [returns]
    assert not go.legal_actions(states).any()


def test_two_passes_end_the_game_and_two_of_one_colour_do_not() -> None:
    go = make_go(9, 9, ko="simple", suicide=False)
    assert go.is_over(after(go, "b E5, w pass, b pass"))[0]
    states = after(go, "b pass, b pass")  # the second at White's turn, which was given away
    assert not go.is_over(states)[0]
    assert go.num_passes(states).tolist() == [1]
    assert go.is_over(play_moves(go, states, [["w", "pass"]]))[0]
