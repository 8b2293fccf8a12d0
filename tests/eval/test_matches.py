import json
from collections import Counter

import numpy as np
import pytest

from alphago.errors import ConfigError, FinishedGameError, IllegalActionError
from alphago.games import make_game
from alphago.games.notation import replay
from alphago.players import make_player
from alphago.players.network_player import NetworkPlayer
from eval.intervals import match_interval
from eval.match_summary import match_summary
from eval.matches import (
    MatchInterruptedError,
    Tally,
    merge_matches,
    play_match,
)
from eval.openings import paired_openings
from tests.reference.forced_pass_game import ForcedPassGame
from tests.search.evaluators import HashEvaluator, UniformEvaluator
from tests.search.positions import search_config

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


class Lowest:
    """Plays the legal action of the lowest number, and remembers what it was asked."""

    name = "lowest"

    def __init__(self, game):
        self.game = game
        self.calls = []

    def choose_actions(self, states):
        self.calls.append(states.copy())
        return self.game.legal_actions(states).argmax(axis=1)


class Highest(Lowest):
    name = "highest"

    def choose_actions(self, states):
        self.calls.append(states.copy())
        return self.game.spec.num_actions - 1 - self.game.legal_actions(states)[:, ::-1].argmax(1)


def network_player(evaluator, name, *, game=CONNECT_FOUR, seed=0):
    config = search_config()
    return NetworkPlayer(
        game, evaluator, search_config=config, num_simulations=12, name=name, seed=seed
    )


def network_match(openings, seed=0):
    """Two different players without randomness on Connect Four."""
    first = network_player(HashEvaluator(CONNECT_FOUR, 1.0), "a", seed=seed)
    second = network_player(UniformEvaluator(CONNECT_FOUR), "b", seed=seed)
    return play_match(CONNECT_FOUR, first, second, openings=openings)


def test_results_by_colour_by_hand():
    # Lowest first: X fills the top row. Highest first: X fills the bottom row.
    result = play_match(TIC_TAC_TOE, Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE), openings=[[]])
    assert result.games == [[0, 8, 1, 7, 2], [8, 0, 7, 1, 6]]
    assert result.first_seats == [0, 1]
    assert result.as_player_0 == Tally(wins=1, draws=0, losses=0)
    assert result.as_player_1 == Tally(wins=0, draws=0, losses=1)
    assert result.total == (1, 0, 1)
    assert result.score == 0.5
    assert result.interval == match_interval(1, 0, 1)
    assert (result.first, result.second) == ("lowest", "highest")


def test_draws_are_draws():
    openings = [[cell] for cell in range(9)]
    players = [make_player("minimax", game=TIC_TAC_TOE, seed=seed) for seed in (1, 2)]
    result = play_match(TIC_TAC_TOE, *players, openings=openings)
    assert result.as_player_0 == result.as_player_1 == Tally(wins=0, draws=9, losses=0)
    assert result.score == 0.5


def test_swapping_the_players_negates_the_result():
    openings = paired_openings(CONNECT_FOUR, num_pairs=10, num_plies=3, seed=1)
    lowest, highest = Lowest(CONNECT_FOUR), Highest(CONNECT_FOUR)
    result = play_match(CONNECT_FOUR, lowest, highest, openings=openings)
    swapped = play_match(CONNECT_FOUR, highest, lowest, openings=openings)
    assert result.total == tuple(reversed(swapped.total))
    assert result.score + swapped.score == pytest.approx(1.0)
    assert sorted(result.games) == sorted(swapped.games)


@pytest.mark.parametrize("game", [TIC_TAC_TOE, CONNECT_FOUR, ForcedPassGame()])
def test_each_player_is_asked_once_per_ply_for_its_own_positions(game):
    openings = paired_openings(game, num_pairs=6, num_plies=2, seed=1)
    first, second = Lowest(game), Highest(game)
    result = play_match(game, first, second, openings=openings)
    asked = [player.calls for player in (first, second)]
    longest = max(map(len, result.games)) - 2
    assert all(len(calls) <= longest for calls in asked)
    expected = [[], []]
    for actions, opening, seat in zip(
        result.games, np.repeat(openings, 2, axis=0).tolist(), result.first_seats, strict=True
    ):
        for ply in range(len(opening), len(actions)):
            state = replay(game, actions[:ply])
            is_first = int(game.to_play(state)[0]) == seat
            expected[0 if is_first else 1].append(state.tobytes())
    for calls, states in zip(asked, expected, strict=True):
        got = [row.tobytes() for call in calls for row in call]
        assert Counter(got) == Counter(states)


def test_players_without_randomness_play_many_different_games():
    openings = paired_openings(CONNECT_FOUR, num_pairs=20, num_plies=4, seed=3)
    result = network_match(openings)
    assert len(result.games) == 40
    assert result.num_distinct_games >= 30
    assert result.num_distinct_games == len(set(map(tuple, result.games)))
    for seat in (0, 1):
        played = [
            tuple(g[:4]) for g, s in zip(result.games, result.first_seats, strict=True) if s == seat
        ]
        assert sorted(played) == sorted(map(tuple, openings))


def test_the_same_seed_gives_the_same_match():
    openings = paired_openings(CONNECT_FOUR, num_pairs=8, num_plies=4, seed=3)
    assert network_match(openings, seed=5) == network_match(openings, seed=5)


def test_the_order_of_the_openings_does_not_matter_even_to_random_players():
    openings = paired_openings(CONNECT_FOUR, num_pairs=12, num_plies=3, seed=3)
    results = []
    for order in (openings, openings[::-1], openings[5:] + openings[:5]):
        players = [make_player("random", game=CONNECT_FOUR, seed=seed) for seed in (1, 2)]
        results.append(play_match(CONNECT_FOUR, *players, openings=order))
    for result in results[1:]:
        assert result.as_player_0 == results[0].as_player_0
        assert result.as_player_1 == results[0].as_player_1
        assert sorted(result.games) == sorted(results[0].games)


def test_one_game_or_a_part_of_the_schedule():
    openings = paired_openings(TIC_TAC_TOE, num_pairs=3, num_plies=1, seed=0)
    players = Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE)
    one = play_match(TIC_TAC_TOE, *players, openings=[[]], num_games=1)
    assert one.games == [[0, 8, 1, 7, 2]]
    assert one.as_player_1 == (0, 0, 0)
    three = play_match(TIC_TAC_TOE, *players, openings=openings, num_games=3)
    assert [game[:1] for game in three.games] == [openings[0], openings[0], openings[1]]
    for num_games in (0, 7):
        with pytest.raises(ConfigError, match="num_games: got"):
            play_match(TIC_TAC_TOE, *players, openings=openings, num_games=num_games)
    with pytest.raises(ConfigError, match="num_games"):
        play_match(TIC_TAC_TOE, *players, openings=[])


def test_parts_of_a_match_add_up_to_the_whole():
    openings = paired_openings(CONNECT_FOUR, num_pairs=7, num_plies=3, seed=3)
    players = Lowest(CONNECT_FOUR), Highest(CONNECT_FOUR)
    whole = play_match(CONNECT_FOUR, *players, openings=openings)
    parts = [play_match(CONNECT_FOUR, *players, openings=openings[i::2]) for i in range(2)]
    merged = merge_matches(parts)
    assert merged.total == whole.total
    assert merged.as_player_0 == whole.as_player_0
    assert sorted(merged.games) == sorted(whole.games)
    assert merged.num_distinct_games == whole.num_distinct_games


def test_progress_is_told_after_each_ply():
    told = []
    players = Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE)
    play_match(
        TIC_TAC_TOE,
        *players,
        openings=[[]],
        progress=lambda *numbers: told.append(numbers),
    )
    assert told == [(0, 2, 1), (0, 2, 2), (0, 2, 3), (0, 2, 4), (2, 2, 5)]


class Interrupted(Lowest):
    """Is interrupted by Ctrl-C when it is asked about a single game."""

    def choose_actions(self, states):
        if len(states) == 1:
            raise KeyboardInterrupt
        return super().choose_actions(states)


def test_ctrl_c_leaves_the_finished_games():
    players = Lowest(TIC_TAC_TOE), Interrupted(TIC_TAC_TOE)
    with pytest.raises(MatchInterruptedError) as caught:
        play_match(TIC_TAC_TOE, *players, openings=[[], [0, 3, 1, 4]])  # X wins the latter at once
    partial = caught.value.partial
    assert partial.games == [[0, 3, 1, 4, 2], [0, 3, 1, 4, 2]]
    assert partial.first_seats == [0, 1]
    assert (partial.as_player_0, partial.as_player_1) == (Tally(1, 0, 0), Tally(0, 0, 1))
    assert len(partial.endings) == 2

    with pytest.raises(KeyboardInterrupt) as caught:
        play_match(TIC_TAC_TOE, *players, openings=[[]])
    assert caught.value.partial is None


def test_openings_that_cannot_be_played_are_refused():
    players = Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE)
    with pytest.raises(FinishedGameError, match="opening 2 of 2 ends the game"):
        play_match(TIC_TAC_TOE, *players, openings=[[], [0, 1, 3, 4, 6]])
    with pytest.raises(IllegalActionError, match="ply 2"):
        play_match(TIC_TAC_TOE, *players, openings=[[0, 0]])


def test_a_player_that_cheats_is_caught():
    class Cheat(Lowest):
        def choose_actions(self, states):
            return np.zeros(len(states), np.int64)

    with pytest.raises(IllegalActionError):
        play_match(TIC_TAC_TOE, Lowest(TIC_TAC_TOE), Cheat(TIC_TAC_TOE), openings=[[]])


@pytest.mark.parametrize("answer", [[2.9, 2.9], [True, True], [2], 2, [[2, 2]]])
def test_answers_that_are_not_one_integer_per_position_are_refused(answer):
    class Odd(Lowest):
        def choose_actions(self, states):
            return np.array(answer)

    openings = [[4, 3], [4, 5]]  # two games in which the odd player is to move
    with pytest.raises(IllegalActionError, match="actions: got"):
        play_match(TIC_TAC_TOE, Odd(TIC_TAC_TOE), Lowest(TIC_TAC_TOE), openings=openings)


def test_the_summary_is_plain_json():
    result = play_match(TIC_TAC_TOE, Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE), openings=[[]])
    summary = json.loads(json.dumps(match_summary(result)))
    assert summary["total"] == {"wins": 1, "draws": 0, "losses": 1}
    assert summary["num_distinct_games"] == 2
    assert summary["interval"] == list(match_interval(1, 0, 1))
