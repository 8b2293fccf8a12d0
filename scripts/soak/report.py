"""The report of a soak, as text and as JSON."""

from collections import Counter
from dataclasses import asdict
from statistics import median
from typing import Any

from scripts.machine import describe_machine
from scripts.soak.invariants import shortened
from scripts.soak.plan import KINDS
from scripts.soak.soak import Result, Settings
from scripts.tables import format_table


def as_text(settings: Settings, result: Result) -> str:
    """Returns what people read."""
    num_made, minutes = len(result.faults.made), result.seconds / 60
    lines = [
        f"{num_made} faults in {minutes:.1f} minutes (seed {settings.seed}, {settings.game},"
        f" {settings.loop} loop), {len(result.sittings)} sittings",
        "",
        _table_of_faults(result),
        "",
        *(f"left out: {kind}: {why}" for kind, why in result.left_out.items()),
        *(f"could not be made: {kind}" for kind in result.faults.missed),
    ]
    if result.counters is not None:
        done = result.counters
        lines.append(f"the run: {done.games} games, {done.step} steps, {done.iteration} iterations")
    for name, faults in result.invariants.items():
        lines.append(f"{'FAILS' if faults else 'holds'}: {name}")
        lines += [f"    {fault}" for fault in shortened(faults)]
    return "\n".join(lines)


def as_data(settings: Settings, result: Result) -> dict[str, Any]:
    """Returns all that is known, ready for JSON."""
    counters = None if result.counters is None else result.counters._asdict()
    return {
        "machine": describe_machine(),
        "settings": asdict(settings) | {"folder": str(settings.folder)},
        "holds": result.holds,
        **asdict(result),
        "counters": counters,
    }


def _table_of_faults(result: Result) -> str:
    """Returns a row per kind: how often, how often the process had to be started, how long."""
    counts = Counter(made.kind for made in result.faults.made)
    rows = [("fault", "made", "ended the sitting", "works again, median", "longest", "what")]
    for kind in KINDS:
        made = [each for each in result.faults.made if each.kind == kind.name]
        if made:
            times = [each.recovered_s for each in made]
            rows.append(
                (
                    kind.name,
                    str(counts[kind.name]),
                    str(sum(each.ended for each in made)),
                    f"{median(times):.1f} s",
                    f"{max(times):.1f} s",
                    kind.text,
                )
            )
    return format_table(rows)
