"""Pages of odd runs in a real browser: crowded charts, missing numbers, hostile texts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts.report_page.collect import collect_report
from scripts.report_page.render import render_page
from tests.scripts.chromium import PROGRAMS, Chromium, find_chromium
from tests.scripts.report_runs import make_report, make_run, ratings_of, write_log, write_ratings
from tests.train.tiny import log_lines

pytestmark = [
    pytest.mark.skipif(
        find_chromium() is None, reason=f"none of {', '.join(PROGRAMS)} is installed"
    ),
    pytest.mark.usefixtures("no_faults"),
]

ELO = "document.querySelector('#strength-charts figure')"
NUM_PLOTS = "document.querySelectorAll('.plot svg').length"
NOTICES = "document.getElementById('notices').textContent"
BOXES = """[...document.querySelectorAll('#strength-charts SELECTOR')].map((one) => {
  const box = one.getBoundingClientRect();
  return [box.left, box.top, box.right, box.bottom];
})"""
HOSTILE = "<img src=x onerror=alert(1)>\"'</script><b>&amp;{{data}}"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without networks, which take a while to be read."""
    run = make_run(tmp_path_factory.mktemp("runs") / "run", "tic_tac_toe")
    shutil.rmtree(run / "checkpoints")
    return run


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    """A copy, to be changed."""
    return Path(shutil.copytree(original, tmp_path / "copied"))


def choose_axis(browser: Chromium, name: str) -> None:
    browser.evaluate(f"document.querySelector('input[value={name}]').click()")


def point_at_all_plots(browser: Chromium) -> None:
    browser.evaluate(
        "document.querySelectorAll('.plot').forEach((plot) => plot.dispatchEvent("
        "new PointerEvent('pointermove', {clientX: plot.getBoundingClientRect().left + 80})))"
    )


# --- crowded charts ---


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize(
    "anchors",
    [
        {f"uct:playouts={10**number}": 200.0 + number for number in range(11)},
        {f"anchor {number}": 400.0 - number for number in range(40)},
        {"one": 250.0, "two": 250.0, "runs/a-folder-with-a-long-name:simulations=1000": 249.0},
    ],
    ids=["close", "many", "long"],
)
def test_names_of_anchors_stand_apart_beside_the_curve(
    browser: Chromium, run: Path, width: int, anchors: dict[str, float]
) -> None:
    write_ratings(run, ratings_of((10, 100.0), (20, 250.0), anchors=anchors))
    browser.open(make_report(run), width=width)
    labels = browser.evaluate(BOXES.replace("SELECTOR", ".label"))
    dots = browser.evaluate(BOXES.replace("SELECTOR", "figure:first-child .dot"))
    ((_, top, right, bottom),) = browser.evaluate(
        BOXES.replace("SELECTOR", "figure:first-child .plot svg")
    )
    assert len(labels) == len(anchors)
    labels.sort(key=lambda box: box[1])
    for above, below in zip(labels, labels[1:], strict=False):
        assert below[1] >= above[3] - 0.5
    assert labels[0][1] >= top
    assert labels[-1][3] <= bottom
    assert max(label[2] for label in labels) <= right + 0.5
    assert min(label[0] for label in labels) > max(dot[2] for dot in dots)


@pytest.mark.parametrize(
    ("wished", "places"),
    [
        ([20, 50, 90], [20, 50, 90]),
        ([50, 50], [45, 55]),
        ([30, 50, 52, 54, 90], [30, 42, 52, 62, 90]),
        ([40, 49, 50], [36.3, 46.3, 56.3]),
        ([1, 2], [10, 20]),
        ([95, 99], [80, 90]),
    ],
)
def test_names_move_no_farther_than_they_must(
    browser: Chromium, run: Path, wished: list[float], places: list[float]
) -> None:
    browser.open(make_report(run), width=390)
    assert browser.evaluate(f"spread({wished}, 10, 10, 90)") == pytest.approx(places, abs=0.1)


# --- missing numbers ---


def test_checkpoints_without_minutes_are_shown_over_their_steps(
    browser: Chromium, run: Path
) -> None:
    ratings = ratings_of((10, 100.0), (20, 250.0))
    for player in ratings["ratings"]:
        player["minutes"] = None
    browser.open(make_report(run), width=1440)
    num_others = browser.evaluate(NUM_PLOTS)
    write_ratings(run, ratings)
    browser.open(make_report(run), width=1440)
    assert browser.evaluate(NUM_PLOTS) == num_others
    assert "by its minutes: choose another" in browser.evaluate(f"{ELO}.textContent")
    choose_axis(browser, "steps")
    point_at_all_plots(browser)
    assert browser.evaluate(NUM_PLOTS) == num_others + 1
    assert "100 (50 to 150) in 40 games" in browser.evaluate(f"{ELO}.textContent")
    choose_axis(browser, "minutes")
    assert browser.evaluate(NUM_PLOTS) == num_others
    assert len(browser.evaluate("document.getElementById('numbers').textContent")) > 100


def test_a_log_without_minutes_is_shown_over_its_steps(browser: Chromium, run: Path) -> None:
    lines = log_lines(run, "iteration")
    write_log(run, *({key: line[key] for key in line if key != "time/minutes"} for line in lines))
    browser.open(make_report(run), width=1440)
    learning = "document.querySelectorAll('#learning-charts .plot').length"
    assert browser.evaluate(learning) == 0
    point_at_all_plots(browser)
    choose_axis(browser, "steps")
    point_at_all_plots(browser)
    assert browser.evaluate(learning) > 0


def test_legends_show_the_newest_value_that_is_there(browser: Chromium, run: Path) -> None:
    first, last = log_lines(run, "iteration")
    del last["loss/policy"]
    write_log(run, first | {"loss/policy": 0.625}, last)
    browser.open(make_report(run), width=1440)
    legend = "document.querySelector('#learning-charts .legend').textContent"
    assert browser.evaluate(legend).startswith("training 0.625 at ")


def test_lengths_of_games_that_hardly_differ_look_alike(browser: Chromium, run: Path) -> None:
    first, last = log_lines(run, "iteration")
    lengths = [{"selfplay/game_length": length} for length in (6.5, 6.575)]
    write_log(run, first | lengths[0], last | lengths[1])
    browser.open(make_report(run), width=1440)
    points = "document.querySelector('#play-charts polyline').getAttribute('points')"
    heights = [float(point.split(",")[1]) for point in browser.evaluate(points).split()]
    assert 0 < heights[0] - heights[1] < 10


def test_a_part_that_cannot_be_shown_leaves_the_others(
    browser: Chromium, run: Path, tmp_path: Path
) -> None:
    report = collect_report(run, num_games=1)
    page = tmp_path / "page.html"
    page.write_text(render_page(report), encoding="utf-8")
    browser.open(page, width=1440)
    num_plots = browser.evaluate(NUM_PLOTS)
    page.write_text(render_page(report | {"gate": None}), encoding="utf-8")
    browser.open(page, width=1440)
    assert "could not be shown (showGate)" in browser.evaluate(NOTICES)
    assert browser.evaluate(NUM_PLOTS) == num_plots - 1
    assert browser.evaluate("document.getElementById('files').textContent")
    assert browser.faults  # said on the console too
    browser.faults.clear()


# --- hostile texts ---


def test_texts_of_a_run_stay_texts(browser: Chromium, run: Path, tmp_path: Path) -> None:
    ratings: dict[str, Any] = ratings_of((10, 100.0), anchors={HOSTILE: 0.0})
    ratings["ratings"][1]["player"] = HOSTILE
    write_ratings(run, ratings | {"alarm": HOSTILE})
    tags = {f"suite/{HOSTILE}": 0.5, HOSTILE: 1.0}
    write_log(run, *(line | tags for line in log_lines(run, "iteration")))
    config = (run / "config.yaml").read_text(encoding="utf-8")
    settings = config.replace("file: null", f"file: {json.dumps(HOSTILE)}")
    settings = settings.replace("precision: auto", f"precision: {json.dumps(HOSTILE)}")
    (run / "config.yaml").write_text(f"{settings}# {HOSTILE}\n", encoding="utf-8")
    named = run.rename(tmp_path / HOSTILE.replace("/", ":"))
    browser.open(make_report(named), width=390)
    for selector in ("#name", "#notices", "#facts", "#strength-charts", "#ratings-table"):
        shown = browser.evaluate(f"document.querySelector('{selector}').textContent")
        assert HOSTILE.replace("/", ":" if selector == "#name" else "/") in shown, selector
    for selector in ("#config", "#numbers"):
        assert HOSTILE in browser.evaluate(f"document.querySelector('{selector}').textContent")
    assert browser.evaluate("document.querySelectorAll('img, h1 b, main > b').length") == 0
    assert browser.evaluate("document.querySelectorAll('script').length") == 2
