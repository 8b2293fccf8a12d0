"""Random 9x9 games replayed in GNU Go: its legality of every point and its final score."""

import numpy as np
import pytest

from alphago.games.go.game import Go
from alphago.types import States
from tests.games.go.engine import make_go
from tests.games.go.gnugo import PROGRAM, GnuGo

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="gnugo is not installed")

SIZE = 9
PASS = SIZE * SIZE
COLORS = ("b", "w")
GAMES_BY_RULES = {  # 20 games
    ("simple", False): 4,
    ("simple", True): 3,
    ("positional", False): 4,
    ("positional", True): 3,
    ("situational", False): 3,
    ("situational", True): 3,
}
LATE = 300  # moves
LEGALITY_SHARE = 0.5  # of the plies: all points, both colours


@pytest.mark.parametrize(("ko", "suicide"), GAMES_BY_RULES)
def test_legal_points_and_final_scores(ko: str, suicide: bool) -> None:
    rng = np.random.default_rng(3)
    with GnuGo(ko=ko, suicide=suicide) as gnugo:
        for _ in range(GAMES_BY_RULES[ko, suicide]):
            komi = float(rng.integers(-4, 20)) / 2
            go = make_go(SIZE, SIZE, ko=ko, suicide=suicide, komi=komi, max_moves=1_000)
            gnugo.ask(f"boardsize {SIZE}", "clear_board", f"komi {komi}")
            states = random_game(go, gnugo, rng)
            check_final_score(go, states, gnugo)


def random_game(go: Go, gnugo: GnuGo, rng: np.random.Generator) -> States:
    """Plays a game to its end and compares legality on the way."""
    states = go.initial_states(1)
    while not go.is_over(states)[0]:
        if rng.random() < LEGALITY_SHARE:
            check_legality(go, states, gnugo)
        action = choose(go, states, rng)
        gnugo.ask(f"play {COLORS[go.to_play(states)[0]]} {go.action_to_text(action)}")
        states = go.step(states, [action])
    assert not go.is_truncated(states)[0]
    return states


def choose(go: Go, states: States, rng: np.random.Generator) -> int:
    """Draws a legal play that does not fill an own eye, or passes where there is none.

    What is left on the board in the end is then alive, and nothing depends on reading. With suicide
    and simple ko only, such games may go round for ever: late ones are passed out.
    """
    board, mover = go.board(states)[0], go.to_play(states)[0]
    plays = np.flatnonzero(go.legal_actions(states)[0, :-1] & ~eyes(board, mover).reshape(-1))
    return int(rng.choice(plays)) if len(plays) and go.num_moves(states)[0] < LATE else PASS


def eyes(board: np.ndarray, mover: int) -> np.ndarray:
    """Returns bool [H, W], points with own stones on all sides and enough of the corners."""
    own = np.pad(board == mover, 1, constant_values=True)
    other = np.pad(board == 1 - mover, 1)
    edge = np.pad(np.zeros_like(board), 1, constant_values=1)
    sides = own[:-2, 1:-1] & own[2:, 1:-1] & own[1:-1, :-2] & own[1:-1, 2:]
    lost, off = (
        a[:-2, :-2].astype(int) + a[:-2, 2:] + a[2:, :-2] + a[2:, 2:] for a in (other, edge)
    )
    return sides & (lost + (off > 0) < 2)


def check_legality(go: Go, states: States, gnugo: GnuGo) -> None:
    """Compares all points for both colours.

    GNU Go misses some boards that the suicide of several stones brings back. Where suicide is
    allowed, such points need not agree: they are those that are legal under simple ko.
    """
    points = [go.action_to_text(action) for action in range(SIZE * SIZE)]
    for player, color in enumerate(COLORS):
        ours = go.legal_actions(go.with_to_play(states, player))[0, :-1]
        answers = gnugo.ask(*(f"is_legal {color} {point}" for point in points))
        theirs = np.array([answer == "1" for answer in answers])
        differing = set(np.flatnonzero(ours != theirs).tolist())
        missed = set(np.flatnonzero(theirs & ~ours).tolist())
        missed &= suicides(go, states, player) if go.rules.suicide else set()
        assert differing <= missed, f"{color}: {differing}\n{go.render(states[0])}"


def suicides(go: Go, states: States, player: int) -> set[int]:
    """Returns the points that a rule without suicide would forbid."""
    board = go.board(states).reshape(-1)
    stones = [np.flatnonzero(board == color).tolist() for color in range(2)]
    masks = []
    for suicide in (False, True):
        bare = make_go(SIZE, SIZE, ko="simple", suicide=suicide)
        masks.append(bare.legal_actions(bare.position(*stones, player))[0, :-1])
    return set(np.flatnonzero(masks[1] & ~masks[0]).tolist())


def check_final_score(go: Go, states: States, gnugo: GnuGo) -> None:
    """Compares the scores after the stones that GNU Go holds for dead are taken off."""
    dead = np.zeros((1, SIZE, SIZE), dtype=bool)
    score, dead_vertices, captures_b, captures_w = gnugo.ask(
        "final_score", "final_status_list dead", "captures black", "captures white"
    )
    for vertex in dead_vertices.split():
        dead.reshape(-1)[go.text_to_action(vertex)] = True
    assert go.captures(states).tolist() == [[int(captures_b), int(captures_w)]]
    assert float(go.score(states, dead=dead)[0]) == signed(score), go.render(states[0])


def signed(score: str) -> float:
    """Reads a GTP score such as B+3.5 or 0 as Black's margin."""
    return float(score[2:]) * (1 if score[0] == "B" else -1) if score != "0" else 0.0
