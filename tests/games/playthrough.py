"""The golden playthroughs: a seeded random game of each family, with all that the game tells of it.

After a wanted change of a game, write them anew from the root of the repository and say why in the
commit:

    python -m tests.games.playthrough
"""

import hashlib
from pathlib import Path

import numpy as np

from alphago.games import Game, make_game
from alphago.games.heuristic import heuristic_of
from alphago.games.notation import format_moves
from alphago.games.random_play import random_game, random_legal_actions
from alphago.types import States

GOLDEN_FOLDER = Path(__file__).parent.parent / "golden"
SEED = 4
GOLDEN_NAMES = ("tic_tac_toe", "connect_four", "go_4x3")  # a game of a large board fills megabytes


def golden_path(name: str) -> Path:
    return GOLDEN_FOLDER / f"playthrough_{name}.txt"


def playthrough(game: Game) -> str:
    """Returns the text of one random game."""
    spec = game.spec
    actions = random_game(game, np.random.default_rng(SEED))
    lines = [
        f"game: {spec.name}",
        f"num_actions: {spec.num_actions}",
        f"moves: {format_moves(game, range(spec.num_actions))}",
        f"observation_shape: {spec.observation_shape}",
        f"max_moves: {spec.max_moves}",
        f"pass_action: {spec.pass_action}",
        f"symmetries: {' '.join(symmetry.name for symmetry in spec.symmetries)}",
    ]
    states = game.initial_states(1)
    for ply, action in enumerate(actions):
        lines += ["", f"# ply {ply}", *describe(game, states)]
        lines.append(f"played: {game.action_to_text(action)} (action {action})")
        states = game.step(states, [action])
    lines += ["", f"# ply {len(actions)}", *describe(game, states)]
    return "\n".join(lines) + "\n"


def describe(game: Game, states: States) -> list[str]:
    """Returns the lines about one state [1]."""
    legal = np.flatnonzero(game.legal_actions(states)[0])
    planes = game.observe(states)[0]
    pictures = [
        "  ".join("".join(".#"[cell] for cell in row) for row in rows)
        for rows in planes.transpose(1, 0, 2)
    ]
    return [
        game.render(states[0]),
        f"to_play: {game.to_play(states)[0]}",
        f"is_over: {game.is_over(states)[0]}",
        f"returns: {game.returns(states)[0].tolist()}",
        f"legal: {format_moves(game, legal) or 'none'}",
        "observation:",
        *pictures,
    ]


def digest(game: Game, *, seed: int, num_games: int) -> str:
    """Returns a hash over all answers of a game along random games played as one batch."""
    rng = np.random.default_rng(seed)
    total = hashlib.sha256()
    states = game.initial_states(num_games)
    while len(states) > 0:
        states = game.step(states, random_legal_actions(game, states, rng=rng))
        for symmetry in game.spec.symmetries:
            images = game.apply_symmetry(states, symmetry)
            for answer in (
                images,
                game.legal_actions(images),
                game.to_play(images),
                game.is_over(images),
                game.returns(images),
                game.observe(images),
                heuristic_of(game).heuristic_values(images),
            ):
                total.update(answer.tobytes())
        states = states[~game.is_over(states)]
    return total.hexdigest()


if __name__ == "__main__":
    for game_name in GOLDEN_NAMES:
        golden_path(game_name).write_text(playthrough(make_game(game_name)), encoding="utf-8")
        print(f"wrote {golden_path(game_name)}")
