"""What `alphago rate` prints of results that were made up."""

import dataclasses
from pathlib import Path

from alphago.players.game_follower import ForfeitKind
from eval.ladder_files import load_ladder
from eval.rating_store import CheckpointFacts, PartResult, RatingSettings
from eval.rating_summary import LadderSummary, summarize
from scripts.ratings.report import describe_anchors, describe_ladder, describe_newest

FACTS = {
    0: CheckpointFacts(0, 0, 0.1),
    400: CheckpointFacts(400, 2_000, 3.52),
    900: CheckpointFacts(900, 14_000, 27.0),
}


def summary(
    *results: tuple[int, str, int, int], anchors: dict[str, float | None] | None = None
) -> LadderSummary:
    settings = RatingSettings(
        game="connect_four",
        simulations=100,
        games=20,
        opening_plies=4,
        seed=0,
        anchors=anchors or {"random": 0.0, "uct": 300.0},
    )
    parts = [
        PartResult(f"step={step}", other, 0, 1, wins, 0, losses, FACTS[step])
        for step, other, wins, losses in results
    ]
    return summarize(settings, parts)


RISING = [(0, "random", 3, 7), (400, "uct", 5, 5), (900, "uct", 9, 1), (900, "step=400", 9, 1)]


def test_the_table_is_strongest_first_and_says_who_is_fixed() -> None:
    lines = describe_ladder(summary(*RISING), left_out=[]).splitlines()
    assert lines[0] == (
        "connect_four: 100 simulations a move, 20 games a match from 4 random opening plies,"
        " draw Elo 0"
    )
    rows = [line.split() for line in lines[3:8]]
    assert [row[0] for row in rows] == ["step=900", "uct", "step=400", "random", "step=0"]
    assert rows[0][5:] == ["20", "90.0%", "900", "14,000", "27.0"]
    assert rows[1] == ["uct", "300", "fixed", "20", "30.0%"]
    assert rows[3][1:3] == ["0", "fixed"]


def test_the_curve_rises_with_the_ratings() -> None:
    lines = describe_ladder(summary(*RISING), left_out=[]).splitlines()
    heading = next(k for k, line in enumerate(lines) if line.startswith("minutes"))
    curve = lines[heading + 1 : heading + 4]
    assert [line.split()[0] for line in curve] == ["0.1", "3.5", "27.0"]
    marks = [line.index("o") for line in curve]
    assert marks == sorted(set(marks))
    for line in curve:
        strip = line[16:]
        assert set(strip.strip()) <= {"-", "o"}
        assert 0 <= strip.index("o") < 40


def test_a_ladder_of_one_checkpoint_has_no_curve() -> None:
    assert "minutes    Elo" not in describe_ladder(summary(RISING[0]), left_out=[])


def test_remarks_tell_what_the_numbers_do_not() -> None:
    text = describe_ladder(summary(*RISING), left_out=["gtp:gnugo"])
    assert text.endswith("\n\nleft out, not installed: gtp:gnugo")
    assert "beyond" not in text
    text = describe_ladder(summary((400, "uct", 300, 2)), left_out=[])
    assert "beyond all anchors: step=400; " in text
    text = describe_ladder(summary(*RISING, anchors={"random": None, "uct": None}), left_out=[])
    assert text.endswith("no fixed ratings for this game, and were rated here; random is 0")
    text = describe_ladder(summary(*RISING, anchors={"random": 0.0, "uct": None}), left_out=[])
    assert "\nuct have no fixed ratings for this game, and were rated here; random is 0" in text


def test_games_that_were_forfeited_are_told() -> None:
    made = summary(*RISING)
    crashes = {ForfeitKind.RESIGNATION: 4, ForfeitKind.CRASH: 2, ForfeitKind.TIMEOUT: 1}
    forfeits = {"uct": crashes, "random": {ForfeitKind.RESIGNATION: 3}}
    text = describe_ladder(dataclasses.replace(made, forfeits=forfeits), left_out=[])
    last = text.splitlines()[-1]
    assert last == "not rated: 3 games that uct forfeited (2 by crash, 1 by timeout)"


def test_the_alarm_is_a_line_of_its_own() -> None:
    fallen = summary((400, "uct", 80, 20), (900, "uct", 30, 70))
    last = describe_ladder(fallen, left_out=[]).splitlines()[-1]
    assert last.startswith("ALARM: strength has fallen: step=900 is ")
    newest = describe_newest(fallen).splitlines()
    assert newest[0].startswith("step=900 after 27.0 minutes: 1")
    assert newest[1] == last
    assert "ALARM" not in describe_newest(summary(*RISING))


def test_measured_anchors_are_lines_of_a_file(tmp_path: Path) -> None:
    settings = RatingSettings(
        game="connect_four",
        simulations=None,
        games=40,
        opening_plies=4,
        seed=0,
        anchors={"random": None, "a": None, "b": None},
    )
    parts = [
        PartResult("a", "random", 0, 1, 30, 0, 10, None),
        PartResult("b", "a", 0, 1, 10, 0, 30, None),
    ]
    text = describe_anchors(summarize(settings, parts))
    (tmp_path / "ladder.yaml").write_text(text)
    ladder = load_ladder(tmp_path / "ladder.yaml")
    assert list(ladder.anchors) == ["b", "random", "a"]  # weakest first, as measured
    assert ladder.anchors["random"] == 0
    assert "  random: 0 # by definition; " in text
    assert all("#" in line for line in text.splitlines()[1:])
