"""Where inputs lie as files, and words for those that are invented."""

import atexit
import functools
import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from alphago.games import Game, make_game
from tests.fuzz.mutations import NUMBERS, WORDS

TIC_TAC_TOE = make_game("tic_tac_toe")


@functools.cache
def folder() -> Path:
    """Returns a folder of this process, in memory where there is such a place."""
    memory = Path("/dev/shm")
    parent = memory if os.access(memory, os.W_OK) else None
    made = Path(tempfile.mkdtemp(prefix="alphago-fuzz-", dir=parent))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def file_of(name: str, data: bytes) -> Path:
    """Writes a file, the same one each time."""
    path = folder() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def pick(rng: random.Random, words: Sequence[str], *, odd: float = 0.1) -> str:
    """Returns one of some words, now and then one that is none of them."""
    return rng.choice(WORDS + NUMBERS) if rng.random() < odd else rng.choice(words)


def texts(words: Sequence[str]) -> list[bytes]:
    return [word.encode("utf-8", "surrogatepass") for word in words]


def as_text(data: bytes) -> str:
    """Returns an input as a word of the command line."""
    return data.decode("utf-8", "surrogateescape")


@functools.cache
def game_of_text(text: str) -> Game:
    """Returns a game that is made once."""
    return make_game(text)
