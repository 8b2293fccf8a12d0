"""The page of a run in a real browser, without a network: no error, keys, no overflow."""

import shutil
from pathlib import Path

import pytest

from tests.scripts.chromium import PROGRAMS, Chromium, find_chromium
from tests.scripts.report_runs import GAMES, make_report, make_run, ratings_of, write_ratings

pytestmark = [
    pytest.mark.skipif(
        find_chromium() is None, reason=f"none of {', '.join(PROGRAMS)} is installed"
    ),
    pytest.mark.usefixtures("no_faults"),
]

POSITION = "document.getElementById('position').textContent"
OVERFLOW = "document.scrollingElement.scrollWidth - innerWidth"
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module", params=GAMES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_report(make_run(tmp_path_factory.mktemp("runs") / "run", request.param))


def focus(browser: Chromium, selector: str) -> None:
    browser.evaluate(f"document.querySelector('{selector}').focus()")


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_page_is_as_wide_as_its_window(
    browser: Chromium, page: Path, width: int, dark: bool
) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.evaluate(OVERFLOW) <= 0
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert browser.evaluate(OVERFLOW) <= 0
    red, green, blue = browser.evaluate(f"{BACKGROUND}.match(/[0-9]+/g).map(Number)")
    assert (max(red, green, blue) < 64) == dark


@pytest.mark.parametrize("focused", ["#stepper", "#slider", "[data-go=back]"])
def test_board_steps_by_keyboard(browser: Chromium, page: Path, focused: str) -> None:
    browser.open(page, width=1440)
    focus(browser, focused)
    browser.press("Home")
    last = browser.evaluate("Number(document.getElementById('slider').max)")
    board = "document.getElementById('board').innerHTML"
    empty = browser.evaluate(board)
    assert browser.evaluate(POSITION).startswith(f"Position 0 of {last}, the beginning")

    for step, (key, position) in enumerate(
        [("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0)]
    ):
        browser.press(key)
        text = browser.evaluate(POSITION)
        assert text.startswith(f"Position {position} of {last},"), (step, key)
        assert ("The end" in text) == (position == last)
    assert browser.evaluate(board) == empty

    browser.press("ArrowLeft")  # there is nothing before the beginning
    assert browser.evaluate(POSITION).startswith("Position 0 ")
    browser.press("ArrowRight")
    assert browser.evaluate(board) != empty


def test_focus_can_be_seen(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    browser.press("Tab")
    focus(browser, "#stepper")
    assert browser.evaluate("document.querySelector('#stepper').matches(':focus-visible')")
    outline = "getComputedStyle(document.querySelector('#stepper')).outlineStyle"
    assert browser.evaluate(outline) == "solid"


def test_buttons_slider_and_choice_of_the_game_work(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    for button, position in (("last", None), ("back", -1), ("first", 0), ("forward", 1)):
        browser.evaluate(f"document.querySelector('[data-go={button}]').click()")
        last = browser.evaluate("Number(document.getElementById('slider').max)")
        expected = {None: last, -1: last - 1}.get(position, position)
        assert browser.evaluate(POSITION).startswith(f"Position {expected} of"), button
    title = browser.evaluate("document.getElementById('game-facts').textContent")
    browser.evaluate(
        "document.getElementById('game').value = 0;"
        "document.getElementById('game').dispatchEvent(new Event('change'))"
    )
    assert browser.evaluate("document.getElementById('game-facts').textContent") != title


def test_a_game_begins_with_a_position_that_was_searched(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    searched = browser.evaluate("report.samples.at(-1).plies.findIndex((ply) => ply.search)")
    assert searched > 0  # the opening moves of these runs are random
    assert browser.evaluate(POSITION).startswith(f"Position {searched} of")
    browser.evaluate("document.querySelector('[data-go=first]').click()")
    assert browser.evaluate(POSITION).startswith("Position 0 of")


def test_horizontal_axis_can_be_chosen(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    chart = "document.querySelector('#learning-charts .plot').textContent"
    assert browser.evaluate(chart).endswith("minutesnats")
    browser.evaluate("document.querySelector('input[value=games]').click()")
    assert browser.evaluate(chart).endswith("gamesnats")


def test_values_at_a_point_are_shown_by_keys(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    legend = "document.querySelector('#learning-charts .legend').textContent"
    newest = browser.evaluate(legend)
    focus(browser, "#learning-charts .plot")
    browser.press("ArrowLeft")
    assert browser.evaluate(legend) != newest
    browser.press("ArrowRight")
    assert browser.evaluate(legend) == newest


def test_page_has_headings_and_names_for_everything_that_is_used(
    browser: Chromium, page: Path
) -> None:
    browser.open(page, width=1440)
    assert browser.evaluate("document.querySelectorAll('h1').length") == 1
    assert browser.evaluate("document.documentElement.lang") == "en"
    nameless = (
        "[...document.querySelectorAll('button, input, select, svg[role], [role=img],"
        " [role=group], [role=region]')].filter((one) => !(one.getAttribute('aria-label')"
        " || (one.labels && one.labels.length))).length"
    )
    assert browser.evaluate(nameless) == 0


def test_page_of_a_run_that_has_just_begun(browser: Chromium, page: Path, tmp_path: Path) -> None:
    run = tmp_path / "young"
    run.mkdir()
    shutil.copy(page.parent / "config.yaml", run)
    browser.open(make_report(run), width=390)
    assert browser.evaluate("document.getElementById('viewer').hidden")
    assert "has just begun" in browser.evaluate("document.getElementById('notices').textContent")
    assert browser.evaluate(OVERFLOW) <= 0


def test_page_of_a_run_with_ratings(browser: Chromium, page: Path, tmp_path: Path) -> None:
    run = tmp_path / "rated"
    shutil.copytree(page.parent, run)
    write_ratings(run, ratings_of((10, 100.0), (20, 250.0)))
    browser.open(make_report(run), width=1440)
    assert "250" in browser.evaluate("document.getElementById('facts').textContent")
    assert "Strength has fallen." in browser.evaluate(
        "document.getElementById('notices').textContent"
    )
    elo = "document.querySelector('#strength-charts figure').textContent"
    for text in ("random", "250 (200 to 300) in 40 games"):
        assert text in browser.evaluate(elo)
    assert browser.evaluate("document.querySelectorAll('#ratings-table tbody tr').length") == 3


def test_curve_of_values_steers_the_board(browser: Chromium, page: Path) -> None:
    browser.open(page, width=1440)
    for button in ("first", "forward"):
        browser.evaluate(f"document.querySelector('[data-go={button}]').click()")
    focus(browser, "#values .plot")
    browser.press("ArrowRight")
    assert browser.evaluate(POSITION).startswith("Position 2 of")
    plot = "document.querySelector('#values .plot')"
    browser.evaluate(
        f"{plot}.dispatchEvent(new MouseEvent('click',"
        f" {{clientX: {plot}.getBoundingClientRect().left}}))"
    )
    assert not browser.evaluate(POSITION).startswith("Position 2 of")
