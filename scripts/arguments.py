"""What the sub-commands share: the parser, `key=value` words, one-line errors with a hint."""

import argparse
import difflib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NoReturn, TypeVar

from alphago.errors import AlphagoError

_NEAREST_CUTOFF = 0.6  # similarity of difflib below which a hint would confuse
_LONGEST_HINTED = 100  # characters; whatever is longer is no misspelt key
_LONGEST_LINE = 4000  # characters of an error
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_NUM_NEAREST = 3  # hints of equal standing, at most

T = TypeVar("T")


class CommandLineError(AlphagoError):
    """The command line cannot be carried out as written."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line, and whose help shows two worked examples."""

    def __init__(
        self,
        name: str,
        *,
        description: str,
        examples: Sequence[str],
        usage: str,
        keys: Callable[[], Collection[str]] = tuple,
    ) -> None:
        """Prepares the parser of `alphago <name>`.

        Args:
            name: the sub-command.
            description: what it does.
            examples: worked examples.
            usage: the words after the sub-command.
            keys: returns the keys of its `key=value` words; asked only to explain a mistake.
        """
        self._keys = keys
        super().__init__(
            prog=f"alphago {name}".rstrip(),
            usage=f"alphago {name} {usage}".replace("  ", " "),
            description=description,
            epilog="examples:\n" + "\n".join(f"  {example}" for example in examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raises instead of printing the usage.

        Raises:
            CommandLineError: always.
        """
        raise CommandLineError(f"{message}; `{self.prog} --help` shows how")

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parses the words, options and arguments in any order.

        Raises:
            CommandLineError: if a word is not understood.
        """
        arguments, unknown = self.parse_known_intermixed_args(list(argv))
        for word in unknown:
            if word.startswith("-"):
                following = [*argv[list(argv).index(word) + 1 :], ""][0]
                raise CommandLineError(f"{word}: {self._explain(word, following=following)}")
            raise CommandLineError(f"{word}: one word too many; `{self.prog} --help` shows how")
        return arguments

    def _explain(self, word: str, *, following: str) -> str:
        """Returns what is wrong with an unknown option, of a key written like one above all."""
        name, equals, value = word.partition("=")
        key = name.lstrip("-").replace("-", "_")
        if not equals:
            is_value = following and not following.startswith("-") and "=" not in following
            value = following if is_value else "VALUE"
        keys = self._keys()
        if key in keys:
            return f"options are written {key}={value}"
        near = hint(name, sorted(self._option_string_actions))
        if not near and (alike := nearest(key, keys)):
            near = f"; options are written {alike[0]}={value}"
        return f"unknown option{near}"


def similarity(text: str, known: str) -> float:
    """Returns how alike two keys are, from 0 to 1.

    With dots, the part after the last one decides; a key that is also of another section is a
    little less alike. The initials of the words count (`lr` for `learning_rate`).
    """
    section, _, last = text.rpartition(".")
    known_section, _, known_last = known.rpartition(".")
    ratio = difflib.SequenceMatcher(None, last, known_last).ratio()
    if last == "".join(word[:1] for word in known_last.split("_")):
        ratio = 0.9
    if len(last) > 1 and known_last.startswith(last):
        ratio = max(ratio, 0.8)
    return ratio if section == known_section else 0.95 * ratio


def nearest(text: str, known: Iterable[str]) -> list[str]:
    """Returns the known words most like the text, the best first; none if nothing is alike."""
    if len(text) > _LONGEST_HINTED:  # and its likeness takes long to find
        return []
    scores = {word: similarity(text.lower(), word.lower()) for word in known}
    best = max(scores.values(), default=0.0)
    if best < _NEAREST_CUTOFF:
        return []
    alike = [word for word in scores if scores[word] >= best - 0.01]
    return sorted(alike, key=lambda word: -scores[word])[:_NUM_NEAREST]


def hint(text: str, known: Iterable[str]) -> str:
    """Returns `; nearest: a, b` for an error message, or an empty text."""
    words = nearest(text, known)
    return f"; nearest: {', '.join(words)}" if words else ""


def refuse_pairs(words: Sequence[str], *, keys: Collection[str]) -> None:
    """Checks that no key and its value came as two words.

    Raises:
        CommandLineError: if so.
    """
    for key, value in itertools.pairwise(words):
        if key in keys and "=" not in value:
            raise CommandLineError(f"{key} {value}: write {key}={value}")


def parse_words(words: Sequence[str], *, allowed: Sequence[str]) -> dict[str, str]:
    """Reads `key=value` words.

    Raises:
        CommandLineError: if a word is not of this form, or its key unknown or given twice.
    """
    refuse_pairs(words, keys=allowed)
    values: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise CommandLineError(f"{word}: expected key=value, keys: {', '.join(allowed)}")
        if key not in allowed:
            near = hint(key, allowed)
            raise CommandLineError(f"{key}: unknown key{near}; allowed: {', '.join(allowed)}")
        if key in values:
            raise CommandLineError(f"{key}: given twice")
        values[key] = value
    return values


def read_number(
    values: Mapping[str, str],
    key: str,
    *,
    kind: Callable[[str], T],
    default: T,
    allowed: str,
    check: Callable[[T], bool],
) -> T:
    """Reads a number out of `key=value` words.

    Args:
        values: the words.
        key: the one wanted.
        kind: `int` or `float`.
        default: the number if the key is not there.
        allowed: the allowed numbers in words.
        check: whether a number is allowed.

    Raises:
        CommandLineError: if it is no number of this kind or not an allowed one.
    """
    if key not in values:
        return default
    try:
        number = kind(values[key])
        good = check(number)
    except ValueError:
        good = False
    if not good:
        raise CommandLineError(f"{key}: got {values[key]!r}, allowed: {allowed}")
    return number


def seed_from(values: Mapping[str, str]) -> int:
    """Reads `seed=...`, 0 where it is not given."""
    return read_number(
        values,
        "seed",
        kind=int,
        default=0,
        allowed="an integer from 0 to 2^63 - 1",
        check=lambda seed: 0 <= seed < 2**63,
    )


def one_line(text: object) -> str:
    """Returns a text as one line that a terminal can show.

    Every run of white space is one blank, control characters are written out, and of a long text,
    which may hold half of a strange file, the middle is left out.
    """
    words = _CONTROL.sub(lambda found: repr(found[0])[1:-1], " ".join(str(text).split()))
    if len(words) <= _LONGEST_LINE:
        return words
    return f"{words[: _LONGEST_LINE // 2]} ... {words[-_LONGEST_LINE // 2 :]}"
