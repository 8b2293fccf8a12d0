"""The result of a match as lines of text."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from scripts.arguments import one_line
from scripts.matches.settings import POLICY, RANDOM, MatchSettings

if TYPE_CHECKING:
    from alphago.games import Game
    from eval.matches import MatchResult, Tally
    from scripts.matches.so_far import Verdict

GO_FAMILY = "go"
_MAX_LISTED = 10  # games of one kind of event; --json tells them all


def describe_match(
    result: "MatchResult",
    *,
    game: "Game",
    settings: MatchSettings,
    verdict: "Verdict | None",
) -> str:
    """Returns the result as lines of text.

    Args:
        result: the result.
        game: the rules.
        settings: what the match was to be like.
        verdict: of the sequential test, None without one.
    """
    from alphago.games import game_text

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
            *_describe_strength(result),
            *_describe_verdict(verdict),
            f"  {len(result.games)} games, {result.num_distinct_games} distinct (from"
            f" {_describe_openings(settings)}, each opening played from both sides)",
            f"  time per move: {_describe_times(result)}",
            *_describe_endings(result),
        )
    )


def summarise_verdict(verdict: "Verdict") -> dict[str, object]:
    """Returns the state of the sequential test, ready for JSON."""
    return {
        **asdict(verdict.config),
        **verdict.state._asdict(),
        "num_games": verdict.num_games,
        "num_repeated_games": verdict.num_repeated,
    }


def _describe_strength(result: "MatchResult") -> Iterator[str]:
    """Yields score and Elo difference with their intervals."""
    from eval.elo import elo_of_score

    low, high = result.interval
    yield f"  score {result.score:.1%}, 95 % interval {low:.1%} to {high:.1%}"
    elo, *ends = (elo_of_score(score) for score in (result.score, low, high))
    yield f"  Elo difference {elo:+.0f}, 95 % interval {ends[0]:+.0f} to {ends[1]:+.0f}"


def _describe_verdict(verdict: "Verdict | None") -> Iterator[str]:
    """Yields where the sequential test stands; nothing without one."""
    if verdict is None:
        return
    config, state = verdict.config, verdict.state
    decision = "undecided" if state.decision is None else f"{state.decision} accepted"
    yield (
        f"  SPRT of Elo {config.elo0:+g} (H0) against {config.elo1:+g} (H1), alpha"
        f" {config.alpha:g}, beta {config.beta:g}: {decision} after {verdict.num_games} games, LLR"
        f" {state.llr:+.2f}, bounds {state.lower:+.2f} and {state.upper:+.2f}"
    )
    if verdict.num_repeated:
        yield (
            f"  {verdict.num_repeated} of these games repeat others move by move, and count as new:"
            " the more there are, the less alpha and beta hold"
        )


def _describe_openings(settings: MatchSettings) -> str:
    """Says where the openings came from."""
    if settings.openings == RANDOM:
        return f"{settings.num_plies} random opening plies"
    if settings.openings == POLICY:
        return f"{settings.num_plies} opening plies of the network's policy"
    return one_line(settings.openings)


def _describe_times(result: "MatchResult") -> str:
    """Says how long either player thought about a move."""
    times = zip((result.first, result.second), result.seconds_per_move, strict=True)
    return ", ".join(f"{one_line(name)} {_seconds(seconds)}" for name, seconds in times)


def _seconds(seconds: float) -> str:
    """Returns a short time in its unit."""
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _describe_endings(result: "MatchResult") -> Iterator[str]:
    """Yields what else there is to say about how games ended; nothing where all went well."""
    from eval.endings import check_scores, count_forfeits
    from eval.match_summary import forfeited_games, score_differences

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
