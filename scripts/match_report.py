"""The result of a match as lines of text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scripts.arguments import one_line

if TYPE_CHECKING:
    from alphago.games import Game
    from eval.matches import MatchResult, Tally

GO_FAMILY = "go"
_MAX_LISTED = 10  # games of one kind of event; --json tells them all


def describe_match(result: "MatchResult", *, game: "Game", num_plies: int) -> str:
    """Returns the result as lines of text.

    Args:
        result: the result.
        game: the rules.
        num_plies: random plies of each opening.
    """
    from alphago.games import game_text

    low, high = result.interval
    seats = (
        ("as Black", "as White")
        if game.spec.family == GO_FAMILY
        else ("moving first", "moving second")
    )
    return "\n".join(
        (
            f"{game_text(game.spec)}: {result.first} against {result.second}",
            f"  {_seat(seats[0])}{_describe_tally(result.as_player_0)}",
            f"  {_seat(seats[1])}{_describe_tally(result.as_player_1)}",
            f"  {_seat('all')}{_describe_tally(result.total)}",
            f"  score {result.score:.1%}, 95 % interval {low:.1%} to {high:.1%}",
            f"  {len(result.games)} games, {result.num_distinct_games} distinct (from {num_plies}"
            " random opening plies, each opening played from both sides)",
            *_describe_endings(result),
        )
    )


def _describe_endings(result: "MatchResult") -> Iterator[str]:
    """Yields what else there is to say about how games ended; nothing where all went well."""
    from eval.endings import check_scores, count_forfeits
    from eval.matches import forfeited_games, score_differences

    if result.num_truncated:
        yield f"  {result.num_truncated} ended by the cap on moves, decided by the board"
    for player, name in enumerate((result.first, result.second)):
        counts = count_forfeits(result.endings, player=player)
        if counts:
            kinds = ", ".join(f"{count} by {kind}" for kind, count in counts.items())
            yield f"  lost by {name} other than on the board: {kinds}"
    yield from _listed(
        [f"game {game['game']}, {game['by']}: {game['reason']}" for game in forfeited_games(result)]
    )
    checks = check_scores(result.endings)
    if any(checks):
        yield (
            f"  final scores: {checks.num_agreed} agreed, {checks.num_disagreed} not,"
            f" {checks.num_missing} missing"
        )
    yield from _listed(
        [
            f"game {game['game']}: {_score(game['ours'])} by our count,"
            f" {_score(game['theirs'])} by {game['by']}"
            for game in score_differences(result)
        ]
    )
    for player, name in enumerate((result.first, result.second)):
        if _never_agrees(result, player):
            yield (
                f"  {name} never counts as we do: see whether its options tell it these rules"
                " (GNU Go: --chinese-rules --capture-all-dead)"
            )


def _never_agrees(result: "MatchResult", player: int) -> bool:
    """Whether a player has told final scores, and none of them was ours."""
    tells = any(isinstance(ending.claims[player], float) for ending in result.endings)
    return tells and not any(ending.agrees(player) for ending in result.endings)


def _listed(lines: Sequence[str]) -> Iterator[str]:
    """Yields the first lines, indented, and how many there are beyond."""
    for line in lines[:_MAX_LISTED]:
        yield f"    {one_line(line)}"
    if len(lines) > _MAX_LISTED:
        yield f"    and {len(lines) - _MAX_LISTED} more, see --json"


def _score(score: object) -> str:
    """Returns a score as Go players write it, or the text that stands in its place."""
    from alphago.games.go.drawing import format_result

    return format_result(score) if isinstance(score, float) else str(score)


def _seat(words: str) -> str:
    return f"{words:<15}"


def _describe_tally(tally: "Tally") -> str:
    return f"{tally.wins} won, {tally.draws} drawn, {tally.losses} lost"
