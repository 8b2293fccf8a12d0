"""Hints and `key=value` words."""

import pytest

from scripts.arguments import CommandLineError, hint, nearest, parse_words, read_number
from scripts.tables import format_table

KEYS = ["train.batch_size", "train.learning_rate", "gate.num_simulations", "suite.num_simulations"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train.batchsize", ["train.batch_size"]),
        ("batch_size", ["train.batch_size"]),
        ("train.lr", ["train.learning_rate"]),
        ("train.learn", ["train.learning_rate"]),
        ("gate.num_simulatons", ["gate.num_simulations"]),
        ("mcts.num_simulations", ["gate.num_simulations", "suite.num_simulations"]),
        ("foo", []),
    ],
)
def test_nearest_keys(text: str, expected: list[str]) -> None:
    assert nearest(text, KEYS) == expected


def test_hint_is_empty_where_nothing_is_alike() -> None:
    assert hint("xyz", KEYS) == ""
    assert hint("trian", ["train", "play"]) == "; nearest: train"


def test_words_are_read_in_any_order() -> None:
    assert parse_words(["b=2", "a="], allowed=("a", "b")) == {"a": "", "b": "2"}


@pytest.mark.parametrize(
    ("words", "message"),
    [(["a"], "key=value"), (["aa=1"], "nearest: a"), (["a=1", "a=2"], "twice")],
)
def test_wrong_words_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(CommandLineError, match=message):
        parse_words(words, allowed=("a", "b"))


@pytest.mark.parametrize("text", ["x", "", "1.5", "0", "-1", "nan"])
def test_number_that_is_not_allowed_is_refused(text: str) -> None:
    with pytest.raises(CommandLineError, match="games: got"):
        read_number(
            {"games": text},
            "games",
            kind=int,
            default=1,
            allowed="an integer of at least 1",
            check=lambda number: number >= 1,
        )


def test_table_aligns_columns() -> None:
    assert format_table([("key", "old", "new"), ("train.x", "1", "")]) == (
        "key      old  new\ntrain.x  1"
    )
