"""Writing games: what another reader finds, and that nothing is lost on the way back."""

from dataclasses import replace

import numpy as np
import pytest
from sgfmill import sgf as sgfmill

from alphago.games.go.drawing import format_result
from alphago.protocols.sgf import (
    SgfGame,
    SgfMove,
    SgfNode,
    read_sgf,
    write_sgf,
)

NASTY = [
    "x]\\;(",
    "\\",
    "]",
    "[",
    "\\]",
    "a\\\\]",
    ":",
    "(;B[aa])",
    "名前 é",
    " spaced ",
    "\U0001f600",
]


def random_text(rng: np.random.Generator) -> str:
    return "".join(rng.choice(list("[]\\;:()ab 囲é"), size=int(rng.integers(0, 12))))


def random_game(rng: np.random.Generator) -> SgfGame:
    """Returns a game with every field set at random; its moves need not be legal."""
    width, height = (int(size) for size in rng.integers(1, 26, size=2))
    points = width * height

    def node() -> SgfNode:
        setup = rng.permutation(points)[: int(rng.integers(0, 9))].tolist()
        parts = [tuple(sorted(setup[i::3])) for i in range(3)]
        to_play = [None, 0, 1][int(rng.integers(3))]
        has_move = rng.random() < 0.7
        move = SgfMove(int(rng.integers(2)), int(rng.integers(points + 1))) if has_move else None
        return SgfNode(parts[0], parts[1], parts[2], to_play, move, random_text(rng))

    return SgfGame(
        width=width,
        height=height,
        nodes=tuple(node() for _ in range(int(rng.integers(1, 8)))),
        komi=[None, float(rng.integers(-900, 900)) / 2][int(rng.integers(2))],
        rules=random_text(rng),
        handicap=int(rng.integers(0, 10)),
        black_name=random_text(rng),
        white_name=random_text(rng),
        black_rank=random_text(rng),
        white_rank=random_text(rng),
        result=[None, "0", "Void", "B+R", "W+6.5", "B+22", "W+T", "B+F", "W+"][
            int(rng.integers(9))
        ],
        date=random_text(rng),
        name=random_text(rng),
    )


@pytest.mark.parametrize("seed", range(100))
def test_what_is_written_is_read_back(seed: int) -> None:
    games = [random_game(np.random.default_rng([seed, i])) for i in range(2)]
    found = read_sgf(write_sgf(games).encode())
    assert [replace(game, source="") for game in found] == games


@pytest.mark.parametrize("name", NASTY)
def test_another_reader_finds_the_same_name(name: str) -> None:
    game = SgfGame(width=9, height=9, nodes=(SgfNode(comment=name),), black_name=name)
    other = sgfmill.Sgf_game.from_string(write_sgf(game))
    assert other.get_root().get("PB") == name
    assert other.get_root().get("C") == name
    assert read_sgf(write_sgf(game).encode())[0].black_name == name


def test_another_reader_finds_the_same_game() -> None:
    game = SgfGame(
        width=9,
        height=9,
        nodes=(
            SgfNode(black=(2, 60), to_play=1, comment="two stones"),
            SgfNode(move=SgfMove(1, 40), comment="one\nline, another"),
            SgfNode(move=SgfMove(0, 81)),
            SgfNode(empty=(2,), white=(0,)),
        ),
        komi=0.5,
        rules="Chinese",
        handicap=2,
        black_name="b",
        white_name="w",
        result="W+R",
        date="2026-01-31",
    )
    other = sgfmill.Sgf_game.from_string(write_sgf(game))
    root, first, second, third = other.get_main_sequence()
    assert (other.get_size(), other.get_komi(), other.get_handicap()) == (9, 0.5, 2)
    assert (other.get_winner(), root.get("RE"), root.get("RU")) == ("w", "W+R", "Chinese")
    assert (other.get_player_name("b"), root.get("DT"), root.get("PL")) == ("b", "2026-01-31", "w")
    # sgfmill counts rows from the bottom.
    assert root.get_setup_stones() == ({(8, 2), (2, 6)}, set(), set())
    assert first.get_move() == ("w", (4, 4))
    assert first.get("C") == "one\nline, another"
    assert second.get_move() == ("b", None)
    assert third.get_setup_stones() == (set(), {(8, 0)}, {(8, 2)})


def test_rectangular_board_and_header() -> None:
    text = write_sgf(SgfGame(width=7, height=5, nodes=(SgfNode(),), komi=7.0, result="0"))
    assert text == "(;FF[4]CA[UTF-8]AP[alphago]GM[1]SZ[7:5]KM[7.0]RE[0]\n)\n"


def test_names_keep_no_line_breaks() -> None:
    game = SgfGame(width=9, height=9, nodes=(SgfNode(),), black_name="two\nlines")
    assert "PB[two lines]" in write_sgf(game)


@pytest.mark.parametrize(
    ("score", "result"), [(0.0, "0"), (-0.0, "0"), (0.5, "B+0.5"), (-22.0, "W+22"), (8.0, "B+8")]
)
def test_result_of_a_score(score: float, result: str) -> None:
    assert format_result(score) == result
