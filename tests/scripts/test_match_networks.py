"""Which networks play a match of a run that trains meanwhile."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from scripts.main import main
from scripts.matches.play import match_header
from tests.scripts.tiny_run import TINY


def played(capsys: pytest.CaptureFixture[str], *words: str) -> object:
    """Plays a match; returns its tally."""
    assert main(["match", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["total"]


def test_a_match_is_played_by_the_networks_that_its_file_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, files = tmp_path / "old", tmp_path / "new", [tmp_path / "1", tmp_path / "2"]
    for folder, seed in ((old, 0), (new, 1)):
        assert main(["train", *TINY, f"run_dir={folder}", f"seed={seed}"]) == 0
    capsys.readouterr()
    words = ["random", f"{old}:step=latest,simulations=2", "games=68", "workers=2"]
    expected = played(capsys, *words, f"results={files[0]}")

    def make_header_and_train_on(*arguments: Any) -> dict[str, Any]:
        header = match_header(*arguments)
        checkpoint = max((new / "checkpoints").iterdir())
        shutil.copytree(checkpoint, old / "checkpoints" / "99999999")
        return header

    with monkeypatch.context() as patch:
        patch.setattr("scripts.matches.play.match_header", make_header_and_train_on)
        assert played(capsys, *words, f"results={files[1]}") == expected
    headers, games = [], []
    for file in files:
        header, *lines = map(json.loads, file.read_text().splitlines())
        headers.append(header)
        games.append(sorted((line["part"], line["games"]) for line in lines))
    assert headers[0] == headers[1]
    assert games[0] == games[1]
    assert main(["match", *words, f"results={files[1]}"]) == 2
    assert "networks: got [null, " in capsys.readouterr().err
