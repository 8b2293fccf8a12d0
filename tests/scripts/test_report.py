"""The report of runs of all kinds, and the command that writes it."""

import logging
import os
import shutil
from pathlib import Path

import pytest

from alphago.players.loading import FoundNetwork, Step
from scripts.main import main
from scripts.report_page import collect
from scripts.report_page.collect import collect_report
from tests.scripts.report_runs import make_report, make_run, write_log
from tests.train.tiny import log_lines

NUM_GAMES = 3


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "run", "tic_tac_toe")


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be changed."""
    return Path(shutil.copytree(run, tmp_path / "copied"))


# --- runs of all kinds ---


def test_a_run_that_has_just_begun_has_a_report(copied: Path, tmp_path: Path) -> None:
    young = tmp_path / "young"
    young.mkdir()
    shutil.copy(copied / "config.yaml", young)
    report = collect_report(young, num_games=NUM_GAMES)
    assert report["counters"] == {
        "iterations": 0,
        "steps": 0,
        "games": 0,
        "minutes": 0,
        "best": None,
    }
    assert report["samples"] == []
    assert report["calibration"] is None
    assert report["network"]["num_parameters"] is None
    assert make_report(young).is_file()


def test_a_run_of_an_older_version_has_a_report(copied: Path) -> None:
    kept = ("time", "event", "step", "loss/policy", "selfplay/games", "time/minutes")
    lines = [{key: line[key] for key in kept if key in line} for line in log_lines(copied)]
    write_log(copied, *lines)
    config = (copied / "config.yaml").read_text(encoding="utf-8").splitlines()
    unknown_then = ("  handicap_bonus:", "  backend:", "  cache_size:", "  policy_kl_limit:")
    older = [line for line in config if not line.startswith(unknown_then)]
    (copied / "config.yaml").write_text("\n".join(older), encoding="utf-8")
    report = collect_report(copied, num_games=NUM_GAMES)
    assert list(report["curves"]["tags"]) == ["loss/policy", "selfplay/games", "time/minutes"]
    assert report["inference"]["precision"] is None
    assert len(report["samples"]) == NUM_GAMES
    assert make_report(copied).is_file()


def test_a_broken_network_is_left_out_with_a_warning(
    copied: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for weights in (copied / "checkpoints").glob("*/best.safetensors"):
        weights.write_bytes(b"broken")
    with caplog.at_level(logging.WARNING):
        report = collect_report(copied, num_games=1)
    assert report["samples"][0]["plies"][0]["network"] is None
    assert "best.safetensors" in caplog.text


def test_a_network_that_is_removed_meanwhile_is_looked_for_again(
    copied: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    find_network = collect.find_network
    best = copied / "best"
    newer = copied / "checkpoints" / best.read_text(encoding="utf-8").strip()
    older = newer.with_name("000000001")
    shutil.copytree(newer, older)
    best.write_text(older.name, encoding="utf-8")

    def find_and_prune(run: Path, *, step: Step) -> FoundNetwork:
        found = find_network(run, step=step)
        if found.folder == older:
            shutil.rmtree(older)
            best.write_text(newer.name, encoding="utf-8")
        return found

    monkeypatch.setattr(collect, "find_network", find_and_prune)
    with caplog.at_level(logging.WARNING):
        report = collect_report(copied, num_games=1)
    assert not older.exists()
    assert report["network"]["step"] == int(newer.name)
    assert report["samples"][0]["plies"][0]["network"]
    assert caplog.text == ""


def test_a_folder_of_checkpoints_that_cannot_be_read_ends_with_one_line(
    copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(copied / "checkpoints")
    (copied / "checkpoints").touch()
    assert main(["report", str(copied)]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"alphago report: error: {copied / 'checkpoints'}: cannot be read: Not a directory\n"
    )


# --- the command ---


def test_nothing_but_the_page_is_written(copied: Path) -> None:
    def contents() -> dict[Path, bytes]:
        files = (path for path in copied.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files}

    before = contents()
    page = make_report(copied)
    after = contents()
    assert after.pop(page)
    assert after == before


def test_page_goes_where_it_is_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(run), f"out={page}", "games=1"]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert capsys.readouterr().out.startswith(f"{page}: 0.")


def test_a_folder_whose_name_is_no_utf_8_has_a_report(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = copied.rename(tmp_path / os.fsdecode(b"run-\xff-1"))
    page = make_report(odd).read_text(encoding="utf-8")
    assert "<title>run-\ufffd-1 - training report</title>" in page
    assert "/run-\ufffd-1/report.html: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing"], "missing: no such folder"),
        (["empty"], "empty: is not a run, it has no config.yaml"),
        (["run", "games=-1"], "games: got '-1', allowed: an integer from 0 to 50"),
        (["run", "game=3"], "game: unknown key; nearest: games; allowed: out, games"),
        (["run", "out=missing/page.html"], "out: missing: no such folder"),
        (["run", "out=empty"], "out: empty is a folder; name a file"),
    ],
)
def test_wrong_input_ends_with_one_line(
    words: list[str],
    message: str,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "run").symlink_to(run)
    assert main(["report", *words]) == 2
    assert capsys.readouterr().err == f"alphago report: error: {message}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "run"]
