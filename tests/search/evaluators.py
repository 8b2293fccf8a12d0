"""Stand-ins for the network, each a pure function of the bytes of a state."""

import hashlib
from collections.abc import Callable

import numpy as np

from alphago.games.game import Game
from alphago.types import Evaluation, Evaluator, States, UInt8Array

_WORDS = 32  # 16-bit words of a hash: logits from the front, the value from the last


def hash_numbers(state: np.void) -> tuple[np.ndarray, float]:
    """Returns 31 pseudo-random numbers in [0, 1] and one in [-1, 1] that belong to a state."""
    digest = hashlib.blake2b(state.tobytes(), digest_size=2 * _WORDS).digest()
    numbers = np.frombuffer(digest, dtype="<u2") / 65535.0
    return numbers[:-1], float(2.0 * numbers[-1] - 1.0)


class UniformEvaluator:
    """Equal priors and value 0 everywhere."""

    def __init__(self, game: Game) -> None:
        """Keeps the number of actions."""
        self.num_actions = game.spec.num_actions

    def evaluate(self, states: States) -> Evaluation:
        """Returns zeros."""
        shape = (len(states), self.num_actions)
        return Evaluation(np.zeros(shape, np.float32), np.zeros(len(states), np.float32))


class FixedEvaluator:
    """The same priors and the same value (view of whoever is to move) everywhere."""

    def __init__(self, prior_logits: list[float], value: float) -> None:
        """Keeps one row of logits [A] and a value."""
        self.prior_logits = np.array(prior_logits, dtype=np.float32)
        self.value = value

    def evaluate(self, states: States) -> Evaluation:
        """Returns the kept numbers for each row."""
        logits = np.tile(self.prior_logits, (len(states), 1))
        return Evaluation(logits, np.full(len(states), self.value, dtype=np.float32))


class HashEvaluator:
    """Pseudo-random logits within [-spread, spread] and values within [-1, 1]."""

    def __init__(self, game: Game, spread: float) -> None:
        """Keeps the number of actions and how far priors lie apart."""
        self.num_actions = game.spec.num_actions
        self.spread = spread

    def evaluate(self, states: States) -> Evaluation:
        """Hashes each row."""
        logits = np.empty((len(states), self.num_actions), dtype=np.float32)
        values = np.empty(len(states), dtype=np.float32)
        for row, state in enumerate(states):
            numbers, value = hash_numbers(state)
            logits[row] = self.spread * (2.0 * numbers[: self.num_actions] - 1.0)
            values[row] = value
        return Evaluation(logits, values)


class ObservedNetwork(HashEvaluator):
    """Like a network, it knows nothing of a state but its observation; remembers its batches."""

    def __init__(self, game: Game, spread: float) -> None:
        """Keeps the game, which observes."""
        super().__init__(game, spread)
        self.game = game
        self.batches: list[UInt8Array] = []

    def evaluate(self, states: States) -> Evaluation:
        """Observes and hashes each row."""
        return self.evaluate_observations(self.game.observe(states))

    def evaluate_observations(self, observations: UInt8Array) -> Evaluation:
        """Hashes each row."""
        self.batches.append(observations.copy())
        return super().evaluate(observations)


class CoarseEvaluator:
    """Two levels of logits and values in quarters: many exact ties, and sums without rounding."""

    def __init__(self, game: Game) -> None:
        """Keeps the number of actions."""
        self.hashed = HashEvaluator(game, spread=1.0)

    def evaluate(self, states: States) -> Evaluation:
        """Rounds the hashed numbers."""
        logits, values = self.hashed.evaluate(states)
        return Evaluation(np.sign(logits), np.round(4 * values) / np.float32(4))


class HostileEvaluator:
    """A network that likes illegal actions best and gives no prior at all to many legal ones.

    Logits of illegal actions are 300, infinite or not a number, those of legal ones near 200 or
    near -200: beside a favourite the rest underflows to exactly 0. Finished games get a value that
    is not a number.
    """

    def __init__(self, game: Game) -> None:
        """Keeps the game for its legal actions."""
        self.game = game
        self.hashed = HashEvaluator(game, spread=2.0)

    def evaluate(self, states: States) -> Evaluation:
        """Spoils the hashed numbers."""
        logits, values = self.hashed.evaluate(states)
        logits += np.where(logits > 0.8, np.float32(200.0), np.float32(-200.0))
        nonsense = np.array([300.0, np.inf, np.nan, -np.inf], dtype=np.float32)
        legal_actions = self.game.legal_actions(states)
        logits = np.where(legal_actions, logits, np.resize(nonsense, logits.shape))
        return Evaluation(logits, np.where(self.game.is_over(states), np.float32(np.nan), values))


class RecordingEvaluator:
    """Passes questions on and remembers them."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Wraps an evaluator."""
        self.evaluator = evaluator
        self.batches: list[States] = []

    def evaluate(self, states: States) -> Evaluation:
        """Remembers a copy of the batch."""
        self.batches.append(states.copy())
        return self.evaluator.evaluate(states)


class SpoiledEvaluator:
    """Equal priors and value 0, changed in place by a function from a chosen call on."""

    def __init__(self, game: Game, spoil: Callable[[Evaluation], None], *, from_call: int) -> None:
        """Keeps what to do and when.

        Args:
            game: for the number of actions.
            spoil: changes an evaluation in place.
            from_call: number of the first call (from 0) that is spoiled.
        """
        self.uniform = UniformEvaluator(game)
        self.spoil = spoil
        self.from_call = from_call
        self.num_calls = 0

    def evaluate(self, states: States) -> Evaluation:
        """Returns the uniform evaluation, spoiled when it is time."""
        evaluation = self.uniform.evaluate(states)
        if self.num_calls >= self.from_call:
            self.spoil(evaluation)
        self.num_calls += 1
        return evaluation
