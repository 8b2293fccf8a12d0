"""The page as text: one file that loads nothing, with the data as they are."""

import json
import re
import tomllib
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from scripts.report_page.collect import collect_report
from scripts.report_page.render import render_page
from tests.scripts.report_runs import make_run

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts" / "report_page"
ADDRESSES = {"src", "href", "srcset", "data", "action", "poster", "xlink:href"}


class Reader(HTMLParser):
    """Notes the addresses in a page, its policy, and what stands in its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.policy = ""
        self.scripts: list[str] = []
        self.headings: list[str] = []
        self._tag = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tag = tag
        values = dict(attrs)
        self.addresses += [values[key] or "" for key in values if key in ADDRESSES]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        if tag == "script":
            self.scripts.append("")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag == "script":
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = make_run(tmp_path_factory.mktemp("runs") / "run", "tic_tac_toe")
    return collect_report(run, num_games=2)


def test_page_loads_nothing(report: dict[str, Any]) -> None:
    page = render_page(report)
    reader = Reader(page)
    assert all(address.startswith("#") for address in reader.addresses)
    assert reader.policy.startswith("default-src 'none';")
    assert "http:" not in reader.policy + page.replace("http-equiv", "")
    for loading in (
        "https:",
        "@import",
        "url(",
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "import(",
    ):
        assert loading not in page, loading


def test_page_holds_the_data_as_they_are(report: dict[str, Any]) -> None:
    data, _ = Reader(render_page(report)).scripts
    assert json.loads(data) == report


def test_no_text_ends_the_script_or_is_taken_for_a_place(report: dict[str, Any]) -> None:
    nasty = "</script><script>alert(1)</script><!-- {{title}} {{data}} \u2028 &amp; ü"
    changed = report | {"config": nasty, "name": f"<b>{nasty}"}
    page = render_page(changed)
    reader = Reader(page)
    assert len(reader.scripts) == 2
    assert json.loads(reader.scripts[0]) == changed
    assert "<b>" not in page.partition("</title>")[0].partition("<title>")[2]


def test_numbers_that_are_not_finite_are_refused(report: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        render_page(report | {"rating": float("nan")})


def test_headings_follow_each_other(report: dict[str, Any]) -> None:
    headings = Reader(render_page(report)).headings
    assert headings[0] == "h1"
    assert headings.count("h1") == 1
    levels = [int(heading[1]) for heading in headings]
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


def test_pages_of_normal_runs_are_small(report: dict[str, Any]) -> None:
    assert len(render_page(report).encode()) < 200_000


def test_parts_of_the_page_are_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["scripts.report_page"]
    parts = [path for path in FOLDER.iterdir() if path.suffix in (".html", ".css", ".js")]
    assert len(parts) >= 6
    for part in parts:
        assert any(fnmatch(part.name, pattern) for pattern in patterns), part.name
        assert f"`{part.name}`" in (FOLDER / "README.md").read_text(encoding="utf-8")
