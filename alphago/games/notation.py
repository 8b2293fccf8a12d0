"""Moves as text: reading, writing and replaying them, and saying clearly why one is refused."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from alphago.errors import IllegalActionError, NotationError
from alphago.games.game import Game
from alphago.types import States

_MAX_MOVES_SHOWN = 40  # in an error message, which shall stay one readable line


def parse_moves(game: Game, text: str) -> list[int]:
    """Reads a list of moves; whether they are legal is not checked.

    Args:
        game: the game the moves belong to.
        text: moves separated by spaces, commas or line ends. Where every move of the game is one
            character, the separators may be left out.

    Returns:
        The actions.

    Raises:
        NotationError: if a part of the text is no move; it names the part and its place.
    """
    words = [word for word in re.split(r"[\s,]+", text) if word]
    if all(len(game.action_to_text(action)) == 1 for action in range(game.spec.num_actions)):
        words = list("".join(words))
    actions = []
    for number, word in enumerate(words, start=1):
        try:
            actions.append(game.text_to_action(word))
        except NotationError as error:
            raise NotationError(f"move {number} of {len(words)}: {error}") from error
    return actions


def format_moves(game: Game, actions: Iterable[int]) -> str:
    """Writes actions as moves separated by spaces, the inverse of `parse_moves`."""
    return " ".join(game.action_to_text(int(action)) for action in actions)


def replay(game: Game, actions: Sequence[int], *, start: States | None = None) -> States:
    """Plays actions one after the other.

    Args:
        game: the game to play.
        actions: the actions in order.
        start: [1] the state to begin with; None for the start of a game.

    Returns:
        [1] the state after the last of them.

    Raises:
        IllegalActionError: if an action cannot be played; it names ply, move and legal moves.
    """
    states = game.initial_states(1) if start is None else start
    for ply, action in enumerate(actions, start=1):
        try:
            states = game.step(states, [action])
        except IllegalActionError as error:
            raise IllegalActionError(f"ply {ply}: {error}") from error
    return states


def integer_actions(actions: npt.ArrayLike, *, num_games: int) -> npt.NDArray[np.int64]:
    """Turns what a caller gave as actions into an array of integers.

    Args:
        actions: anything array-like.
        num_games: the number B of actions there must be.

    Returns:
        int64 [B].

    Raises:
        IllegalActionError: if there are not B of them or they are no integers. Truth values and
            whole floats are none: a mask or a policy in place of actions is a mistake.
    """
    given = np.asarray(actions)
    if given.shape != (num_games,):
        raise IllegalActionError(
            f"actions: got shape {given.shape}, allowed: ({num_games},), one for each game"
        )
    if given.dtype.kind not in "iu" and num_games > 0:
        raise IllegalActionError(f"actions: got {given.tolist()!r}, allowed: integers")
    return given.astype(np.int64, copy=False)


def check_legal(game: Game, states: States, actions: npt.ArrayLike) -> None:
    """Raises unless every action is legal in its state.

    Args:
        game: the game of the states.
        states: [B] states.
        actions: one action for each state.

    Raises:
        IllegalActionError: if an action is not an integer, out of range or illegal, or its game is
            over; it names the first bad one and the legal moves.
    """
    checked = integer_actions(actions, num_games=len(states))
    legal = game.legal_actions(states)
    for row, action in enumerate(checked):
        if not (0 <= action < game.spec.num_actions and legal[row, action]):
            raise illegal_action(game, states, row=row, action=int(action))


def illegal_action(game: Game, states: States, *, row: int, action: int) -> IllegalActionError:
    """Builds the error that tells why an action cannot be played.

    Args:
        game: the game of the states.
        states: [B] states.
        row: which of them the action was meant for.
        action: the action that cannot be played.

    Returns:
        The error, for the caller to raise.
    """
    where = game.spec.name if len(states) == 1 else f"{game.spec.name}, row {row}"
    num_actions = game.spec.num_actions
    if not 0 <= action < num_actions:
        return IllegalActionError(f"{where}: got action {action}, allowed: 0 to {num_actions - 1}")
    move = game.action_to_text(action)
    state = states[row : row + 1]
    if game.is_over(state)[0]:
        return IllegalActionError(f"{where}: {move} cannot be played, the game is over")
    legal = np.flatnonzero(game.legal_actions(state)[0])
    shown = format_moves(game, legal[:_MAX_MOVES_SHOWN])
    more = f" and {len(legal) - _MAX_MOVES_SHOWN} more" if len(legal) > _MAX_MOVES_SHOWN else ""
    return IllegalActionError(f"{where}: {move} is illegal here, allowed: {shown}{more}")
