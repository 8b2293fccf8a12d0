"""Hostile changes of bytes, of JSON, and of words."""

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Change: TypeAlias = Callable[[random.Random, bytearray, Sequence[bytes]], None]  # in place

LONGEST = 1 << 16  # bytes of an input
# Numbers that are too large, too small, none at all, or written in an odd way.
NUMBERS = (
    "0",
    "-1",
    "-0",
    "1e999",
    "-1e999",
    "1e-999",
    "NaN",
    "nan",
    "Infinity",
    "inf",
    ".inf",
    "0x" + "f" * 40,
    "9" * 19,
    "9" * 40,
    "9" * 4299,
    "9" * 5000,
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1_000",
    "٣",
    "1:59:59",
    "0b11",
    "0.1",
    "1,5",
)
WORDS = (
    "",
    " ",
    "null",
    "true",
    "~",
    "\0",
    "\x1b[2J",
    "\ufeff",
    "\u202e",
    "ａ",
    "é",
    "😀",
    "\r\n",
    "\t",
    "#",
    "\\",
    '"',
    "'",
    "../../../../etc/passwd",
    "/dev/zero",
    "/dev/stdin",
    "/",
    ".",
    "~root",
    "${oc.env:HOME}",
    "${game.name}",
    "${a}",
    "!!python/object/apply:os.system [true]",
    "!!timestamp x",
    "!!int ''",
    "&a [*a]",
    "*a",
    "<<: *a",
    "_target_",
    "__class__",
    "%s%n{0.__class__}",
    "a" * 300,
    "a" * 5000,
    "[" * 60 + "]" * 60,
    "(" * 400,
    "{" * 400,
    "[" * 3000,
)
_DIGITS = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?")


def mutate(rng: random.Random, seeds: Sequence[bytes], *, words: Sequence[bytes] = ()) -> bytes:
    """Returns one of some valid inputs with a few changes.

    Args:
        rng: decides.
        seeds: valid inputs.
        words: of the format, which are put in.
    """
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 8))):
        change = rng.choice(_CHANGES)
        change(rng, data, seeds)
        if words and rng.random() < 0.3:
            _insert(rng, data, rng.choice(words))
    return bytes(data[:LONGEST])


def _flip_bits(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        if data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_bytes(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    begin, end = _piece(rng, data, longest=8)
    data[begin:end] = rng.choice(
        (bytes(end - begin), b"\xff" * (end - begin), rng.randbytes(end - begin))
    )


def _cut_off(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _cut_out(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    begin, end = _piece(rng, data, longest=64)
    del data[begin:end]


def _repeat(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    begin, end = _piece(rng, data, longest=64)
    count = rng.choice((1, 2, 10, 500))
    data[begin:begin] = (data[begin:end] * count)[:LONGEST]


def _splice(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = rng.choice(seeds)
    begin, end = _piece(rng, data, longest=len(data))
    from_begin, from_end = _piece(rng, other, longest=len(other))
    data[begin:end] = other[from_begin:from_end]


def _change_number(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    found = list(_DIGITS.finditer(data))
    if found:
        number = rng.choice(found)
        data[number.start() : number.end()] = rng.choice(NUMBERS).encode()


def _insert_word(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    _insert(rng, data, rng.choice(WORDS + NUMBERS).encode())


def _change_word(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    found = list(re.finditer(rb"[A-Za-z_]+", data))
    if found:
        word = rng.choice(found)
        data[word.start() : word.end()] = rng.choice(WORDS + NUMBERS).encode()


def _insert(rng: random.Random, data: bytearray, word: bytes) -> None:
    place = rng.randrange(len(data) + 1)
    data[place:place] = word


def _piece(rng: random.Random, data: bytes | bytearray, *, longest: int) -> tuple[int, int]:
    """Returns begin and end of a piece that lies within some bytes."""
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.randrange(longest + 1))


_CHANGES: tuple[Change, ...] = (
    _flip_bits,
    _flip_bits,
    _set_bytes,
    _cut_off,
    _cut_out,
    _repeat,
    _splice,
    _change_number,
    _insert_word,
    _change_word,
)


# ----- JSON


def hostile_value(rng: random.Random) -> Any:
    """Returns a value for JSON that hardly any place allows."""
    nested: Any = 1
    for _ in range(rng.choice((1, 5, 60))):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    return rng.choice(
        (
            None,
            True,
            -1,
            0,
            2**31,
            2**63,
            -(2**70),
            10**400,
            0.5,
            float("nan"),
            float("inf"),
            1e308,
            "",
            rng.choice(WORDS),
            [],
            {},
            [[]],
            [None, "a", 1],
            nested,
            {"a": 1, "": 2},
        )
    )


def mutate_json(rng: random.Random, seeds: Sequence[Any]) -> Any:
    """Returns a copy of one of some values with a few of its parts replaced, removed or added."""
    value = json.loads(json.dumps(rng.choice(seeds)))
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _change_part(rng, value)
    return value


def _change_part(rng: random.Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        choice = rng.random()
        if choice < 0.1:
            del value[key]
        elif choice < 0.2:
            value[rng.choice(WORDS)] = hostile_value(rng)
        else:
            value[key] = _change_part(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.9:
        place = rng.randrange(len(value))
        choice = rng.random()
        if choice < 0.1:
            del value[place]
        elif choice < 0.2:
            value.insert(place, hostile_value(rng))
        elif choice < 0.25:
            value *= rng.choice((0, 2, 3))
        else:
            value[place] = _change_part(rng, value[place])
        return value
    return hostile_value(rng)


def json_bytes(value: Any) -> bytes:
    """Writes JSON, lone surrogates and all."""
    return json.dumps(value).encode("utf-8", "surrogatepass")
