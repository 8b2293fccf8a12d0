"""What the results of a ladder say: ratings, falls, and all of it as data for JSON."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from alphago.players.game_follower import ForfeitKind
from eval.elo import Rating, RatingList, fit_ratings
from eval.ladder import Fall, Standings, describe_alarm, find_alarm, find_falls
from eval.ladder_files import fixed_ratings
from eval.rating_store import (
    CheckpointFacts,
    Forfeits,
    PartResult,
    RatingSettings,
    missing_parts,
    pair_results,
)


@dataclass(frozen=True, kw_only=True)
class LadderSummary:
    """The ratings of a ladder.

    Attributes:
        settings: what its results were played with.
        ratings: of all who have played, and of the anchors with a fixed rating.
        facts: what is known of each checkpoint, by player, oldest first.
        falls: the checkpoints that are weaker than an earlier one.
        alarm: the newest fall since the strongest checkpoint.
        forfeits: how often each player that ever did forfeited, by kind.
    """

    settings: RatingSettings
    ratings: RatingList
    facts: Mapping[str, CheckpointFacts]
    falls: list[Fall]
    alarm: Fall | None
    forfeits: Mapping[str, Forfeits]

    @property
    def rated(self) -> list[tuple[CheckpointFacts, Rating]]:
        """The checkpoints with their ratings, oldest first."""
        ratings = {rating.player: rating for rating in self.ratings.ratings}
        return [(facts, ratings[player]) for player, facts in self.facts.items()]


def summarize(settings: RatingSettings, parts: Sequence[PartResult]) -> LadderSummary:
    """Rates everybody by the results so far."""
    found = {part.first: part.checkpoint for part in parts if part.checkpoint is not None}
    facts = dict(sorted(found.items(), key=lambda item: item[1].step))
    ratings = fit_ratings(pair_results(parts), anchors=fixed_ratings(settings.anchors))
    falls = find_falls(ratings, list(facts))
    return LadderSummary(
        settings=settings,
        ratings=ratings,
        facts=facts,
        falls=falls,
        alarm=find_alarm(falls, ratings, list(facts)),
        forfeits=_count_forfeits(parts),
    )


def standings(summary: LadderSummary, parts: Sequence[PartResult]) -> Standings:
    """Returns what the next round is planned by; matches in progress count as played."""
    met: dict[str, set[str]] = {}
    asked: dict[str, int] = {}
    for first, second in missing_parts(parts):
        met.setdefault(first, set()).add(second)
        met.setdefault(second, set()).add(first)
        asked[first] = asked.get(first, 0) + 1
    rated = summary.ratings.ratings
    return Standings(
        elo={rating.player: rating.elo for rating in rated},
        spans={rating.player: (rating.low, rating.high) for rating in rated},
        met=met,
        asked=asked,
    )


def summary_json(summary: LadderSummary) -> dict[str, Any]:
    """Returns the ratings as data for JSON, strongest first: the content of `ratings.json`."""
    settings = summary.settings
    return {
        "game": settings.game,
        "draw_elo": summary.ratings.draw_elo,
        "simulations": settings.simulations,
        "ratings": [_rating_json(rating, summary) for rating in summary.ratings.ratings],
        "alarm": None if summary.alarm is None else describe_alarm(summary.alarm),
    }


def _count_forfeits(parts: Sequence[PartResult]) -> dict[str, Forfeits]:
    """Adds up the forfeits of each player that has any."""
    total: dict[str, Counter[ForfeitKind]] = {}
    for part in parts:
        for player, forfeits in zip(part[:2], part.forfeits, strict=True):
            total.setdefault(player, Counter()).update(forfeits)
    return {player: dict(forfeits) for player, forfeits in total.items() if forfeits}


def _rating_json(rating: Rating, summary: LadderSummary) -> dict[str, Any]:
    facts = summary.facts.get(rating.player)
    return {
        "player": rating.player,
        "kind": "anchor" if facts is None else "checkpoint",
        "is_fixed": rating.is_anchor,
        "step": None if facts is None else facts.step,
        "games": None if facts is None else facts.games,
        "minutes": None if facts is None else facts.minutes,
        "elo": rating.elo,
        "low": rating.low,
        "high": rating.high,
        "num_games": rating.num_games,
        "score": rating.score,
        "forfeits": summary.forfeits.get(rating.player, {}),
    }
