"""`alphago rate`: a whole ladder on a tiny run, stopped, continued, extended and watched."""

import itertools
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from alphago.errors import CheckpointError
from alphago.players.game_follower import Forfeit, ForfeitKind
from eval.ladder_files import Ladder, LadderError, load_ladder
from eval.match_plan import PAIRS_PER_PART
from eval.rating_store import PartResult, RatingStore
from scripts.main import main
from scripts.rate import Choice, chosen_steps
from scripts.ratings.rounds import check_forfeits
from scripts.ratings.setup import choose_settings
from scripts.workers import MatchTask
from tests.scripts.tiny_run import TINY
from train.run_folder import locked

LADDER = """
game: tic_tac_toe
opening_plies: 2
anchors:
  random: 0
  uct:playouts=3: 100
  uct:playouts=9: 200
"""
NUM_GAMES = 4


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four checkpoints."""
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    assert main(["train", *TINY, "games=24", f"run_dir={folder}"]) == 0
    (folder / "ladder.yaml").write_text(LADDER)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[MatchTask]:
    """Puts workers in place that play nothing, and returns what they were asked to play."""
    tasks: list[MatchTask] = []
    use_workers(monkeypatch, tasks.append)
    return tasks


def played_part(outcomes: Sequence[int], *, forfeit: Forfeit | None) -> SimpleNamespace:
    """Returns what a ladder wants to know of games that all ended alike."""
    ending = SimpleNamespace(forfeit=forfeit, forfeited_by=None if forfeit is None else 1)
    return SimpleNamespace(outcomes=outcomes, endings=[ending] * len(outcomes))


def use_workers(
    monkeypatch: pytest.MonkeyPatch,
    before: Callable[[MatchTask], object],
    *,
    forfeit: Forfeit | None = None,
) -> None:
    """Makes workers whose matches all end evenly and alike, and that call `before` each."""

    class FakeWorkers:
        num_workers = 1

        def run(self, tasks: Iterable[MatchTask]) -> Iterator[tuple[int, SimpleNamespace]]:
            for number, task in enumerate(tasks):
                before(task)
                half = task.part.num_games // 2
                yield number, played_part(half * [1, -1], forfeit=forfeit)

    @contextmanager
    def workers(num_workers: int) -> Iterator[FakeWorkers]:
        yield FakeWorkers()

    monkeypatch.setattr("scripts.workers.workers", workers)


def rate(run: Path, *words: str) -> int:
    ladder = (
        [] if any(word.startswith("ladder=") for word in words) else ["ladder=" + ladder_of(run)]
    )
    simulations = (
        [] if any(word.startswith("simulations=") for word in words) else ["simulations=4"]
    )
    return main(
        ["rate", str(run), f"games={NUM_GAMES}", "workers=1", *simulations, *ladder, *words]
    )


def ladder_of(run: Path) -> str:
    return str(run / "ladder.yaml")


def results(run: Path) -> list[dict[str, object]]:
    lines = (run / "ratings" / "results.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def pairs(run: Path) -> list[tuple[str, ...]]:
    return [tuple(line["players"]) for line in results(run)]  # type: ignore[arg-type]


def steps(run: Path) -> list[int]:
    return sorted(int(path.name) for path in (run / "checkpoints").iterdir())


def test_one_command_makes_a_ladder_of_all_checkpoints(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rate(run, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    assert data == json.loads((run / "ratings" / "ratings.json").read_text())
    rated = [entry for entry in data["ratings"] if entry["kind"] == "checkpoint"]
    assert sorted(entry["step"] for entry in rated) == steps(run)
    assert len(rated) == 4
    for entry in rated:
        assert entry["low"] < entry["elo"] < entry["high"]
        assert entry["games"] == {0: 0}.get(entry["step"], entry["games"])
    by_step = sorted(rated, key=lambda entry: entry["step"])
    assert [entry["games"] for entry in by_step] == [0, 8, 16, 24]
    assert data["simulations"] == 4
    assert len(set(pairs(run))) == len(pairs(run))
    assert all(line["wins"] + line["draws"] + line["losses"] == NUM_GAMES for line in results(run))
    assert [path.name for path in (run / "tensorboard" / "ratings").iterdir()]
    before = pairs(run)
    assert main(["rate", str(run), "workers=1"]) == 0  # the rest is as before
    assert pairs(run) == before
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("tic_tac_toe: 4 simulations a move, 4 games a match from 2 random")
    assert lines[2].split()[:2] == ["player", "Elo"]
    (row,) = [line for line in lines if line.startswith("random ")]
    assert row.split()[1:3] == ["0", "fixed"]
    assert not (run / "ratings" / "held").exists()


def test_equal_seeds_give_equal_ladders(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in (1, 1, 2):
        assert rate(run, f"seed={seed}", "checkpoints=2", "--json") == 0
        outputs.append(capsys.readouterr().out)
        shutil.rmtree(run / "ratings")
    assert outputs[0] == outputs[1] != outputs[2]


def test_a_ladder_that_was_stopped_goes_on(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    counter = itertools.count()

    def stop_at_the_fourth(task: MatchTask) -> None:
        if next(counter) == 3:
            raise KeyboardInterrupt

    use_workers(monkeypatch, stop_at_the_fourth)
    assert rate(run) == 130
    assert len(results(run)) == 3
    assert "step=0" in capsys.readouterr().out  # what is known is shown
    with (run / "ratings" / "results.jsonl").open("a") as file:
        file.write('{"players": ["step=0", "uct:pl')  # killed while it wrote
    assert rate(run) == 0
    assert len(set(pairs(run))) == len(pairs(run)) > 3
    assert {name for pair in pairs(run) for name in pair} >= {f"step={step}" for step in steps(run)}


def test_a_new_checkpoint_plays_and_the_others_do_not(run: Path, played: list[MatchTask]) -> None:
    newest = run / "checkpoints" / f"{steps(run)[-1]:08d}"
    newest.rename(run / "later")
    assert rate(run) == 0
    before = pairs(run)
    (run / "later").rename(newest)
    assert rate(run) == 0
    new = pairs(run)[len(before) :]
    assert {first for first, _ in new} == {f"step={int(newest.name)}"}
    assert len(new) >= 2


def test_parts_of_a_match_that_are_missing_are_played(run: Path, played: list[MatchTask]) -> None:
    words = [f"games={4 * PAIRS_PER_PART}", "checkpoints=2"]  # two parts
    assert main(["rate", str(run), f"ladder={ladder_of(run)}", "workers=1", *words]) == 0
    path = run / "ratings" / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    cut = next(k for k, line in enumerate(lines) if '"part": 1' in line)
    path.write_text("".join(lines[:cut] + lines[cut + 1 :]))
    num_before = len(played)
    assert main(["rate", str(run), "workers=1", *words]) == 0
    (again,) = played[num_before:]
    assert (again.part.number, again.part.num_games) == (1, 2 * PAIRS_PER_PART)
    assert sorted(path.read_text().splitlines(keepends=True)) == sorted(lines)


def test_checkpoints_may_be_removed_while_they_play(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = steps(run)

    def prune(task: MatchTask) -> None:
        shutil.rmtree(run / "checkpoints", ignore_errors=True)
        for text in task.players:
            folder = Path(text.partition(":simulations=")[0])
            if folder.name.isdigit():
                assert (folder / "weights.safetensors").stat().st_size > 0

    use_workers(monkeypatch, prune)
    assert rate(run) == 0
    assert {first for first, _ in pairs(run)} == {f"step={step}" for step in wanted}


def test_a_run_is_watched_until_it_ends(
    run: Path,
    played: list[MatchTask],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hidden = [run / "checkpoints" / f"{step:08d}" for step in steps(run)[1:]]
    aside = [folder.rename(run / folder.name) for folder in hidden]
    niceness: list[int] = []
    monkeypatch.setattr("os.nice", niceness.append)
    monkeypatch.setattr("train.run_folder.is_in_use", lambda folder: bool(aside))

    def train_a_little(seconds: float) -> None:
        folder = aside.pop(0)
        folder.rename(run / "checkpoints" / folder.name)

    monkeypatch.setattr("time.sleep", train_a_little)
    assert rate(run, "--watch") == 0
    assert {first for first, _ in pairs(run)} == {f"step={step}" for step in steps(run)}
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("step=0 after 0.0 minutes: ")
    assert "nobody trains" not in err
    assert len(niceness) == 1  # the run that trains comes first


def test_watching_a_run_that_nobody_trains_says_so(
    run: Path, played: list[MatchTask], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rate(run, "--watch") == 0
    assert played
    note = f"alphago rate: nobody trains {run}: rates what is there, and ends\n"
    assert capsys.readouterr().err == note


def test_anchors_are_measured_as_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ladder.yaml").write_text(LADDER.replace("0\n", "5\n"))
    words = ["game=tic_tac_toe", "games=10", "workers=1"]
    assert main(["rate", *words, "ladder=ladder.yaml"]) == 0
    (tmp_path / "measured.yaml").write_text(capsys.readouterr().out)
    ladder = load_ladder(tmp_path / "measured.yaml")
    assert (ladder.game, ladder.opening_plies) == ("tic_tac_toe", 2)
    assert ladder.anchors["random"] == 0
    assert set(ladder.anchors) == {"random", "uct:playouts=3", "uct:playouts=9"}
    folder = tmp_path / "runs" / "ladder-tic_tac_toe"
    assert len((folder / "results.jsonl").read_text().splitlines()) == 3  # each pair once


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rate"], "name a run to rate, or game=GAME"),
        (["rate", "game=tic_tac_toe", "simulations=3"], "name a run to rate"),
        (["rate", "game=tic_tac_toe", "--watch"], "name a run to rate"),
        (["rate", "nothing"], "nothing: no such folder"),
        (["rate", "RUN", "game=tic_tac_toe"], "game: a run has its own"),
        (["rate", "RUN", "other"], "other: only one run is rated at a time"),
        (["rate", "RUN", "gams=3"], "gams: unknown key; nearest: games"),
        (["rate", "gams=3"], "gams: unknown key; nearest: games"),
        (["rate", "RUN", "games=3"], "games: got '3', allowed: an even integer of at least 2"),
        (["rate", "RUN", "every=0"], "every: got '0', allowed: an integer of at least 1"),
        (["rate", "RUN", "every=5", "checkpoints=5"], "say one of them"),
        (["rate", "RUN", "checkpoints=1"], "checkpoints: got '1', allowed: an integer of at least"),
        (["rate", "RUN", "simulations=-1"], "simulations: got '-1', allowed: an integer from 0"),
        (["rate", "RUN", "ladder=none.yaml"], "none.yaml: cannot be read"),
        (
            ["rate", "RUN", "ladder=connect_four"],
            "is for connect_four, but the game is tic_tac_toe",
        ),
        (["rate", "RUN/checkpoints/00000000"], "is a checkpoint; give its run"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], expected: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word.replace("RUN", str(run)) for word in words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert expected in err


def test_an_anchor_that_cannot_play_is_named_and_the_ladder_can_be_mended(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = run / "ladder.yaml"
    for wrong, words in (("uct:playots=9", "got option 'playots'"), ("human", "human: only")):
        file.write_text(f"opening_plies: 2\nanchors:\n  {wrong}:\n")
        assert rate(run) == 2
        assert words in capsys.readouterr().err
    file.write_text(LADDER)
    assert rate(run, "checkpoints=2") == 0


def test_an_anchor_that_cannot_be_made_is_named_before_anything_is_played(
    run: Path, played: list[MatchTask], capsys: pytest.CaptureFixture[str]
) -> None:
    file = run / "ladder.yaml"
    file.write_text(LADDER.replace("playouts=9", "playots=9"))
    assert rate(run) == 2
    assert "got option 'playots'" in capsys.readouterr().err
    assert played == []
    file.write_text(LADDER)
    assert rate(run, "checkpoints=2") == 0


def test_a_program_that_has_left_the_ladder_leaves_the_cap_on_moves(tmp_path: Path) -> None:
    ladder = Ladder(game=None, opening_plies=2, anchors={"random": None})
    store = RatingStore(tmp_path)
    with_program = dict(ladder.anchors) | {"gtp:gone": None}
    wanted = {"game": "go_5x5", "simulations": None}
    settings = choose_settings({}, store, replace(ladder, anchors=with_program), **wanted)
    assert settings.game == "go_5x5:max_moves=200"
    store.begin(settings)
    store.add(PartResult("uct", "random", 0, 1, 20, 0, 0, None))
    assert choose_settings({}, store, ladder, **wanted).game == settings.game


def test_an_anchor_that_forfeits_its_games_is_named_and_nothing_is_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forfeit = Forfeit(ForfeitKind.CRASH, "broken")
    use_workers(monkeypatch, lambda task: None, forfeit=forfeit)
    assert rate(run, "--json") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "uct:playouts=3: forfeited 4 of 4 games (4 by crash), which are not kept" in err
    assert not (run / "ratings" / "results.jsonl").exists()
    resigned = Forfeit(ForfeitKind.RESIGNATION, "no hope")
    use_workers(monkeypatch, lambda task: None, forfeit=resigned)
    assert rate(run, "checkpoints=2") == 0


def test_a_part_in_which_every_game_was_forfeited_by_somebody_is_not_kept() -> None:
    crashes = {ForfeitKind.CRASH: 2}
    part = PartResult("a", "b", 0, 1, 0, 0, 0, None, forfeits=(crashes, crashes))
    with pytest.raises(LadderError, match="a and b: each game of a part was forfeited"):
        check_forfeits(part)


def test_a_broken_checkpoint_is_left_out(
    run: Path,
    played: list[MatchTask],
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, *others = steps(run)
    for name, step in (("weights.safetensors", first), ("manifest.json", others[-1])):
        (run / "checkpoints" / f"{step:08d}" / name).write_bytes(b"broken")
    assert rate(run) == 0
    assert {player for player, _ in pairs(run)} == {f"step={step}" for step in others[:-1]}
    assert f"{run}/checkpoints/{first:08d}/weights.safetensors: " in caplog.text
    for step in others:
        (run / "checkpoints" / f"{step:08d}" / "weights.safetensors").write_bytes(b"broken")
    shutil.rmtree(run / "ratings")
    assert rate(run) == 2
    assert "all 4 checkpoints are broken" in capsys.readouterr().err


def test_the_first_error_is_the_one_that_is_told(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill_the_disk(task: MatchTask) -> None:
        if (run / "ratings" / "results.jsonl").exists():
            raise LadderError("disk full")

    def no_curves(*_: object) -> None:
        raise CheckpointError("no room for curves")

    use_workers(monkeypatch, fill_the_disk)
    monkeypatch.setattr("train.metrics.write_rating_curves", no_curves)
    assert rate(run) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "alphago rate: error: disk full\n")


@pytest.mark.parametrize(
    ("newest", "words", "expected"),
    [
        (320, {}, [0, 100, 300]),  # less than a quarter of 320 beyond the last one rated
        (420, {}, [0, 100, 300, 420]),
        (390, {"every": 100}, [0, 100, 300]),
        (400, {"every": 100}, [0, 100, 300, 400]),
    ],
)
def test_of_a_run_that_goes_on_not_every_newest_checkpoint_is_rated(
    newest: int, words: dict[str, int], expected: list[int]
) -> None:
    choice = Choice(num=4, every=words.get("every"))
    steps, rated = [0, 100, 300, newest], {0, 100, 300}
    assert chosen_steps(steps, newest, choice, rated=rated, goes_on=True) == expected
    assert chosen_steps(steps, newest, choice, rated=rated, goes_on=False)[-1] == newest


def test_other_settings_and_a_second_process_are_refused(
    run: Path, played: list[MatchTask], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rate(run, "checkpoints=2") == 0
    capsys.readouterr()
    assert rate(run, "simulations=99") == 2
    assert "was played with simulations=4, got 99; leave simulations out" in capsys.readouterr().err
    with locked(run / "ratings"):
        assert rate(run) == 2
    assert "in use by another process" in capsys.readouterr().err


def test_a_run_without_a_checkpoint_is_named(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(run / "checkpoints")
    assert rate(run) == 2
    assert "has no checkpoint yet" in capsys.readouterr().err
