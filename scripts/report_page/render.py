"""`render_page`: the data of a report as one HTML page that needs nothing else."""

import html
import json
import re
from pathlib import Path

from scripts.report_page.json_files import Json

_FOLDER = Path(__file__).parent
_STYLE = "page.css"
_SCRIPTS = ("charts.js", "board.js", "games.js", "curves.js", "page.js")  # in this order


def render_page(report: Json) -> str:
    """Puts template, style, scripts and data into one page.

    Args:
        report: what `collect_report` returns.

    Returns:
        The page. It loads nothing, and its policy forbids to.
    """
    parts = {
        "title": html.escape(f"{report['name']} - training report"),
        "style": _read(_STYLE),
        "script": "\n".join(_read(name) for name in _SCRIPTS),
        "data": _embedded(report),
    }
    # In one pass, so that nothing within a part is taken for a place.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _read("page.html"))


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _embedded(report: Json) -> str:
    """Returns the data as JSON that is safe inside a script element.

    No text can end the element or begin a comment, since "<" is written as an escape.
    """
    text = json.dumps(report, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
