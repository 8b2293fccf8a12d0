"""Errors as callers see them, also those that come from another process."""

import pickle

import numpy as np
import pytest

from alphago import errors
from alphago.errors import AlphagoError, ConfigError, check_config, check_count

OTHERS = [
    each
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, AlphagoError) and each is not ConfigError
]


def test_a_wrong_value_is_told_with_key_got_and_allowed() -> None:
    check_config("gate.mode", "off", True, "gate or off")
    with pytest.raises(
        ConfigError, match=r"^gate\.mode: got 'on', allowed: gate or off$"
    ) as caught:
        check_config("gate.mode", "on", False, "gate or off")
    assert caught.value.key == "gate.mode"


def test_a_count_is_an_integer_from_its_lowest_value_on() -> None:
    for count in (2, 3, np.int64(2)):
        check_count("games", count, at_least=2)
    check_count("games", None, at_least=2, or_null=True)
    for wrong in (1, -2, 2.0, True, "2", None):
        with pytest.raises(
            ConfigError, match=r"^games: got .*, allowed: an integer of at least 2$"
        ):
            check_count("games", wrong, at_least=2)
    with pytest.raises(ConfigError, match=r"of at least 0, or null$"):
        check_count("games", False, at_least=0, or_null=True)
    check_count("games", 5, at_least=2, at_most=5)
    with pytest.raises(ConfigError, match=r"^games: got 6, allowed: an integer from 2 to 5$"):
        check_count("games", 6, at_least=2, at_most=5)


@pytest.mark.parametrize("kind", OTHERS)
def test_errors_keep_their_message_between_processes(kind: type[AlphagoError]) -> None:
    copy = pickle.loads(pickle.dumps(kind("a file: broken")))
    assert type(copy) is kind
    assert str(copy) == "a file: broken"


def test_a_configuration_error_keeps_key_and_message_between_processes() -> None:
    error = ConfigError("evaluator.device", "cuda", "auto or cpu")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, ConfigError)
    assert (str(copy), copy.key) == (str(error), "evaluator.device")
