"""An actor that plays on takes no more memory: trees and caches are allocated once."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

LARGEST_GROWTH = 1.05  # of the resident memory, from the first number of games to the second
# In a process of its own, whose memory is the actor's alone.
PROGRAM = """
import sys
from alphago.games import make_game
from alphago.network.network import make_network, weights_of
from selfplay.pool import InlinePool
from selfplay.reports import NewNetwork
from tests.train.tiny import NETWORK, actor_setup

game, *numbers = sys.argv[1:]
few, many, num_simulations = map(int, numbers)
setup = actor_setup(
    game=game, num_games=8, games_per_call=1, num_simulations=num_simulations, cache_size=4096
)
pool = InlinePool(setup, actor=0)
weights = weights_of(make_network(make_game(game).spec, NETWORK, seed=0))
num_games = 0
for number in (few, many):
    while num_games < number:
        if num_games % 10 == 0:  # networks change while games are played
            pool.publish(NewNetwork(num_games, weights))
        (report,) = pool.collect(1.0)
        num_games += len(report.records)
    print(report.memory.resident_bytes)
"""


@pytest.mark.parametrize(
    ("game", "few", "many", "num_simulations"),
    [("tic_tac_toe", 50, 500, 25), ("go_9x9", 5, 50, 25)],
)
def test_an_actor_needs_no_more_memory_for_its_last_games_than_for_its_first(
    game: str, few: int, many: int, num_simulations: int
) -> None:
    words = [game, str(few), str(many), str(num_simulations)]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True, check=True
    )
    first, last = map(int, done.stdout.split())
    grown = f"{first / 2**20:.0f} MiB after {few} games, {last / 2**20:.0f} MiB after {many}"
    assert last < LARGEST_GROWTH * first, grown
