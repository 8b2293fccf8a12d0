"""Games, configurations and positions that the tests of the search share."""

import numpy as np

from alphago.games import make_game
from alphago.games.game import Game
from alphago.search import BatchSearch, SearchConfig
from alphago.types import Evaluator, States
from tests.reference.forced_pass_game import ForcedPassGame
from tests.search.evaluators import CoarseEvaluator, HashEvaluator, HostileEvaluator

GAME_NAMES = ("forced_pass", "tic_tac_toe", "connect_four")

EVALUATOR_KINDS = ("mild", "sharp", "coarse", "hostile")

PAPER_CONFIG = {
    "exploration_init": 1.25,
    "exploration_base": 19652.0,
    "fpu_reduction": 0.2,
    "root_fpu_reduction": 0.0,
    "noise_concentration": 10.83,
    "noise_weight": 0.25,
}


def search_config(**changes: float) -> SearchConfig:
    """Returns the usual constants with some of them changed."""
    return SearchConfig(**{**PAPER_CONFIG, **changes})


def game_named(name: str) -> Game:
    """Returns a registered game, or the made-up one of the tests."""
    return ForcedPassGame() if name == "forced_pass" else make_game(name)


def evaluator_of_kind(kind: str, game: Game) -> Evaluator:
    """Returns one of the deterministic evaluators by name."""
    if kind == "coarse":
        return CoarseEvaluator(game)
    if kind == "hostile":
        return HostileEvaluator(game)
    return HashEvaluator(game, spread={"mild": 1.5, "sharp": 8.0}[kind])


def run_to_end(search: BatchSearch, rows: list[int], *, max_calls: int) -> None:
    """Runs simulations until all given rows have spent their budgets, in at most so many calls."""
    for _ in range(max_calls):
        if set(rows) <= set(search.finished_rows().tolist()):
            return
        search.run_simulation()
    assert set(rows) <= set(search.finished_rows().tolist())


def state_after(game: Game, actions: list[int]) -> States:
    """Returns the position [1] after some actions from the start."""
    state = game.initial_states(1)
    for action in actions:
        state = game.step(state, np.array([action]))
    return state


def random_states(game: Game, rng: np.random.Generator, *, num_states: int) -> States:
    """Returns [B] unfinished positions, each a random number of random moves from the start."""
    rows: list[States] = []
    while len(rows) < num_states:
        history = [game.initial_states(1)]
        while not game.is_over(history[-1])[0]:
            legal_actions = np.flatnonzero(game.legal_actions(history[-1])[0])
            history.append(game.step(history[-1], rng.choice(legal_actions, size=1)))
        rows.append(history[rng.integers(len(history) - 1)])
    return np.concatenate(rows)
