"""Real games through the rules: no illegal move, the score that was counted, fast enough.

`ALPHAGO_SGF_DIR` names a folder of SGF files with an `index.tsv`, one line for each file: `file`,
and where the area score of the final position is known, `tt_score` (Black's points minus White's)
and whether the result of the file `tt_agrees` with it. No such games are part of this project,
since their licences differ.
"""

import csv
import os
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from alphago.games.go import Go
from alphago.games.go.drawing import format_result
from alphago.protocols.sgf import SgfGame, read_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_together

pytestmark = pytest.mark.slow

GAMES_PER_SECOND = 1000

Collection = list[tuple[dict[str, str], SgfGame]]  # line of the index, game


@pytest.fixture(scope="module")
def collection() -> Collection:
    folder = os.environ.get("ALPHAGO_SGF_DIR")
    if folder is None:
        pytest.skip("ALPHAGO_SGF_DIR is not set: no folder of real games")
    with (Path(folder) / "index.tsv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t"))
    return [(line, read_sgf(Path(folder) / line["file"])[0]) for line in lines]


def by_game(items: Collection) -> Iterable[tuple[Go, Collection]]:
    """Groups games of one board and one set of rules, whatever komi and handicap."""
    groups: dict[tuple[object, ...], Collection] = defaultdict(list)
    for line, sgf in items:
        plain = replace(sgf, komi=None, handicap=0)
        game = go_of_sgf(plain)
        groups[game.spec.name, game.rules, game.spec.max_moves].append((line, sgf))
    for (_, rules, _), group in groups.items():
        yield go_of_sgf(replace(group[0][1], handicap=0), rules=rules), group


def test_every_move_is_legal_and_replay_is_fast(collection: Collection) -> None:
    groups = list(by_game(collection))
    for game, group in groups:  # loads the compiled rules
        replay_together(game, [group[0][1]])
    start = time.process_time()
    for game, group in groups:
        replay_together(game, [sgf for _, sgf in group])
    seconds = time.process_time() - start
    print(f"{len(collection)} games, {len(collection) / seconds:.0f} games/s")
    assert len(collection) > GAMES_PER_SECOND * seconds


def test_counted_games_have_the_result_of_the_file(collection: Collection) -> None:
    num_agreeing = 0
    for game, group in by_game([item for item in collection if item[0]["tt_score"]]):
        states = replay_together(game, [sgf for _, sgf in group])
        for (line, sgf), state in zip(group, states, strict=True):
            counted = game.with_rules(replace(game.rules, scoring="area", komi=sgf.komi))
            (score,) = counted.score(state[None]).tolist()
            assert score == float(line["tt_score"]), line["file"]
            agrees = format_result(score) == sgf.result
            assert agrees == (line["tt_agrees"] == "True"), line["file"]
            num_agreeing += agrees
    assert num_agreeing > 0
