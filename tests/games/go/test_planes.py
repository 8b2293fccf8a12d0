"""Input planes, each of them against a drawing."""

import numpy as np

from alphago.games.go import Go, parse_rules
from alphago.games.go.planes import KO_PLANE, KOMI_PLANES, KOMI_STEPS, LIBERTY_PLANES
from alphago.games.random_play import random_legal_actions
from tests.games.go.drawn import drawn, play


def picture(plane: np.ndarray) -> list[str]:
    return ["".join(".#"[cell] for cell in row) for row in plane]


def extended(game: Go) -> Go:
    return Go(
        height=game.height,
        width=game.width,
        rules=game.rules,
        max_moves=game.spec.max_moves,
        planes="extended",
    )


def test_history_planes_are_boards_in_the_mover_s_view() -> None:
    game, states = drawn("...\n...\n...")
    states = play(game, states, "A1 C3 B1 pass")
    planes = game.observe(states)[0]
    assert planes.shape == (17, 3, 3)
    assert planes.dtype == np.uint8
    assert picture(planes[0]) == ["...", "...", "##."]  # Black now
    assert picture(planes[1]) == ["...", "...", "##."]  # before White's pass
    assert picture(planes[2]) == ["...", "...", "#.."]
    assert picture(planes[3]) == ["...", "...", "#.."]
    assert picture(planes[4]) == ["...", "...", "..."]
    assert picture(planes[8]) == ["..#", "...", "..."]  # White now
    assert picture(planes[10]) == ["..#", "...", "..."]
    assert picture(planes[11]) == ["...", "...", "..."]
    assert planes[16].all()


def test_planes_of_white_to_move() -> None:
    game, states = drawn("X..\n...\n..O", to_play=1)
    planes = game.observe(states)[0]
    assert picture(planes[0]) == ["...", "...", "..#"]
    assert picture(planes[8]) == ["#..", "...", "..."]
    assert not planes[1:8].any(), "there was nothing before a position that was set up"
    assert not planes[16].any()


def test_history_is_that_of_the_last_eight_boards_all_along_a_game() -> None:
    game = Go(height=4, width=5, rules=parse_rules({"rules": "tromp_taylor"}))
    rng = np.random.default_rng(3)
    states = game.initial_states(1)
    boards = [np.full((4, 5), -1, np.int8)] * 8
    while not game.is_over(states)[0]:
        boards = [game.board(states)[0], *boards[:7]]
        player = game.to_play(states)[0]
        planes = game.observe(states)[0]
        assert np.array_equal(planes[:8], [board == player for board in boards])
        assert np.array_equal(planes[8:16], [board == 1 - player for board in boards])
        states = game.step(states, random_legal_actions(game, states, rng=rng))


def test_liberty_planes_count_true_liberties() -> None:
    game, states = drawn("""
        X.O..
        .OO..
        ....O
        XX...
    """)
    planes = extended(game).observe(states)[0]
    own, theirs = planes[LIBERTY_PLANES : LIBERTY_PLANES + 3], planes[LIBERTY_PLANES + 3 :]
    assert [picture(plane) for plane in own] == [
        [".....", ".....", ".....", "....."],
        ["#....", ".....", ".....", "....."],  # A3 and B4
        [".....", ".....", ".....", "##..."],  # A2, B2, C1
    ]
    assert [picture(plane) for plane in theirs[:3]] == [
        [".....", ".....", ".....", "....."],
        [".....", ".....", ".....", "....."],
        [".....", ".....", "....#", "....."],  # E3, D2, E1; the chain of three has six
    ]


def test_ko_plane_shows_what_ko_alone_forbids() -> None:
    game, states = drawn(".XO.\nXO.O\n.XO.\n....", ko="simple")
    states = play(game, states, "C3")
    assert (
        game.action_to_text(int(np.flatnonzero(extended(game).observe(states)[0, KO_PLANE])[0]))
        == "B3"
    )
    assert extended(game).observe(states)[0, KO_PLANE].sum() == 1
    later = play(game, states, "A1")
    assert not extended(game).observe(later)[0, KO_PLANE].any()


def test_forbidden_suicide_is_not_on_the_ko_plane() -> None:
    game, states = drawn(".O.\nO..\n...")
    assert not extended(game).observe(states)[0, KO_PLANE].any()


def test_komi_planes_are_a_thermometer_in_the_mover_s_view() -> None:
    game, states = drawn("...\n...", komi="6.5")
    planes = extended(game).observe(states)[0]
    black = [bool(plane.all()) for plane in planes[KOMI_PLANES:]]
    assert black == [step <= -6.5 for step in KOMI_STEPS.tolist()]
    white = extended(game).observe(game.with_to_play(states, 1))[0, KOMI_PLANES:]
    assert [bool(plane.all()) for plane in white] == [step <= 6.5 for step in KOMI_STEPS.tolist()]
    assert len(planes) == extended(game).spec.observation_shape[0]
