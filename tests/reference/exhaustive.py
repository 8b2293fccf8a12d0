"""Does a player ever lose? Every line of play of the opponent, tried out."""

import numpy as np

from alphago.games.game import Game
from alphago.games.notation import check_legal
from alphago.players.player import Player
from alphago.players.state_keys import first_occurrences, state_keys


def losses_against_all_lines(player: Player, game: Game, *, side: int) -> list[list[int]]:
    """Plays a player from one side against everything the opponent could do.

    Level by level: a position that is reached in several ways at the same ply is played on once,
    so the player is called once per ply, and is taken to answer a position in one way.

    Args:
        player: the player under test.
        game: the rules; small enough that all positions of a level fit into memory.
        side: the player id (0 moves first) it takes.

    Returns:
        A line of actions for each lost final position (and ply); empty if the player never loses.

    Raises:
        IllegalActionError: if the player chose an illegal action.
    """
    lost = []
    states = game.initial_states(1)
    lines: list[list[int]] = [[]]
    while len(states):
        own = game.to_play(states) == side
        allowed = game.legal_actions(states)
        if own.any():
            chosen = player.choose_actions(states[own])
            check_legal(game, states[own], chosen)
            allowed[own] = False
            allowed[own, chosen] = True
        parents, actions = np.nonzero(allowed)
        states = game.step(states[parents], actions)
        firsts = first_occurrences(state_keys(states))
        states = states[firsts]
        lines = [[*lines[parents[index]], int(actions[index])] for index in firsts]
        for row in np.flatnonzero(game.returns(states)[:, side] < 0).tolist():
            lost.append(lines[row])
        unfinished = np.flatnonzero(~game.is_over(states))
        states = states[unfinished]
        lines = [lines[row] for row in unfinished]
    return lost
