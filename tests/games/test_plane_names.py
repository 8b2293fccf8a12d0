"""What the planes of an observation are called is what they show."""

import re

import numpy as np
import pytest

from alphago.games import make_game
from alphago.games.random_play import random_legal_actions
from alphago.types import BoolArray, States

GAMES = ["tic_tac_toe", "connect_four", "go_5x4", "go_5x4:planes=extended,komi=3,ko=simple"]
NUMBER_WORDS = {"now": 0, "1 move ago": 1} | {f"{ago} moves ago": ago for ago in range(2, 8)}


def played(name: str, *, num_moves: int, seed: int) -> list[States]:
    """Returns the positions of a random game, the first one included."""
    game, rng = make_game(name), np.random.default_rng(seed)
    positions = [game.initial_states(1)]
    while len(positions) <= num_moves and not game.is_over(positions[-1])[0]:
        actions = random_legal_actions(game, positions[-1], rng=rng)
        positions.append(game.step(positions[-1], actions))
    return positions


def shown(name: str, plane: str, positions: list[States]) -> BoolArray | bool | None:
    """Returns what a plane of this name has to show of the last position; None if untold here."""
    game = make_game(name)
    to_play = int(game.to_play(positions[-1])[0])
    if match := re.fullmatch(r"(own|opponent's) stones( .*)?", plane):
        ago = NUMBER_WORDS[(match[2] or " now").strip()]
        player = to_play if match[1] == "own" else 1 - to_play
        empty = np.zeros(game.spec.observation_shape[1:], np.bool_)
        before = positions[: max(len(positions) - ago, 0)]
        return (game.board(before[-1])[0] == player) if before else empty
    if plane in ("all ones if player 0 is to move", "all ones if Black is to move"):
        return to_play == 0
    if match := re.fullmatch(r"all ones if the mover gets at least (\S+) points as komi", plane):
        return (-3 if to_play == 0 else 3) >= int(match[1])
    return None


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("num_moves", [0, 3, 12])
def test_planes_show_what_their_names_say(name: str, num_moves: int) -> None:
    game = make_game(name)
    positions = played(name, num_moves=num_moves, seed=num_moves)
    observation = game.observe(positions[-1])[0]
    untold = []
    for plane, cells in zip(game.plane_names, observation, strict=True):
        expected = shown(name, plane, positions)
        if expected is None:
            untold.append(plane)
        else:
            np.testing.assert_array_equal(cells, np.broadcast_to(expected, cells.shape), plane)
    assert len(untold) == (7 if "extended" in name else 0)


def test_planes_of_chains_and_ko_are_called_what_they_are() -> None:
    game = make_game("go_5x4:planes=extended,ko=simple")
    states = game.initial_states(1)
    # Black's last move takes C2 and could be taken from there. Then White is to move.
    for move in ("B2", "E2", "C3", "D3", "C1", "D1", "A4", "C2", "D2"):
        states = game.step(states, [game.text_to_action(move)])
    planes = dict(zip(game.plane_names, game.observe(states)[0], strict=True))

    def points(plane: str) -> list[str]:
        return [game.action_to_text(int(cell)) for cell in np.flatnonzero(planes[plane])]

    assert points("empty points that only ko or superko forbids") == ["C2"]
    assert points("own chains with exactly 1 liberty") == ["D1"]
    assert points("own chains with exactly 2 liberties") == ["D3", "E2"]
    assert points("own chains with exactly 3 liberties") == []
    assert points("opponent's chains with exactly 1 liberty") == ["D2"]
    assert points("opponent's chains with exactly 2 liberties") == ["A4", "C1"]
    assert points("opponent's chains with exactly 3 liberties") == ["C3"]
