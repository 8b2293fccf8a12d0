"""`check_game`: runs every identity of the contract in `game.py` on a game, yours included.

The checks assume nothing beyond the contract: no pass, history, square board, draw, alternating
turns or symmetry other than the identity. They see the positions of random games, so give rare
rules (a win on the last free cell, say) tests of their own.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.recfunctions import repack_fields

from alphago.errors import IllegalActionError, NotationError
from alphago.games.game import Game
from alphago.games.random_play import random_legal_actions
from alphago.games.symmetry import (
    compose,
    inverse,
    is_same,
    transform_actions,
    transform_observations,
    transform_policies,
)
from alphago.types import NUM_PLAYERS, States

_MAX_ILLEGAL_TRIED = 16  # illegal actions tried in one position
_MAX_CHILDREN_CHECKED = 128  # actions played in the positions of one ply
_MAX_PLIES_CHECKED = 50  # of one game, evenly spread, so that long games do not take minutes

_Array: TypeAlias = npt.NDArray[np.generic]
_StateCheck: TypeAlias = Callable[[Game, States, np.random.Generator], None]


def check_game(game: Game, *, seed: int, num_games: int) -> None:
    """Checks the whole contract of a game on the positions of random games.

    Args:
        game: the game to check.
        seed: of the random games.
        num_games: how many of them are played, at least one.

    Raises:
        AssertionError: if the contract is broken; the message names the identity. An error that the
            game raised by itself is its cause.
    """
    _require(num_games >= 1, "num_games is at least 1")
    rng = np.random.default_rng(seed)
    for identity, check in _GAME_CHECKS.items():
        with _named(identity):
            check(game)
    states = game.initial_states(num_games)
    stride = 1 + game.spec.max_moves // _MAX_PLIES_CHECKED
    for ply in range(game.spec.max_moves):
        if ply % stride == 0:
            _check_states(game, states, rng)
        going_on = states[~game.is_over(states)]
        if len(going_on) == 0:
            break
        with _named("step(s, a) fits every legal action"):
            states = game.step(going_on, random_legal_actions(game, going_on, rng=rng))
    _check_states(game, states, rng)
    with _named("number of moves is at most spec.max_moves"):
        _require(game.is_over(states).all(), f"a game goes on after {game.spec.max_moves} moves")


def _check_states(game: Game, states: States, rng: np.random.Generator) -> None:
    for identity, check in _STATE_CHECKS.items():
        with _named(identity):
            check(game, states, rng)


@contextmanager
def _named(identity: str) -> Iterator[None]:
    """Turns every failure inside into an AssertionError that names the identity."""
    try:
        yield
    except Exception as error:
        raise AssertionError(f"broken: {identity}: {type(error).__name__}: {error}") from error


def _require(condition: bool | np.bool_, detail: str) -> None:
    # Not the assert statement: `python -O` leaves that out, and this check is what is asked for.
    if not condition:
        raise AssertionError(detail)


def _require_equal(got: _Array, expected: _Array, detail: str) -> None:
    # Not `_require`: these messages take long to build, and this is asked thousands of times.
    if got.dtype != expected.dtype:
        raise AssertionError(f"{detail}: dtype {got.dtype}, not {expected.dtype}")
    if not np.array_equal(got, expected):
        raise AssertionError(f"{detail}: {got.tolist()}, not {expected.tolist()}")


class _Answers(NamedTuple):
    """All that a game tells about states [B]."""

    legal_actions: _Array  # bool [B, A]
    to_play: _Array  # int8 [B]
    is_over: _Array  # bool [B]
    is_truncated: _Array  # bool [B]
    returns: _Array  # float32 [B, P]
    board: _Array  # int8 [B, H, W]
    observe: _Array  # uint8 [B, C, H, W]


def _ask(game: Game, states: States) -> _Answers:
    return _Answers(
        game.legal_actions(states),
        game.to_play(states),
        game.is_over(states),
        game.is_truncated(states),
        game.returns(states),
        game.board(states),
        game.observe(states),
    )


def _require_same_answers(got: _Answers, expected: _Answers, detail: str) -> None:
    for name, got_array, expected_array in zip(_Answers._fields, got, expected, strict=True):
        _require_equal(got_array, expected_array, f"{name}, {detail}")


# --- once per game ---


def _check_spec(game: Game) -> None:
    spec = game.spec
    _require(isinstance(spec.name, str) and spec.name != "", f"name {spec.name!r}")
    _require(spec.num_actions >= 1, f"num_actions {spec.num_actions}")
    _require(spec.max_moves >= 1, f"max_moves {spec.max_moves}")
    shape = spec.observation_shape
    _require(len(shape) == 3 and min(shape) >= 1, f"observation_shape {shape}")
    _require(spec.state_dtype.names is not None, "state_dtype has no fields")
    _require(not spec.state_dtype.hasobject, "state_dtype holds Python objects")
    packed = repack_fields(spec.state_dtype, recurse=True)
    _require(packed.itemsize == spec.state_dtype.itemsize, "state_dtype is not packed")
    is_action = spec.pass_action is None or 0 <= spec.pass_action < spec.num_actions
    _require(is_action, f"pass_action {spec.pass_action}")


def _check_plane_names(game: Game) -> None:
    names, num_planes = game.plane_names, game.spec.observation_shape[0]
    _require(len(names) == num_planes, f"{len(names)} names of {num_planes} planes")
    _require(len(set(names)) == num_planes and "" not in names, f"names {names}")


def _check_initial_states(game: Game) -> None:
    for num_games in (1, 3):
        states = game.initial_states(num_games)
        _require(states.shape == (num_games,), f"shape {states.shape} for {num_games} games")
        _require(states.dtype == game.spec.state_dtype, f"dtype {states.dtype}")
        _require_equal(states, game.initial_states(1).repeat(num_games), "rows")
        _require(not game.is_over(states).any(), "a game is over before it began")


def _check_texts(game: Game) -> None:
    num_actions = game.spec.num_actions
    for action in range(num_actions):
        text = game.action_to_text(action)
        _require(text != "" and text.split() == [text] and "," not in text, f"text {text!r}")
        _require(game.text_to_action(text) == action, f"{text!r} is not read as {action}")
    for text in ("", "no such move"):
        with _refusal(NotationError, f"text_to_action({text!r})"):
            game.text_to_action(text)


@contextmanager
def _refusal(error_class: type[Exception], what: str) -> Iterator[None]:
    """Requires that the call inside raises an error of the class."""
    try:
        yield
    except error_class:
        return
    raise AssertionError(f"{what} did not raise {error_class.__name__}")


def _check_group(game: Game) -> None:
    spec = game.spec
    _, height, width = spec.observation_shape
    _require(len(spec.symmetries) >= 1, "not even the identity")
    for symmetry in spec.symmetries:
        for gather, size in (
            (symmetry.cells, height * width),
            (symmetry.actions, spec.num_actions),
        ):
            is_permutation = np.array_equal(np.sort(gather), np.arange(size))
            _require(is_permutation, f"{symmetry.name} gathers {gather.tolist()}")
        if spec.pass_action is not None:
            moved = symmetry.actions[spec.pass_action] != spec.pass_action
            _require(not moved, f"{symmetry.name} moves the pass")
    identity = spec.symmetries[0]
    _require(is_same(compose(identity, identity), identity), "the first is not the identity")
    for first in spec.symmetries:
        twins = sum(is_same(first, other) for other in spec.symmetries)
        _require(twins == 1, f"{first.name} is there {twins} times")
        for second in spec.symmetries:
            both = compose(first, second)
            is_member = any(is_same(both, other) for other in spec.symmetries)
            _require(is_member, f"{both.name} is missing")


_GAME_CHECKS: dict[str, Callable[[Game], None]] = {
    "spec holds possible facts": _check_spec,
    "plane_names name every plane": _check_plane_names,
    "initial_states(B) is B equal rows, none over": _check_initial_states,
    "text_to_action(action_to_text(a)) == a, everything else is refused": _check_texts,
    "symmetries form a group, the identity first; a pass stays": _check_group,
}


# --- for every batch of reachable states ---


def _check_shapes(game: Game, states: States, rng: np.random.Generator) -> None:
    num_actions, planes = game.spec.num_actions, game.spec.observation_shape
    num = len(states)
    expected = _Answers(
        legal_actions=np.empty((num, num_actions), np.bool_),
        to_play=np.empty(num, np.int8),
        is_over=np.empty(num, np.bool_),
        is_truncated=np.empty(num, np.bool_),
        returns=np.empty((num, NUM_PLAYERS), np.float32),
        board=np.empty((num, *planes[1:]), np.int8),
        observe=np.empty((num, *planes), np.uint8),
    )
    for name, got, like in zip(_Answers._fields, _ask(game, states), expected, strict=True):
        _require(
            (got.shape, got.dtype) == (like.shape, like.dtype),
            f"{name} gives {got.dtype} {got.shape}, not {like.dtype} {like.shape}",
        )


def _check_legal_actions(game: Game, states: States, rng: np.random.Generator) -> None:
    has_move = np.any(game.legal_actions(states), axis=1)
    odd_rows = np.flatnonzero(has_move == game.is_over(states))
    _require(len(odd_rows) == 0, f"not so in rows {odd_rows.tolist()}")


def _check_returns(game: Game, states: States, rng: np.random.Generator) -> None:
    results = game.returns(states)
    _require((np.abs(results) <= 1).all(), f"{results.tolist()} outside [-1, 1]")
    _require((results.sum(axis=1) == 0).all(), f"{results.tolist()} does not sum to 0")
    _require((results[~game.is_over(states)] == 0).all(), "a result before the end")


def _check_to_play(game: Game, states: States, rng: np.random.Generator) -> None:
    _require(np.isin(game.to_play(states), (0, 1)).all(), f"{game.to_play(states).tolist()}")


def _check_is_truncated(game: Game, states: States, rng: np.random.Generator) -> None:
    going_on = game.is_truncated(states) & ~game.is_over(states)
    _require(not going_on.any(), f"a truncated game goes on in rows {np.flatnonzero(going_on)}")


def _check_observe(game: Game, states: States, rng: np.random.Generator) -> None:
    _require((game.observe(states) <= 1).all(), "a cell is above 1")


def _check_purity(game: Game, states: States, rng: np.random.Generator) -> None:
    before = states.copy()
    answers = _ask(game, states)
    game.render(states[0])
    _require_equal(states, before, "the states after asking")
    _require_same_answers(_ask(game, states), answers, "asked again")


def _check_rows(game: Game, states: States, rng: np.random.Generator) -> None:
    answers = _ask(game, states)
    for b in range(len(states)):
        expected = _Answers(*(array[b : b + 1] for array in answers))
        _require_same_answers(_ask(game, states[b : b + 1]), expected, "row alone and in a batch")
    order = rng.permutation(len(states))
    shuffled = _Answers(*(array[order] for array in answers))
    _require_same_answers(_ask(game, states[order]), shuffled, "rows in another order")


def _check_render(game: Game, states: States, rng: np.random.Generator) -> None:
    drawing = game.render(states[0])
    _require(drawing.strip() != "" and not drawing.endswith("\n"), f"{drawing!r}")
    _require(game.render(states[0]) == drawing, "another drawing when asked again")


def _children(
    game: Game, states: States, rng: np.random.Generator
) -> tuple[States, npt.NDArray[np.int64]]:
    """Returns parents [K] and their actions [K]: all legal ones, or some where there are many."""
    rows, actions = np.nonzero(game.legal_actions(states))
    chosen = rng.permutation(len(rows))[:_MAX_CHILDREN_CHECKED]
    return states[rows[chosen]], actions[chosen]


def _check_step(game: Game, states: States, rng: np.random.Generator) -> None:
    parents, actions = _children(game, states, rng)
    if len(parents) == 0:  # all games are over
        return
    before, played = parents.copy(), actions.copy()
    children = game.step(parents, actions)
    _require(children.dtype == game.spec.state_dtype, f"dtype {children.dtype}")
    _require(children.shape == parents.shape, f"shape {children.shape}, not {parents.shape}")
    _require(not np.shares_memory(children, parents), "the new states are a view of the old")
    _require_equal(parents, before, "the states that were stepped")
    _require_equal(actions, played, "the actions that were played")
    _require_equal(game.step(parents, actions), children, "stepped again")
    order = rng.permutation(len(parents))
    _require_equal(game.step(parents[order], actions[order]), children[order], "shuffled rows")
    for b in order[: len(states)]:
        alone = game.step(parents[b : b + 1], actions[b : b + 1])
        _require_equal(alone, children[b : b + 1], "row alone and in a batch")


def _check_play(game: Game, states: States, rng: np.random.Generator) -> None:
    parents, actions = _children(game, states, rng)
    if len(parents) == 0:  # all games are over
        return
    expected, played = parents.copy(), parents.copy()
    rows = rng.permutation(len(parents))[: (len(parents) + 1) // 2]
    expected[rows] = game.step(parents[rows], actions[rows])
    game.play(played, actions[rows], rows)
    _require_equal(played, expected, f"the states after playing in rows {rows.tolist()}")


def _check_refusals(game: Game, states: States, rng: np.random.Generator) -> None:
    before = states.copy()
    legal = game.legal_actions(states)
    for b in range(len(states)):
        illegal = rng.permutation(np.flatnonzero(~legal[b]))[:_MAX_ILLEGAL_TRIED]
        for action in (-1, game.spec.num_actions, *illegal.tolist()):
            with _refusal(IllegalActionError, f"step with action {action}, which is not legal,"):
                game.step(states[b : b + 1], [action])
    open_states = states[~game.is_over(states)]
    if len(open_states) > 0:
        actions = random_legal_actions(game, open_states, rng=rng)
        with _refusal(IllegalActionError, "step with half an action"):
            game.step(open_states, actions - 0.5)
        with _refusal(IllegalActionError, "step with a bad action in the last row"):
            game.step(open_states, np.append(actions[:-1], -1))
    _require_equal(states, before, "the states after refused steps")


def _check_symmetric_states(game: Game, states: States, rng: np.random.Generator) -> None:
    before, answers = states.copy(), _ask(game, states)
    _require_equal(game.apply_symmetry(states, game.spec.symmetries[0]), states, "the identity")
    for symmetry in game.spec.symmetries:
        images = game.apply_symmetry(states, symmetry)
        _require_equal(states, before, f"the argument of {symmetry.name}")
        undo = inverse(symmetry)
        back = next(other for other in game.spec.symmetries if is_same(other, undo))
        _require_equal(game.apply_symmetry(images, back), states, f"{symmetry.name} undone")
        expected = answers._replace(
            legal_actions=transform_policies(answers.legal_actions, symmetry),
            board=transform_observations(answers.board, symmetry),
            observe=transform_observations(answers.observe, symmetry),
        )
        _require_same_answers(_ask(game, images), expected, f"under {symmetry.name}")


def _check_symmetric_steps(game: Game, states: States, rng: np.random.Generator) -> None:
    parents, actions = _children(game, states, rng)
    if len(parents) == 0:  # all games are over
        return
    children = game.step(parents, actions)
    for symmetry in game.spec.symmetries:
        images = game.apply_symmetry(parents, symmetry)
        stepped = game.step(images, transform_actions(actions, symmetry))
        _require_equal(stepped, game.apply_symmetry(children, symmetry), symmetry.name)


_STATE_CHECKS: dict[str, _StateCheck] = {
    # First: the other checks would not see what an earlier question has changed.
    "answers are the same when asked again, and the states are left as they are": _check_purity,
    "answers have the shapes and dtypes of the contract": _check_shapes,
    "legal_actions(s)[b] is all False if and only if is_over(s)[b]": _check_legal_actions,
    "returns(s)[b] sums to 0, each in [-1, 1], all 0 before the end": _check_returns,
    "to_play(s)[b] is 0 or 1": _check_to_play,
    "is_truncated(s)[b] only where is_over(s)[b]": _check_is_truncated,
    "observe(s) is 0 or 1 in every cell": _check_observe,
    "row b of an answer depends on row b of the states alone": _check_rows,
    "render(state) is a drawing without a final newline": _check_render,
    "step(s, a) is a new array, row b depends on row b alone, s is unchanged": _check_step,
    "play(s, a, rows) does in some rows what step does, and leaves the others": _check_play,
    "step(s, a) refuses whatever is not a legal action and changes nothing": _check_refusals,
    "all answers commute with apply_symmetry": _check_symmetric_states,
    "apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)": _check_symmetric_steps,
}
