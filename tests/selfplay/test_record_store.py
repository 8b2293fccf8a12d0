"""The folder of a run's games: numbers, order, and what is found broken."""

import logging
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import RecordError
from alphago.games import make_game
from selfplay import record_store
from selfplay.record_store import RecordStore, keep_only, numbers_given, record_files
from selfplay.records import (
    GameRecord,
    bytes_of_record,
    is_held_out,
    read_records,
    write_records,
)
from tests.reference.game_records import make_record, random_records

TTT = make_game("tic_tac_toe")


def filled_store(folder: Path) -> tuple[RecordStore, list[GameRecord]]:
    """A store of 12 games in files of 2, 4 and 6, and its games."""
    store = RecordStore(folder, "tic_tac_toe")
    records = random_records(TTT, num_games=12, seed=5)
    for begin, end in ((0, 2), (2, 6), (6, 12)):
        store.append(records[begin:end])
    return store, records


def numbers(records: object) -> list[int]:
    return [record.name.number for record in records]


def test_the_store_numbers_games_without_gaps(tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path / "records")
    names = sorted(path.name for path in store.folder.iterdir())
    assert names == ["000000000-2.npz", "000000002-4.npz", "000000006-6.npz"]
    assert store.num_games == 12
    assert RecordStore(tmp_path / "records", "tic_tac_toe").num_games == 12


def test_many_large_games_are_spread_over_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = random_records(TTT, num_games=12, seed=5)
    most = 3 * max(map(bytes_of_record, records))
    monkeypatch.setattr(record_store, "BYTES_PER_FILE", most)
    store = RecordStore(tmp_path / "records", "tic_tac_toe")
    store.append(records)
    files = [read_records(file.path) for file in record_files(store.folder)]
    assert len(files) > 1
    assert all(sum(map(bytes_of_record, games)) <= most for games in files)
    assert numbers(store.since(0)) == numbers(records)
    assert store.num_games == 12
    monkeypatch.setattr(record_store, "BYTES_PER_FILE", 1)  # no game fits: one in each
    store.append(records[:2])
    assert [file.num_games for file in record_files(store.folder)[-2:]] == [1, 1]


def test_games_found_are_fewer_than_numbers_given_where_files_are_gone(tmp_path: Path) -> None:
    filled_store(tmp_path)
    (tmp_path / "000000002-4.npz").unlink()
    (tmp_path / "000000000-2.npz").rename(tmp_path / "000000000-2.npz.broken")
    store = RecordStore(tmp_path, "tic_tac_toe")
    assert (store.num_games, store.num_found) == (12, 8)


def test_games_of_files_that_overlap_are_found_once(tmp_path: Path) -> None:
    _, records = filled_store(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "000000006-6.npz").rename(tmp_path / "broken" / "000000006-6.npz")
    write_records(tmp_path / "000000006-5.npz", records[7:])  # without the game that was unsound
    store = RecordStore(tmp_path, "tic_tac_toe")
    assert (store.num_games, store.num_found) == (12, 12)


def test_numbers_of_games_whose_files_are_gone_are_not_given_again(tmp_path: Path) -> None:
    store, records = filled_store(tmp_path)
    (tmp_path / "000000006-6.npz").unlink()
    store = RecordStore(tmp_path, "tic_tac_toe")
    store.skip_to(12)
    store.skip_to(3)  # nothing goes back
    store.append(records[:2])
    assert (tmp_path / "000000012-2.npz").exists()
    assert numbers(store.since(12)) == [0, 1]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records").touch()
    with pytest.raises(RecordError, match="records: cannot be used: File exists"):
        RecordStore(tmp_path / "records", "tic_tac_toe")


def test_newest_goes_from_old_to_new_and_covers_what_was_asked_for(tmp_path: Path) -> None:
    store, records = filled_store(tmp_path)
    last_file = sum(int(record.is_target.sum()) for record in records[6:])
    assert numbers(store.newest(0)) == []
    assert numbers(store.newest(1)) == list(range(6, 12))
    assert numbers(store.newest(last_file)) == list(range(6, 12))
    assert numbers(store.newest(last_file + 1)) == list(range(2, 12))
    assert numbers(store.newest(10**9)) == list(range(12))
    assert numbers(store.newest(1, end=6)) == list(range(2, 6))
    assert numbers(store.since(2)) == list(range(2, 12))
    assert numbers(store.since(12)) == []


def test_held_out_games_do_not_count_as_positions_to_learn_from(tmp_path: Path) -> None:
    store, records = filled_store(tmp_path)
    learnt = [record for record in records[6:] if not is_held_out(record, 0.5)]
    positions = sum(int(record.is_target.sum()) for record in learnt)
    assert numbers(store.newest(positions, holdout_fraction=0.5))[0] == 6
    assert numbers(store.newest(positions + 1, holdout_fraction=0.5))[0] == 2


def test_leftovers_of_a_killed_writer_are_removed(tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path)
    leftover = tmp_path / "000000012-3.npz.tmp"
    leftover.write_bytes(b"half")
    assert numbers(store.newest(10**9)) == list(range(12))
    assert RecordStore(tmp_path, "tic_tac_toe").num_games == 12
    assert not leftover.exists()


def test_a_broken_file_is_set_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, _ = filled_store(tmp_path)
    broken = tmp_path / "000000006-6.npz"
    broken.write_bytes(broken.read_bytes()[:200])
    with caplog.at_level(logging.WARNING):
        assert numbers(store.newest(1)) == list(range(2, 6))
    assert "000000006-6.npz" in caplog.text
    assert "set aside" in caplog.text
    assert (tmp_path / "broken" / "000000006-6.npz").exists()
    assert not broken.exists()
    # Its numbers are not given away again.
    assert RecordStore(tmp_path, "tic_tac_toe").num_games == 12


def test_a_broken_file_that_cannot_be_set_aside_is_one_error(tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path)
    (tmp_path / "000000006-6.npz").write_bytes(b"")
    (tmp_path / "broken").touch()  # a file where the folder would be
    with pytest.raises(RecordError, match="000000006-6.npz: cannot be set aside: File exists"):
        list(store.newest(1))


def test_a_record_with_nan_is_refused_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, _ = filled_store(tmp_path)
    path = tmp_path / "000000002-4.npz"
    with np.load(path) as archive:
        columns = dict(archive)
    columns["target_shares"][0] = np.nan  # in game 2
    np.savez(path, **columns)
    with caplog.at_level(logging.WARNING):
        assert numbers(store.newest(10**9)) == [0, 1, *range(3, 12)]
    assert "refused 1 games" in caplog.text
    with pytest.raises(RecordError, match="game 2 of actor 2"):
        read_records(path)


def test_records_of_another_game_are_refused(tmp_path: Path) -> None:
    store, _ = filled_store(tmp_path)
    with pytest.raises(RecordError, match="connect_four, not of tic_tac_toe"):
        store.append([make_record(make_game("connect_four"), [3])])
    with pytest.raises(RecordError, match="tic_tac_toe, not of connect_four"):
        list(RecordStore(tmp_path, "connect_four").newest(1))
    assert store.num_games == 12


def test_numbers_are_ranges_without_what_is_gone(tmp_path: Path) -> None:
    assert numbers_given(tmp_path / "nowhere") == []
    for name in ("000000000-2.npz", "000000002-4.npz", "000000009-1.npz", "000000012-8.npz.broken"):
        (tmp_path / name).touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "000000010-1.npz.2").touch()
    (tmp_path / "broken" / "notes.txt").touch()
    assert numbers_given(tmp_path) == [(0, 6), (9, 11), (12, 20)]
    assert [file.path.name for file in record_files(tmp_path)] == [
        "000000000-2.npz",
        "000000002-4.npz",
        "000000009-1.npz",
    ]


def test_some_games_of_a_file_are_kept_in_its_place(tmp_path: Path) -> None:
    _, records = filled_store(tmp_path)
    file = record_files(tmp_path)[1]
    place = keep_only(file, [records[2], records[4]])
    assert place == tmp_path / "broken" / "000000002-4.npz"
    assert len(read_records(place)) == 4
    assert numbers(read_records(tmp_path / "000000002-2.npz")) == [2, 4]
    assert numbers(RecordStore(tmp_path, "tic_tac_toe").since(0)) == [0, 1, 2, 4, *range(6, 12)]


def test_a_file_without_a_sound_game_is_set_aside_as_a_whole(tmp_path: Path) -> None:
    filled_store(tmp_path)
    keep_only(record_files(tmp_path)[1], [])
    assert [file.first for file in record_files(tmp_path)] == [0, 6]


def test_nothing_is_lost_when_keeping_is_stopped_midway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, records = filled_store(tmp_path)

    def stop(path: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(record_store, "set_aside", stop)
    with pytest.raises(KeyboardInterrupt):
        keep_only(record_files(tmp_path)[1], records[2:4])
    names = {file.path.name for file in record_files(tmp_path)}
    assert {"000000002-2.npz", "000000002-4.npz"} <= names
