from pathlib import Path

import pytest

from alphago.games import GAME_NAMES, game_text, make_game
from alphago.players.text import is_engine, make_player, split_text
from eval.ladder_files import (
    LADDERS,
    Ladder,
    LadderError,
    find_ladder,
    fixed_ratings,
    has_rules_of,
    load_ladder,
    without_missing_programs,
    without_ratings,
)

FILES = sorted(LADDERS.glob("*.yaml"))
TEXT = """
game: connect_four
opening_plies: 4
anchors:
  random: 0
  uct:playouts=10: 350.5
"""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ladders_of_the_project_name_players_weakest_first(path: Path) -> None:
    ladder = load_ladder(path)
    game = make_game(ladder.game or {"go": "go_5x5"}.get(path.stem, "tic_tac_toe"))
    for text in ladder.anchors:
        if is_engine(text):
            assert "--mode gtp" in text
        else:
            split_text(text)
            assert make_player(text, game=game).name == text
    fixed = [elo for elo in ladder.anchors.values() if elo is not None]
    assert fixed == sorted(fixed)
    assert len(fixed) in (0, len(ladder.anchors))
    assert next(iter(fixed_ratings(ladder.anchors).values())) == 0
    assert next(iter(ladder.anchors)) == "random"


def test_neighbours_of_a_ladder_with_ratings_are_no_certain_wins() -> None:
    for path in FILES:
        elo = [value for value in load_ladder(path).anchors.values() if value is not None]
        # 95 %; of games of lines `random` loses more to anybody who sees a line with one stone
        # missing, and no player lies between the two.
        gaps = [high - low for low, high in zip(elo, elo[1:], strict=False)]
        assert max(gaps[1:], default=0) < 510
        assert max(gaps[:1], default=0) < 640


@pytest.mark.parametrize("name", GAME_NAMES)
def test_every_game_has_a_ladder(name: str) -> None:
    assert len(find_ladder(make_game(name).spec).anchors) >= 4


def test_ratings_hold_for_the_rules_they_were_measured_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eval.ladder_files.LADDERS", tmp_path)
    (tmp_path / "go_5x5.yaml").write_text(
        "game: go_5x5:komi=3,max_moves=90\nopening_plies: 2\nanchors:\n  random: 0\n  uct: 900\n"
    )
    (tmp_path / "go.yaml").write_text("opening_plies: 3\nanchors:\n  random:\n")
    (tmp_path / "default.yaml").write_text("opening_plies: 1\nanchors:\n  random:\n")

    def plies(game: str) -> int:
        return find_ladder(make_game(game).spec).opening_plies

    assert plies("go_5x5:komi=3") == 2
    assert plies("go_5x5:komi=3,max_moves=40,planes=extended") == 2
    assert plies("go_5x5:komi=4") == 3
    assert plies("go_7x7:komi=3") == 3
    assert plies("connect_four") == 1
    (tmp_path / "go.yaml").unlink()
    assert plies("go_5x5:komi=4") == 1


def test_caps_and_planes_are_no_rules() -> None:
    game = game_text(make_game("go_9x9:komi=6.5,max_moves=100,planes=extended").spec)
    assert has_rules_of(game, "go_9x9:komi=6.5")
    assert not has_rules_of(game, "go_9x9")
    assert not has_rules_of("go_9x9", "go_7x7")
    assert has_rules_of("connect_four", "connect_four")


def test_a_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "ladder.yaml"
    path.write_text(TEXT)
    ladder = load_ladder(path)
    assert ladder == Ladder(
        game="connect_four", opening_plies=4, anchors={"random": 0, "uct:playouts=10": 350.5}
    )
    assert fixed_ratings(ladder.anchors) == {"random": 0, "uct:playouts=10": 350.5}
    unrated = without_ratings(ladder)
    assert (unrated.game, unrated.anchors) == (None, {"random": None, "uct:playouts=10": None})
    assert fixed_ratings(unrated.anchors) == {"random": 0.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[", "no YAML"),
        ("\xff", "no ladder"),
        ("anchors: {random: 0}", "no ladder, allowed: opening_plies, anchors"),
        (TEXT + "extra: 1", "no ladder"),
        (TEXT.replace("plies: 4", "plies: true"), "opening_plies: got True"),
        (TEXT.replace("plies: 4", "plies: -1"), "opening_plies: got -1"),
        (TEXT.replace("connect_four", "[1]"), r"game: got \[1\]"),
        (TEXT.replace("game: connect_four", ""), "random has a rating; `game` must say"),
        (TEXT.replace("350.5", ".nan"), "anchors: got 'uct:playouts=10': nan"),
        (TEXT.replace("350.5", "1" + 400 * "0"), "allowed: a player and its Elo, from -10000 to"),
        (TEXT + "  random: 5", "no YAML .random is there twice"),
        (TEXT.replace("plies: 4", "plies: 2021-13-45"), "no YAML .month must be in 1..12"),
        (TEXT.replace("350.5", "0x_"), "no YAML .invalid literal"),
        (TEXT.replace("350.5", "many"), "'many', allowed: a player and its Elo"),
        (TEXT.partition("anchors")[0] + "anchors: []", r"anchors: got \[\]"),
    ],
)
def test_what_is_no_ladder_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "ladder.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LadderError, match=rf"ladder\.yaml: .*{words}"):
        load_ladder(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(LadderError, match=r"none\.yaml: cannot be read \(No such file"):
        load_ladder(tmp_path / "none.yaml")


def test_programs_that_are_not_installed_are_left_out() -> None:
    anchors = {"random": 0.0, "gtp:no-such-program --x": 900.0, "gtp:'open": 950.0, "gtp:sh": 1.0}
    ladder = Ladder(game="go_9x9", opening_plies=4, anchors=anchors)
    playing, left_out = without_missing_programs(ladder)
    assert list(playing.anchors) == ["random", "gtp:sh"]
    assert left_out == ["gtp:no-such-program --x", "gtp:'open"]
    alone = Ladder(game=None, opening_plies=4, anchors={"gtp:no-such-program": None})
    with pytest.raises(LadderError, match="no anchor is left: gtp:no-such-program"):
        without_missing_programs(alone)
