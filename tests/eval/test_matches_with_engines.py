"""Matches against GTP programs: what fails is counted, and scores are compared."""

import json
import shlex
import sys
from pathlib import Path

import psutil
import pytest

from alphago.errors import PlayerError
from alphago.games.go.game import Go
from alphago.games.go.rules import RULE_SETS
from alphago.games.notation import format_moves
from alphago.players import make_player
from alphago.players.engine import EngineSettings
from eval.endings import check_scores, count_forfeits
from eval.match_summary import match_summary, score_differences
from eval.matches import (
    MatchBrokenOffError,
    merge_matches,
    play_match,
)
from eval.openings import paired_openings

FAKE = Path(__file__).parents[1] / "reference" / "fake_gtp_engine.py"
GO = Go(height=5, width=5, rules=RULE_SETS["chinese"])
OPENINGS = [[0], [4]]  # Black begins at A5 or E5


class Passing:
    """Passes, so that a game is over as soon as the engine passes."""

    name = "passing"

    def choose_actions(self, states):
        return [GO.spec.pass_action] * len(states)


@pytest.fixture
def engine():
    players = []

    def make(*arguments, game=GO, timeout_s=60.0, num_processes=2):
        text = f"gtp:{shlex.join([sys.executable, str(FAKE), *arguments])}"
        settings = EngineSettings(timeout_s=timeout_s, num_processes=num_processes)
        players.append(make_player(text, game=game, engines=settings))
        return players[-1]

    yield make
    for player in players:
        player.close()
    assert psutil.Process().children(recursive=True) == []


def play(first, second, *, game=GO, openings=OPENINGS):
    return play_match(game, first, second, openings=openings)


def test_a_game_by_hand(engine):
    # The engine plays C3 and passes. It owns the board where it stands alone (Black's A5 or E5 is
    # its own in the games in which it is Black); otherwise everything but the two stones is shared.
    result = play(Passing(), engine("--moves=C3", "--score=B+17.5"))
    assert [format_moves(GO, actions) for actions in result.games] == [
        "A5 C3 pass pass",  # the engine is White
        "A5 pass C3 pass pass",
        "E5 C3 pass pass",
        "E5 pass C3 pass pass",
    ]
    assert result.first_seats == [0, 1, 0, 1]
    # White has 7.5: W+7.5 where each has one stone, B+17.5 where Black has all 25 points.
    assert [ending.score for ending in result.endings] == [-7.5, 17.5, -7.5, 17.5]
    assert result.as_player_0 == (0, 0, 2)
    assert result.as_player_1 == (0, 0, 2)
    assert check_scores(result.endings) == (2, 2, 0)
    assert [entry["game"] for entry in score_differences(result)] == [1, 3]
    assert score_differences(result)[0] == {
        "game": 1,
        "by": result.second,
        "ours": -7.5,
        "theirs": 17.5,
    }
    assert not any(ending.forfeit or ending.truncated for ending in result.endings)


@pytest.mark.parametrize(
    ("flaw", "kind"),
    [
        ("crash:1", "crash"),
        ("illegal:1", "illegal move"),
        ("refuse-play", "refusal"),
        ("refuse-genmove", "refusal"),
        ("wrong-id:1", "protocol error"),
        ("resign:1", "resignation"),
        ("hang:1", "timeout"),
    ],
)
@pytest.mark.parametrize("engine_is_first", [True, False])
def test_forfeits_are_lost_and_counted(engine, flaw, kind, engine_is_first):
    program = engine(f"--flaw={flaw}", timeout_s=0.2 if kind == "timeout" else 60.0)
    players = (program, Passing()) if engine_is_first else (Passing(), program)
    result = play(*players, openings=OPENINGS[:1])
    side = 0 if engine_is_first else 1
    assert result.as_player_0 == result.as_player_1 == ((0, 0, 1) if engine_is_first else (1, 0, 0))
    assert count_forfeits(result.endings, player=side) == {kind: 2}
    assert count_forfeits(result.endings, player=1 - side) == {}
    for ending in result.endings:
        assert ending.forfeited_by == side
        assert (ending.score, ending.claims) == (None, (None, None))
    summary = json.loads(json.dumps(match_summary(result)))
    assert summary["forfeits"][side] == {kind: 2}
    assert [game["game"] for game in summary["forfeited_games"]] == [1, 2]
    assert {game["by"] for game in summary["forfeited_games"]} == {program.name}


def test_one_crash_harms_no_other_game(engine):
    program = engine("--flaw=crash:6", "--moves=C3", num_processes=1)
    result = play(Passing(), program)
    # Asked in the first game of each pair at once, then in the others: 2 + 2 moves, then passes.
    kinds = [ending.forfeit.kind if ending.forfeit else None for ending in result.endings]
    assert kinds.count("crash") == 1
    assert kinds.count(None) == 3


def test_what_an_engine_cannot_count_is_missing(engine):
    result = play(Passing(), engine("--moves=C3"))
    assert check_scores(result.endings) == (0, 0, 4)
    assert "cannot score" in score_differences(result)[0]["theirs"]


def test_truncated_games_are_told_and_not_compared(engine):
    game = Go(height=5, width=5, rules=RULE_SETS["chinese"], max_moves=6)
    players = (engine("--score=B+99", game=game), make_player("random", game=game, seed=1))
    result = play(*players, game=game)
    assert result.num_truncated == 4
    assert [len(actions) for actions in result.games] == [6] * 4
    assert all(ending.score is not None for ending in result.endings)
    assert check_scores(result.endings) == (0, 0, 0)
    assert match_summary(result)["num_truncated"] == 4


def test_two_engines_are_both_asked_for_the_score(engine):
    first = engine("--moves=C3", "--score=B+17.5")
    second = engine("--moves=D4", "--score=W+7.5")
    result = play(first, second)
    assert check_scores(result.endings).num_missing == 0
    assert sum(check_scores(result.endings)) == 8


def test_an_engine_leaves_our_own_players_as_they_were(engine):
    """The games of a player with a seed do not depend on how many programs serve the other one."""
    openings = paired_openings(GO, num_pairs=3, num_plies=2, seed=5)
    results = []
    for num_processes in (1, 3):
        own = make_player("random", game=GO, seed=4)
        program = engine("--score=0", num_processes=num_processes)
        results.append(play(own, program, openings=openings))
        program.close()
    assert results[0].games == results[1].games


def test_parts_of_a_match_keep_their_endings(engine):
    program = engine("--flaw=resign:1")
    parts = [play(Passing(), program, openings=[opening]) for opening in OPENINGS]
    merged = merge_matches(parts)
    assert len(merged.endings) == 4
    assert count_forfeits(merged.endings, player=1) == {"resignation": 4}


def test_an_engine_that_cannot_play_at_all_ends_the_match(engine):
    with pytest.raises(PlayerError, match="no network file"):
        play(Passing(), engine("--flaw=crash-at-start"))


def test_an_engine_that_cannot_be_started_again_leaves_the_games_that_had_finished(
    engine, tmp_path
):
    # Games 1 and 3 are over, as in the game by hand, after its sixth move. Then it crashes in game
    # 2, and for game 4 it cannot be set up again.
    once = f"--once={tmp_path / 'started'}"
    program = engine("--flaw=crash:7", "--moves=C3", once, num_processes=1)
    with pytest.raises(MatchBrokenOffError, match="unacceptable size") as caught:
        play(Passing(), program)
    partial = caught.value.partial
    assert [format_moves(GO, actions) for actions in partial.games] == [
        "A5 C3 pass pass",
        "E5 C3 pass pass",
    ]
    assert partial.as_player_0 == (0, 0, 2)
    assert partial.as_player_1 == (0, 0, 0)
    assert [ending.score for ending in partial.endings] == [-7.5, -7.5]


def test_an_engine_that_cannot_play_at_all_leaves_nothing(engine):
    with pytest.raises(MatchBrokenOffError) as caught:
        play(Passing(), engine("--flaw=crash-at-start"))
    assert caught.value.partial is None
