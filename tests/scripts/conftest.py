"""The browser that the pages of reports are opened in."""

from collections.abc import Iterator

import pytest

from tests.scripts.chromium import Chromium, find_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Chromium without a network; tests that ask for it are skipped where there is none."""
    program = find_chromium()
    assert program is not None
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


@pytest.fixture
def no_faults(browser: Chromium) -> Iterator[None]:
    """Fails a test whose page said an error, or asked for anything but itself."""
    browser.faults.clear()
    browser.requested.clear()
    yield
    assert browser.faults == []
    assert {address.partition(":")[0] for address in browser.requested} == {"file"}
    assert len(set(browser.requested)) == 1
