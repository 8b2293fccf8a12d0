import numpy as np
import pytest

from alphago.errors import IllegalActionError
from alphago.games import make_game
from alphago.games.notation import replay
from alphago.players import make_player
from tests.reference.exhaustive import losses_against_all_lines
from tests.reference.forced_pass_game import ForcedPassGame

TIC_TAC_TOE = make_game("tic_tac_toe")


class Lowest:
    name = "lowest"

    def __init__(self, game):
        self.game = game
        self.num_calls = 0

    def choose_actions(self, states):
        self.num_calls += 1
        return self.game.legal_actions(states).argmax(axis=1)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("text", ["minimax", "alphabeta:depth=9"])
def test_perfect_players_never_lose_at_tic_tac_toe(text, side):
    player = make_player(text, game=TIC_TAC_TOE, seed=side)
    assert losses_against_all_lines(player, TIC_TAC_TOE, side=side) == []


@pytest.mark.parametrize("side", [0, 1])
def test_a_random_player_loses_in_ways_that_can_be_replayed(side):
    player = make_player("random", game=TIC_TAC_TOE, seed=1)
    lines = losses_against_all_lines(player, TIC_TAC_TOE, side=side)
    assert len(lines) > 10
    assert len(set(map(tuple, lines))) == len(lines)
    for line in lines:
        final = replay(TIC_TAC_TOE, line)
        assert TIC_TAC_TOE.is_over(final)[0]
        assert TIC_TAC_TOE.returns(final)[0, side] == -1


def lost_positions_by_recursion(player, game, side, actions):
    """Returns (bytes, ply) of all lost final positions, one line of play after the other."""
    state = replay(game, actions)
    if game.is_over(state)[0]:
        return {(state.tobytes(), len(actions))} if game.returns(state)[0, side] < 0 else set()
    if int(game.to_play(state)[0]) == side:
        replies = player.choose_actions(state).tolist()
    else:
        replies = game.legal_actions(state)[0].nonzero()[0].tolist()
    return set().union(
        *(lost_positions_by_recursion(player, game, side, [*actions, a]) for a in replies)
    )


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("game", [TIC_TAC_TOE, ForcedPassGame()])
def test_finds_the_same_losses_as_a_recursion(game, side):
    player = Lowest(game)
    lines = losses_against_all_lines(player, game, side=side)
    assert player.num_calls <= game.spec.max_moves
    found = {(replay(game, line).tobytes(), len(line)) for line in lines}
    assert found == lost_positions_by_recursion(player, game, side, [])
    assert len(found) == len(lines) > 0


@pytest.mark.parametrize("action", [-1, 9])
def test_an_action_that_is_none_is_not_taken_for_another(action):
    class Wrong(Lowest):
        def choose_actions(self, states):
            return np.full(len(states), action)

    with pytest.raises(IllegalActionError, match=f"got action {action}"):
        losses_against_all_lines(Wrong(TIC_TAC_TOE), TIC_TAC_TOE, side=0)
