"""Plays the rounds of a ladder on workers, and stores each result as it comes."""

import contextlib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from alphago.games import make_game
from eval.ladder import plan_anchors, plan_round
from eval.ladder_files import LadderError, fixed_ratings
from eval.match_plan import MatchPart, plan_match
from eval.openings import paired_openings
from eval.rating_store import (
    CheckpointFacts,
    PartResult,
    RatingSettings,
    RatingStore,
    missing_parts,
    num_unrated,
    part_result,
)
from eval.rating_summary import LadderSummary, standings, summarize, summary_json
from scripts.progress_bar import Show
from scripts.workers import MatchTask, Workers

_MOST_FORFEITS = 0.9  # share of a part's games; with more a program does not really take part

Match = tuple[str, str]  # two players of the ladder, by name


class _PartToPlay(NamedTuple):
    match: Match
    num_parts: int
    part: MatchPart


class LadderRounds:
    """A ladder that is being played.

    Attributes:
        settings: what everything is played with.
    """

    def __init__(
        self,
        store: RatingStore,
        settings: RatingSettings,
        *,
        anchors: Sequence[str],
        workers: Workers,
        show: Show,
    ) -> None:
        """Begins or goes on.

        Args:
            store: where results go.
            settings: what everything is played with.
            anchors: those that can play here, weakest first.
            workers: who plays.
            show: shows how many games have been played.
        """
        self.settings = settings
        self._store, self._anchors = store, list(anchors)
        self._workers, self._show = workers, show
        self._game = make_game(settings.game)
        self._summary: LadderSummary | None = None
        self._num_done = self._num_planned = 0  # games of this process

    def summary(self) -> LadderSummary:
        """Returns the ratings by the results so far, the same object until there are more."""
        if self._summary is None:
            self._summary = summarize(self.settings, self._store.parts)
        return self._summary

    def climb(self, texts: Mapping[str, str], facts: Mapping[str, CheckpointFacts]) -> None:
        """Plays rounds until every checkpoint is rated; the ratings are written after each.

        Args:
            texts: how the checkpoints to be rated are made, by player.
            facts: what is known of them, by player.
        """
        checkpoints = sorted(texts, key=lambda player: facts[player].step)
        texts = {anchor: anchor for anchor in self._anchors} | dict(texts)
        while matches := self._next_matches(checkpoints, texts):
            self.play(matches, texts=texts, facts=facts)

    def play_anchors(self, *, reach: int) -> None:
        """Lets each anchor play those before it, see `plan_anchors`."""
        texts = {anchor: anchor for anchor in self._anchors}
        self.play(self._begun(texts) + self._matches_of_anchors(reach=reach), texts=texts, facts={})

    def play(
        self,
        matches: Sequence[Match],
        *,
        texts: Mapping[str, str],
        facts: Mapping[str, CheckpointFacts],
    ) -> None:
        """Plays what is missing of some matches, and writes the ratings."""
        parts = list(self._missing(matches))
        self._num_planned += sum(part.part.num_games for part in parts)
        self._show(self._num_done, self._num_planned, "")
        tasks = [
            MatchTask(
                game=self.settings.game,
                players=(texts[part.match[0]], texts[part.match[1]]),
                part=part.part,
            )
            for part in parts
        ]
        with contextlib.closing(self._workers.run(tasks)) as finished:
            for number, result in finished:
                played = parts[number]
                first, second = played.match
                part = part_result(
                    first,
                    second,
                    result,
                    part=played.part.number,
                    num_parts=played.num_parts,
                    checkpoint=facts.get(first),
                )
                check_forfeits(part)
                self._store.add(part)
                self._summary = None
                self._num_done += played.part.num_games
                self._show(self._num_done, self._num_planned, f"{first} against {second}")
        self.write_ratings()

    def write_ratings(self) -> None:
        """Writes the ratings by the results so far, if there are any."""
        if self._store.parts:
            self._store.write_ratings(summary_json(self.summary()))

    def _next_matches(self, checkpoints: Sequence[str], texts: Mapping[str, str]) -> list[Match]:
        """Returns the matches of the next round, first those that were broken off."""
        new = self._matches_of_anchors(reach=1)
        new += plan_round(checkpoints, self._anchors, standings(self.summary(), self._store.parts))
        # Strong anchors think for long: first, so that no worker is left with one at the end.
        order = {player: place for place, player in enumerate(self._anchors)}
        new.sort(key=lambda match: order.get(match[1], len(order)), reverse=True)
        return self._begun(texts) + new

    def _begun(self, texts: Mapping[str, str]) -> list[Match]:
        """Returns the matches that were broken off and whose players are here."""
        missing = missing_parts(self._store.parts)
        return [match for match in missing if missing[match] and set(match) <= texts.keys()]

    def _matches_of_anchors(self, *, reach: int) -> list[Match]:
        """Returns the matches among anchors that have not been begun."""
        fixed = fixed_ratings(self.settings.anchors)
        planned = plan_anchors(self._anchors, is_fixed=fixed.__contains__, reach=reach)
        begun = missing_parts(self._store.parts)
        return [match for match in planned if match not in begun]

    def _missing(self, matches: Sequence[Match]) -> Iterator[_PartToPlay]:
        """Yields the parts of matches that have not been played."""
        missing = missing_parts(self._store.parts)
        for match in matches:
            parts = self._parts_of(match)
            numbers = missing.get(match, set(range(len(parts))))
            for number in sorted(numbers):
                yield _PartToPlay(match, len(parts), parts[number])

    def _parts_of(self, match: Match) -> list[MatchPart]:
        """Returns the parts of a match; its seed depends on who plays, not on when."""
        settings = self.settings
        digest = hashlib.sha256(f"{settings.seed} {match[0]} {match[1]}".encode()).digest()
        seed = int.from_bytes(digest[:6], "big")
        openings = paired_openings(
            self._game, num_pairs=settings.games // 2, num_plies=settings.opening_plies, seed=seed
        )
        return plan_match(openings, seed=seed)


def check_forfeits(part: PartResult) -> None:
    """Checks that a part has games to be rated, before it is stored.

    Raises:
        LadderError: if a player has forfeited nearly all of them.
    """
    for player, forfeits in zip(part[:2], part.forfeits, strict=True):
        number = num_unrated(forfeits)
        if number >= _MOST_FORFEITS * part.num_games:
            kinds = ", ".join(f"{num} by {kind}" for kind, num in forfeits.items())
            raise LadderError(
                f"{player}: forfeited {number} of {part.num_games} games ({kinds}), which are not"
                " kept; mend it, or leave it out of the ladder"
            )
    if part.wins + part.draws + part.losses == 0:
        raise LadderError(
            f"{part.first} and {part.second}: each game of a part was forfeited by one of them;"
            " mend them, or leave one out of the ladder"
        )
