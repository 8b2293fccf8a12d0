"""Rates the final networks of an ablation together: each meets the base, which meets anchors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from alphago.games import make_game
from alphago.players.text import pin_network
from eval.elo import EloDifference, Rating
from eval.ladder_files import Ladder, find_ladder
from eval.rating_summary import LadderSummary
from scripts.ablations.file import BASE, Ablation, AblationError
from scripts.ablations.runs import RunFacts, read_facts
from scripts.ratings.setup import begin, choose_settings, ladder_rounds, open_store

_RATINGS_FOLDER = "ratings"  # in the folder of an ablation


class RatedRun(NamedTuple):
    """A run of the ablation with its rating."""

    name: str
    overrides: list[str]  # that it has for itself
    facts: RunFacts
    rating: Rating
    difference: EloDifference  # to the base


class RatedAblation(NamedTuple):
    """What came of an ablation."""

    runs: list[RatedRun]  # strongest first
    summary: LadderSummary
    left_out: list[str]  # anchors whose programs are not installed


def refuse_replaced(folder: Path, untrained: Sequence[str]) -> None:
    """Checks that nobody who is yet to be trained has been rated before.

    Raises:
        AblationError: if somebody has: another network of the same name.
    """
    ratings = folder / _RATINGS_FOLDER
    if not ratings.exists():
        return
    with open_store(ratings) as store:
        played = {player for part in store.parts for player in part[:2]}
    for name in untrained:
        if name in played:
            raise AblationError(
                f"{ratings}: has results of an earlier {name}, whose run is gone; remove the folder"
            )


def rate_runs(
    ablation: Ablation, folder: Path, runs: Mapping[str, Path], *, game: str, num_workers: int
) -> RatedAblation:
    """Plays the matches that are missing, and rates everybody by all results.

    Args:
        ablation: what it is rated with.
        folder: of the ablation.
        runs: the folders of the trained runs, by name, the base among them.
        game: as text, with its options.
        num_workers: matches that are played at a time.

    Raises:
        AlphagoError: if an anchor cannot be made, or the results there were played with something
            else.
        KeyboardInterrupt: on Ctrl-C; finished parts of matches are kept.
    """
    ladder = _ladder(ablation, game)
    words = {"games": str(ablation.games), "simulations": str(ablation.simulations)}
    with open_store(folder / _RATINGS_FOLDER) as store:
        settings = choose_settings(
            words, store, ladder, game=game, simulations=ablation.simulations
        )
        anchors, left_out = begin(store, settings, ladder)
        texts = {anchor: anchor for anchor in anchors}
        for name, run in runs.items():
            texts[name] = _player(run, simulations=ablation.simulations)
        with ladder_rounds(store, settings, anchors, num_workers=num_workers) as rounds:
            rounds.play(pairings(list(runs), anchors), texts=texts, facts={})
            summary = rounds.summary()
    rated = [_rated_run(ablation, name, run, summary) for name, run in runs.items()]
    rated.sort(key=lambda run: run.rating.elo, reverse=True)
    return RatedAblation(rated, summary, left_out)


def pairings(names: Sequence[str], anchors: Sequence[str]) -> list[tuple[str, str]]:
    """Returns who plays whom: everybody meets the base, and that the anchors.

    Differences to the base are what is asked; games of all others with anchors, which are either
    weak or slow, tell less of them. Strong anchors think for long: first, so that no worker is left
    with one at the end.
    """
    against_anchors = [(BASE, anchor) for anchor in reversed(anchors)]
    return against_anchors + [(name, BASE) for name in names if name != BASE]


def _rated_run(ablation: Ablation, name: str, run: Path, summary: LadderSummary) -> RatedRun:
    """Returns a run with what it has done and how strong it is."""
    (rating,) = [each for each in summary.ratings.ratings if each.player == name]
    return RatedRun(
        name,
        overrides=list(ablation.variants.get(name, ())),
        facts=read_facts(run),
        rating=rating,
        difference=summary.ratings.difference(name, BASE),
    )


def _ladder(ablation: Ablation, game: str) -> Ladder:
    """Returns the anchors, weakest first, with the ratings they have in the game's ladder."""
    known = find_ladder(make_game(game).spec)
    order = {anchor: place for place, anchor in enumerate(known.anchors)}
    anchors = sorted(ablation.anchors, key=lambda anchor: order.get(anchor, len(order)))
    return Ladder(
        game=known.game,
        opening_plies=known.opening_plies,
        anchors={anchor: known.anchors.get(anchor) for anchor in anchors},
    )


def _player(run: Path, *, simulations: int) -> str:
    """Returns the text of the player of a run's best network."""
    pinned = pin_network(f"{run}:simulations={simulations}")
    assert pinned is not None, "a run has a network"
    return pinned[0]
