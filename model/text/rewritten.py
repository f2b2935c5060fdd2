"""Pairs with other names or other numbers on both sides: what teaches a model to copy, piece by piece, what it never saw.

Only what stands the same on both sides is replaced, by something that the sentence around it allows. The rules are those of
English and French; a corpus of other languages has fewer pairs that allow it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

TOKEN = re.compile(r"(?<![\w-])[^\W\d_]+(?:-[^\W\d_]+)*(?![\w-])|[0-9]+")  # a word, with its hyphens, or a run of digits


class Slot(NamedTuple):
    """What of a pair is replaced on both sides by one and the same text; `kind` says by which."""

    source: str
    target: str
    kind: object


class Kind(Protocol):
    """What is replaced."""

    def slots(self, source: str, target: str) -> list[Slot]:
        """All that can be replaced in a pair; none where the pair does not allow it."""
        ...

    def drawn(self, slot: Slot, draw: random.Random) -> str:
        """What stands there instead."""
        ...


class Rewritten:
    """The pairs that allow a kind, to draw rewritten ones from."""

    def __init__(self, pairs: Sequence[tuple[str, str]], kind: Kind) -> None:
        self.kind = kind
        found = ((source, target, kind.slots(source, target)) for source, target in pairs)
        self.allowed = [pair for pair in found if pair[2]]

    def drawn(self, count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
        """`count` pairs drawn of those that allow it, each with all that can be replaced replaced; none where none does."""
        for source, target, slots in draw.choices(self.allowed, k=count) if self.allowed else ():
            new = [self.kind.drawn(slot, draw) for slot in slots]
            yield (
                replaced(source, {slot.source: text for slot, text in zip(slots, new, strict=True)}),
                replaced(target, {slot.target: text for slot, text in zip(slots, new, strict=True)}),
            )


def replaced(text: str, new: dict[str, str]) -> str:
    """The text with some of its words and runs of digits written otherwise."""
    return TOKEN.sub(lambda found: new.get(found[0], found[0]), text)
