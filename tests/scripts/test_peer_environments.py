"""The environments of the other frameworks: made once, from commands that may fail."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from scripts.peers import environments
from scripts.peers.environments import PeerError, clone_alpha_zero_general, make_environment


class FakeCommands:
    """Takes the place of `subprocess.run`; fails at commands that hold a word."""

    def __init__(self, *, failing: str = "") -> None:
        self.commands: list[list[str]] = []
        self._failing = failing

    def __call__(
        self, command: Sequence[str], **options: object
    ) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        if "venv" in command:
            Path(command[-1]).mkdir(exist_ok=True)
        fails = bool(self._failing) and self._failing in command
        return subprocess.CompletedProcess(command, int(fails))


def test_environment_is_made_once_and_again_for_other_requirements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = FakeCommands()
    monkeypatch.setattr(environments.subprocess, "run", commands)
    python = make_environment("mctx", folder=tmp_path)
    assert python == tmp_path / "mctx" / "bin" / "python"
    assert commands.commands[0][:3] == [sys.executable, "-m", "venv"]
    assert commands.commands[1][0] == str(python)
    assert commands.commands[1][-3:] == list(environments.REQUIREMENTS["mctx"])
    assert make_environment("mctx", folder=tmp_path) == python
    assert len(commands.commands) == 2
    monkeypatch.setitem(environments.REQUIREMENTS, "mctx", ("mctx==0",))
    make_environment("mctx", folder=tmp_path)
    assert len(commands.commands) == 4


def test_failed_installation_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environments.subprocess, "run", FakeCommands(failing="pip"))
    with pytest.raises(PeerError, match=r"`python -m pip install .*` failed; see .*mctx-install"):
        make_environment("mctx", folder=tmp_path)
    commands = FakeCommands()
    monkeypatch.setattr(environments.subprocess, "run", commands)
    make_environment("mctx", folder=tmp_path)
    assert len(commands.commands) == 2


def test_program_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PeerError, match="`git clone .*`: No such file or directory"):
        clone_alpha_zero_general(tmp_path)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_clone_is_of_the_commit_and_holds_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = tmp_path / "origin"
    for folder in ("connect4", "trained"):
        (origin / folder).mkdir(parents=True)
        (origin / folder / "file").write_text("old", encoding="utf-8")
    (origin / environments.CLONE_MARK).write_text("old", encoding="utf-8")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")

    def git(*words: str) -> str:
        command = ["git", "-C", str(origin), *identity, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "old")
    commit = git("rev-parse", "HEAD")
    (origin / "connect4" / "file").write_text("new", encoding="utf-8")
    git("commit", "--quiet", "-a", "-m", "new")
    monkeypatch.setattr(environments, "CLONE_URL", origin.as_uri())
    monkeypatch.setattr(environments, "CLONE_COMMIT", commit)

    clone = clone_alpha_zero_general(tmp_path)
    assert (clone / "connect4" / "file").read_text(encoding="utf-8") == "old"
    assert (clone / environments.CLONE_MARK).is_file()
    assert not (clone / "trained").exists()
    shutil.rmtree(origin)
    assert clone_alpha_zero_general(tmp_path) == clone
