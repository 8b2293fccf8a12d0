"""`check_game` passes every registered game and an odd one, and catches broken ones by name."""

from collections.abc import Callable

import numpy as np
import pytest

from alphago.errors import IllegalActionError
from alphago.games import GAME_NAMES, Symmetry, make_game
from alphago.games.conformance import check_game
from alphago.games.connect_four import ConnectFour
from alphago.games.symmetry import board_symmetries, mirror_symmetries
from alphago.games.tic_tac_toe import TicTacToe
from tests.games.playthrough import GOLDEN_FOLDER, GOLDEN_NAMES, golden_path
from tests.reference.forced_pass_game import ForcedPassGame
from tests.reference.games import NAIVE_GAMES

MANY_MOVES = 350


@pytest.mark.parametrize("name", GAME_NAMES)
def test_registered_game_fulfils_the_contract(name: str) -> None:
    game = make_game(name)
    assert game.spec.name == name
    # Games of hundreds of moves meet as many positions alone as short ones do together.
    num_games = 12 if game.spec.max_moves < 100 else 2
    if game.spec.max_moves > MANY_MOVES:  # every image replays its game: long ones take long
        game = make_game(f"{name}:max_moves={MANY_MOVES}")
    check_game(game, seed=1, num_games=num_games)


def test_no_registered_game_is_left_out() -> None:
    goldens = set(GOLDEN_FOLDER.glob("playthrough_*.txt"))
    assert goldens == {golden_path(name) for name in GOLDEN_NAMES}
    families = {make_game(name).spec.family for name in GAME_NAMES}
    assert {make_game(name).spec.family for name in GOLDEN_NAMES} == families
    # Go has naive rules of its own: tests/games/go/test_against_referee.py.
    assert {*NAIVE_GAMES, "go"} == families


def test_game_with_passes_a_flat_board_and_turns_that_do_not_alternate_fulfils_it() -> None:
    check_game(ForcedPassGame(), seed=1, num_games=20)


def test_game_that_raises_is_named_with_its_error_as_the_cause() -> None:
    class Raises(TicTacToe):
        def observe(self, states):
            raise KeyError("board")

    with pytest.raises(AssertionError, match="broken: answers .* KeyError") as caught:
        check_game(Raises(), seed=1, num_games=2)
    assert isinstance(caught.value.__cause__, KeyError)


def test_at_least_one_game_must_be_asked_for() -> None:
    with pytest.raises(AssertionError, match="num_games"):
        check_game(TicTacToe(), seed=1, num_games=0)


# Each mutant breaks one identity of a right game. The text is part of the name the check must give.
MUTANTS: list[tuple[str, type[TicTacToe] | type[ConnectFour]]] = []


def mutant(identity: str) -> Callable[[type], type]:
    def register(game_class: type) -> type:
        MUTANTS.append((identity, game_class))
        return game_class

    return register


def with_spec(game: TicTacToe | ConnectFour, **changes: object) -> None:
    game._spec = game.spec._replace(**changes)


@mutant("plane_names name every plane")
class LeavesAPlaneWithoutAName(TicTacToe):
    @property
    def plane_names(self):
        return super().plane_names[:-1]


@mutant("plane_names name every plane")
class NamesTwoPlanesAlike(TicTacToe):
    @property
    def plane_names(self):
        return ("stones", "stones", "all ones if player 0 is to move")


@mutant("spec holds possible facts")
class PassOutOfRange(TicTacToe):
    def __init__(self):
        super().__init__()
        with_spec(self, pass_action=9)


@mutant("spec holds possible facts")
class StatesWithoutFields(TicTacToe):
    def __init__(self):
        super().__init__()
        with_spec(self, state_dtype=np.dtype(np.int8))


@mutant("spec holds possible facts")
class StatesWithGaps(TicTacToe):
    def __init__(self):
        super().__init__()
        fields = self.spec.state_dtype.descr
        with_spec(self, state_dtype=np.dtype(fields, align=True))


@mutant("is_truncated")
class TruncatedWhilePlaying(TicTacToe):
    def is_truncated(self, states):
        return states["num_moves"] == 2


@mutant("initial_states")
class UnequalStarts(TicTacToe):
    def initial_states(self, num_games):
        states = super().initial_states(num_games)
        states["board"][1:, 0, 0] = 1
        return states


@mutant("text_to_action(action_to_text(a)) == a")
class TextOffByOne(ConnectFour):
    def text_to_action(self, text):
        return max(super().text_to_action(text) - 1, 0)


@mutant("text_to_action(action_to_text(a)) == a")
class ReadsAnyText(ConnectFour):
    def text_to_action(self, text):
        return self._actions.get(text, 0)


@mutant("symmetries form a group")
class IdentityNotFirst(ConnectFour):
    def __init__(self):
        super().__init__()
        with_spec(self, symmetries=self.spec.symmetries[::-1])


@mutant("symmetries form a group")
class MissingTurn(TicTacToe):
    def __init__(self):
        super().__init__()
        with_spec(self, symmetries=self.spec.symmetries[:3])


@mutant("symmetries form a group")
class SymmetryListedTwice(ConnectFour):
    def __init__(self):
        super().__init__()
        with_spec(self, symmetries=self.spec.symmetries * 2)


@mutant("symmetries form a group")
class SymmetryOfWrongSize(ConnectFour):
    def __init__(self):
        super().__init__()
        with_spec(self, symmetries=mirror_symmetries(6, 6))


@mutant("all answers commute")
class MarksACorner(TicTacToe):
    def observe(self, states):
        planes = super().observe(states)
        planes[:, 2, 0, 0] = 1 - planes[:, 2, 0, 0]
        return planes


@mutant("apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)")
class LeavesTheBoardAsItIs(TicTacToe):
    def apply_symmetry(self, states, symmetry):
        return states.copy()


@mutant("apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)")
class BoardMirroredPolicyIsNot(ConnectFour):
    def __init__(self):
        super().__init__()
        identity, mirror = self.spec.symmetries
        half = Symmetry("half", mirror.cells, identity.actions)
        with_spec(self, symmetries=(identity, half))


@mutant("apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)")
class TurnsTheBoardUpsideDown(ConnectFour):
    def __init__(self):
        super().__init__()
        turns = board_symmetries(6, 7)
        columns = np.arange(7)
        images = (columns, columns[::-1], columns[::-1], columns)
        symmetries = tuple(
            Symmetry(turn.name, turn.cells, image)
            for turn, image in zip(turns, images, strict=True)
        )
        with_spec(self, symmetries=symmetries)


@mutant("apply_symmetry(step(s, a)) == step(apply_symmetry(s), image of a)")
class RemembersTheLastCell(TicTacToe):
    """Keeps the last action in the state, and forgets to transform it."""

    def _play_all(self, states, actions, rows):
        bad = super()._play_all(states, actions, rows)
        states["num_moves"][rows] = actions
        return bad


@mutant("answers have the shapes and dtypes")
class MaskOfIntegers(TicTacToe):
    def legal_actions(self, states):
        return super().legal_actions(states).astype(np.int8)


@mutant("answers have the shapes and dtypes")
class ResultOfOnePlayer(TicTacToe):
    def returns(self, states):
        return super().returns(states)[:, 0]


@mutant("legal_actions(s)[b] is all False if and only if")
class MovesAfterTheEnd(ConnectFour):
    def legal_actions(self, states):
        return states["board"][:, 0] == -1


@mutant("returns(s)[b] sums to 0")
class LoserGetsNothing(TicTacToe):
    def returns(self, states):
        return super().returns(states).clip(0, 1)


@mutant("returns(s)[b] sums to 0")
class ResultBeforeTheEnd(TicTacToe):
    def returns(self, states):
        results = super().returns(states)
        results[~self.is_over(states)] = (0.5, -0.5)
        return results


@mutant("to_play(s)[b] is 0 or 1")
class NobodyToPlayAtTheEnd(TicTacToe):
    def to_play(self, states):
        return np.where(self.is_over(states), np.int8(-1), super().to_play(states))


@mutant("observe(s) is 0 or 1")
class CountsInPlanes(TicTacToe):
    def observe(self, states):
        planes = super().observe(states)
        planes[:, 2] = states["num_moves"][:, None, None]
        return planes


@mutant("answers are the same when asked again")
class AskingChangesTheState(TicTacToe):
    def observe(self, states):
        states["num_moves"] = 0
        return super().observe(states)


@mutant("answers are the same when asked again")
class AnswersAtRandom(TicTacToe):
    def __init__(self):
        super().__init__()
        self.num_calls = 0

    def observe(self, states):
        self.num_calls += 1
        planes = super().observe(states)
        planes[:, 2] = self.num_calls % 2
        return planes


@mutant("row b of an answer depends on row b")
class FirstRowSpeaksForAll(TicTacToe):
    def observe(self, states):
        planes = super().observe(states)
        planes[:, :2] = planes[:1, :2]
        return planes


@mutant("render(state)")
class DrawingEndsWithANewline(TicTacToe):
    def render(self, state):
        return super().render(state) + "\n"


@mutant("step(s, a) is a new array")
class StepsInPlace(TicTacToe):
    def step(self, states, actions):
        states[:] = super().step(states, actions)
        return states


@mutant("step(s, a) is a new array")
class PlaysTheFirstActionEverywhere(ConnectFour):
    def step(self, states, actions):
        after = super().step(states, actions)
        after["num_moves"] = after["num_moves"][0] + actions[0]
        return after


@mutant("play(s, a, rows)")
class PlaysInRowsThatWereNotAskedFor(ConnectFour):
    def play(self, states, actions, rows):
        super().play(states, actions, rows)
        states["num_moves"] = states["num_moves"].max()


@mutant("play(s, a, rows)")
class PlaysSomeActionsTheOtherWay(ConnectFour):
    """Right in a step of all rows, wrong where only some are played."""

    def play(self, states, actions, rows):
        super().play(states, actions, rows if len(rows) == len(states) else rows[::-1])


@mutant("step(s, a) refuses")
class NegativeActionsCountFromTheEnd(ConnectFour):
    def step(self, states, actions):
        actions = np.asarray(actions)
        if actions.dtype.kind == "i":
            actions = np.where(actions < 0, actions + 7, actions)
        return super().step(states, actions)


@mutant("step(s, a) refuses")
class RoundsActions(TicTacToe):
    def step(self, states, actions):
        return super().step(states, np.asarray(actions).round().astype(np.int64))


@mutant("step(s, a) refuses")
class PlaysOnAfterTheEnd(ConnectFour):
    def step(self, states, actions):
        reopened = states.copy()
        reopened["is_over"] = False
        return super().step(reopened, actions)


@mutant("step(s, a) refuses")
class RaisesSomethingElse(ConnectFour):
    def step(self, states, actions):
        try:
            return super().step(states, actions)
        except IllegalActionError as error:
            raise IndexError from error


@mutant("number of moves")
class LongerThanItSays(ConnectFour):
    def __init__(self):
        super().__init__()
        with_spec(self, max_moves=6)


@pytest.mark.parametrize(
    ("identity", "game_class"), [pytest.param(*m, id=m[1].__name__) for m in MUTANTS]
)
def test_broken_game_is_caught(identity: str, game_class: type[TicTacToe | ConnectFour]) -> None:
    with pytest.raises(AssertionError) as caught:
        check_game(game_class(), seed=1, num_games=8)
    assert str(caught.value).startswith(f"broken: {identity}")
