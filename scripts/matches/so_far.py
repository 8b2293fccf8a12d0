"""How far a match has come: its finished parts, and what its sequential test says of them."""

from dataclasses import dataclass

from eval.match_plan import pair_counts
from eval.matches import MatchResult, merge_matches
from eval.sprt import NUM_PAIR_RESULTS, SprtConfig, SprtState, sprt


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Where the sequential test of a match stands.

    Attributes:
        config: what is tested.
        state: what the test says.
        num_parts: it has looked at so many parts, in order.
        num_games: of these parts.
        num_repeated: games among them that an earlier one was move by move. Players without
            randomness play the same game from the same opening: such pairs tell nothing new, and
            the test takes them for new ones.
    """

    config: SprtConfig
    state: SprtState
    num_parts: int
    num_games: int
    num_repeated: int


class MatchSoFar:
    """The finished parts of a match.

    The test looks after each part, in order as far as none is missing, and parts beyond a decision
    do not count: the verdict does not depend on who has played which part when.

    Attributes:
        parts: the finished parts by number; `add` enters them.
        num_games: games of all of them.
    """

    def __init__(self, test: SprtConfig | None) -> None:
        """Begins without parts.

        Args:
            test: when to stop early; None for never.
        """
        self.parts: dict[int, MatchResult] = {}
        self.num_games = 0
        self._test = test
        self._pair_counts = [0] * NUM_PAIR_RESULTS
        self._state = None if test is None else sprt(self._pair_counts, test)
        self._num_parts = self._num_tested = 0  # that the test has looked at, and their games
        self._distinct: set[tuple[int, ...]] = set()  # games of these

    def add(self, number: int, result: MatchResult) -> None:
        """Enters a part."""
        self.parts[number] = result
        self.num_games += len(result.games)
        while self._test is not None and not self.has_decided and self._num_parts in self.parts:
            part = self.parts[self._num_parts]
            counts = zip(self._pair_counts, pair_counts([part]), strict=True)
            self._pair_counts = [sum(pair) for pair in counts]
            self._state = sprt(self._pair_counts, self._test)
            self._num_parts += 1
            self._num_tested += len(part.games)
            self._distinct.update(map(tuple, part.games))

    @property
    def has_decided(self) -> bool:
        """Whether the test has."""
        return self._state is not None and self._state.decision is not None

    @property
    def verdict(self) -> Verdict | None:
        """Where the test stands; None without one."""
        if self._test is None or self._state is None:
            return None
        return Verdict(
            config=self._test,
            state=self._state,
            num_parts=self._num_parts,
            num_games=self._num_tested,
            num_repeated=self._num_tested - len(self._distinct),
        )

    def result(self, partial: MatchResult | None = None) -> MatchResult | None:
        """Returns the result of the parts that count, None if there is none.

        Args:
            partial: the finished games of a part that was broken off.
        """
        numbers = sorted(self.parts)
        if self.has_decided:
            numbers = [number for number in numbers if number < self._num_parts]
        results = [self.parts[number] for number in numbers]
        if partial is not None:
            results.append(partial)
        return merge_matches(results) if results else None
