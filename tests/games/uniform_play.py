"""What uniform random play of a game comes to, exactly: by looking at all of it."""

from fractions import Fraction

import numpy as np


def exact_results(game, state):
    """Returns the probabilities that player 0 wins, draws and loses from one position [1]."""
    return _results(game, state, {})


def _results(game, state, known):
    key = state.tobytes()
    if key not in known:
        if game.is_over(state)[0]:
            result = int(game.returns(state)[0, 0])
            known[key] = tuple(Fraction(int(result == wanted)) for wanted in (1, 0, -1))
        else:
            actions = np.flatnonzero(game.legal_actions(state)[0])
            each = [_results(game, game.step(state, [action]), known) for action in actions]
            known[key] = tuple(sum(column) / len(actions) for column in zip(*each, strict=True))
    return known[key]


def exact_value(game, state, player):
    """Returns the expected result of uniform play from one position [1] for a player."""
    win, _, loss = exact_results(game, state)
    return float(win - loss) * (1 if player == 0 else -1)
