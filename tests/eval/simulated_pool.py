"""A pool of players of known strength, whose games are random by the model of the ratings."""

from collections.abc import Mapping, Sequence

import numpy as np

from eval.elo import PairResult, RatingList, fit_ratings
from eval.ladder import Standings, plan_round


class SimulatedPool:
    """Plays a ladder without games.

    Attributes:
        results: of the matches so far.
    """

    def __init__(
        self,
        strengths: Mapping[str, float],
        anchors: Sequence[str],
        *,
        seed: int,
        draw_elo: float = 0.0,
        num_games: int = 20,
    ) -> None:
        """Begins without results; `strengths` are the true Elo of anchors and checkpoints."""
        self.results: list[PairResult] = []
        self._strengths = dict(strengths)
        self._anchors = list(anchors)
        self._draw_elo = draw_elo
        self._num_games = num_games
        self._rng = np.random.default_rng(seed)

    def play(self, first: str, second: str) -> None:
        """Adds the result of a match."""
        difference = self._strengths[first] - self._strengths[second]
        win, loss = (
            1 / (1 + 10 ** ((self._draw_elo - sign * difference) / 400)) for sign in (1, -1)
        )
        counts = self._rng.multinomial(self._num_games, [win, max(0.0, 1 - win - loss), loss])
        self.results.append(PairResult(first, second, *counts.tolist()))

    def rate(self) -> RatingList:
        """Returns the ratings by the results so far, the anchors' as they are."""
        return fit_ratings(self.results, anchors={a: self._strengths[a] for a in self._anchors})

    def standings(self) -> Standings:
        """Returns what a round begins with."""
        ratings = self.rate()
        met: dict[str, set[str]] = {}
        asked: dict[str, int] = {}
        for result in self.results:
            met.setdefault(result.first, set()).add(result.second)
            met.setdefault(result.second, set()).add(result.first)
            asked[result.first] = asked.get(result.first, 0) + 1
        return Standings(
            elo={rating.player: rating.elo for rating in ratings.ratings},
            spans={rating.player: (rating.low, rating.high) for rating in ratings.ratings},
            draw_elo=ratings.draw_elo,
            met=met,
            asked=asked,
        )

    def climb(self, checkpoints: Sequence[str]) -> RatingList:
        """Plays rounds until no match is left, and returns the ratings."""
        while matches := plan_round(checkpoints, self._anchors, self.standings()):
            for first, second in matches:
                self.play(first, second)
        return self.rate()
