"""What `alphago check` finds, and how it is told."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from scripts.tables import format_table

FAULT, NOTE = "fault", "note"
MOST_LINES = 40  # of the table; JSON has all
_MOST_CHARACTERS = 110  # of a cell of the table

Repair: TypeAlias = Callable[[], str]  # mends something and says in a few words what it did


class Finding(NamedTuple):
    """One thing that was found.

    Attributes:
        level: `FAULT` where something is lost, broken or contradicts itself, `NOTE` for what is
            good to know.
        where: the file or folder within the run.
        what: what was found there.
        follows: what follows from it.
        repair: sets aside what is broken; None where there is nothing to do, or nothing can be.
        repaired: what the repair did; None before it.
    """

    level: str
    where: str
    what: str
    follows: str
    repair: Repair | None = None
    repaired: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether it is a fault that has not been repaired."""
        return self.level == FAULT and self.repaired is None


class CheckResult(NamedTuple):
    """What was looked at, and what was found.

    Attributes:
        run: folder of the run.
        in_use: whether a process works on it now.
        counts: how many things of each kind were looked at.
        findings: in the order of the run's parts.
    """

    run: Path
    in_use: bool
    counts: dict[str, int]
    findings: list[Finding]

    @property
    def num_wrong(self) -> int:
        """Faults that are still there."""
        return sum(finding.is_wrong for finding in self.findings)


def repair_all(result: CheckResult) -> CheckResult:
    """Repairs what can be repaired, and returns the result with what was done.

    Raises:
        AlphagoError: if something cannot be written; what was done before stays done.
    """
    findings = [
        finding if finding.repair is None else finding._replace(repaired=finding.repair())
        for finding in result.findings
    ]
    return result._replace(findings=findings)


def to_json(result: CheckResult) -> dict[str, Any]:
    """Returns a result as data for JSON."""
    return {
        "run": str(result.run),
        "in_use": result.in_use,
        "sound": result.num_wrong == 0,
        "checked": result.counts,
        "findings": [
            {
                "level": finding.level,
                "where": finding.where,
                "what": finding.what,
                "follows": finding.follows,
                "can_be_repaired": finding.repair is not None,
                "repaired": finding.repaired,
            }
            for finding in result.findings
        ],
    }


def describe(result: CheckResult) -> str:
    """Returns a result as lines: what was looked at, one line per finding, and the sum."""
    lines = [f"run: {result.run}"]
    if result.in_use:
        lines.append("in use by another process: what that writes meanwhile is not looked at")
    counts = ", ".join(f"{number:,} {name}" for name, number in result.counts.items())
    lines.append(f"checked: {counts}")
    if result.findings:
        lines += ["", _table(result.findings), ""]
    lines.append(_sum(result))
    return "\n".join(lines)


def _table(findings: Sequence[Finding]) -> str:
    """Returns one line per finding, faults first, as many as fit on a screen."""
    ordered = sorted(findings, key=lambda finding: not finding.is_wrong)
    rows = [("", "where", "what", "what follows")]
    for finding in ordered[:MOST_LINES]:
        follows = finding.follows if finding.repaired is None else f"repaired: {finding.repaired}"
        rows.append((finding.level, finding.where, _short(finding.what), follows))
    text = format_table(rows)
    left = len(findings) - MOST_LINES
    return text if left <= 0 else f"{text}\n... and {left} more; --json lists all"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}..."


def _sum(result: CheckResult) -> str:
    """Returns the last line: whether the run is sound, and what to do where it is not."""
    num_repaired = sum(finding.repaired is not None for finding in result.findings)
    repaired = f"{num_repaired} repaired" if num_repaired else ""
    if result.num_wrong == 0:
        return ", ".join(["sound", repaired] if repaired else ["sound"])
    parts = [f"{result.num_wrong} wrong"]
    if num_repaired:
        parts.append(repaired)
    elif any(finding.is_wrong and finding.repair is not None for finding in result.findings):
        parts.append("--repair sets aside what is broken")
    return "; ".join(parts)
