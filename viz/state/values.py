"""Values of a link: readers and writers, with the error message of each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from model.config import END, MAX_TOKENS
from model.edits.intervention import BASELINE, SEPARATOR, Intervention
from model.edits.kinds import EditError

MAX_LINK_TEXT = 6000  # characters; longer text is never read from a link
MAX_EDITS = 200
MAX_BRANCHES = 8
MAX_BRANCH_TOKENS = 512  # of all branches together: each is decoded anew
MAX_WORD = 60  # characters
MAX_NAME = 255  # characters of a name
MAX_TRIED = 300  # characters of a text that is cut into tokens


@dataclass(frozen=True)
class Value:
    """A kind of value. `read` parses a text, or raises ValueError with what is expected; `write` serializes."""

    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    free: bool = False  # outside a link, any text is allowed
    first: int = 0  # the number that links, labels and scripts give to the 0 of Python

    def numbered(self, value: Any) -> Any:
        """Returns the value as labels and scripts count it: Python counts from 0, they count from `first`."""
        return value + self.first if self.first and value is not None else value

    def holds(self, value: Any) -> bool:
        """True for a value that survives a link unchanged. A browser may send anything."""
        if self.free:
            return isinstance(value, str)
        try:
            again = self.read(self.write(value))
        except (ValueError, TypeError, AttributeError, LookupError):
            return False
        return type(again) is type(value) and again == value


class PartlyRead(ValueError):
    """A partly readable text: `value` holds the readable part, `faults` a sentence for each other part."""

    def __init__(self, value: Any, faults: list[str]) -> None:
        super().__init__(*faults)
        self.value, self.faults = value, faults


def number(low: int, high: int, first: int = 0) -> Value:
    """A whole number. `low` and `high` are as in the link, which counts from `first`; Python counts from 0."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 7 and low <= int(text) <= high):
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text) - first

    return Value(read, lambda value: str(value + first), first=first)


def one_number(*numbers: int) -> Value:
    """One of some whole numbers."""

    def read(text: str) -> int:
        if text not in map(str, numbers):
            raise ValueError(" or ".join(map(str, numbers)))
        return int(text)

    return Value(read)


def even(low: int, high: int) -> Value:
    def read(text: str) -> int:
        expected = f"an even number from {low} to {high}"
        try:
            value = number(low, high).read(text)
        except ValueError:
            raise ValueError(expected) from None
        if value % 2:
            raise ValueError(expected)
        return value

    return Value(read)


def number_or(word: str, low: int, high: int, first: int = 0) -> Value:
    """A word that stands for None, or a number as in `number`."""
    of_number = number(low, high, first)

    def read(text: str) -> int | None:
        try:
            return None if text == word else of_number.read(text)
        except ValueError as expected:
            raise ValueError(f"{word} or {expected}") from None

    return Value(read, lambda value: word if value is None else of_number.write(value), first=first)


def decimal(low: float, high: float, above: bool = False) -> Value:
    """A number from `low` (or above it) to `high`."""

    def read(text: str) -> float:
        try:
            value = float(text) if len(text) < 25 and text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not (low < value <= high or (value == low and not above)):
            raise ValueError(f"a number above {low:g}, up to {high:g}" if above else f"a number from {low:g} to {high:g}")
        return value

    return Value(read, _shortest)


def zero_or_decimal(low: float, high: float) -> Value:
    """Zero, or a number from `low` to `high`."""

    def read(text: str) -> float:
        expected = f"0, or a number from {low:g} to {high:g}"
        try:
            value = decimal(0, high).read(text)
        except ValueError:
            raise ValueError(expected) from None
        if 0 < value < low:
            raise ValueError(expected)
        return value

    return Value(read, _shortest)


def _shortest(value: float) -> str:
    """Returns the shortest text of a number that reads back equal."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def choice(*names: str) -> Value:
    """One of some names."""
    return one_of(lambda: names)


def one_of(names: Callable[[], Sequence[str]]) -> Value:
    """One of the names registered when the link is read."""

    def read(text: str) -> str:
        if text not in names():
            raise ValueError(" or ".join(names()))
        return text

    return Value(read)


def several(names: Callable[[], Sequence[str]], max_count: int) -> Value:
    """At most `max_count` of some names, each once, with `~` between; may be empty."""

    def read(text: str) -> tuple[str, ...]:
        chosen = tuple(filter(None, text.split(SEPARATOR)))
        if len(chosen) > max_count or len(set(chosen)) < len(chosen) or not set(chosen) <= set(names()):
            raise ValueError(f"at most {max_count} of {', '.join(names())} with {SEPARATOR} between")
        return chosen

    return Value(read, SEPARATOR.join)


def switch(on: str, off: str | None = None) -> Value:
    """True or false, by a word for each. Without `off`, a link can only state True."""
    words = {word: value for word, value in ((on, True), (off, False)) if word is not None}
    return Value(lambda text: words[choice(*words).read(text)], lambda value: on if value else str(off))


def text(longest: int, expected: str, free: bool = False) -> Value:
    """A text of at most `longest` characters in a link; a `free` text has no limit elsewhere."""

    def read(text: str) -> str:
        if len(text) > longest:
            raise ValueError(expected)
        return text

    return Value(read, free=free)


def long_text() -> Value:
    """A source, target or second text."""
    return text(MAX_LINK_TEXT, f"at most {MAX_LINK_TEXT} characters", free=True)


def word() -> Value:
    return text(MAX_WORD, f"a word of at most {MAX_WORD} characters")


def folder() -> Value:
    """The name of a checkpoint's folder, which cannot be a path."""

    def read(text: str) -> str:
        if not text.isprintable() or not text.strip(" .") or set(text) & set("/\\") or len(text) > MAX_NAME:
            raise ValueError("the name of a checkpoint")
        return text

    return Value(read)


def name(expected: str) -> Value:
    """The name of an experiment or a lesson."""

    def read(text: str) -> str:
        plain = text.replace("-", "").replace("_", "").replace(".", "").isalnum()
        if not plain or text.startswith(".") or len(text) > MAX_NAME:
            raise ValueError(expected)
        return text

    return Value(read)


def joined(expected: str, *parts: Value) -> Value:
    """Several values with `_` between."""

    def read(text: str) -> tuple:
        texts = text.split("_")
        if len(texts) != len(parts):
            raise ValueError(f"{expected} with _ between")
        return tuple(part.read(each) for part, each in zip(parts, texts, strict=True))

    return Value(read, lambda values: "_".join(part.write(each) for part, each in zip(parts, values, strict=True)))


def edits() -> Value:
    """The codes of edits; PartlyRead names the impossible ones and keeps the others."""

    def read(text: str) -> Intervention:
        result, faults = BASELINE, []
        for code in text.split(SEPARATOR, MAX_EDITS)[:MAX_EDITS]:
            try:
                if code.startswith("window-") and result.window is not None and code != f"window-{result.window}":
                    raise EditError(f"“{code[:40]}” is a second window; expected one.")
                if code.startswith("donor_") and result.donor:
                    raise EditError(f"“{code[:40]}” is a second sentence to take from; expected one.")
                result = result.with_edit(code)
            except EditError as wrong:
                faults.append(f"{wrong} The link's “{code[:40]}” is left out.")
        if text.count(SEPARATOR) >= MAX_EDITS:
            faults.append(f"A link carries at most {MAX_EDITS} edits; the rest is left out.")
        if faults:
            raise PartlyRead(result, faults)
        return result

    return Value(read, lambda result: result.code)


def patches() -> Value:
    """The codes of patches, without their donor sentence."""

    def read(text: str) -> Intervention:
        result = edits().read(text)
        if result != dataclasses.replace(BASELINE, edits=result.edits) or not all(edit.donor_side for edit in result.edits):
            raise ValueError(f"codes of patches with {SEPARATOR} between")
        return result

    return Value(read, edits().write)


def path() -> Value:
    """Tokens by their numbers, with a dash between."""

    def read(text: str) -> tuple[int, ...]:
        parts = text.split("-")
        known = all(p.isascii() and p.isdigit() and len(p) < 7 and int(p) >= END for p in parts)
        if not known or len(parts) > MAX_TOKENS or str(END) in parts[:-1]:
            raise ValueError(f"up to {MAX_TOKENS} numbers of tokens with a dash between, </s> at the end alone")
        return tuple(map(int, parts))

    return Value(read, lambda ids: "-".join(map(str, ids)))


def paths() -> Value:
    """Several beginnings of a translation."""

    def read(text: str) -> tuple[tuple[int, ...], ...]:
        parts = text.split(SEPARATOR)
        if len(parts) > MAX_BRANCHES:
            raise ValueError(f"at most {MAX_BRANCHES} branches")
        branches = tuple(dict.fromkeys(map(path().read, parts)))
        if any(len(branch) >= MAX_TOKENS for branch in branches):
            raise ValueError(f"branches of fewer than {MAX_TOKENS} tokens")
        if sum(map(len, branches)) > MAX_BRANCH_TOKENS:
            raise ValueError(f"branches of at most {MAX_BRANCH_TOKENS} tokens together")
        return branches

    return Value(read, lambda branches: SEPARATOR.join(map(path().write, branches)))
