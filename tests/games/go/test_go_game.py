"""`Go` as a game: its contract, its texts, its ends, and the same answers without the compiler."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from alphago.errors import IllegalActionError, NotationError, RulesError, UnknownGameError
from alphago.games.conformance import check_game
from alphago.games.go import RULE_SETS, Go
from alphago.games.random_play import random_legal_actions
from tests.compiler_modes import report_in_mode
from tests.games.go.drawn import drawn, play
from tests.games.go.sample_games import sample_hashes


@pytest.mark.parametrize("name", ["go_1x1", "go_2x2", "go_3x3", "go_3x5", "go_5x1", "go_5x5"])
@pytest.mark.parametrize("rules", ["chinese", "new_zealand", "japanese"])
def test_contract(name: str, rules: str) -> None:
    planes = "extended" if rules == "new_zealand" else "history"
    game = Go.from_text(name, {"rules": rules, "planes": planes, "max_moves": "40"})
    check_game(game, seed=1, num_games=1)


def test_contract_holds_with_handicap() -> None:
    check_game(Go.from_text("go_7x7", {"handicap": "3", "max_moves": "25"}), seed=2, num_games=1)


def test_size_is_columns_times_rows() -> None:
    game = Go.from_text("go_5x3", {})
    assert (game.width, game.height) == (5, 3)
    assert game.spec.num_actions == 16
    assert game.spec.pass_action == 15
    assert game.spec.family == "go"
    assert game.spec.max_moves == 100
    assert Go.from_text("go_19x19", {}).spec.max_moves == 722


@pytest.mark.parametrize("name", ["go_0x5", "go_26x5", "go_5", "go_5x5x5", "go_5X5", "go_05x5"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(UnknownGameError, match="allowed: go_COLUMNSxROWS, each from 1 to 25"):
        Go.from_text(name, {})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, ""),
        ({"rules": "chinese", "komi": "7.5", "handicap": "0", "planes": "history"}, ""),
        (
            {"planes": "extended", "handicap": "2", "komi": "0", "max_moves": "50"},
            "komi=0,handicap=2,max_moves=50,planes=extended",
        ),
        ({"rules": "japanese"}, "rules=japanese"),
    ],
)
def test_rules_text_makes_the_same_game(options: dict[str, str], text: str) -> None:
    game = Go.from_text("go_9x9", options)
    assert game.spec.rules == text
    again = dict(part.split("=") for part in text.split(",")) if text else {}
    assert Go.from_text("go_9x9", again).spec[:3] == game.spec[:3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "9"}, "option: got 'size', allowed: rules, ko"),
        ({"handicap": "1"}, "handicap: got 1 on go_9x9, allowed: 0, or 2 to 9"),
        ({"handicap": "-2"}, "handicap: got '-2', allowed: a whole number"),
        ({"max_moves": "0"}, "max_moves: got 0, allowed: 1 to"),
        ({"max_moves": "20000"}, "max_moves: got 20000, allowed: 1 to"),
        ({"planes": "all"}, "planes: got 'all', allowed: history, extended"),
    ],
)
def test_other_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        Go.from_text("go_9x9", options)


def test_two_passes_in_a_row_end_a_game_and_one_does_not() -> None:
    game, states = drawn("XO.\n.O.\nXO.")
    once = play(game, states, "pass")
    assert not game.is_over(once)[0]
    assert game.num_passes(play(game, once, "A2")).tolist() == [0]
    ended = play(game, once, "pass")
    assert game.is_over(ended)[0] and not game.is_truncated(ended)[0]
    assert not game.legal_actions(ended).any()
    assert game.returns(ended).tolist() == [[-1, 1]]
    with pytest.raises(IllegalActionError, match="the game is over"):
        play(game, ended, "A2")


def test_game_ended_by_passes_goes_on_when_the_side_to_move_is_changed() -> None:
    game, states = drawn("...\n...")
    ended = play(game, states, "pass pass")
    assert not game.is_over(game.with_to_play(ended, 1))[0]
    assert game.is_over(game.with_to_play(ended, 0))[0], "the side is as it was"


def test_cap_on_moves_truncates_and_the_board_is_counted() -> None:
    game, states = drawn("...\n.X.\n...", max_moves=3, komi="0.5")
    states = play(game, states, "A1 pass C3")
    assert game.is_over(states)[0] and game.is_truncated(states)[0]
    assert not game.legal_actions(states).any()
    assert game.returns(states).tolist() == [[1, -1]]
    # Two passes at the very end are an end by the rules.
    game, states = drawn("...\n.X.\n...", max_moves=2)
    ended = play(game, states, "pass pass")
    assert game.is_over(ended)[0] and not game.is_truncated(ended)[0]


def test_handicap_game_starts_with_white() -> None:
    game = Go.from_text("go_9x9", {"handicap": "2"})
    states = game.initial_states(2)
    assert game.to_play(states).tolist() == [1, 1]
    assert (game.board(states) == 0).sum(axis=(1, 2)).tolist() == [2, 2]
    assert game.board(states)[0, 6, 2] == 0  # C3
    assert game.num_moves(states).tolist() == [0, 0]


def test_states_carry_over_to_other_rules() -> None:
    game, states = drawn("XO.\n.O.\nXO.")
    other = game.with_rules(RULE_SETS["japanese"])
    assert other.spec.state_dtype == game.spec.state_dtype
    # White owns C2 and the points beside it; those on the left touch both colours.
    assert other.score(states).tolist() == [0 - 3 - 6.5]
    assert game.score(states).tolist() == [2 - 6 - 7.5]
    assert other.step(states, [5]).tobytes() == game.step(states, [5]).tobytes()


def test_superko_history_carries_over_to_other_rules() -> None:
    game, states = drawn(".XO..\nOOO..\n.....", ko="simple", suicide="true")
    states = play(game, states, "A3 pass")  # a suicide of two stones; B3 would bring one back
    b3 = game.text_to_action("B3")
    for ko, expected in (("simple", True), ("positional", False), ("situational", True)):
        other = game.with_rules(replace(game.rules, ko=ko))
        assert other.legal_actions(states)[0, b3] == expected


def test_facts_of_a_position() -> None:
    game, states = drawn("...\n...\n...")
    states = play(game, states, "B2 pass")
    assert game.last_action(states).tolist() == [9]
    assert game.num_moves(states).tolist() == [2]
    assert game.num_passes(states).tolist() == [1]
    assert game.board(states).dtype == np.int8
    assert game.captures(states).dtype == np.int32
    assert game.last_action(states).dtype == np.int64


def test_states_may_be_read_only_or_every_second_row() -> None:
    game, states = drawn("XO.\n.O.\nXO.")
    rows = np.concatenate([states, play(game, states, "C2"), states])
    frozen = rows.copy()
    frozen.flags.writeable = False
    assert np.array_equal(game.legal_actions(frozen), game.legal_actions(rows))
    assert game.step(frozen, [9, 9, 9]).tobytes() == game.step(rows, [9, 9, 9]).tobytes()
    assert game.step(rows[::2], [9, 9]).tobytes() == game.step(rows[[0, 2]], [9, 9]).tobytes()


def test_no_games_at_all() -> None:
    game, states = drawn("...\n...")
    none = states[:0]
    assert game.step(none, []).shape == (0,)
    assert game.legal_actions(none).shape == (0, 7)
    assert game.score(none).shape == (0,)


def test_symmetry_of_a_game_with_a_changed_side_to_move() -> None:
    game, states = drawn("XO...\n.....\n.....", ko="situational")
    states = play(game, game.with_to_play(states, 1), "D1 E3 pass")
    states = play(game, game.with_to_play(states, 1), "A2 pass")
    for symmetry in game.spec.symmetries:
        image = game.apply_symmetry(states, symmetry)
        back = next(
            other
            for other in game.spec.symmetries
            if np.array_equal(symmetry.cells[other.cells], np.arange(15))
        )
        assert game.apply_symmetry(image, back).tobytes() == states.tobytes()
        cells = game.board(states).reshape(-1)[symmetry.cells]
        assert np.array_equal(game.board(image).reshape(-1), cells)
        assert game.num_passes(image).tolist() == [1]


def test_stones_captured_before_a_position_are_counted_on_and_kept_by_symmetries() -> None:
    game = Go(height=3, width=3, rules=RULE_SETS["japanese"])
    states = game.position([1], [0], 0, captures=(2, 5))
    states = play(game, states, "A2")
    for symmetry in game.spec.symmetries:
        assert game.captures(game.apply_symmetry(states, symmetry)).tolist() == [[3, 5]]


def test_drawing() -> None:
    game, states = drawn("\n".join(["." * 7] * 7))
    states = play(game, states, "A7 B2")
    assert game.render(states[0]).splitlines() == [
        "   A B C D E F G",
        " 7 X . . . . . . 7",
        " 6 . . . . . . . 6",
        " 5 . . + . + . . 5",
        " 4 . . . . . . . 4",
        " 3 . . + . + . . 3",
        " 2 .(O). . . . . 2",
        " 1 . . . . . . . 1",
        "   A B C D E F G",
        "Black (X) to play; captured by Black 0, by White 0; komi 7.5",
    ]
    ended = play(game, states, "pass pass")
    assert game.render(ended[0]).splitlines()[-1].startswith("W+7.5; captured")


def test_texts_of_actions() -> None:
    game, _ = drawn("...\n...")
    assert game.text_to_action("c1") == 5
    assert game.action_to_text(6) == "pass"
    with pytest.raises(NotationError, match="A1 to C2"):
        game.text_to_action("D1")
    with pytest.raises(IllegalActionError, match="got action 7, allowed: 0 to 6"):
        game.action_to_text(7)


@pytest.mark.parametrize("ko", ["simple", "positional", "situational"])
def test_mask_and_step_agree(ko: str) -> None:
    game = Go.from_text("go_3x3", {"ko": ko, "suicide": "true"})
    rng = np.random.default_rng(5)
    states = game.initial_states(4)
    for _ in range(60):
        legal = game.legal_actions(states)
        for b in range(len(states)):
            for action in range(game.spec.num_actions):
                if legal[b, action]:
                    game.step(states[b : b + 1], [action])
                else:
                    with pytest.raises(IllegalActionError):
                        game.step(states[b : b + 1], [action])
        states = game.step(states, random_legal_actions(game, states, rng=rng))
        states = states[~game.is_over(states)]
        if len(states) == 0:
            return


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("NUMBA_DISABLE_JIT", "disable_jit"),
        # Compiles everything anew, which takes half a minute.
        pytest.param("NUMBA_BOUNDSCHECK", "boundscheck", marks=pytest.mark.slow),
    ],
)
def test_same_answers_without_the_compiler_and_with_bounds_checked(
    variable: str, setting: str, tmp_path: Path
) -> None:
    report = report_in_mode("tests.games.go.sample_games", variable=variable, cache=tmp_path)
    assert report["settings"][setting] == 1
    assert report["hashes"] == sample_hashes()
