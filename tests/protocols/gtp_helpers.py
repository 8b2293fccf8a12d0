"""An engine to talk to without processes, clocks or networks."""

import itertools
from collections.abc import Callable

from alphago.games.game import Game
from alphago.games.go import RULE_SETS, GoRules
from alphago.players import Player, make_player
from alphago.players.network_player import NetworkPlayer
from alphago.protocols.gtp_board import GtpBoard
from alphago.protocols.gtp_engine import GtpEngine
from alphago.protocols.gtp_session import EngineOptions, GtpSession
from alphago.protocols.gtp_thinkers import Thinkers
from alphago.search import SearchConfig
from alphago.types import Evaluation, Evaluator, States
from tests.search.evaluators import HashEvaluator

CONFIG = SearchConfig(
    exploration_init=1.25,
    exploration_base=19652.0,
    fpu_reduction=0.2,
    root_fpu_reduction=0.2,
    noise_concentration=10.83,
    noise_weight=0.25,
)


class FakeClock:
    """Goes on by a fixed step with each look at it."""

    def __init__(self, step: float = 0.0) -> None:
        self.seconds = 0.0
        self.step = step

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


class FakeWatch:
    """An input on which something arrives after so many questions; None: never."""

    def __init__(self) -> None:
        self.looks_until_word: int | None = 0
        self.looks_until_end: int | None = None
        self.waits: list[float | None] = []

    def is_waiting(self) -> bool:
        if self.looks_until_word is None:
            return False
        self.looks_until_word -= 1
        return self.looks_until_word < 0

    def is_ending(self) -> bool:
        if self.looks_until_end is None:
            return False
        self.looks_until_end -= 1
        return self.looks_until_end < 0

    def wait(self, seconds: float | None) -> bool:
        self.waits.append(seconds)
        return True


def maker_of(text: str) -> Callable[[Game], Player]:
    """Returns what makes the player of a text for any game."""

    def make(game: Game) -> Player:
        return make_player(text, game=game, seed=1)

    return make


class Gtp:
    """A controller: sends a command, checks the frame, returns the text."""

    def __init__(
        self,
        make: Callable[[Game], Player] | str = "random",
        *,
        size: tuple[int, int] = (9, 9),
        rules: GoRules = RULE_SETS["chinese"],
        clock_step: float = 0.0,
        **options: object,
    ) -> None:
        settings: dict[str, object] = {
            "seconds": None,
            "resign": None,
            "ponder": False,
            "answer_pass": True,
            "remove_dead": False,
        }
        if isinstance(make, str):
            make = maker_of(make)
        self.watch, self.clock = FakeWatch(), FakeClock(clock_step)
        board = GtpBoard(height=size[0], width=size[1], rules=rules)
        self.session = GtpSession(
            board,
            Thinkers(make),
            options=EngineOptions(**{**settings, **options}),
            watch=self.watch,
            now=self.clock,
            name="the engine",
        )
        self.engine = GtpEngine(self.session, version="1")

    def pieces(self, line: str) -> list[str]:
        return list(self.engine.respond(line))

    def raw(self, line: str) -> str:
        return self.engine.answer(line)

    def __call__(self, line: str) -> str:
        """Returns the text of a success."""
        answer = self.raw(line)
        assert answer.startswith("="), f"{line}: {answer}"
        assert answer.endswith("\n\n") and "\n\n" not in answer[:-2]
        return answer[1:-2].removeprefix(" ")

    def refusal(self, line: str) -> str:
        """Returns the reason of a refusal."""
        answer = self.raw(line)
        assert answer.startswith("? "), f"{line}: {answer}"
        assert answer.endswith("\n\n") and "\n" not in answer[:-2]
        return answer[2:-2]

    def play(self, *moves: str) -> None:
        """Plays moves such as `b D4`."""
        for move in moves:
            assert self(f"play {move}") == ""

    def alternate(self, text: str) -> None:
        """Plays vertices, Black first."""
        for color, vertex in zip(itertools.cycle("bw"), text.split(), strict=False):
            self.play(f"{color} {vertex}")

    def stones(self, color: str) -> set[str]:
        return set(self(f"list_stones {color}").split())


class RemadeEvaluator:
    """An evaluator that is made anew for another game, as a network is turned to it."""

    def __init__(self, make: Callable[[Game], Evaluator], game: Game) -> None:
        self.game = game
        self._make, self._inner = make, make(game)

    def evaluate(self, states: States) -> Evaluation:
        return self._inner.evaluate(states)

    def for_game(self, game: Game) -> "RemadeEvaluator":
        return RemadeEvaluator(self._make, game)


def network(
    num_simulations: int = 20,
    *,
    evaluator: Callable[[Game], Evaluator] | None = None,
    seconds: float | None = None,
) -> Callable[[Game], Player]:
    """Returns what makes a network player without a network."""

    def make(game: Game) -> Player:
        return NetworkPlayer(
            game,
            RemadeEvaluator(evaluator or (lambda game: HashEvaluator(game, spread=2.0)), game),
            search_config=CONFIG,
            num_simulations=num_simulations,
            name="network",
            seed=1,
            seconds=seconds,
        )

    return make
