"""What came of an ablation, as a table in Markdown and as data for JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eval.intervals import Z_95
from eval.rating_summary import summary_json
from scripts.ablations.file import BASE, Ablation
from scripts.ratings.report import describe_forfeits

if TYPE_CHECKING:
    from scripts.ablations.rating import RatedAblation, RatedRun

_HEADING = (
    "variant",
    "what changed",
    "minutes",
    "games",
    "steps",
    "positions",
    "Elo",
    "95 % interval",
    "to the base",
)


def ablation_table(
    ablation: Ablation,
    rated: "RatedAblation",
    *,
    faults: Mapping[str, str],
    name: str,
    num_cpus: int,
) -> str:
    """Returns the results as Markdown, strongest first.

    Args:
        ablation: what it was rated with.
        rated: the results.
        faults: why other runs have failed, by name.
        name: of the ablation.
        num_cpus: that each run was trained with.
    """
    rows = [_row(run) for run in rated.runs]
    anchors = [
        f"{rating.player} {rating.elo:.0f}"
        + ("" if rating.is_anchor else f" ({rating.low:.0f} to {rating.high:.0f})")
        for rating in rated.summary.ratings.ratings
        if rating.player in rated.summary.settings.anchors
    ]
    lines = [
        f"# Ablation {name}",
        "",
        f"Base: `{' '.join(ablation.base)}`. CPUs of each run: {num_cpus}."
        " Each variant changes what stands beside it. Rated by"
        f" {ablation.games} games of each run with the base, and of that with each anchor, from"
        f" {rated.summary.settings.opening_plies} random opening plies, at"
        f" {ablation.simulations} simulations a move. Anchors: {', '.join(anchors)}.",
        "",
        *_markdown([_HEADING, *rows]),
    ]
    remarks = list(_remarks(rated, faults))
    return "\n".join([*lines, "", *remarks] if remarks else lines)


def ablation_json(
    rated: "RatedAblation", *, faults: Mapping[str, str], num_cpus: int
) -> dict[str, Any]:
    """Returns the results as data for JSON."""
    return {
        "runs": [
            {
                "name": run.name,
                "overrides": run.overrides,
                **run.facts._asdict(),
                "elo": run.rating.elo,
                "low": run.rating.low,
                "high": run.rating.high,
                "num_games": run.rating.num_games,
                "score": run.rating.score,
                "difference": run.difference.elo,
                "standard_error": run.difference.standard_error,
            }
            for run in rated.runs
        ],
        "num_cpus": num_cpus,
        "faults": dict(faults),
        "left_out": rated.left_out,
        "ratings": summary_json(rated.summary)["ratings"],
    }


def _row(run: "RatedRun") -> tuple[str, ...]:
    """Returns the cells of a run."""
    facts, rating = run.facts, run.rating
    difference = f"{run.difference.elo:+.0f} ± {Z_95 * run.difference.standard_error:.0f}"
    return (
        run.name,
        ", ".join(f"`{text}`" for text in run.overrides) or "nothing",
        f"{facts.minutes:.1f}",
        f"{facts.games:,}",
        f"{facts.steps:,}",
        f"{facts.positions:,}",
        f"{rating.elo:.0f}",
        f"{rating.low:.0f} to {rating.high:.0f}",
        "" if run.name == BASE else difference,
    )


def _markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table whose columns are aligned, so that it reads well as it stands."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for place, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield f"| {' | '.join(cells)} |"
        if place == 0:
            yield f"|{'|'.join('-' * (width + 2) for width in widths)}|"


def _remarks(rated: "RatedAblation", faults: Mapping[str, str]) -> Iterator[str]:
    """Yields what a reader has to know beside the numbers."""
    for name, fault in faults.items():
        yield f"failed: {name}: {fault}"
    if rated.left_out:
        yield f"left out, not installed: {', '.join(rated.left_out)}"
    yield from describe_forfeits(rated.summary)
