"""What there is to show of a match, as plain data."""

import math

from eval.elo import elo_of_score
from eval.endings import check_scores, count_forfeits
from eval.matches import MatchResult


def match_summary(result: MatchResult) -> dict[str, object]:
    """Returns what there is to show of a match, ready for JSON; the games are left out.

    An infinite Elo difference is None.
    """
    return {
        "first": result.first,
        "second": result.second,
        "num_games": len(result.games),
        "num_distinct_games": result.num_distinct_games,
        "total": result.total._asdict(),
        "as_player_0": result.as_player_0._asdict(),
        "as_player_1": result.as_player_1._asdict(),
        "score": result.score,
        "interval": list(result.interval),
        "elo": _finite(elo_of_score(result.score)),
        "elo_interval": [_finite(elo_of_score(end)) for end in result.interval],
        "seconds_per_move": list(result.seconds_per_move),
        "num_truncated": result.num_truncated,
        "forfeits": [count_forfeits(result.endings, player=player) for player in (0, 1)],
        "forfeited_games": forfeited_games(result),
        "final_scores": check_scores(result.endings)._asdict(),
        "score_differences": score_differences(result),
    }


def score_differences(result: MatchResult) -> list[dict[str, object]]:
    """Returns the games in which a player was asked for the final score and does not share ours.

    Returns:
        For each the game's number (from 1), `by`, the name of the player, and `ours` and `theirs`
        as player id 0's points less player id 1's; `theirs` is a text where it gave no score.
    """
    return [
        {
            "game": number,
            "by": (result.first, result.second)[player],
            "ours": ending.score,
            "theirs": ending.claims[player],
        }
        for number, ending in enumerate(result.endings, start=1)
        for player in (0, 1)
        if ending.claims[player] is not None and not ending.agrees(player)
    ]


def forfeited_games(result: MatchResult) -> list[dict[str, object]]:
    """Returns number (from 1), `by`, the name of the player, kind and reason of each forfeit."""
    return [
        {
            "game": number,
            "by": result.second if ending.forfeited_by else result.first,
            **ending.forfeit._asdict(),
        }
        for number, ending in enumerate(result.endings, start=1)
        if ending.forfeit is not None
    ]


def _finite(number: float) -> float | None:
    """Returns a number as JSON can hold it: None if it is infinite."""
    return number if math.isfinite(number) else None
