import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.games import make_game
from alphago.players import make_player
from eval.match_plan import PAIRS_PER_PART, MatchPart, pair_counts, plan_match, play_part
from eval.matches import Thinking, merge_matches
from eval.openings import paired_openings
from tests.eval.test_matches import Highest, Lowest, network_player
from tests.search.evaluators import HashEvaluator, UniformEvaluator

TIC_TAC_TOE = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


def random_players(game=TIC_TAC_TOE):
    return [make_player("random", game=game) for _ in range(2)]


def plan(num_pairs, *, game=TIC_TAC_TOE, num_plies=2, seed=0):
    openings = paired_openings(game, num_pairs=num_pairs, num_plies=num_plies, seed=seed)
    return plan_match(openings, seed=seed)


@pytest.mark.parametrize(
    ("num_pairs", "expected"),
    [(1, [1]), (32, [32]), (33, [16, 17]), (40, [20, 20]), (80, [26, 27, 27])],
)
def test_parts_are_of_a_size_and_cover_the_match(num_pairs, expected):
    openings = [[pair] for pair in range(num_pairs)]
    parts = plan_match(openings, seed=0)
    assert [len(part.openings) for part in parts] == expected
    assert max(expected) <= PAIRS_PER_PART
    assert [opening for part in parts for opening in part.openings] == openings
    assert [part.number for part in parts] == list(range(len(expected)))
    assert [part.num_games for part in parts] == [2 * pairs for pairs in expected]


def test_an_odd_game_is_left_out_at_the_end():
    openings = [[pair] for pair in range(40)]
    parts = plan_match(openings, num_games=71, seed=0)
    assert [part.num_games for part in parts] == [36, 35]
    assert [len(part.openings) for part in parts] == [18, 18]
    for num_games in (0, 81):
        with pytest.raises(ConfigError, match="num_games: got"):
            plan_match(openings, num_games=num_games, seed=0)


def test_each_part_has_a_seed_of_its_own():
    seeds = [part.seed for seed in (0, 1, 2**32) for part in plan(200, seed=seed)]
    assert len(set(seeds)) == 3 * 7
    assert seeds[:7] == [part.seed for part in plan(200, seed=0)]


def test_it_does_not_matter_who_plays_which_part_when():
    parts = plan(40)
    one_pair = random_players()
    in_order = [play_part(TIC_TAC_TOE, *one_pair, part) for part in parts]
    backwards = [play_part(TIC_TAC_TOE, *one_pair, part) for part in reversed(parts)]
    by_others = [play_part(TIC_TAC_TOE, *random_players(), part) for part in parts]
    assert in_order == backwards[::-1] == by_others
    assert in_order[0].games != in_order[1].games


def test_two_players_of_one_kind_draw_different_numbers():
    (part,) = plan_match([[]] * 8, seed=0)
    result = play_part(CONNECT_FOUR, *random_players(CONNECT_FOUR), part)
    first, second = (
        [game[ply] for game in result.games[ply::2]] for ply in (0, 1)
    )  # each player's first own move where it moves first
    assert first != second


def test_the_order_of_openings_within_a_part_does_not_matter():
    (part,) = plan(12, game=CONNECT_FOUR, num_plies=3)
    turned = MatchPart(number=0, openings=part.openings[::-1], num_games=24, seed=part.seed)
    players = random_players(CONNECT_FOUR)
    results = [play_part(CONNECT_FOUR, *players, each) for each in (part, turned)]
    assert results[0].as_player_0 == results[1].as_player_0
    assert results[0].as_player_1 == results[1].as_player_1
    assert sorted(results[0].games) == sorted(results[1].games)


@pytest.mark.parametrize("names", [("random", "alphabeta:depth=1"), ("uct:playouts=9", "random")])
def test_swapping_the_players_negates_the_score_whatever_they_draw(names):
    parts = plan(40, game=CONNECT_FOUR, num_plies=3)
    one, other = (make_player(name, game=CONNECT_FOUR) for name in names)
    result = merge_matches([play_part(CONNECT_FOUR, one, other, part) for part in parts])
    swapped = merge_matches([play_part(CONNECT_FOUR, other, one, part) for part in parts])
    assert result.total == tuple(reversed(swapped.total))
    assert result.score + swapped.score == 1
    assert sorted(result.games) == sorted(swapped.games)
    assert pair_counts([result]) == pair_counts([swapped])[::-1]


def test_players_without_randomness_play_many_games_and_each_opening_once_per_colour():
    openings = paired_openings(CONNECT_FOUR, num_pairs=20, num_plies=4, seed=0)
    players = [
        network_player(evaluator, name)
        for name, evaluator in (
            ("a", HashEvaluator(CONNECT_FOUR, 1.0)),
            ("b", UniformEvaluator(CONNECT_FOUR)),
        )
    ]
    parts = plan_match(openings, seed=0)
    result = merge_matches([play_part(CONNECT_FOUR, *players, part) for part in parts])
    assert result.num_distinct_games >= 30
    for seat in (0, 1):
        games = zip(result.games, result.first_seats, strict=True)
        assert [game[:4] for game, had in games if had == seat] == openings


def test_pairs_are_counted_by_points():
    lowest, highest = Lowest(TIC_TAC_TOE), Highest(TIC_TAC_TOE)
    # From the start either wins when it moves first. In the second opening X wins at once.
    (part,) = plan_match([[], [0, 3, 1, 4]], seed=0)
    result = play_part(TIC_TAC_TOE, lowest, highest, part)
    assert result.outcomes == [1, -1, 1, 1]
    assert pair_counts([result]) == [0, 0, 1, 0, 1]
    assert pair_counts([result, result]) == [0, 0, 2, 0, 2]
    (part,) = plan_match([[], []], num_games=3, seed=0)
    assert pair_counts([play_part(TIC_TAC_TOE, lowest, highest, part)]) == [0, 0, 1, 0, 0]


def test_thinking_is_timed_and_does_not_make_results_different():
    (part,) = plan(6)
    results = [play_part(TIC_TAC_TOE, *random_players(), part) for _ in range(2)]
    own_plies = np.zeros(2, np.int64)
    for game, seat in zip(results[0].games, results[0].first_seats, strict=True):
        for ply in range(2, len(game)):
            own_plies[(ply % 2) ^ seat] += 1
    assert [thinking.num_moves for thinking in results[0].thinking] == own_plies.tolist()
    assert min(results[0].seconds_per_move) > 0
    assert results[0].thinking != results[1].thinking
    assert results[0] == results[1]
    merged = merge_matches(results)
    for merged_one, *ones in zip(
        merged.thinking, *(each.thinking for each in results), strict=True
    ):
        assert merged_one == Thinking(sum(one.seconds for one in ones), 2 * ones[0].num_moves)
