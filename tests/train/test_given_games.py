import signal
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import ConfigError
from alphago.games import make_game
from alphago.games.game import GameSpec
from tests.reference.game_records import assert_same_record
from tests.train.tiny import FakeProgress, stored_records, tiny_config, train
from train import trainer_setup
from train.checkpoint import newest_checkpoint
from train.config import RunConfig
from train.given_games import check_given_games, newest_games
from train.stopping import INTERRUPTED
from train.trainer import Trainer

SPEC = make_game("tic_tac_toe").spec
LARGER = {"network.num_channels": 12, "gate.mode": "off"}


@pytest.fixture
def giver(tmp_path: Path) -> Path:
    """A run of 18 games, whose seed is 1."""
    folder = tmp_path / "giver"
    train(folder, tiny_config(games=18))
    return folder


def larger(giver: Path, changes: dict[str, object] | None = None, *, games: int) -> RunConfig:
    """A run with a larger network that begins with the giver's games."""
    return tiny_config(LARGER | (changes or {}), games_from=str(giver), seed=2, games=games)


def test_a_larger_network_learns_from_the_games_before_it_plays(
    giver: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "larger"
    result = train(folder, larger(giver, games=24))
    records, before = stored_records(folder), stored_records(giver)
    for own, other in zip(records, before, strict=False):
        assert_same_record(own, other)
    new = records[len(before) :]
    assert len(new) == result.num_games - len(before) > 0
    assert {record.name.run_seed for record in new} == {2}
    assert min(record.network_version for record in new) > 0  # the untrained one did not play


@pytest.mark.parametrize(("num_threads", "expected"), [(None, 6), (2, 2)])
def test_learning_from_them_takes_the_cpus_of_actors_that_do_not_play_yet(
    num_threads: int | None,
    expected: int,
    giver: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[int] = []

    def note(self: Trainer, num_threads: int) -> AbstractContextManager[None]:
        taken.append(num_threads)
        return nullcontext()

    monkeypatch.setattr(trainer_setup, "num_threads_for", lambda team: 6)
    monkeypatch.setattr(Trainer, "on_threads", note)
    changes: dict[str, object] = {"train.num_threads": num_threads}
    train(tmp_path / "larger", larger(giver, changes, games=19))
    assert taken == [expected]


def test_the_other_run_is_only_read(giver: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in giver.rglob("*") if path.is_file()}
    train(tmp_path / "larger", larger(giver, games=24))
    assert {path: path.read_bytes() for path in giver.rglob("*") if path.is_file()} == before


def test_only_a_window_of_the_newest_games_is_taken(giver: Path, tmp_path: Path) -> None:
    folder = tmp_path / "larger"
    config = larger(giver, {"replay.window_size": 16, "train.batch_size": 8}, games=1)
    train(folder, config)
    taken = [record for record in stored_records(folder) if record.name.run_seed == 1]
    newest = newest_games(giver, num_positions=16)
    assert [record.name for record in taken] == [record.name for record in newest]
    assert sum(np.count_nonzero(record.is_target) for record in taken) >= 16
    assert len(taken) < 18


def test_a_resumed_run_needs_the_other_one_no_more(giver: Path, tmp_path: Path) -> None:
    folder = tmp_path / "larger"
    config = larger(giver, games=24)

    def interrupt(phase: str) -> None:
        if phase == "learning from given games":
            signal.raise_signal(signal.SIGINT)

    stop = FakeProgress(interrupt)
    assert train(folder, config, progress=stop).stopped_because == INTERRUPTED
    giver.rename(tmp_path / "gone")
    result = train(folder, config, resume=True)
    found = newest_checkpoint(folder)
    assert found is not None
    assert result.num_games >= 24
    assert len({record.name for record in stored_records(folder)}) == result.num_games


@pytest.mark.parametrize(
    ("spec", "seed", "message"),
    [
        (SPEC, 1, "games of another seed"),
        (make_game("connect_four").spec, 2, "games of connect_four"),
    ],
)
def test_games_that_do_not_suit_are_refused(
    giver: Path, spec: GameSpec, seed: int, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        check_given_games(giver, spec, seed=seed)


def test_a_folder_without_games_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the folder of a run that has games"):
        check_given_games(tmp_path, SPEC, seed=2)
