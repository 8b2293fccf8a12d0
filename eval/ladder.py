"""The ladder of a run: which checkpoints are rated, who plays whom, whether strength has fallen.

Pure decisions about names and numbers. Players are known by name here; a checkpoint is called as
`checkpoint_name` says.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from eval.elo import RatingList, expected_score

NUM_OPPONENTS = 5  # that a checkpoint asks for; later ones may ask for it in turn
LEAST_ANCHORS = 2  # met before anybody else: they tie a checkpoint to the scale
# A result outside of these is all but known beforehand: 20 games would tell next to nothing.
LIKELY_SCORES = (0.03, 0.97)

_GUESSED_STEP = 200.0  # Elo between two anchors of which nothing is known yet
_FALSE_ALARMS = 0.05  # chance of an alarm in one look at a ladder, where strength is constant


class Fall(NamedTuple):
    """A checkpoint that is weaker than an earlier one, by more than chance."""

    checkpoint: str
    best_before: str
    elo: float  # by how much, above 0
    standard_error: float


def checkpoint_name(step: int) -> str:
    """Returns how the checkpoint of an optimiser step is called among the players of its ladder."""
    return f"step={step}"


# ----- which checkpoints


def spread_steps(steps: Sequence[int], *, num: int, chosen: Collection[int] = ()) -> list[int]:
    """Chooses checkpoints that are spread over the whole run.

    Those chosen already stay, the first and the newest are added, and then, again and again, the
    one that is farthest from all others.

    Args:
        steps: the steps of the checkpoints there are, at least one.
        num: how many are wanted; more come back where more have to stay.
        chosen: steps that have to stay; those that are not among `steps` count, and stay out.

    Returns:
        The steps chosen, ascending.
    """
    selected = {min(steps), max(steps), *chosen}
    rest = sorted(set(steps) - selected)
    while rest and len(selected) < num:
        farthest = max(rest, key=lambda step: min(abs(step - other) for other in selected))
        selected.add(farthest)
        rest.remove(farthest)
    return sorted(selected & set(steps))


def steps_every(steps: Sequence[int], *, interval: int, chosen: Collection[int] = ()) -> list[int]:
    """Chooses checkpoints at least `interval` steps apart.

    Args:
        steps: the steps of the checkpoints there are, at least one.
        interval: optimiser steps.
        chosen: steps that have to stay, however close to others.

    Returns:
        The steps chosen, ascending: the first and the newest among them.
    """
    selected: list[int] = []
    for step in sorted(steps):
        if not selected or step >= selected[-1] + interval:
            selected.append(step)
    return sorted({*selected, max(steps), *chosen} & set(steps))


# ----- who plays whom


class Standings(NamedTuple):
    """What is known of a pool of players at the beginning of a round."""

    elo: Mapping[str, float]  # of anchors with a fixed rating, and of whoever has played
    spans: Mapping[str, tuple[float, float]]  # their 95 % intervals
    met: Mapping[str, Collection[str]]  # by player, whoever it has played a whole match against
    asked: Mapping[str, int]  # by player, the matches that it was the first player of


def plan_round(
    checkpoints: Sequence[str], anchors: Sequence[str], standings: Standings
) -> list[tuple[str, str]]:
    """Chooses the matches of a round: one for each checkpoint that still needs one.

    Args:
        checkpoints: those to be rated, oldest first.
        anchors: weakest first, at least one.
        standings: what is known so far.

    Returns:
        Checkpoint and opponent of each match; none when the ladder is finished.
    """
    elo = guess_ratings(checkpoints, anchors, standings.elo)
    matches = []
    for place, checkpoint in enumerate(checkpoints):
        opponent = choose_opponent(
            checkpoint,
            anchors=anchors,
            earlier=checkpoints[:place],
            standings=standings._replace(elo=elo),
        )
        if opponent is not None:
            matches.append((checkpoint, opponent))
    return matches


def choose_opponent(
    checkpoint: str, *, anchors: Sequence[str], earlier: Sequence[str], standings: Standings
) -> str | None:
    """Chooses the opponent of whom a match promises the most information on a checkpoint's rating.

    The information of a game is, up to a factor, p (1 - p) with the expected score p: most against
    an equal, next to none against one who always wins or always loses. Beside the anchors a
    checkpoint may meet the one before it and the strongest before it: near equals, once there are
    no more anchors, and whom it has to be compared with when strength seems to fall. Left out is
    who would be as good as certain to win or to lose wherever in its 95 % interval the checkpoint
    was: one that has won all its games may be much weaker than its rating says.

    Args:
        checkpoint: who needs a match.
        anchors: weakest first.
        earlier: the rated checkpoints before it, oldest first.
        standings: what is known; `elo` has a number for everybody, if only a guess.

    Returns:
        The opponent, or None if no match is worth its time.
    """
    elo, met = standings.elo, standings.met.get(checkpoint, ())
    if standings.asked.get(checkpoint, 0) >= NUM_OPPONENTS:
        return None

    def score_against(opponent: str) -> float:
        return expected_score(elo[checkpoint] - elo[opponent])

    def may_go_either_way(opponent: str) -> bool:
        lowest, highest = standings.spans.get(checkpoint, (-math.inf, math.inf))
        nearest = min(max(elo[opponent], lowest), highest)
        likely_low, likely_high = LIKELY_SCORES
        score = expected_score(nearest - elo[opponent])
        return likely_low <= score <= likely_high

    candidates = [anchor for anchor in anchors if anchor not in met]
    if len(anchors) - len(candidates) >= min(LEAST_ANCHORS, len(anchors)):
        others = {earlier[-1], max(earlier, key=elo.__getitem__)} if earlier else set()
        candidates += sorted(others - set(met))
        candidates = [opponent for opponent in candidates if may_go_either_way(opponent)]
    # Of equals the first: max keeps the order.
    return max(candidates, key=lambda opponent: _information(score_against(opponent)), default=None)


def guess_ratings(
    checkpoints: Sequence[str], anchors: Sequence[str], elo: Mapping[str, float]
) -> dict[str, float]:
    """Returns a rating for everybody, a guess for those who have not played.

    An anchor of which nothing is known is placed a little above the one before it. A checkpoint
    begins with the rating of the one before it, or of the first known one, and before any has
    played all begin in the middle of the anchors.
    """
    guesses = dict(elo)
    above = 0.0
    for anchor in anchors:
        above = guesses.setdefault(anchor, above) + _GUESSED_STEP
    middle = guesses[anchors[len(anchors) // 2]]
    known = [checkpoint for checkpoint in checkpoints if checkpoint in elo]
    last = guesses[known[0]] if known else middle
    for checkpoint in checkpoints:
        last = guesses.setdefault(checkpoint, last)
    return guesses


def plan_anchors(
    anchors: Sequence[str], *, is_fixed: Callable[[str], bool], reach: int
) -> list[tuple[str, str]]:
    """Returns the matches that anchors without a fixed rating need among each other.

    Args:
        anchors: weakest first.
        is_fixed: whether an anchor's rating is known.
        reach: each plays so many of those before it.

    Returns:
        The stronger, as far as the order is right, and the weaker anchor of each match.
    """
    return [
        (anchors[place], anchors[place - distance])
        for place in range(len(anchors))
        for distance in range(1, min(reach, place) + 1)
        if not (is_fixed(anchors[place]) and is_fixed(anchors[place - distance]))
    ]


def _information(score: float) -> float:
    """Returns p (1 - p), in billionths: rounding must not decide between opponents of equal worth.

    That of two anchors as far above as below would otherwise depend on the machine.
    """
    return round(score * (1 - score), 9)


# ----- whether strength has fallen


def find_falls(ratings: RatingList, checkpoints: Sequence[str]) -> list[Fall]:
    """Finds the checkpoints that are weaker than the strongest before them, by more than chance.

    "The strongest before" is the luckiest of many, and each checkpoint is a new chance of a false
    alarm. So the limit is that of a one-sided test at 5 % divided by the number of comparisons
    (Bonferroni): in a run of constant strength a look at a ladder finds a fall at all at most once
    in twenty times. Who looks after each new checkpoint has a new chance each time: of 200
    simulated ladders of 12 equal checkpoints 28 had an alarm at one of the looks, 21 of them
    before the sixth checkpoint, and 6 at the last look.

    Args:
        ratings: of all players.
        checkpoints: oldest first; those without a rating are passed over.

    Returns:
        One for each such checkpoint, oldest first.
    """
    elo = {rating.player: rating.elo for rating in ratings.ratings}
    rated = [checkpoint for checkpoint in checkpoints if checkpoint in elo]
    num_comparisons = len(rated) * (len(rated) - 1) / 2
    if not num_comparisons:
        return []
    limit = NormalDist().inv_cdf(1 - _FALSE_ALARMS / num_comparisons)
    falls = []
    for place, checkpoint in enumerate(rated[1:], start=1):
        best = max(rated[:place], key=elo.__getitem__)
        difference = ratings.difference(best, checkpoint)
        if difference.elo > limit * difference.standard_error:
            falls.append(Fall(checkpoint, best, *difference))
    return falls


def find_alarm(
    falls: Sequence[Fall], ratings: RatingList, checkpoints: Sequence[str]
) -> Fall | None:
    """Returns the newest fall since the strongest checkpoint, None if there is none.

    A fall before it is history: the run has since become stronger than ever.
    """
    elo = {rating.player: rating.elo for rating in ratings.ratings}
    rated = [checkpoint for checkpoint in checkpoints if checkpoint in elo]
    if not rated:
        return None
    strongest = rated.index(max(rated, key=elo.__getitem__))
    since = [fall for fall in falls if rated.index(fall.checkpoint) > strongest]
    return since[-1] if since else None


def describe_alarm(fall: Fall) -> str:
    """Returns what there is to say about a fall, on one line."""
    return (
        f"strength has fallen: {fall.checkpoint} is {fall.elo:.0f} Elo weaker than"
        f" {fall.best_before} (standard error {fall.standard_error:.0f})"
    )


def is_beyond(rating: float, anchors: Mapping[str, float]) -> bool:
    """Tells whether a rating lies so far above all anchors that games with them tell little."""
    return expected_score(rating - max(anchors.values())) > LIKELY_SCORES[1]
