import dataclasses
import json
from pathlib import Path

import pytest

from alphago.players.game_follower import Forfeit, ForfeitKind
from eval.elo import PairResult
from eval.endings import GameEnding
from eval.ladder_files import LadderError
from eval.matches import MatchResult, Thinking
from eval.rating_store import (
    CheckpointFacts,
    PartResult,
    RatingSettings,
    RatingStore,
    missing_parts,
    pair_results,
    part_result,
)
from eval.rating_summary import standings, summarize, summary_json

SETTINGS = RatingSettings(
    game="connect_four",
    simulations=100,
    games=10,
    opening_plies=4,
    seed=0,
    anchors={"random": 0.0, "uct:playouts=10": 300.0},
)
FACTS = {
    0: CheckpointFacts(0, 0, 0.1),
    400: CheckpointFacts(400, 2_000, 3.5),
    900: CheckpointFacts(900, 4_000, 7.0),
}


LINE = (
    '{"players": ["a", "b"], "part": 0, "num_parts": 1, "wins": 1, "draws": 0, "losses": 0,'
    ' "checkpoint": null}'
)


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
        LINE.replace('"wins": 1', '"wins": 0'),  # no game
        LINE.replace('"wins": 1', '"wins": "1"'),
        LINE.replace('"wins": 1', '"wins": 1' + 30 * "0"),
        LINE.replace('"part": 0', '"part": 1'),
        LINE.replace("null", '{"step": "x", "games": 1, "minutes": 1}'),
        LINE.replace("null", '{"step": 1, "games": 1, "minutes": Infinity}'),
        LINE.replace("}", ', "forfeits": [{"hunger": 1}, {}]}'),
        LINE.replace("}", ', "forfeits": [{}, {"crash": -1}]}'),
        LINE.replace("}", ', "forfeits": [1, 2]}'),
        100_000 * "[",
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
        ({"games": 40}, "was played with games=10, got 40"),
        ({"seed": 1}, "was played with seed=0, got 1"),
        ({"anchors": {"random": 5.0}}, "was played with another ladder"),
        ({"anchors": {"uct:playouts=10": 300.0}}, "the anchors that have results must be the same"),
        ({"opening_plies": 2}, "was played with another ladder"),
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


def test_a_part_that_is_there_twice_is_named(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    for each in (PARTS[0], PARTS[1], PARTS[0]):
        store.add(each)
    with pytest.raises(LadderError, match=r"results\.jsonl, line 3: this part is there twice"):
        RatingStore(tmp_path)


def test_the_order_of_anchors_counts_once_they_have_played(tmp_path: Path) -> None:
    unrated = dataclasses.replace(SETTINGS, anchors={"random": None, "uct:playouts=10": None})
    swapped = dataclasses.replace(SETTINGS, anchors={"uct:playouts=10": None, "random": None})
    store = RatingStore(tmp_path)
    store.begin(unrated)
    store.add(PARTS[0])
    with pytest.raises(LadderError, match="another ladder"):
        store.begin(swapped)  # the first one would be 0 Elo
    store.begin(dataclasses.replace(unrated, anchors={"random": None, "uct": None}))
    settings = RatingStore(tmp_path).settings()
    assert settings is not None
    assert list(settings.anchors) == ["random", "uct"]


def test_parts_of_another_division_are_refused(tmp_path: Path) -> None:
    store = RatingStore(tmp_path)
    store.begin(SETTINGS)
    store.add(PARTS[0])
    store.add(PARTS[2])  # one of two, where one would be enough
    with pytest.raises(LadderError, match=r"part 1 of 2 .* has 10 games, expected parts of \[10\]"):
        store.begin(SETTINGS)


def ending(kind: ForfeitKind | None, *, by: int = 1) -> GameEnding:
    forfeit = None if kind is None else Forfeit(kind, "why")
    return GameEnding(
        truncated=False,
        forfeit=forfeit,
        forfeited_by=None if kind is None else by,
        score=None,
        claims=(None, None),
    )


def test_forfeited_games_are_counted_and_not_rated(tmp_path: Path) -> None:
    crash, resignation = ForfeitKind.CRASH, ForfeitKind.RESIGNATION
    result = MatchResult(
        first="a",
        second="b",
        games=[[]] * 6,
        first_seats=[0, 1] * 3,
        outcomes=[1, 0, -1, 1, 1, -1],
        endings=[
            ending(None),
            ending(None),
            ending(None),
            ending(resignation),
            ending(crash),
            ending(ForfeitKind.TIMEOUT, by=0),
        ],
        thinking=(Thinking(0, 0), Thinking(0, 0)),
    )
    counted = part_result("step=400", "uct", result, part=0, num_parts=1, checkpoint=FACTS[400])
    assert (counted.wins, counted.draws, counted.losses) == (2, 1, 1)
    assert counted.forfeits == ({ForfeitKind.TIMEOUT: 1}, {resignation: 1, crash: 1})
    assert counted.num_games == 6
    RatingStore(tmp_path).add(counted)
    assert RatingStore(tmp_path).parts == [counted]
    data = summary_json(summarize(SETTINGS, [counted, counted._replace(second="random")]))
    by_player = {entry["player"]: entry for entry in data["ratings"]}
    assert by_player["step=400"]["forfeits"] == {"timeout": 2}
    assert by_player["step=400"]["num_games"] == 8
    assert by_player["uct"]["forfeits"] == {"resignation": 1, "crash": 1}


def settings_text(**change: object) -> str:
    return json.dumps(dataclasses.asdict(SETTINGS) | change)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"game": "x"}',
        100_000 * "[",
        settings_text(anchors=["random"]),
        settings_text(games="4"),
        settings_text(games=0),
        settings_text(seed=True),
        settings_text(simulations=-1),
    ],
    ids=lambda content: content[:4] + content[-30:],
)
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
