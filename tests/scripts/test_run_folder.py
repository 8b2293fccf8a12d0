"""Where runs are put."""

from datetime import datetime
from pathlib import Path

import pytest

from alphago.errors import CheckpointError
from scripts.arguments import CommandLineError
from scripts.run_folder import check_is_run, check_unused, make_run_folder
from scripts.train import separate_folders
from tests.scripts.tiny_run import tiny_config

NOON = datetime(2026, 1, 2, 12, 0, 0)


def test_starts_in_one_second_get_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [make_run_folder(None, game_name="connect_four", now=NOON) for _ in range(3)]
    assert [folder.as_posix() for folder in folders] == [
        "runs/connect_four-20260102-120000",
        "runs/connect_four-20260102-120000-2",
        "runs/connect_four-20260102-120000-3",
    ]
    assert all((tmp_path / folder).is_dir() for folder in folders)


def test_named_folder_is_made_with_its_parents_or_taken_if_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert make_run_folder("a/b", game_name="x", now=NOON) == Path("a/b")
    assert (tmp_path / "a" / "b").is_dir()
    assert make_run_folder("a/b", game_name="x", now=NOON) == Path("a/b")


def test_folder_with_a_run_is_refused_with_the_way_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").touch()
    with pytest.raises(CommandLineError, match="alphago resume"):
        check_unused(tmp_path)


def test_folder_with_anything_and_a_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path in (tmp_path, file):
        with pytest.raises(CommandLineError, match="is not empty"):
            check_unused(path)


@pytest.mark.parametrize("name", ["file/run", "x" * 300])
def test_folder_that_cannot_be_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CommandLineError, match="run_dir"):
        make_run_folder(str(tmp_path / name), game_name="x", now=NOON)


def test_only_the_folder_of_a_run_can_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no such folder"):
        check_is_run(tmp_path / "nowhere")
    with pytest.raises(CheckpointError, match="not a run"):
        check_is_run(tmp_path)
    checkpoint = tmp_path / "run" / "checkpoints" / "00000010"
    checkpoint.mkdir(parents=True)
    (checkpoint / "config.yaml").touch()
    (checkpoint / "manifest.json").touch()
    with pytest.raises(CheckpointError, match=f"give its run, {tmp_path / 'run'}$"):
        check_is_run(checkpoint)


def test_jobs_that_share_a_folder_are_numbered() -> None:
    configs = [tiny_config("run_dir=a", f"seed={seed}") for seed in (1, 2)]
    assert [config.run_dir for config in separate_folders(configs)] == ["a/0", "a/1"]
    assert [config.run_dir for config in separate_folders(configs[:1])] == ["a"]
    configs = [tiny_config(f"run_dir={name}") for name in "ab"]
    assert [config.run_dir for config in separate_folders(configs)] == ["a", "b"]
    configs = [tiny_config(), tiny_config()]
    assert [config.run_dir for config in separate_folders(configs)] == [None, None]
