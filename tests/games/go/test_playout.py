import numpy as np
import pytest

from alphago.errors import StateError
from alphago.games.go import RULE_SETS, Go
from alphago.games.go.light_board import (
    LIGHT_BOARD,
    clear_board,
    is_legal,
    is_own_eye,
    point_of,
    put_stone,
    set_stones,
)
from alphago.games.go.playout import (
    play_uniformly,
    playout_actions,
    playout_returns,
    random_playouts,
)
from alphago.games.random_bits import draw_below, new_streams
from alphago.games.random_play import playouts_of, random_legal_actions
from tests.compiler_modes import report_in_mode
from tests.games.go.playout_hash import playout_numbers

EMPTY = -1


def go(height, width, **changes):
    rules = RULE_SETS["tromp_taylor"]
    fields = {name: getattr(rules, name) for name in rules.__dataclass_fields__}
    return Go(height=height, width=width, rules=type(rules)(**fields | changes))


def position(game, drawing, to_play=0):
    """Returns the position [1] of a drawing: X black, O white, a dot for an empty point."""
    cells = "".join(drawing.split())
    black, white = ([i for i, mark in enumerate(cells) if mark == stone] for stone in "XO")
    return game.position(black, white, to_play)


def light_board(stones):
    board = np.zeros(1, LIGHT_BOARD)[0]
    clear_board(board, *stones.shape)
    set_stones(board, stones)
    return board


@pytest.mark.parametrize(("height", "width"), [(1, 4), (3, 3), (5, 4), (9, 9)])
def test_light_board_agrees_with_the_rules_all_through_random_games(height, width):
    """Simple ko without suicide is what the light board plays."""
    game = go(height, width, ko="simple", suicide=False)
    rng = np.random.default_rng(height)
    cells = height * width
    for _ in range(6):
        states = game.initial_states(1)
        board = light_board(game.board(states)[0])
        while not game.is_over(states)[0]:
            player = int(game.to_play(states)[0])
            legal = game.legal_actions(states)[0, :cells]
            stones = game.board(states)[0].reshape(-1)
            for cell in range(cells):
                point = point_of(cell, width)
                assert board["colours"][point] == stones[cell]
                if stones[cell] == EMPTY:
                    assert is_legal(board, point, player, width + 1) == legal[cell]
            empty = board["empty_points"][: board["num_empty"]].tolist()
            assert sorted(empty) == [point_of(c, width) for c in np.flatnonzero(stones == EMPTY)]
            action = int(random_legal_actions(game, states, rng=rng)[0])
            if action < cells:
                put_stone(board, point_of(action, width), player, width + 1)
            else:
                board["ko_point"] = 0
            states = game.step(states, [action])


@pytest.mark.parametrize(
    ("drawing", "eyes"),
    [
        (".XO. XXO. OOO.", [0]),  # in the corner
        (".XO. XOO. OOO.", []),  # false: White holds the point at the corner's corner
        ("..XXX .OXXX XX.XX XXXXX XXXXX", [12]),  # White holds one of four corners
        ("..X.. .OXO. XX.XX XXXXX XXXXX", []),  # two of four
        ("XX.XX .OXXX ..XXX XXXXX XXXXX", []),  # one of two at the edge
        ("XX.XX XXXXX XXXXX XXXXX XXXXX", [2]),
        ("X.X", [1]),
        (".X.", [0, 2]),
        ("X..X", []),
    ],
)
def test_own_eyes_by_hand(drawing, eyes):
    rows = drawing.split()
    game = go(len(rows), len(rows[0]))
    states = position(game, drawing)
    assert np.flatnonzero(game.own_eyes(states)[0]).tolist() == eyes
    board = light_board(game.board(states)[0])
    width = len(rows[0])
    found = [
        cell
        for cell in np.flatnonzero(game.board(states)[0].reshape(-1) == EMPTY)
        if is_own_eye(board, point_of(cell, width), 0, width + 1)
    ]
    assert found == eyes


def plain_eyes(stones, player):
    """Own eyes by the definition, with lists: walled in, corners mostly not the opponent's."""
    height, width = stones.shape

    def seen(row, column, ways):
        places = [(row + down, column + right) for down, right in ways]
        return [stones[r, c] if 0 <= r < height and 0 <= c < width else None for r, c in places]

    eyes = []
    for row, column in np.argwhere(stones == EMPTY).tolist():
        beside = seen(row, column, [(0, 1), (0, -1), (1, 0), (-1, 0)])
        corners = seen(row, column, [(1, 1), (1, -1), (-1, 1), (-1, -1)])
        allowed = 0 if None in corners else 1
        if set(beside) <= {player, None} and corners.count(1 - player) <= allowed:
            eyes.append(row * width + column)
    return eyes


@pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 7), (4, 3), (5, 5), (9, 9)])
def test_own_eyes_agree_with_a_plain_search_in_random_games(height, width):
    game = go(height, width)
    states = game.initial_states(30)
    rng = np.random.default_rng(width)
    num_eyes = 0
    for _ in range(3 * height * width):
        found = game.own_eyes(states)
        assert not found[:, -1].any()
        for stones, player, eyes in zip(
            game.board(states), game.to_play(states), found, strict=True
        ):
            assert np.flatnonzero(eyes).tolist() == plain_eyes(stones, int(player))
        num_eyes += found.sum()
        states = states[~game.is_over(states)]
        if not len(states):
            break
        states = game.step(states, random_legal_actions(game, states, rng=rng))
    assert num_eyes > 0 or height * width == 1


def test_two_eyes_of_each_player_end_a_playout_at_once():
    game = go(5, 5, komi=0.5)
    states = position(game, ".X.XO XXXXO XOOOO XO.O. XOOOO", to_play=1)
    result = random_playouts(game, states, num_playouts=20, rng=np.random.default_rng(0))
    # Black: nine stones and two eyes; White: twelve and two.
    assert (result.scores == 11 - 14 - 0.5).all()
    assert (
        result.owners[0] == [[1, 1, 1, 1, -1]] + [[1, 1, 1, 1, -1]] + [[1, -1, -1, -1, -1]] * 3
    ).all()
    assert (playout_returns(game, states, rng=np.random.default_rng(0)) == [[-1, 1]]).all()


def test_integer_komi_can_draw():
    game = go(5, 5, komi=-3)
    states = position(game, ".X.XO XXXXO XOOOO XO.O. XOOOO")
    assert (playout_returns(game, states, rng=np.random.default_rng(0)) == 0).all()


def test_finished_games_keep_their_result():
    game = go(5, 5, komi=0)
    states = game.step(game.initial_states(1), [12])
    over = game.step(game.step(states, [25]), [25])
    rng = np.random.default_rng(0)
    assert (playout_returns(game, over, rng=rng) == [[1, -1]]).all()
    assert (random_playouts(game, over, num_playouts=3, rng=rng).scores == 25).all()
    assert not playout_actions(game, over).any()


def test_the_cap_on_moves_ends_playouts_too():
    rules = RULE_SETS["tromp_taylor"]
    game = Go(height=5, width=5, rules=rules, max_moves=100)
    states = game.initial_states(1)
    rng = np.random.default_rng(3)
    finished = play_uniformly(game, states, rng=rng)
    assert game.is_over(finished).all()
    assert game.num_moves(finished)[0] <= 100


def test_worthwhile_actions():
    game = go(5, 5, komi=0.5)
    passes = game.spec.pass_action
    alive = ".X.XO XXXXO XOOOO XO.O. XOOOO"
    # Nothing is left but own eyes: to pass.
    assert np.flatnonzero(playout_actions(game, position(game, alive, to_play=1))).tolist() == [
        passes
    ]
    # After a pass too. White wins by the count: nothing else than to pass could be worth more.
    white = game.step(position(game, alive, to_play=0), [passes])
    assert np.flatnonzero(playout_actions(game, white)).tolist() == [passes]
    # On a board with room a pass is worth nothing, unless the opponent has passed and it wins.
    opening = game.step(game.initial_states(1), [12])
    actions = playout_actions(game, opening)[0]
    assert (actions.sum(), actions[passes]) == (24, False)
    losing = game.step(game.initial_states(1), [passes])  # White wins the empty board by komi
    assert np.flatnonzero(playout_actions(game, losing)).tolist() == [passes]
    winning = game.with_rules(type(game.rules)(**vars(game.rules) | {"komi": -0.5}))
    assert not playout_actions(winning, losing)[0, passes]


def test_worthwhile_actions_are_legal_and_always_some():
    game = go(4, 4, ko="positional", suicide=True)
    rng = np.random.default_rng(5)
    states = game.initial_states(50)
    for _ in range(60):
        states = states[~game.is_over(states)]
        if not len(states):
            break
        actions = playout_actions(game, states)
        assert not (actions & ~game.legal_actions(states)).any()
        assert actions.any(axis=1).all()
        states = game.step(states, random_legal_actions(game, states, rng=rng))


def test_first_moves_are_equally_likely():
    streams = new_streams(1, np.random.default_rng(0))
    counts = np.bincount([draw_below(streams, 7) for _ in range(7000)], minlength=7)
    assert (np.abs(counts - 1000) < 5 * np.sqrt(1000)).all()


def test_the_empty_board_is_even_and_black_is_ahead_a_little():
    game = go(9, 9, komi=0)
    result = random_playouts(
        game, game.initial_states(2), num_playouts=2000, rng=np.random.default_rng(1)
    )
    assert 0 < result.scores.mean() < 5
    assert np.abs(result.owners).max() < 0.15
    # All eight symmetries of the mean owners are the same but for chance.
    owners = result.owners.mean(axis=0)
    assert np.abs(owners - owners[::-1]).max() < 0.12
    assert np.abs(owners - owners.T).max() < 0.12


def test_uniform_games_are_games_by_the_rules():
    """Every action of a finished game is legal when the game is replayed."""
    game = go(4, 3, ko="situational", suicide=True)
    finished = play_uniformly(game, game.initial_states(20), rng=np.random.default_rng(2))
    assert game.is_over(finished).all()
    for row in range(20):
        states = game.initial_states(1)
        for action in finished["actions"][row, : game.num_moves(finished)[row]]:
            states = game.step(states, [int(action)])
        assert states.tobytes() == finished[row : row + 1].tobytes()


def test_rows_do_not_depend_on_each_other_nor_on_the_seed_of_others():
    game = go(5, 5)
    states = np.concatenate([game.initial_states(1), game.step(game.initial_states(1), [12])])
    both = random_playouts(game, states, num_playouts=5, rng=np.random.default_rng(4)).scores
    first = random_playouts(game, states[:1], num_playouts=5, rng=np.random.default_rng(4)).scores
    assert (both[0] == first[0]).all()
    again = random_playouts(game, states, num_playouts=5, rng=np.random.default_rng(4)).scores
    assert (both == again).all()


def test_go_has_playouts_of_its_own():
    game = go(5, 5)
    assert playouts_of(game) is game
    with pytest.raises(StateError):
        random_playouts(
            game, go(6, 6).initial_states(1), num_playouts=1, rng=np.random.default_rng()
        )


@pytest.mark.parametrize(
    "variable",
    ["NUMBA_DISABLE_JIT", pytest.param("NUMBA_BOUNDSCHECK", marks=pytest.mark.slow)],
)
def test_the_same_numbers_without_the_compiler_and_with_checked_indices(variable, tmp_path):
    numbers = report_in_mode("tests.games.go.playout_hash", variable=variable, cache=tmp_path)
    assert numbers == playout_numbers()
