"""Rules of both games: known cases, the naive oracle, exact counts, golden text, no compiler."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import IllegalActionError, NotationError, UnknownGameError
from alphago.games import GAME_NAMES, Game, make_game
from alphago.games.lines import completes_line
from alphago.games.notation import parse_moves, replay
from alphago.games.random_play import random_legal_actions
from alphago.types import EMPTY, States
from tests.games.playthrough import GOLDEN_NAMES, digest, golden_path, playthrough
from tests.reference.games import NAIVE_GAMES, planes

ROOT = Path(__file__).parent.parent.parent
FULL_BOARD_WON_ON_THE_LAST_CELL = (
    "2 1 1 1 3 1 4 1 6 5 7 2 3 4 5 6 7 7 6 5 4 3 2 7 6 5 4 3 2 2 3 4 5 6 7 7 6 5 4 3 2 1"
)


def after(name: str, moves: str) -> tuple[Game, States]:
    game = make_game(name)
    return game, replay(game, parse_moves(game, moves))


# --- known games ---


def test_tic_tac_toe_is_drawn_with_the_numbers_of_empty_cells() -> None:
    game, states = after("tic_tac_toe", "4 0 8")
    assert game.render(states[0]) == (
        " O | 1 | 2\n"
        "---+---+---\n"
        " 3 | X | 5\n"
        "---+---+---\n"
        " 6 | 7 | X"
    )  # fmt: skip


def test_connect_four_is_drawn_with_stones_that_fell_and_column_numbers() -> None:
    game, states = after("connect_four", "4 4 4 1 7")
    assert game.render(states[0]) == (
        ". . . . . . .\n"
        ". . . . . . .\n"
        ". . . . . . .\n"
        ". . . X . . .\n"
        ". . . O . . .\n"
        "O . . X . . X\n"
        "1 2 3 4 5 6 7"
    )  # fmt: skip
    assert game.to_play(states).tolist() == [1]


@pytest.mark.parametrize(
    ("name", "moves", "returns"),
    [
        # A win on the very last free cell is a win, not a draw.
        ("connect_four", FULL_BOARD_WON_ON_THE_LAST_CELL, [-1, 1]),
        ("tic_tac_toe", "0 1 2 3 4 6 5 7 8", [1, -1]),
        ("tic_tac_toe", "0 1 2 3 4 6 5 8 7", [0, 0]),
        # One line in each direction, ended at its end, in its middle, at the edge and in a corner.
        ("connect_four", "1 1 2 2 3 3 4", [1, -1]),
        ("connect_four", "1 1 2 2 4 4 3", [1, -1]),
        ("connect_four", "7 7 6 6 5 5 4", [1, -1]),
        ("connect_four", "1 7 1 7 1 7 2 7", [-1, 1]),
        ("connect_four", "1 2 2 3 3 4 3 4 4 6 4", [1, -1]),
        ("connect_four", "7 6 6 5 5 4 5 4 4 2 4", [1, -1]),
        ("connect_four", "7 6 6 5 4 5 4 4 4 1 5", [1, -1]),
        ("tic_tac_toe", "2 0 4 1 6", [1, -1]),
        ("tic_tac_toe", "0 2 1 5 4 8", [-1, 1]),
    ],
)
def test_game_ends_with_its_last_move_and_not_before(
    name: str, moves: str, returns: list[float]
) -> None:
    game = make_game(name)
    actions = parse_moves(game, moves)
    for length in range(len(actions)):
        early = replay(game, actions[:length])
        assert not game.is_over(early)[0], f"over after {length} moves"
        assert game.returns(early).tolist() == [[0, 0]]
    end = replay(game, actions)
    assert game.is_over(end).tolist() == [True]
    assert game.returns(end).tolist() == [returns]
    assert not game.legal_actions(end).any()


def test_full_connect_four_board_without_a_line_is_a_draw() -> None:
    # Columns of two colours by turns; the neighbours of a column start with the other colour later.
    game = make_game("connect_four")
    moves = "1 2 1 2 2 1 2 1 1 2 1 2" + " 3 4 3 4 4 3 4 3 3 4 3 4" + " 5 6 5 6 6 5 6 5 5 6 5 6"
    states = replay(game, parse_moves(game, moves + " 7 7 7 7 7 7"))
    assert game.is_over(states).tolist() == [True]
    assert game.returns(states).tolist() == [[0, 0]]


def test_lines_do_not_wrap_around_the_edge() -> None:
    # X on the right end of the bottom row and the left end of the next: no line of four.
    game, states = after("connect_four", "5 1 6 2 7 3 1")
    assert not game.is_over(states)[0]
    game, states = after("tic_tac_toe", "2 0 3 8 4")  # cells 2, 3, 4 follow each other
    assert not game.is_over(states)[0]


@pytest.mark.parametrize(
    ("height", "width", "length", "num_lines"), [(3, 3, 3, 8), (6, 7, 4, 69), (2, 5, 4, 4)]
)
def test_every_line_is_seen_from_each_of_its_stones(
    height: int, width: int, length: int, num_lines: int
) -> None:
    lines = [
        [(row + k * down, column + k * right) for k in range(length)]
        for row in range(height)
        for column in range(width)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        if row + (length - 1) * down < height and 0 <= column + (length - 1) * right < width
    ]
    assert len(lines) == num_lines
    for line in lines:
        board = np.full((height, width), EMPTY, np.int8)
        board[tuple(zip(*line, strict=True))] = 1
        assert all(completes_line(board, 1, row, column, length) for row, column in line)
        for cell in line:
            broken = board.copy()
            broken[cell] = 0
            others = [other for other in line if other != cell]
            assert not any(completes_line(broken, 1, *other, length) for other in others)
            assert not completes_line(broken, 0, *cell, length)
            assert completes_line(broken, 1, *cell, length)  # where a stone would complete it


# --- what is refused ---


def test_full_column_is_illegal_and_its_neighbour_is_not() -> None:
    game, states = after("connect_four", "1 1 1 1 1 1")
    assert game.legal_actions(states).tolist() == [[False] + [True] * 6]
    before = states.copy()
    with pytest.raises(IllegalActionError, match="1 is illegal here, allowed: 2 3 4 5 6 7"):
        game.step(states, [0])
    assert states.tobytes() == before.tobytes()
    assert not game.is_over(game.step(states, [1]))[0]


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize(
    "action",
    [-1, 999, 3.5, 3.0, True, "3", None, 2**31, 2**63, 2**64, -(2**63), float("nan"), [3], 7 - 16],
)
def test_whatever_is_no_action_is_refused_and_changes_nothing(name: str, action: object) -> None:
    game = make_game(name)
    states = game.initial_states(1)
    before = states.copy()
    with pytest.raises(IllegalActionError):
        game.step(states, [action])
    assert states.tobytes() == before.tobytes()


@pytest.mark.parametrize("name", GAME_NAMES)
def test_action_behind_the_last_is_refused_and_the_last_is_not(name: str) -> None:
    game = make_game(name)
    num_actions = game.spec.num_actions
    states = game.initial_states(1)
    with pytest.raises(IllegalActionError, match=f"got action {num_actions}, allowed: 0 to"):
        game.step(states, [num_actions])
    game.step(states, np.array([num_actions - 1], np.uint16))


@pytest.mark.parametrize("actions", [3, [3, 3], [], [[3]]])
def test_number_of_actions_must_be_that_of_the_states(actions: object) -> None:
    game = make_game("connect_four")
    with pytest.raises(IllegalActionError, match="shape"):
        game.step(game.initial_states(1), actions)


def test_one_bad_row_refuses_the_batch_and_is_named() -> None:
    game = make_game("tic_tac_toe")
    states = game.step(game.initial_states(3), [0, 1, 2])
    with pytest.raises(IllegalActionError, match="row 2: 2 is illegal here, allowed: 0 1 3"):
        game.step(states, [4, 4, 2])


def test_finished_game_takes_no_move() -> None:
    game, states = after("connect_four", "1 2 1 2 1 2 1")
    for action in range(7):
        with pytest.raises(IllegalActionError, match="the game is over"):
            game.step(states, [action])


@pytest.mark.parametrize("text", ["0", "8", "-1", "", "x", "3.5", "01", "1 2", "¹", "١", "+1"])
def test_connect_four_reads_only_its_seven_columns(text: str) -> None:
    with pytest.raises(NotationError, match="allowed: 1 2 3 4 5 6 7"):
        make_game("connect_four").text_to_action(text)


@pytest.mark.parametrize("name", GAME_NAMES)
def test_text_of_no_action_is_refused(name: str) -> None:
    game = make_game(name)
    for action in (-1, game.spec.num_actions):
        with pytest.raises(IllegalActionError):
            game.action_to_text(action)


def test_unknown_game_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownGameError, match="'connect4', did you mean connect_four"):
        make_game("connect4")
    with pytest.raises(UnknownGameError, match=r"'go' \(allowed: tic_tac_toe, "):
        make_game("go")


# --- observations ---


def test_observation_is_the_view_of_the_player_to_move() -> None:
    game, states = after("tic_tac_toe", "4 0 8")  # O on 0 is to move; X has 4 and 8
    own, opponent, player_0 = game.observe(states)[0].tolist()
    assert own == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert opponent == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert player_0 == [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    own, opponent, player_0 = game.observe(game.step(states, [1]))[0].tolist()
    assert own == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert opponent == [[1, 1, 0], [0, 0, 0], [0, 0, 0]]
    assert player_0 == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


# --- batches ---


@pytest.mark.parametrize("name", NAIVE_GAMES)
def test_empty_strided_and_read_only_batches_are_taken(name: str) -> None:
    game = make_game(name)
    states = game.step(game.initial_states(4), [0, 1, 2, 3])
    assert game.step(states[:0], []).shape == (0,)
    assert game.observe(states[:0]).shape == (0, *game.spec.observation_shape)
    assert game.observe(states[::2]).tolist() == game.observe(states)[::2].tolist()
    assert np.array_equal(game.step(states[::2], [4, 5]), game.step(states, [4, 0, 5, 0])[::2])
    states.setflags(write=False)
    assert game.step(states, [4, 4, 4, 4])["num_moves"].tolist() == [2] * 4
    assert game.legal_actions(states).shape == (4, game.spec.num_actions)


@pytest.mark.parametrize("name", NAIVE_GAMES)
def test_answers_do_not_change_with_the_states_they_were_asked_of(name: str) -> None:
    game = make_game(name)
    states = game.initial_states(2)
    to_play, is_over = game.to_play(states), game.is_over(states)
    states["to_play"], states["is_over"] = 1, True
    assert to_play.tolist() == [0, 0]
    assert is_over.tolist() == [False, False]


# --- the naive rules ---


@pytest.mark.parametrize("name", NAIVE_GAMES)
def test_random_games_agree_with_the_naive_rules(name: str) -> None:
    game = make_game(name)
    rng = np.random.default_rng(7)
    states = game.initial_states(100)
    naive_games = [NAIVE_GAMES[name]() for _ in range(100)]
    num_positions = 0
    while len(states) > 0:
        actions = random_legal_actions(game, states, rng=rng)
        states = game.step(states, actions)
        for naive, action in zip(naive_games, actions.tolist(), strict=True):
            naive.play(action)
        winners = [naive.winner() for naive in naive_games]
        legal = [naive.legal_actions() for naive in naive_games]
        assert [np.flatnonzero(mask).tolist() for mask in game.legal_actions(states)] == legal
        assert game.to_play(states).tolist() == [naive.to_play() for naive in naive_games]
        assert game.is_over(states).tolist() == [not actions for actions in legal]
        assert game.returns(states).tolist() == [
            {None: [0, 0], 0: [1, -1], 1: [-1, 1]}[winner] for winner in winners
        ]
        assert game.observe(states).tolist() == [planes(naive) for naive in naive_games]
        num_positions += len(states)
        going_on = ~game.is_over(states)
        states = states[going_on]
        naive_games = [n for n, goes_on in zip(naive_games, going_on, strict=True) if goes_on]
    assert num_positions > 500


# --- exact counts ---


def expand(game: Game, states: States) -> tuple[States, np.ndarray]:
    """Returns all children [K] of the states and the row [K] of each one's parent."""
    rows, actions = np.nonzero(game.legal_actions(states))
    return game.step(states[rows], actions), rows


def stone_keys(states: States) -> np.ndarray:
    """Returns a key [B] of two integers, exact: the cells of either player as bits."""
    board = states["board"].reshape(len(states), -1)
    bits = 1 << np.arange(board.shape[1], dtype=np.int64)
    return np.rec.fromarrays([(board == 0) @ bits, (board == 1) @ bits])


def test_number_of_tic_tac_toe_states_and_games() -> None:
    game = make_game("tic_tac_toe")
    states, num_paths = game.initial_states(1), np.array([1])
    num_states = 1
    games = {(1.0, -1.0): 0, (-1.0, 1.0): 0, (0.0, 0.0): 0}
    while len(states) > 0:
        children, parents = expand(game, states)
        _, first, same = np.unique(stone_keys(children), return_index=True, return_inverse=True)
        num_paths = np.bincount(same, weights=num_paths[parents]).astype(np.int64)
        states = children[first]
        num_states += len(states)
        over = game.is_over(states)
        for result in games:
            ended = over & (game.returns(states) == result).all(axis=1)
            games[result] += int(num_paths[ended].sum())
        states, num_paths = states[~over], num_paths[~over]
    assert num_states == 5_478
    assert games == {(1.0, -1.0): 131_184, (-1.0, 1.0): 77_904, (0.0, 0.0): 46_080}
    assert sum(games.values()) == 255_168


def test_number_of_connect_four_positions_by_ply() -> None:
    game = make_game("connect_four")
    states = game.initial_states(1)
    counts = [len(states)]
    for _ in range(8):
        children, _ = expand(game, states)
        _, first = np.unique(stone_keys(children), return_index=True)
        states = children[first]
        counts.append(len(states))
    assert counts == [1, 7, 49, 238, 1_120, 4_263, 16_422, 54_859, 184_275]


# --- golden text, and the same without the compiler ---


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_playthrough_is_the_golden_one(name: str) -> None:
    assert playthrough(make_game(name)) == golden_path(name).read_text(encoding="utf-8")


def test_kernels_give_the_same_without_the_compiler() -> None:
    program = (
        "from tests.games.playthrough import digest\n"
        "from alphago.games import make_game\n"
        "import numba; assert numba.config.DISABLE_JIT\n"
        f"for name in {tuple(NAIVE_GAMES)}: print(digest(make_game(name), seed=5, num_games=10))\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    compiled = [digest(make_game(name), seed=5, num_games=10) for name in NAIVE_GAMES]
    assert output.split() == compiled
