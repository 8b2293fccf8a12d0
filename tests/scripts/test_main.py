"""The program as a whole: help, unknown words, exit codes, what it loads."""

import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from alphago.errors import PlayerError, TrainingError
from alphago.games import GAME_NAMES
from scripts import games
from scripts.main import COMMANDS, main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_worked_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.partition("examples:\n")[2].splitlines()
    examples = [line for line in lines if not line.startswith("    ")]  # the rest of long ones
    assert len(examples) >= 2
    assert all(line.startswith("  alphago ") for line in examples)
    assert any(line.startswith(f"  alphago {command}") for line in examples)


def test_help_of_the_program_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {command}" in out for command in COMMANDS)


def test_version_is_that_of_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"alphago {project['version']}\n"


def test_help_of_resume_lists_only_groups_that_may_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["resume", "--help"]) == 0
    groups = capsys.readouterr().out.partition("groups:\n")[2].splitlines()
    assert groups[0].strip() == "selfplay=inline|ray"
    assert "train --cfg job" in groups[1]


def test_no_words_print_the_help_and_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().out


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trian", "minutes=1"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("alphago: error: trian: unknown command; nearest: train")
    assert err.count("\n") == 1


def test_error_of_several_lines_is_printed_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: list[str]) -> None:
        raise PlayerError("first\n  second")

    monkeypatch.setattr(games, "main", fail)
    assert main(["games"]) == 2
    assert capsys.readouterr().err == "alphago games: error: first second\n"


def test_run_that_cannot_go_on_is_no_wrong_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverge(words: list[str]) -> None:
        raise TrainingError("step 5: training has diverged")

    monkeypatch.setattr(games, "main", diverge)
    assert main(["games"]) == 1
    assert capsys.readouterr().err == "alphago games: error: step 5: training has diverged\n"


def test_exit_asked_for_by_a_signal_keeps_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(words: list[str]) -> None:
        raise SystemExit(15)  # what Ray makes of SIGTERM

    monkeypatch.setattr(games, "main", end)
    with pytest.raises(SystemExit) as stop:
        main(["games"])
    assert stop.value.code == 15


def test_bug_of_ours_is_not_dressed_up_as_wrong_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(words: list[str]) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(games, "main", fail)
    with pytest.raises(ZeroDivisionError):
        main(["games"])


def test_interrupt_ends_with_the_code_of_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(words: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(games, "main", interrupt)
    assert main(["games"]) == 130


def test_games_lists_every_game(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    *lines, networks, last = capsys.readouterr().out.splitlines()
    assert networks == "Networks that come with alphago: go_9x9 (alphago play NETWORK)"
    assert [line.split()[0] for line in lines] == ["game", *GAME_NAMES]
    assert last.startswith("Go has other boards too: ")
    assert "from 1 to 25" in last
    assert lines[2].split()[0] == "connect_four"
    assert "3 planes of 6 x 7" in lines[2]


def test_games_takes_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "all"]) == 2
    assert "all" in capsys.readouterr().err


def run_program(words: list[str], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from scripts.main import main"
    return subprocess.run(
        [sys.executable, "-c", f"{program}; sys.exit(main())", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_wrong_option_in_a_process_of_its_own_is_quick_and_leaves_nothing(tmp_path: Path) -> None:
    started = time.monotonic()
    done = run_program(["train", "game=conect4"], cwd=tmp_path)
    assert time.monotonic() - started < 30  # about 3 s on a machine that is not busy
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "connect_four" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_configuration_is_found_from_any_folder(tmp_path: Path) -> None:
    done = run_program(["train", "--cfg", "job", "minutes=7"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "minutes: 7.0\n" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from scripts.main import main"
    command = f'"{sys.executable}" -c "{program}; sys.exit(main())" train --cfg job | true'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
