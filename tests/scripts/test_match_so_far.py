"""The finished parts of a match and its sequential test."""

import itertools
import random

from alphago.games import make_game
from alphago.players import make_player
from eval.match_plan import pair_counts, plan_match, play_part
from eval.matches import merge_matches
from eval.sprt import SprtConfig, sprt
from scripts.matches.so_far import MatchSoFar

GAME = make_game("tic_tac_toe")
PLAYERS = make_player("minimax", game=GAME), make_player("random", game=GAME)
PARTS = plan_match([[cell] for cell in range(9)] * 36, seed=1)
RESULTS = [play_part(GAME, *PLAYERS, part) for part in PARTS]
TEST = SprtConfig(elo0=0, elo1=35, alpha=0.05, beta=0.05)


def test_the_test_looks_after_each_part_in_whatever_order_they_finish() -> None:
    expected = next(
        num_parts
        for num_parts in itertools.count(1)
        if sprt(pair_counts(RESULTS[:num_parts]), TEST).decision is not None
    )
    assert 1 < expected < len(PARTS)
    for seed in range(5):
        so_far = MatchSoFar(TEST)
        for number in random.Random(seed).sample(range(len(PARTS)), len(PARTS)):
            so_far.add(number, RESULTS[number])
        verdict = so_far.verdict
        assert verdict is not None
        counted = merge_matches(RESULTS[:expected])
        assert so_far.result() == counted
        assert verdict.num_parts == expected
        assert verdict.num_games == len(counted.games)
        assert verdict.num_repeated == len(counted.games) - counted.num_distinct_games
        assert verdict.state == sprt(pair_counts(RESULTS[:expected]), TEST)


def test_parts_behind_a_missing_one_wait() -> None:
    so_far = MatchSoFar(TEST)
    for number in range(1, len(PARTS)):
        so_far.add(number, RESULTS[number])
    verdict = so_far.verdict
    assert verdict is not None
    assert (verdict.num_parts, verdict.num_games) == (0, 0)
    assert not so_far.has_decided
    so_far.add(0, RESULTS[0])
    assert so_far.has_decided


def test_without_a_test_all_parts_count() -> None:
    so_far = MatchSoFar(None)
    assert so_far.result() is None
    so_far.add(1, RESULTS[1])
    so_far.add(0, RESULTS[0])
    assert so_far.verdict is None
    assert so_far.result(RESULTS[2]) == merge_matches(RESULTS[:3])
    assert so_far.num_games == sum(part.num_games for part in PARTS[:2])
