"""GTP and SGF: sessions and games, changed and invented."""

import functools
import os
import random

from alphago.protocols.gtp import parse_command
from alphago.protocols.sgf import read_sgf, write_sgf
from alphago.protocols.sgf_games import go_of_sgf, replay_sgf, rules_of_sgf
from tests.fuzz import seeds
from tests.fuzz.harness import Target
from tests.fuzz.mutations import (
    mutate,
)
from tests.fuzz.room import folder, pick, texts
from tests.protocols.gtp_helpers import Gtp, network
from tests.search.evaluators import UniformEvaluator

_MOST_LINES = 12  # of a GTP session
_MOST_MOVES = 60  # of an SGF game that is replayed

# ----- GTP

_VERTICES = ("A1", "B2", "c3", "D4", "E5", "pass", "resign", "J9", "I5", "a0", "Z99", "T19")
_GTP_WORDS = (
    *("b", "w", "black", "WHITE", *_VERTICES, "0", "1", "2", "5", "9", "25", "6.5", "-7.5"),
    *("chinese", "japanese", "true", "false", "ko", "SIMPLE", "alive", "dead", "seki", "avoid"),
    *("allow", "interval", "ownership", "pvVisits", "minmoves", "maxmoves", "rootInfo", "10"),
    '{"ko":"SIMPLE","suicide":true}',
    '{"komi":1e999}',
    "some.sgf",
)


@functools.cache
def _gtp_commands() -> tuple[str, ...]:
    return tuple(Gtp(size=(5, 5))("list_commands").split("\n"))


def _make_gtp(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return mutate(rng, seeds.GTP, words=texts(_gtp_commands()))
    lines = []
    for _ in range(rng.randrange(1, _MOST_LINES)):
        number = f"{rng.randrange(100)} " if rng.random() < 0.2 else ""
        words = [pick(rng, _GTP_WORDS, odd=0.05) for _ in range(rng.choice((0, 0, 1, 1, 2, 2, 5)))]
        lines.append(f"{number}{pick(rng, _gtp_commands(), odd=0.05)} {' '.join(words)}")
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _read_gtp(data: bytes, *, kind: str) -> None:
    """Answers the lines of a session, and checks the frame of each answer."""
    gtp = Gtp(network(3, evaluator=UniformEvaluator) if kind == "network" else kind, size=(5, 5))
    os.chdir(folder())
    for line in data.decode("utf-8", "surrogateescape").split("\n")[:_MOST_LINES]:
        command = parse_command(line)
        if command is not None and command.name == "printsgf" and "/" in command.rest:
            continue  # it writes where it is told to
        answer = gtp.raw(line)
        if command is None:
            assert answer == "", (line, answer)
            continue
        assert answer.startswith((f"={command.id}", f"?{command.id}")), (line, answer)
        assert answer.endswith("\n\n") and "\n\n" not in answer[:-2], (line, answer)
        if gtp.engine.has_quit:
            break


# ----- SGF

_SGF_WORDS = texts(
    (
        *("(;", ")", ";", "B[]", "W[aa]", "AB[aa:cc]", "AW[bb]", "AE[aa]", "PL[W]", "SZ[9]"),
        *("SZ[25:1]", "SZ[0]", "KM[6.5]", "KM[1e9]", "RU[Japanese]", "RU[ko=simple,komi=1]"),
        *("HA[9]", "CA[GBK]", "CA[utf-16]", "C[\\]", "\\]", "RE[B+R]", "RE[?]", "GM[2]", "FF[4]"),
    )
)
_LETTERS = "abcdefgtyz"


def _make_sgf(rng: random.Random) -> bytes:
    if rng.random() < 0.7:
        return mutate(rng, seeds.SGF, words=_SGF_WORDS)
    nodes = [f"(;SZ[{pick(rng, ('2', '5', '9', '5:3', '19'))}]"]
    for _ in range(rng.randrange(40)):
        name = pick(rng, ("B", "W", "B", "W", "AB", "AE", "C", "KM", "PL"), odd=0.02)
        point = rng.choice(_LETTERS) + rng.choice(_LETTERS)
        nodes.append(f";{name}[{pick(rng, (point, point, point, ''), odd=0.03)}]")
    return "".join([*nodes, ")"]).encode("utf-8", "surrogatepass")


def _read_sgf(data: bytes) -> None:
    """Reads games, replays those that are short, and reads what is written of them."""
    for game in read_sgf(data)[:3]:
        again = read_sgf(write_sgf(game).encode("utf-8", "surrogatepass"))
        assert [each.moves for each in again] == [game.moves]
        if len(game.moves) <= _MOST_MOVES:
            go = go_of_sgf(game, rules=rules_of_sgf(game))
            replay_sgf(go, game)


TARGETS = (
    Target(
        name="gtp",
        share=150,
        valid=lambda: seeds.GTP,
        make=_make_gtp,
        read=functools.partial(_read_gtp, kind="random"),
    ),
    Target(
        name="gtp_network",
        share=40,
        valid=lambda: seeds.GTP,
        make=_make_gtp,
        read=functools.partial(_read_gtp, kind="network"),
    ),
    Target(name="sgf", share=200, valid=lambda: seeds.SGF, make=_make_sgf, read=_read_sgf),
)
