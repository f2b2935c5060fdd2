"""The examples that are offered, from `checkpoints/examples.txt`: each a sentence, and what it teaches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from model.folders import SHIPPED

FILE = SHIPPED / "examples.txt"


@dataclass(frozen=True)
class Example:
    """A sentence, what it teaches in a few words, the French token that shows it, and the translations that are right."""

    name: str
    sentence: str
    lesson: str
    token: str
    accepted: tuple[str, ...]


@cache
def examples() -> tuple[Example, ...]:
    """All of them, in the order in which they are offered. Raises ValueError for a line that lacks something."""
    found = []
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 5 or not all(fields):
            raise ValueError(
                f"{FILE.name}, line {number}, has {sum(map(bool, fields))} fields; expected 5 with a tab between"
            )
        found.append(Example(*fields[:4], tuple(fields[4].split("|"))))
    return tuple(found)


def lesson(sentence: str) -> str | None:
    """What a sentence teaches, where it is an example."""
    return next((each.lesson for each in examples() if each.sentence == sentence.strip()), None)
