"""Moves: the tree that is kept, pondering, resigning, passing, the end of the session."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from alphago.games.game import Game
from alphago.games.go import RULE_SETS
from alphago.players import Player
from alphago.protocols.gtp_think_commands import ENDING_GRACE
from alphago.protocols.tree_thinker import TreeThinker
from alphago.types import Evaluation, Evaluator, States
from tests.protocols.gtp_helpers import Gtp, network
from tests.protocols.test_gtp_cases import DEAD_STONES
from tests.search.evaluators import FixedEvaluator, UniformEvaluator


def thinker(gtp: Gtp) -> TreeThinker:
    found = gtp.session.thinkers.of(gtp.session.board.game)
    assert isinstance(found, TreeThinker)
    return found


def visits_of(gtp: Gtp, color: int) -> int:
    """Returns the visits that the position has before anything new is searched."""
    board = gtp.session.board
    thinker(gtp).set_position(board.states_for(color), board.moves)
    return thinker(gtp).num_visits


def test_visits_are_carried_over_to_the_next_move() -> None:
    gtp = Gtp(network(200), size=(5, 5), answer_pass=False)
    gtp("genmove b")
    assert thinker(gtp).num_visits == 201
    report = thinker(gtp).report()
    best = report.moves[0]
    expected = best.variation[1]
    gtp.play(f"w {expected}")
    kept = visits_of(gtp, 0)
    assert kept == best.variation_visits[1] > 0
    gtp("genmove b")
    assert thinker(gtp).num_visits == kept + 200


def test_the_kept_tree_is_that_of_the_position() -> None:
    """What is known of a position is the same as a search of it would find."""
    gtp = Gtp(network(100), size=(5, 5))
    gtp("genmove b")
    gtp.play(f"w {thinker(gtp).report().moves[0].variation[1]}")
    assert visits_of(gtp, 0) > 1
    report = thinker(gtp).report()
    fresh = Gtp(network(report.visits - 1), size=(5, 5))
    fresh("set_position")
    for color, action in gtp.session.board.moves:
        fresh.session.board.play(color, action)
    fresh("reg_genmove b")
    legal = {info.move for info in thinker(fresh).report().moves}
    assert {info.move for info in report.moves} == legal
    priors = {info.move: info.prior for info in thinker(fresh).report().moves}
    assert {info.move: info.prior for info in report.moves} == priors


def test_nothing_is_kept_where_it_would_be_wrong() -> None:
    gtp = Gtp(network(100), size=(5, 5))
    for command in ("undo", "komi 3.5", "clear_board", "boardsize 5", "clear_cache", "stop"):
        gtp("clear_board")
        gtp("genmove b")
        gtp(command)
        board = gtp.session.board
        assert visits_of(gtp, board.to_play) == (101 if command == "undo" else 0) or (
            command == "stop"
        )


def test_two_moves_in_a_row_start_a_new_tree() -> None:
    gtp = Gtp(network(50), size=(5, 5))
    gtp("genmove b")
    assert visits_of(gtp, 0) == 0
    gtp("genmove b")
    assert len(gtp.stones("b")) == 2


def test_pondering_goes_on_while_nothing_arrives() -> None:
    gtp = Gtp(network(50), size=(5, 5), ponder=True)
    assert not gtp.engine.ponder()  # nobody plays yet
    gtp("genmove b")
    kept = visits_of(gtp, 1)
    for _ in range(10):
        assert gtp.engine.ponder()
    assert visits_of(gtp, 1) == kept + 40
    gtp("stop")
    assert not gtp.engine.ponder()
    gtp("undo")
    gtp("genmove b")
    assert gtp.engine.ponder()
    gtp("clear_board")
    assert not gtp.engine.ponder()
    without = Gtp(network(50), size=(5, 5))
    without("genmove b")
    assert not without.engine.ponder()


def test_pondering_ends_with_a_full_tree() -> None:
    gtp = Gtp(network(5), size=(3, 3), ponder=True)
    gtp("genmove b")
    thinker(gtp).max_visits = 60
    rounds = 0
    while gtp.engine.ponder():
        rounds += 1
        assert rounds < 100
    assert thinker(gtp).num_visits == 60
    assert gtp("genmove w")


def test_reg_genmove_leaves_the_board_alone() -> None:
    gtp = Gtp(network(30), size=(5, 5))
    vertex = gtp("reg_genmove b")
    assert gtp.stones("b") == set()
    gtp("clear_cache")  # else the second search goes on from the first
    assert gtp("genmove b") == vertex


def test_same_position_same_move_whatever_the_seed() -> None:
    moves = set()
    for _ in range(10):
        moves.add(Gtp(network(100), size=(5, 5))("genmove b"))
    assert len(moves) == 1


def test_raw_policy_plays_the_likeliest_move() -> None:
    logits = [0.0] * 26
    logits[7] = 5.0  # second row, third column
    gtp = Gtp(network(0, evaluator=lambda game: FixedEvaluator(logits, 0.0)), size=(5, 5))
    assert gtp("genmove b") == "C4"
    assert gtp("genmove w") != "C4"


class LosingEvaluator(UniformEvaluator):
    """Gives Black's position a value, White's the opposite."""

    def __init__(self, game: Game, value_for_black: float) -> None:
        super().__init__(game)
        self.game, self.value = game, value_for_black

    def evaluate(self, states: States) -> Evaluation:
        logits, _ = super().evaluate(states)
        signs = np.where(self.game.to_play(states) == 0, 1, -1).astype(np.float32)
        return Evaluation(logits, signs * np.float32(self.value))


def test_resigns_after_three_lost_moves_in_a_row() -> None:
    make = network(8, evaluator=lambda game: LosingEvaluator(game, -0.95))
    gtp = Gtp(make, size=(5, 5), resign=0.05)
    answers = []
    for _ in range(3):
        answers.append(gtp("genmove b"))
        assert gtp("genmove w") != "resign"
    assert answers[2] == "resign"
    assert "resign" not in answers[:2]
    assert len(gtp.stones("b")) == 2
    gtp("undo")
    assert "RE[" not in gtp("printsgf")
    never = Gtp(make, size=(5, 5))
    assert all(never(f"genmove {color}") != "resign" for color in "bwbwbwbw")


def test_moves_taken_back_are_no_reason_to_resign() -> None:
    make = network(8, evaluator=lambda game: LosingEvaluator(game, -0.95))
    gtp = Gtp(make, size=(5, 5), resign=0.05)
    for _ in range(4):
        assert gtp("genmove b") != "resign"
        gtp("undo")
    assert [gtp(f"genmove {color}") for color in "bwbwb"][-1] == "resign"


def test_resignation_is_the_result_of_the_record() -> None:
    make = network(8, evaluator=lambda game: LosingEvaluator(game, -0.95))
    gtp = Gtp(make, size=(5, 5), resign=0.05)
    answers = [gtp(f"genmove {color}") for color in "bwbwb"]
    assert answers[-1] == "resign"
    assert "RE[W+R]" in gtp("printsgf")


def test_moves_that_look_better_in_between_are_counted_anew() -> None:
    values = iter([-0.95, -0.95, 0.0, -0.95, -0.95, -0.95])
    make = network(1, evaluator=lambda game: LosingEvaluator(game, next(values)))
    gtp = Gtp(make, size=(5, 5), resign=0.05)
    answers = []
    for komi in range(6):  # another komi makes another player
        gtp(f"komi {komi}")
        answers.append(gtp("genmove b"))
    assert answers.index("resign") == 5


# An evaluator that would never pass.
HATES_PASSES = network(0, evaluator=lambda game: FixedEvaluator([0.0] * 25 + [-50.0], 0.0))


def hardly_passes(game: Game) -> Evaluator:
    """Returns an evaluator that likes a pass less than any move, and knows nothing else."""
    logits = [0.0] * (game.spec.num_actions - 1) + [-2.0]
    return FixedEvaluator(logits, 0.0)


PLAYERS: tuple[Callable[[Game], Player] | str, ...] = (
    "uct:playouts=50",
    "flat_mc:playouts=50",
    network(200, evaluator=hardly_passes),
)


def test_pass_is_answered_by_a_pass_that_wins() -> None:
    gtp = Gtp(HATES_PASSES, size=(5, 5))
    gtp.play("b C3", "w pass")  # 25 points against a komi of 7.5
    assert gtp("reg_genmove b") == "pass"
    gtp("komi 30")
    assert gtp("reg_genmove b") != "pass"  # it would lose
    gtp.play("b pass")
    assert gtp("reg_genmove w") == "pass"  # both have passed
    gtp("undo")
    gtp("undo")
    assert gtp("reg_genmove w") != "pass"  # nobody has
    gtp.play("b pass")
    assert gtp("reg_genmove w") == "pass"


def test_pass_is_not_answered_where_that_is_switched_off() -> None:
    for player in PLAYERS:
        gtp = Gtp(player, size=(5, 5), answer_pass=False)
        gtp.play("b C3", "w pass")
        assert gtp("genmove b") != "pass"


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("rules", ["chinese", "japanese"])
def test_pass_is_answered_by_the_count_of_final_score(
    player: Callable[[Game], Player] | str, rules: str, tmp_path: Path
) -> None:
    """With all stones alive White has won; without the dead ones Black has."""
    path = tmp_path / "game.sgf"
    path.write_text(DEAD_STONES)
    gtp = Gtp(player, remove_dead=True)
    gtp(f"kata-set-rules {rules}")
    gtp(f"loadsgf {path} 2")
    gtp("komi -1")
    assert gtp("final_score").startswith("B+")
    assert gtp("reg_genmove w") != "pass"
    gtp("komi 20")
    assert gtp("final_score").startswith("W+")
    assert gtp("reg_genmove w") == "pass"
    gtp("komi -60")  # lost by any count, so that a pass loses for sure
    assert gtp("reg_genmove w") != "pass"


def test_search_that_runs_when_the_session_ends_goes_on_a_little() -> None:
    gtp = Gtp(network(100_000), size=(5, 5), clock_step=0.01)
    gtp.watch.looks_until_end = 50
    assert gtp("genmove b")
    assert gtp.clock.seconds < ENDING_GRACE + 3
    short = Gtp(network(100), size=(5, 5))
    short.watch.looks_until_end = 0
    short("genmove b")
    assert thinker(short).num_visits == 101  # within the grace it is finished


@pytest.mark.parametrize(
    "player",
    ["uct:playouts=100000", "flat_mc:playouts=1000000", "alphabeta:depth=40,nodes=1000000000"],
)
def test_clock_and_the_end_of_the_session_interrupt_players(player: str) -> None:
    gtp = Gtp(player, size=(5, 5), clock_step=0.01)
    gtp("time_settings 10 0 0")
    assert gtp("genmove b")
    assert gtp.session.time.left(0).seconds > 9
    gtp = Gtp(player, size=(5, 5), clock_step=0.01)
    gtp.watch.looks_until_end = 10
    assert gtp("genmove b")
    assert gtp.clock.seconds < ENDING_GRACE + 1


def test_wrong_colors_are_refused() -> None:
    gtp = Gtp(network(5), size=(5, 5))
    for command in ("genmove", "reg_genmove"):
        assert gtp.refusal(command).startswith("syntax error")
        assert gtp.refusal(f"{command} x") == "invalid color or coordinate"
    assert gtp.refusal("stop now").startswith("syntax error")


def test_player_is_made_once_for_each_size() -> None:
    made: list[str] = []

    def make(game: Game) -> Player:
        made.append(game.spec.name)
        return network(4)(game)

    gtp = Gtp(make, size=(3, 3))
    for line in ("komi 0.5", "kata-set-rules japanese", "fixed_handicap 2", "clear_board"):
        gtp.raw(line)
        gtp("genmove b")
    room = gtp.session.board.game.spec.max_moves
    while gtp.session.board.game.spec.max_moves == room:
        gtp.play("b pass", "w pass")
    assert gtp.raw("lz-analyze w 1").startswith("=\ninfo move ")
    assert made == ["go_3x3"]
    for size in (2, 3, 2):
        gtp(f"boardsize {size}")
        gtp("genmove b")
    assert made == ["go_3x3", "go_2x2"]


def test_changed_rules_are_those_of_the_next_search() -> None:
    gtp = Gtp(network(4), size=(5, 5))
    gtp("genmove b")
    gtp("komi 30.5")
    assert visits_of(gtp, 1) == 0
    found = thinker(gtp)
    assert found.game.rules.komi == 30.5
    gtp("komi 30.5")
    assert thinker(gtp) is found


def test_usual_games_keep_their_room() -> None:
    gtp = Gtp("random", size=(5, 5))
    room = gtp.session.board.game.spec.max_moves
    assert room >= 4 * 25
    for _ in range(50):
        gtp.play("b pass", "w pass")
    assert gtp.session.board.game.spec.max_moves == room


def test_a_long_game_meets_no_cap() -> None:
    gtp = Gtp("random", size=(2, 2), rules=RULE_SETS["japanese"])
    for _ in range(120):
        gtp.play("b pass", "w pass")
    gtp.play("b A1", "w B2")
    for _ in range(200):
        gtp("undo")
    assert len(gtp.session.board.moves) == 42
    gtp.play("b A1")
