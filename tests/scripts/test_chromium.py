"""The browser of the tests notices what a page does wrong."""

from pathlib import Path

import pytest

from tests.scripts.chromium import PROGRAMS, Chromium, find_chromium


@pytest.mark.skipif(find_chromium() is None, reason=f"none of {', '.join(PROGRAMS)} is installed")
def test_errors_and_requests_of_a_page_are_noticed(tmp_path: Path) -> None:
    program = find_chromium()
    assert program is not None
    page = tmp_path / "page.html"
    page.write_text(
        "<img src='https://example.com/picture.png'><script>console.error('wrong')</script>"
        "<script>throw new Error('thrown')</script>",
        encoding="utf-8",
    )
    with Chromium(program, tmp_path / "profile") as browser:
        browser.open(page, width=390)
        browser.wait_for("document.images[0].complete")
        browser.evaluate("1")
        assert any("wrong" in fault for fault in browser.faults)
        assert any("thrown" in fault for fault in browser.faults)
        assert "https://example.com/picture.png" in browser.requested
        assert browser.evaluate("document.images[0].naturalWidth") == 0  # there is no network
