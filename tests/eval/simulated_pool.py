"""A pool of players of known strength, whose games are random by the model of the ratings."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from eval.elo import PairResult, RatingList, expected_score, fit_ratings
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
        draw_share: float = 0.0,
        num_games: int = 20,
    ) -> None:
        """Begins without results.

        Args:
            strengths: the true Elo of anchors and checkpoints.
            anchors: whose Elo is known.
            seed: of the results.
            draw_share: of the games of equals.
            num_games: of a match.
        """
        self.results: list[PairResult] = []
        self._strengths = dict(strengths)
        self._anchors = list(anchors)
        self._draw_odds = (2 * draw_share / (1 - draw_share)) ** 2
        self._num_games = num_games
        self._rng = np.random.default_rng(seed)

    def play(self, first: str, second: str) -> None:
        """Adds the result of a match."""
        score = expected_score(self._strengths[first] - self._strengths[second])
        # Draws as in Davidson's model: draw^2 = odds * win * loss, with win + draw / 2 = score.
        odds, spread = self._draw_odds, score * (1 - score)
        root = math.sqrt(odds**2 / 4 + (4 - odds) * odds * spread)
        draw = 2 * odds * spread / (odds / 2 + root) if odds else 0.0
        win = score - draw / 2
        counts = self._rng.multinomial(self._num_games, [win, draw, 1 - win - draw])
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
            met=met,
            asked=asked,
        )

    def climb(self, checkpoints: Sequence[str]) -> RatingList:
        """Plays rounds until no match is left, and returns the ratings."""
        while matches := plan_round(checkpoints, self._anchors, self.standings()):
            for first, second in matches:
                self.play(first, second)
        return self.rate()
