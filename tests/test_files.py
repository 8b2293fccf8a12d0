"""What is broken is moved out of the way, and nothing is ever lost by it."""

from pathlib import Path

import pytest

from alphago.files import set_aside


def test_a_broken_file_is_kept_beside_what_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "größe 1.npz"
    path.write_bytes(b"half")
    assert set_aside(path) == tmp_path / "broken" / "größe 1.npz"
    assert [each.name for each in tmp_path.iterdir()] == ["broken"]
    assert (tmp_path / "broken" / "größe 1.npz").read_bytes() == b"half"


def test_a_folder_is_moved_with_what_it_holds(tmp_path: Path) -> None:
    folder = tmp_path / "00000012"
    folder.mkdir()
    (folder / "state.json").write_text("{}", encoding="utf-8")
    assert (set_aside(folder) / "state.json").read_text(encoding="utf-8") == "{}"
    assert not folder.exists()


def test_what_was_set_aside_before_stays(tmp_path: Path) -> None:
    places = []
    for content in ("first", "second", "third"):
        (tmp_path / "a").write_text(content, encoding="utf-8")
        places.append(set_aside(tmp_path / "a"))
    assert [place.name for place in places] == ["a", "a.2", "a.3"]
    assert [place.read_text(encoding="utf-8") for place in places] == ["first", "second", "third"]


def test_what_cannot_be_moved_stays_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "broken").touch()
    (tmp_path / "a").touch()
    with pytest.raises(FileExistsError):
        set_aside(tmp_path / "a")
    assert (tmp_path / "a").exists()
