"""The ratings of a ladder as lines of text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scripts.tables import format_table

if TYPE_CHECKING:
    from eval.elo import Rating
    from eval.rating_summary import LadderSummary

_CURVE_COLUMNS = 40  # of the strip that shows a rating


def describe_ladder(summary: "LadderSummary", *, left_out: Sequence[str]) -> str:
    """Returns the ratings, the curve over time, and what else there is to say.

    Args:
        summary: the ratings.
        left_out: anchors whose programs are not installed.
    """
    settings = summary.settings
    lines = [
        f"{settings.game}: {settings.simulations} simulations a move, {settings.games} games a"
        f" match from {settings.opening_plies} random opening plies, draw Elo"
        f" {summary.ratings.draw_elo:.0f}",
        "",
        format_table([_HEADING, *(_row(each, summary) for each in summary.ratings.ratings)]),
    ]
    if len(summary.facts) > 1:
        lines += ["", *_curve(summary)]
    remarks = list(_remarks(summary, left_out))
    return "\n".join([*lines, "", *remarks] if remarks else lines)


def describe_newest(summary: "LadderSummary") -> str:
    """Returns the rating of the newest checkpoint on one line, and the alarm, if there is one."""
    from eval.ladder import describe_alarm

    facts, rating = summary.rated[-1]
    text = (
        f"{rating.player} after {facts.minutes:.1f} minutes: {rating.elo:.0f} Elo,"
        f" 95 % interval {rating.low:.0f} to {rating.high:.0f}"
    )
    return text if summary.alarm is None else f"{text}\nALARM: {describe_alarm(summary.alarm)}"


def describe_anchors(summary: "LadderSummary") -> str:
    """Returns measured anchors as the lines of a ladder's file, weakest first."""
    from eval.elo import expected_score

    settings, weaker = summary.settings, None
    lines = [
        f"game: {settings.game}",
        f"opening_plies: {settings.opening_plies} # random moves before a game starts",
        f"anchors: # Elo; {settings.games} games of each with the two before it",
    ]
    for rating in reversed(summary.ratings.ratings):
        how = "by definition" if rating.is_anchor else f"{rating.low:.0f} to {rating.high:.0f}"
        if weaker is not None:
            score = expected_score(rating.elo - weaker.elo)
            how += f"; expects {score:.0%} against the one before"
        lines.append(f"  {rating.player}: {rating.elo:.0f} # {how}")
        weaker = rating
    return "\n".join(lines)


_HEADING = (
    "player",
    "Elo",
    "95 % interval",
    "games",
    "score",
    "steps",
    "played",
    "minutes",
)


def _row(rating: "Rating", summary: "LadderSummary") -> tuple[str, ...]:
    """Returns the cells of a player."""
    facts = summary.facts.get(rating.player)
    interval = "fixed" if rating.is_anchor else f"{rating.low:.0f} to {rating.high:.0f}"
    return (
        rating.player,
        f"{rating.elo:.0f}",
        interval,
        str(rating.num_games),
        "-" if rating.score is None else f"{rating.score:.1%}",
        *(("", "", "") if facts is None else (f"{facts.step:,}", f"{facts.games:,}")),
        *(() if facts is None else (f"{facts.minutes:.1f}",)),
    )


def _curve(summary: "LadderSummary") -> Iterator[str]:
    """Yields a line for each checkpoint, oldest first: its rating on a strip from low to high."""
    rated = summary.rated
    lowest = min(rating.low for _, rating in rated)
    span = max(rating.high for _, rating in rated) - lowest
    yield f"{'minutes':>7} {'Elo':>6}  {lowest:.0f} to {lowest + span:.0f}, with 95 % intervals"

    def column(elo: float) -> int:
        return round((elo - lowest) / span * (_CURVE_COLUMNS - 1))

    for facts, rating in rated:
        strip = [" "] * _CURVE_COLUMNS
        low, high = column(rating.low), column(rating.high)
        strip[low : high + 1] = "-" * (high + 1 - low)
        strip[column(rating.elo)] = "o"
        yield f"{facts.minutes:7.1f} {rating.elo:6.0f}  {''.join(strip).rstrip()}"


def describe_forfeits(summary: "LadderSummary") -> Iterator[str]:
    """Yields a line for each player whose forfeited games are not rated."""
    from alphago.players.game_follower import ForfeitKind
    from eval.rating_store import num_unrated

    for player, forfeits in summary.forfeits.items():
        if number := num_unrated(forfeits):
            kinds = ", ".join(
                f"{num} by {kind}"
                for kind, num in forfeits.items()
                if kind != ForfeitKind.RESIGNATION
            )
            yield f"not rated: {number} games that {player} forfeited ({kinds})"


def _remarks(summary: "LadderSummary", left_out: Sequence[str]) -> Iterator[str]:
    """Yields what a reader has to know beside the numbers."""
    from eval.ladder import describe_alarm, is_beyond
    from eval.ladder_files import fixed_ratings

    anchors = {
        rating.player: rating.elo
        for rating in summary.ratings.ratings
        if rating.player in summary.settings.anchors
    }
    beyond = [rating.player for _, rating in summary.rated if is_beyond(rating.elo, anchors)]
    if beyond:
        yield (
            f"beyond all anchors: {', '.join(beyond)}; their ratings rest on games among"
            " checkpoints, and on how seldom they lose to an anchor"
        )
    if left_out:
        yield f"left out, not installed: {', '.join(left_out)}"
    yield from describe_forfeits(summary)
    unrated = [player for player, elo in summary.settings.anchors.items() if elo is None]
    if unrated:
        who = "the anchors have" if len(unrated) == len(anchors) else f"{', '.join(unrated)} have"
        zero = ", ".join(
            f"{player} is {elo:.0f}"
            for player, elo in fixed_ratings(summary.settings.anchors).items()
        )
        yield f"{who} no fixed ratings for this game, and were rated here; {zero}"
    if summary.alarm is not None:
        yield f"ALARM: {describe_alarm(summary.alarm)}"
