"""What a position is worth so many plies ahead, by looking at everything: no pruning, no memory."""

import numpy as np
import numpy.typing as npt

from alphago.games.game import Game
from alphago.games.heuristic import HeuristicGame
from alphago.players.scores import LARGEST_GUESS, WIN
from alphago.types import States


def plain_scores(game: Game, states: States, depth: int) -> npt.NDArray[np.int64]:
    """Returns the score of each position [B] for its player to move, see `players/scores.py`."""
    over = game.is_over(states)
    movers = game.to_play(states)
    scores = np.zeros(len(states), np.int64)
    results = game.returns(states)[np.arange(len(states)), movers]
    scores[over] = np.rint(results[over] * WIN)
    open_rows = np.flatnonzero(~over)
    if depth == 0 and isinstance(game, HeuristicGame):
        scores[open_rows] = np.rint(game.heuristic_values(states[open_rows]) * LARGEST_GUESS)
    if depth == 0 or open_rows.size == 0:
        return scores
    parents, actions = np.nonzero(game.legal_actions(states))
    children = game.step(states[parents], actions)
    child_scores = plain_scores(game, children, depth - 1)
    child_movers = game.to_play(children)
    best = {int(row): -WIN for row in open_rows}
    for place, parent in enumerate(parents.tolist()):
        score = int(child_scores[place])
        if abs(score) > LARGEST_GUESS:  # a win or a loss is one ply further away from here
            score -= int(np.sign(score))
        if child_movers[place] != movers[parent]:
            score = -score
        best[parent] = max(best[parent], score)
    for row, score in best.items():
        scores[row] = score
    return scores


def plain_action_scores(game: Game, state: States, depth: int) -> dict[int, int]:
    """Returns the score of each legal action of one unfinished position [1]."""
    scores = {}
    for action in np.flatnonzero(game.legal_actions(state)[0]).tolist():
        child = game.step(state, [action])
        score = int(plain_scores(game, child, depth - 1)[0])
        if abs(score) > LARGEST_GUESS:
            score -= int(np.sign(score))
        is_same = game.to_play(child)[0] == game.to_play(state)[0]
        scores[action] = score if is_same else -score
    return scores
