"""Self-play with a made-up network, for the tests of `play.py`."""

from collections.abc import Sequence

import numpy as np

from alphago.games import Game, make_game
from alphago.types import UInt8Array, Weights
from selfplay.play import SelfPlay
from selfplay.records import GameRecord
from selfplay.reports import NewNetwork
from tests.search.evaluators import ObservedNetwork
from tests.train.tiny import GUMBEL, SEARCH, selfplay_config

TTT = make_game("tic_tac_toe")
CONNECT_FOUR = make_game("connect_four")


class FakeNetwork(ObservedNetwork):
    """Pseudo-random answers; its weights decide how far the priors lie apart."""

    def load_weights(self, weights: Weights, positions: UInt8Array | None = None) -> None:
        self.spread = float(weights["spread"][()])


def make_selfplay(
    *, game: Game = TTT, seed: int = 1, actor: int = 0, spread: float = 1.0, **changes: object
) -> SelfPlay:
    selfplay = SelfPlay(
        game,
        FakeNetwork(game, spread=0.0),
        SEARCH,
        GUMBEL,
        selfplay_config(**changes),
        seed=seed,
        actor=actor,
    )
    selfplay.set_network(NewNetwork(3, weights(spread)))
    return selfplay


def weights(spread: float) -> Weights:
    return {"spread": np.array(spread)}


def moves(records: Sequence[GameRecord]) -> set[tuple[int, ...]]:
    return {tuple(record.actions.tolist()) for record in records}
