"""Replaying files by our rules of Go, and games as SGF."""

from dataclasses import replace

import numpy as np
import pytest

from alphago.errors import SgfError
from alphago.games.go import RULE_SETS, Go, GoRules
from alphago.games.go.drawing import format_result
from alphago.protocols.sgf import SgfGame, read_sgf, write_sgf
from alphago.protocols.sgf_games import (
    go_of_sgf,
    replay_sgf,
    replay_together,
    rules_name,
    rules_of_sgf,
    sgf_of_game,
)
from tests.protocols.test_sgf_odd import FOLDER

SIMPLE = replace(RULE_SETS["chinese"], ko="simple")
KO = "(;SZ[5]RU[Japanese];B[ba];W[ca];B[ab];W[db];B[bc];W[cc];B[cb];W[bb]"  # White takes at bb


def read(text: str) -> SgfGame:
    (game,) = read_sgf(text.encode())
    return game


def board_after(text: str, **options: int) -> tuple[list[str], str]:
    """Returns the rows of the board at the end of a file, and who is to move."""
    sgf = read(text)
    game = go_of_sgf(sgf)
    states = replay_sgf(game, sgf, **options).states[-1]
    rows = ["".join(".XO"[stone + 1] for stone in row) for row in game.board(states)[0]]
    return rows, "BW"[int(game.to_play(states)[0])]


# ----- set-up, handicap, side to move


@pytest.mark.parametrize(
    ("text", "to_play"),
    [
        ("(;SZ[9]AB[dd];W[ff];B[ee])", "W"),
        ("(;SZ[9]AB[dd];B[ff];W[ee])", "B"),
        ("(;SZ[9]AB[aa:ca])", "B"),
        ("(;SZ[9]AB[aa:ca]PL[W])", "W"),
        ("(;SZ[9]AB[aa:ca]PL[W];PL[B])", "B"),
        ("(;SZ[9]AB[dd][ff][aa]HA[3])", "W"),
        ("(;SZ[9]HA[2];AB[dd][ff];AB[aa];PL[B])", "B"),
    ],
)
def test_three_stones_and_the_side_to_move(text: str, to_play: str) -> None:
    rows, player = board_after(text)
    assert sum(row.count("X") + row.count("O") for row in rows) == 3
    assert player == to_play


def test_rectangle_and_a_stone_taken_away_later() -> None:
    rows, _ = board_after("(;SZ[5]AB[aa:cc];AE[bb]AW[ee])")
    assert rows == ["XXX..", "X.X..", "XXX..", ".....", "....O"]


def test_stones_set_up_between_moves_begin_a_new_position() -> None:
    sgf = read("(;SZ[5];B[aa];W[ba];AE[aa]AB[ca][bb]PL[W];W[ee])")
    replay = replay_sgf(go_of_sgf(sgf), sgf)
    assert [move.action for move in replay.moves] == [24]
    assert len(replay.states) == 2
    rows, to_play = board_after("(;SZ[5];B[aa];W[ba];AE[aa]AB[ca][bb]PL[W];W[ee])")
    assert rows == [".OX..", ".X...", ".....", ".....", "....O"]
    assert to_play == "B"


TAKEN = "(;SZ[5]KM[0]RU[Japanese];B[ba];W[aa];B[ab];W[ee]"  # Black has taken a stone


@pytest.mark.parametrize(
    ("text", "num_moves"),
    [("", 4), (";AE[ee]", 0), (";AB[cc]PL[W]", 0), (";AE[aa]", 4), (";AB[ab]AW[ee]", 4)],
)
def test_set_up_in_the_middle_keeps_prisoners_and_a_moot_one_the_moves(
    text: str, num_moves: int
) -> None:
    sgf = read(TAKEN + text + ")")
    game = go_of_sgf(sgf)
    replay = replay_sgf(game, sgf)
    assert game.captures(replay.states[-1]).tolist() == [[1, 0]]
    assert len(replay.moves) == num_moves


@pytest.mark.parametrize(("up_to_move", "num_stones"), [(0, 1), (1, 1), (2, 2), (3, 3), (9, 3)])
def test_stop_before_a_move_leaves_its_player_to_move(up_to_move: int, num_stones: int) -> None:
    rows, to_play = board_after("(;SZ[5]AB[aa];W[bb];B[cc])", up_to_move=up_to_move)
    assert sum(row.count("X") + row.count("O") for row in rows) == num_stones
    assert to_play == {0: "W", 1: "W", 2: "B", 3: "W", 9: "W"}[up_to_move]


def test_a_ko_may_be_filled_after_a_pass_that_is_written() -> None:
    rows, _ = board_after(KO + ";B[];W[cb])")
    assert rows[1] == "XOOO."


def test_an_own_eye_may_be_filled_out_of_turn() -> None:
    rows, _ = board_after("(;SZ[5]AW[ba][bb];W[ab];W[aa])")
    assert rows[:2] == ["OO...", "OO..."]


def test_one_colour_twice_in_a_row() -> None:
    rows, to_play = board_after("(;SZ[5];B[aa];B[ba];W[ca];W[da])")
    assert (rows[0], to_play) == ("XXOO.", "B")


def test_odd_files_replay() -> None:
    for name in ("setup_variations", "node_annotations", "messy_setup_sample", "size25"):
        for sgf in read_sgf(FOLDER / f"{name}.sgf"):
            replay_sgf(go_of_sgf(sgf), sgf)
    (sgf,) = read_sgf(FOLDER / "non_alternating_variations.sgf")
    replay = replay_sgf(go_of_sgf(sgf), sgf)
    assert (len(replay.moves), len(replay.states)) == (67, 68)


# ----- the end of a game


@pytest.mark.parametrize("num_passes", [3, 4])
def test_game_goes_on_after_two_passes(num_passes: int) -> None:
    (sgf,) = read_sgf(FOLDER / f"passes_{num_passes}.sgf")
    game = go_of_sgf(sgf)
    states = replay_sgf(game, sgf).states[-1]
    assert game.num_moves(states)[0] == num_passes
    assert bool(game.is_over(states)[0]) == (num_passes == 4)


def test_stones_after_two_passes() -> None:
    rows, to_play = board_after("(;SZ[5];B[aa];W[];B[];W[bb];B[cc])")
    assert (rows[0][0], rows[1][1], rows[2][2], to_play) == ("X", "O", "X", "W")


def test_score_of_a_set_up_position_with_and_without_dead_stones() -> None:
    sgf = read(
        "(;GM[1]FF[4]SZ[9]KM[0]AB[ed][de][ee][fe][ge][ie][bf][cf][df][ff][gf][hf][if][ag][fg][bh]"
        "[eh][gh][ei][fi][hi]AW[cc][dc][ec][fc][bd][dd][fd][gd][hd][id][ae][be][ce][he][af][dg]"
        "[eg][gg][hg][hh]PL[B];B[];W[])"
    )
    game = go_of_sgf(sgf)
    states = replay_sgf(game, sgf).states[-1]
    assert game.is_over(states)[0]
    assert format_result(game.score(states)[0]) == "W+22"
    dead = np.zeros((1, 9, 9), np.bool_)
    for vertex in ("D3", "E3", "G3", "H3", "H2"):
        dead.reshape(-1)[game.text_to_action(vertex)] = True
    assert format_result(game.score(states, dead)[0]) == "B+1"


@pytest.mark.parametrize(
    ("komi", "result"), [(5.0, "0"), (5.5, "W+0.5"), (4.5, "B+0.5"), (-3.0, "B+8")]
)
def test_result_at_integer_komi(komi: float, result: str) -> None:
    game = Go(height=5, width=5, rules=replace(RULE_SETS["chinese"], komi=komi))
    texts = [f"{column}{row}" for row in range(1, 6) for column in "CD"] + ["pass", "pass"]
    actions = [game.text_to_action(text) for text in texts]
    sgf = sgf_of_game(game, actions)
    found = read(write_sgf(replace(sgf, result=result)))
    assert (found.result, found.komi) == (result, komi)
    states = replay_sgf(go_of_sgf(found), found).states[-1]
    assert format_result(game.score(states)[0]) == result


# ----- moves that the rules forbid


@pytest.mark.parametrize(("name", "number"), [("superko_psk", 23), ("superko_ssk", 24)])
def test_superko_is_a_matter_of_the_rules(name: str, number: int) -> None:
    (sgf,) = read_sgf(FOLDER / f"{name}.sgf")
    assert len(replay_sgf(go_of_sgf(sgf), sgf).moves) == number  # names no rules
    game = go_of_sgf(sgf, rules=RULE_SETS["chinese"])
    with pytest.raises(SgfError, match=rf"{name}\.sgf: move {number}: .* repeats an earlier one"):
        replay_sgf(game, sgf)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            KO + ";B[cb])",
            "SGF: move 9: Black C4: a ko taken back at once, or suicide, by the rules",
        ),
        (KO + ";W[cb])", "SGF: move 9: White C4: fills at once the ko"),
        ("(;SZ[5];B[aa];W[aa])", "SGF: move 2: White A5: the point is occupied"),
        ("(;SZ[5];B[ba];W[];B[ab];W[aa])", "SGF: move 4: White A5: a ko .*, or suicide"),
        ("(;SZ[5];B[ba];W[];B[ab];AW[aa])", "SGF: move 3: .* a chain without liberty at A5"),
        ("(;SZ[5]KM[6.3];B[aa])", r"SGF: komi: got 6\.3, allowed: an integer or a half"),
        ("(;SZ[5]" + ";B[];W[]" * 2001 + ")", "SGF: got 4002 moves, allowed: at most 4000"),
    ],
)
def test_refusal_names_file_move_and_reason(text: str, message: str) -> None:
    sgf = read(text)
    with pytest.raises(SgfError, match=message):
        replay_sgf(go_of_sgf(sgf), sgf)


def test_game_with_more_moves_than_the_usual_cap() -> None:
    sgf = read("(;SZ[5]" + ";B[];W[]" * 75 + ";B[aa])")
    game = go_of_sgf(sgf)
    states = replay_sgf(game, sgf).states[-1]
    assert (game.num_moves(states)[0], game.is_over(states)[0]) == (151, False)


def test_board_of_another_size() -> None:
    game = Go(height=9, width=9, rules=SIMPLE)
    with pytest.raises(SgfError, match="SGF: got a board of 5x7, allowed: go_9x9"):
        replay_sgf(game, read("(;SZ[5:7])"))


# ----- many at once


def random_games(game: Go, *, num_games: int, seed: int) -> list[SgfGame]:
    """Returns random legal games of different lengths, some with a set-up or two moves in a row."""
    rng = np.random.default_rng(seed)
    games = []
    for number in range(num_games):
        text = "(;SZ[5]" + ("AB[ee]", "", "PL[W]AW[aa][ba]")[number % 3]
        states = replay_sgf(game, read(text + ")")).states[-1]
        for _ in range(int(rng.integers(0, 30))):
            player = int(game.to_play(states)[0])
            if game.is_over(states)[0] or rng.random() < 0.2:
                player = int(rng.integers(2))
                states = game.with_to_play(game.with_to_play(states, 1 - player), player)
            legal = np.flatnonzero(game.legal_actions(states)[0])
            action = int(rng.choice(legal))
            states = game.step(states, [action])
            row, column = divmod(action, 5)
            text += f";{'BW'[player]}[{'' if action == 25 else 'abcde'[column] + 'abcde'[row]}]"
        games.append(read(text + (";AE[aa];PL[W];W[aa])" if number % 7 == 0 else ")")))
    return games


def test_lockstep_gives_the_same_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alphago.protocols.sgf_games._BATCH", 16)
    game = Go(height=5, width=5, rules=SIMPLE)
    games = random_games(game, num_games=60, seed=3)
    together = replay_together(game, games)
    for sgf, state in zip(games, together, strict=True):
        assert replay_sgf(game, sgf).states[-1].tobytes() == state.tobytes()
    assert len(replay_together(game, [])) == 0


def test_lockstep_names_the_game_at_fault() -> None:
    games = read_sgf(b"(;SZ[5];B[aa];W[bb])(;SZ[5];B[aa];W[ab];B[ab])(;SZ[5])")
    with pytest.raises(SgfError, match="SGF, game 2 of 3: move 3: Black A4: the point is occupied"):
        replay_together(Go(height=5, width=5, rules=SIMPLE), games)


# ----- rules


@pytest.mark.parametrize("name", sorted(RULE_SETS))
def test_named_rules_come_back(name: str) -> None:
    rules = replace(RULE_SETS[name], komi=0.5)
    sgf = sgf_of_game(Go(height=9, width=9, rules=rules), [])
    assert "=" not in sgf.rules
    assert rules_of_sgf(sgf) == rules


def test_other_rules_are_written_out_and_come_back() -> None:
    rules = GoRules(ko="simple", suicide=True, scoring="area", komi=5.5, handicap_bonus="N-1")
    assert "ko=simple" in rules_name(rules)
    sgf = read(write_sgf(sgf_of_game(Go(height=9, width=9, rules=rules), [])))
    assert rules_of_sgf(sgf) == rules


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("japanese", "japanese"),
        ("JP", "japanese"),
        ("Korean", "japanese"),
        ("New Zealand", "new_zealand"),
        ("tromp-taylor", "tromp_taylor"),
    ],
)
def test_rules_of_other_programs(text: str, name: str) -> None:
    assert rules_of_sgf(read(f"(;RU[{text}])")) == RULE_SETS[name]


@pytest.mark.parametrize("text", ["", "GOE", "a=b", "ko=odd"])
def test_rules_that_no_one_knows(text: str) -> None:
    assert rules_of_sgf(read(f"(;RU[{text}])")).ko == "simple"
    assert rules_of_sgf(read(f"(;RU[{text}])"), RULE_SETS["aga"]) == RULE_SETS["aga"]


@pytest.mark.parametrize(
    ("header", "komi"),
    [
        ("SZ[9]HA[3]AB[aa][bb][cc]", 3.5),
        ("SZ[9]HA[3]AB[aa]", 3.5),
        ("SZ[9]HA[3]", 3.5),
        ("SZ[5]HA[3]", 3.5),
        ("SZ[9]HA[10]", 10.5),
        ("SZ[9]HA[1]", 0.5),
        ("SZ[9]AB[aa][bb]", 0.5),
        ("SZ[9]HA[3]RU[AGA]", 2.5),
        ("SZ[9]HA[3]RU[Japanese]", 0.5),
    ],
)
def test_handicap_bonus_follows_the_declared_number(header: str, komi: float) -> None:
    game = go_of_sgf(read(f"(;KM[0.5]{header})"))
    assert (game.rules.komi + game.rules.bonus(game.handicap)) == komi


def test_komi_that_the_bonus_makes_too_large() -> None:
    with pytest.raises(SgfError, match="SGF: komi: got 1002"):
        go_of_sgf(read("(;SZ[9]KM[1000]HA[2])"))


# ----- games as SGF


def test_handicap_game_as_sgf() -> None:
    game = Go(height=9, width=9, rules=RULE_SETS["chinese"], handicap=2)
    sgf = sgf_of_game(game, [40, 41], comments=["a", "b"], black_name="one", white_name="two")
    text = write_sgf(sgf)
    assert "KM[7.5]HA[2]RU[Chinese]PB[one]PW[two]AB[gc][cg]PL[W]\n;W[ee]C[a]\n;B[fe]C[b]\n" in text
    found = read(text)
    states = game.step(game.step(game.initial_states(1), [40]), [41])
    assert go_of_sgf(found).score(states) == game.score(states)
    assert replay_sgf(game, found).states[-1].tobytes() == states.tobytes()
