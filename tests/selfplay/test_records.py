import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import RecordError
from alphago.games import make_game
from selfplay.records import (
    GameRecord,
    is_held_out,
    read_records,
    write_records,
)
from tests.reference.game_records import assert_same_record, make_record, random_records

GOLDEN = Path(__file__).parents[1] / "golden" / "record_v1.npz"
TTT = make_game("tic_tac_toe")
X_WINS = [0, 3, 1, 4, 2]


def with_target(shares: list[float]) -> GameRecord:
    """A one-move record, truncated after it, with these shares for actions 0, 1, ..."""
    return replace(
        make_record(TTT, [4]),
        target_actions=np.arange(len(shares), dtype=np.int16),
        target_shares=np.array(shares, np.float32),
        target_offsets=np.array([0, len(shares)], np.int32),
    )


def test_games_of_different_lengths_come_back_as_they_were(tmp_path: Path) -> None:
    for name in ("tic_tac_toe", "connect_four"):
        records = random_records(make_game(name), num_games=9, seed=1)
        write_records(tmp_path / "games.npz", records)
        for written, read in zip(records, read_records(tmp_path / "games.npz"), strict=True):
            assert_same_record(written, read)


def test_a_game_without_moves_and_one_without_targets_come_back(tmp_path: Path) -> None:
    records = [make_record(TTT, []), make_record(TTT, X_WINS, is_target=[False] * 5)]
    write_records(tmp_path / "games.npz", records)
    for written, read in zip(records, read_records(tmp_path / "games.npz"), strict=True):
        assert_same_record(written, read)


def test_one_visit_of_800_is_kept(tmp_path: Path) -> None:
    write_records(tmp_path / "games.npz", [with_target([799 / 800, 1 / 800])])
    (record,) = read_records(tmp_path / "games.npz")
    assert record.target_shares[1] == np.float32(0.00125)


def test_a_file_of_the_first_schema_version_still_loads() -> None:
    won, truncated = read_records(GOLDEN)
    assert won.game == "tic_tac_toe"
    assert won.rules == ""
    assert won.schema_version == 1
    assert won.network_version == 3
    assert won.name == (11, 0, 0)
    assert won.actions.tolist() == X_WINS
    assert won.target_actions.tolist() == [0, 4, 1, 2]
    assert won.target_shares.tolist() == [0.25, 0.75, 0.5, 0.5]
    assert won.target_offsets.tolist() == [0, 2, 2, 4, 4, 4]
    assert won.root_values.tolist() == [0.0, 0.125, 0.5, -0.5, 1.0]
    assert won.is_target.tolist() == [True, False, True, False, False]
    assert won.returns.tolist() == [1.0, -1.0]
    assert not won.truncated
    assert truncated.actions.tolist() == [4, 0]
    assert truncated.returns.tolist() == [0.0, 0.0]
    assert truncated.truncated


def test_no_file_of_ours_needs_pickle_and_a_pickle_is_never_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    class Malicious:
        def __reduce__(self) -> tuple[object, tuple[object, ...]]:
            return (Path.touch, (ran,))

    path = tmp_path / "games.npz"
    path.write_bytes(pickle.dumps(Malicious()))
    with pytest.raises(RecordError, match=r"games\.npz"):
        read_records(path)
    np.savez(path, actions=np.array([Malicious()], dtype=object))
    with pytest.raises(RecordError, match=r"games\.npz"):
        read_records(path)
    assert not ran.exists()


@pytest.mark.parametrize("kept", [0, 1, 100, -1, -30])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "games.npz"
    write_records(path, random_records(TTT, num_games=3, seed=1))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(RecordError, match=r"games\.npz"):
        read_records(path)


def test_a_changed_byte_is_noticed_wherever_it_matters(tmp_path: Path) -> None:
    path = tmp_path / "games.npz"
    records = random_records(TTT, num_games=3, seed=1)
    write_records(path, records)
    content = path.read_bytes()
    for position in range(0, len(content), 37):
        changed = bytearray(content)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        try:
            read = read_records(path)
        except RecordError:
            continue
        for one, other in zip(records, read, strict=True):  # zip's own bookkeeping, e.g. dates
            assert_same_record(one, other)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("schema_version", np.array(2), "schema version 2, this program reads 1"),
        ("actions", None, "lacks actions"),
        ("schema_version", None, "lacks schema_version"),
        ("actions", np.zeros(5, np.float32), "actions is float32"),
        ("returns", np.zeros((1, 3), np.float32), r"returns is float32 \[1, 3\]"),
        ("move_offsets", np.array([0, 4]), "move_offsets do not rise from 0 to 5"),
        ("target_offsets", np.array([0, 9, 8, 24, 30, 35]), "target_offsets do not rise"),
    ],
)
def test_a_file_of_another_form_is_refused(
    tmp_path: Path, name: str, value: np.ndarray | None, message: str
) -> None:
    path = tmp_path / "games.npz"
    write_records(path, [make_record(TTT, X_WINS)])
    with np.load(path) as archive:
        columns = dict(archive)
    del columns[name]
    if value is not None:
        columns[name] = value
    np.savez(path, **columns)
    with pytest.raises(RecordError, match=message):
        read_records(path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (with_target([0.5, 0.49]), "does not sum to 1"),
        (with_target([1.0, 0.0]), "policy shares"),
        (with_target([1.5, -0.5]), "policy shares"),
        (with_target([0.5, float("nan")]), "policy shares"),
        (with_target([]), "does not sum to 1"),
        (replace(with_target([1.0]), root_values=np.array([np.nan], np.float32)), "root_values"),
        (replace(with_target([1.0]), returns=np.array([np.inf, 0], np.float32)), "returns"),
        (replace(with_target([1.0]), returns=np.array([2, -2], np.float32)), "returns"),
        (replace(with_target([1.0]), is_target=np.array([True, True])), "differ in length"),
        (replace(with_target([1.0]), target_offsets=np.array([0], np.int32)), "target_offsets"),
    ],
)
def test_an_unsound_record_is_not_written(tmp_path: Path, record: GameRecord, message: str) -> None:
    with pytest.raises(RecordError, match=f"game 0 of actor 2.*{message}"):
        write_records(tmp_path / "games.npz", [record])
    assert list(tmp_path.iterdir()) == []


def test_games_of_different_kinds_do_not_share_a_file(tmp_path: Path) -> None:
    other = make_record(make_game("connect_four"), [3])
    with pytest.raises(RecordError, match="games of one kind"):
        write_records(tmp_path / "games.npz", [make_record(TTT, [4]), other])
    with pytest.raises(RecordError, match="games of one kind"):
        write_records(tmp_path / "games.npz", [])


def test_a_full_disk_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(RecordError, match="disk full"):
        write_records(tmp_path / "games.npz", [make_record(TTT, X_WINS)])
    assert list(tmp_path.iterdir()) == []


def test_every_k_th_game_is_held_out() -> None:
    records = [make_record(TTT, X_WINS, number=number) for number in range(12)]
    assert [is_held_out(record, 0.25) for record in records] == [False, False, False, True] * 3
    assert not any(is_held_out(record, 0.0) for record in records)
