"""Plain text tables, and numbers in them."""

from collections.abc import Sequence


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of equal length as lines with aligned columns; the last column is not padded."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return "\n".join(lines)


def gigabytes(num_bytes: int) -> str:
    """Returns a number of bytes in words."""
    return f"{num_bytes / 2**30:.1f} GiB"
