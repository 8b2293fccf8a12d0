"""UCT as in the textbooks: a tree of objects, for one game, without kernels."""

import math

import numpy as np

from alphago.games.random_bits import draw_below, new_streams
from alphago.games.random_play import playouts_of


class Node:
    """A position, and the children that were tried, in their order."""

    def __init__(self, game, state, candidates):
        self.state = state
        self.untried = np.flatnonzero(candidates[0]).tolist()
        self.is_over = not self.untried
        self.player = int(game.to_play(state)[0])
        self.children = {}  # by action
        self.visits = 0
        self.wins = 0.0  # for the player to move at the parent, a draw is half a win


def best_child(node, exploration):
    def score(child):
        bonus = math.sqrt(math.log(node.visits) / child.visits)
        return child.wins / child.visits + exploration * bonus

    return max(node.children.values(), key=score)


def plain_uct(game, state, *, num_playouts, exploration, rng):
    """Returns visits and shares of wins by action at the root of one position [1]."""
    stream = new_streams(1, rng)
    playouts = playouts_of(game)
    root = Node(game, state, playouts.root_actions(state))
    for _ in range(num_playouts):
        path = [root]
        while not path[-1].is_over and not path[-1].untried:
            path.append(best_child(path[-1], exploration))
        node = path[-1]
        if node.untried:
            place = draw_below(stream, len(node.untried))
            action = node.untried[place]
            node.untried[place] = node.untried[0]
            del node.untried[0]
            after = game.step(node.state, [action])
            node.children[action] = Node(game, after, playouts.playout_actions(after))
            path.append(node.children[action])
        returns = playouts.playout_returns(path[-1].state, rng=rng)[0]
        root.visits += 1
        for parent, child in zip(path[:-1], path[1:], strict=True):
            child.visits += 1
            child.wins += (1 + returns[parent.player]) / 2
    return {
        action: (child.visits, child.wins / child.visits) for action, child in root.children.items()
    }
