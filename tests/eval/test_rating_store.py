import dataclasses
import json
from pathlib import Path

import pytest

from eval.elo import PairResult
from eval.ladder_files import LadderError
from eval.rating_store import (
    CheckpointFacts,
    PartResult,
    RatingSettings,
    RatingStore,
    missing_parts,
    pair_results,
)
from eval.rating_summary import standings, summarize, summary_json

SETTINGS = RatingSettings(
    game="connect_four",
    simulations=100,
    games=20,
    opening_plies=4,
    seed=0,
    anchors={"random": 0.0, "uct:playouts=10": 300.0},
)
FACTS = {
    0: CheckpointFacts(0, 0, 0.1),
    400: CheckpointFacts(400, 2_000, 3.5),
    900: CheckpointFacts(900, 4_000, 7.0),
}


def part(
    step: int, second: str, wins: int, losses: int, *, number: int = 0, num_parts: int = 1
) -> PartResult:
    return PartResult(f"step={step}", second, number, num_parts, wins, 0, losses, FACTS[step])


PARTS = [
    part(400, "random", 8, 2),
    part(0, "random", 5, 5),
    part(400, "step=0", 7, 3, number=1, num_parts=2),
]


def test_results_come_back_as_they_were_added(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    assert store.settings() is None
    store.begin(SETTINGS)
    for each in PARTS:
        store.add(each)
    again = RatingStore(tmp_path)
    assert again.parts == store.parts == PARTS
    assert again.settings() == SETTINGS
    again.begin(SETTINGS)
    assert pair_results(PARTS)[0] == PairResult("step=400", "random", 8, 0, 2)


def test_a_line_that_was_broken_off_is_removed_and_no_other(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    for each in PARTS[:2]:
        store.add(each)
    path = tmp_path / "results.jsonl"
    whole = path.read_bytes()
    line = whole.splitlines(keepends=True)[0]
    for length in range(1, len(line)):
        path.write_bytes(whole + line[:length])
        assert RatingStore(tmp_path).parts == PARTS[:2]
        assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "[]",
        "x",
        '{"players": ["a", 1], "part": 0, "num_parts": 1, "wins": 1, "draws": 0, "losses": 0,'
        ' "checkpoint": null}',
        '{"players": ["a", "b"], "part": 0, "num_parts": 1, "wins": -1, "draws": 0, "losses": 0,'
        ' "checkpoint": null}',
        '{"players": ["a", "b"], "part": 0, "num_parts": 1, "wins": 1, "draws": 0, "losses": 0,'
        ' "checkpoint": {"step": 1}}',
    ],
)
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: str) -> None:
    RatingStore(tmp_path).add(PARTS[0])
    path = tmp_path / "results.jsonl"
    path.write_bytes(path.read_bytes() + f"{line}\n".encode())
    with pytest.raises(LadderError, match=r"results\.jsonl, line 2: no result of a match"):
        RatingStore(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"simulations": 400}, "was played with simulations=100, got 400; leave simulations out"),
        ({"games": 40}, "was played with games=20, got 40"),
        ({"seed": 1}, "was played with seed=0, got 1"),
        ({"anchors": {"random": 0.0}}, "was played with another ladder"),
        ({"game": "go_9x9"}, "was played in the game connect_four, got go_9x9"),
    ],
)
def test_results_of_other_settings_are_not_mixed(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    other = dataclasses.replace(SETTINGS, **change)  # type: ignore[arg-type]
    store = RatingStore(tmp_path)
    store.begin(SETTINGS)
    store.begin(other)  # nothing has been played yet
    store.begin(SETTINGS)
    store.add(PARTS[0])
    with pytest.raises(LadderError, match=words):
        RatingStore(tmp_path).begin(other)
    assert RatingStore(tmp_path).settings() == SETTINGS


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"game": "x"}'])
def test_broken_settings_are_named(tmp_path: Path, content: str) -> None:
    store = RatingStore(tmp_path)
    store.begin(SETTINGS)
    store.add(PARTS[0])
    (tmp_path / "settings.json").write_text(content)
    with pytest.raises(LadderError, match=r"settings\.json: "):
        store.settings()


def test_settings_without_results_bind_nobody(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    (tmp_path / "settings.json").write_text("broken")
    assert store.settings() is None
    store.begin(SETTINGS)
    store.add(PARTS[0])
    assert store.settings() == SETTINGS
    (tmp_path / "settings.json").unlink()
    with pytest.raises(LadderError, match=r"settings\.json: cannot be read: No such file"):
        RatingStore(tmp_path).settings()


def test_matches_that_were_begun_know_their_missing_parts() -> None:
    assert missing_parts(PARTS) == {
        ("step=400", "random"): set(),
        ("step=0", "random"): set(),
        ("step=400", "step=0"): {0},
    }


def test_a_round_begins_with_what_was_played() -> None:
    known = standings(summarize(SETTINGS, PARTS), PARTS)
    assert known.met == {
        "step=400": {"random", "step=0"},
        "step=0": {"random", "step=400"},
        "random": {"step=400", "step=0"},
    }
    assert known.asked == {"step=400": 2, "step=0": 1}
    assert known.elo["uct:playouts=10"] == 300  # fixed, though it has not played
    assert known.spans["step=400"][0] < known.elo["step=400"] < known.spans["step=400"][1]


def test_the_list_has_what_others_read_of_it(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    store.write_ratings(summary_json(summarize(SETTINGS, PARTS)))
    data = json.loads((tmp_path / "ratings.json").read_text())
    assert (data["game"], data["simulations"], data["draw_elo"]) == ("connect_four", 100, 0)
    assert data["alarm"] is None
    assert [entry["player"] for entry in data["ratings"]] == [
        "uct:playouts=10",
        "step=400",
        "step=0",
        "random",
    ]
    anchor, checkpoint = data["ratings"][:2]
    assert anchor["kind"] == "anchor"
    assert anchor["elo"] == anchor["low"] == anchor["high"] == 300
    assert (anchor["num_games"], anchor["score"], anchor["step"]) == (0, None, None)
    assert (checkpoint["kind"], checkpoint["is_fixed"]) == ("checkpoint", False)
    assert (checkpoint["step"], checkpoint["games"], checkpoint["minutes"]) == (400, 2_000, 3.5)
    assert checkpoint["low"] < checkpoint["elo"] < checkpoint["high"]
    assert (checkpoint["num_games"], checkpoint["score"]) == (20, 0.75)


def test_the_list_tells_when_strength_has_fallen() -> None:
    parts = [part(400, "uct:playouts=10", 80, 20), part(900, "uct:playouts=10", 30, 70)]
    data = summary_json(summarize(SETTINGS, parts))
    assert data["alarm"].startswith("strength has fallen: step=900 is ")
