"""What people write: overrides, players, ladders, suites; and what matches leave behind."""

import functools
import json
import random
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from alphago.errors import AlphagoError
from alphago.games import make_game
from alphago.players import make_player
from alphago.players.bundled import bundled_networks
from alphago.players.engine_process import find_program
from alphago.players.text import ENGINE_PREFIX, is_engine, split_text
from eval.ladder_files import load_ladder
from eval.match_plan import plan_match
from eval.match_results import ResultsFile
from eval.openings import read_openings
from eval.rating_store import RatingStore
from eval.suite_files import open_suite
from eval.suite_files import read_positions as read_suite_positions
from scripts.ablations.file import load_ablation
from scripts.composition import (
    apply_overrides,
    compose_config,
    load_run_config,
    to_run_config,
)
from scripts.overrides import expand, leaf_types
from scripts.report_page.facts import counters_of
from scripts.report_page.run_log import curves_of, read_log
from tests.fuzz import seeds
from tests.fuzz.harness import Target
from tests.fuzz.mutations import (
    json_bytes,
    mutate,
    mutate_json,
)
from tests.fuzz.room import TIC_TAC_TOE, as_text, file_of, game_of_text, pick, texts

# ----- the command line


_SWEEPS = texts(
    (
        "1,2,3",
        "range(1,5)",
        "choice(0.1,0.2)",
        "glob(*)",
        "sort(3,1)",
        "tag(a,1)",
        "shuffle(range(9))",
    )
)


def _make_override(rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return mutate(rng, seeds.OVERRIDES, words=_SWEEPS)[:6000]
    keys = (*leaf_types(), "game", "network", "selfplay", "experiment", "hydra.run.dir")
    values = ("1", "0.5", "true", "null", "tiny", "[a,b]", "{a:1}", "1,2", "range(1,4)", "'a'")
    prefix = rng.choice(("", "", "", "", "+", "~", "++"))
    return f"{prefix}{pick(rng, keys)}={pick(rng, values, odd=0.5)}".encode(
        "utf-8", "surrogatepass"
    )


def _read_override(data: bytes) -> None:
    expand([as_text(data)], multirun=len(data) % 2 == 0)


@functools.cache
def _saved_config() -> Any:
    return load_run_config(file_of("saved/config.yaml", seeds.config()).parent)


def _read_change(data: bytes) -> None:
    to_run_config(apply_overrides(_saved_config(), [as_text(data)]))


def _read_composition(data: bytes) -> None:
    for job in expand([as_text(data)], multirun=False):
        to_run_config(compose_config(job))


def _make_player_text(rng: random.Random) -> bytes:
    return mutate(rng, seeds.PLAYERS, words=seeds.PLAYER_WORDS)[:3000]


def _read_player_text(data: bytes) -> None:
    """Makes the player and the game of a text, but starts no program and loads no network."""
    text = as_text(data)
    if is_engine(text):
        try:
            find_program(shlex.split(text.removeprefix(ENGINE_PREFIX)))
        except ValueError as error:
            raise AlphagoError(str(error)) from error
    elif split_text(text)[0] not in bundled_networks():
        try:
            make_player(text, game=TIC_TAC_TOE)
        except AlphagoError:
            make_game(text)


# ----- files of people and of matches


def _made_of(
    name: str, examples: Callable[[], Sequence[bytes]]
) -> Callable[[random.Random], bytes]:
    """Returns what changes examples, at times as JSON where they are."""

    def make(rng: random.Random) -> bytes:
        found = examples()
        if name.endswith(".json") and rng.random() < 0.5:
            return json_bytes(mutate_json(rng, [json.loads(each) for each in found]))
        if name.endswith(".jsonl") and rng.random() < 0.5:
            lines = rng.choice(found).splitlines()
            place = rng.randrange(len(lines))
            lines[place] = json_bytes(mutate_json(rng, [json.loads(lines[place])]))
            return b"\n".join([*lines, b""])
        return mutate(rng, found)

    return make


def _read_ladder(data: bytes) -> None:
    load_ladder(file_of("ladder.yaml", data))


def _read_ablation(data: bytes) -> None:
    load_ablation(file_of("ablation.yaml", data))


def _read_suite(data: bytes) -> None:
    file = open_suite(file_of("suite.json", data))
    is_small = file.game in ("tic_tac_toe", "go_2x2:komi=1.5")
    read_suite_positions(game_of_text(file.game if is_small and file.game else "tic_tac_toe"), file)


def _read_openings(data: bytes) -> None:
    read_openings(TIC_TAC_TOE, file_of("openings.txt", data))


def _read_results(data: bytes) -> None:
    """Reads the results of a ladder, and its settings from the first line."""
    settings, _, results = data.partition(b"\n")
    folder = file_of("ratings/settings.json", settings).parent
    file_of("ratings/results.jsonl", results)
    RatingStore(folder).settings()


def _read_match(data: bytes) -> None:
    planned = plan_match([[cell] for cell in range(9)] * 4, seed=3)
    with ResultsFile(file_of("match.jsonl", data), seeds.MATCH_HEADER, planned=planned) as file:
        for result in file.parts.values():
            assert 0 <= result.score <= 1


def _read_log(data: bytes) -> None:
    run = file_of("log/log.jsonl", data).parent
    log = read_log(run)
    counters_of(run, log)
    curves_of(log)


TARGETS = (
    Target(
        name="override",
        share=30,
        valid=lambda: seeds.OVERRIDES,
        make=_make_override,
        read=_read_override,
    ),
    Target(
        name="change", share=10, valid=lambda: seeds.CHANGES, make=_make_override, read=_read_change
    ),
    Target(
        name="composition",
        share=2,
        valid=lambda: seeds.CHANGES,
        make=_make_override,
        read=_read_composition,
    ),
    Target(
        name="player_text",
        share=60,
        valid=lambda: seeds.PLAYERS,
        make=_make_player_text,
        read=_read_player_text,
    ),
    Target(
        name="ladder",
        share=20,
        valid=seeds.ladders,
        make=_made_of("ladder.yaml", seeds.ladders),
        read=_read_ladder,
    ),
    Target(
        name="ablation",
        share=20,
        valid=seeds.ablations,
        make=_made_of("ablation.yaml", seeds.ablations),
        read=_read_ablation,
    ),
    Target(
        name="suite",
        share=20,
        valid=seeds.suites,
        make=_made_of("suite.json", seeds.suites),
        read=_read_suite,
    ),
    Target(
        name="openings",
        share=10,
        valid=seeds.openings,
        make=_made_of("openings.txt", seeds.openings),
        read=_read_openings,
    ),
    Target(
        name="ratings",
        share=20,
        valid=seeds.ratings,
        make=_made_of("ratings.jsonl", seeds.ratings),
        read=_read_results,
    ),
    Target(
        name="match",
        share=10,
        valid=seeds.matches,
        make=_made_of("match.jsonl", seeds.matches),
        read=_read_match,
    ),
    Target(
        name="log",
        share=8,
        valid=seeds.logs,
        make=_made_of("log.jsonl", seeds.logs),
        read=_read_log,
    ),
)
