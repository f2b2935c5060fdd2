"""The examples that are offered, from `checkpoints/examples.txt`: each a sentence, and what it teaches. Texts to judge
stand in `judged.txt`, beginnings for a model that goes on with a text in `prompts.txt`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model.folders import SHIPPED
from viz.shared.reasons import Reason

FILE, JUDGED, PROMPTS = (SHIPPED / f"{name}.txt" for name in ("examples", "judged", "prompts"))


@dataclass(frozen=True)
class Example:
    """A sentence, what it teaches in a few words, the French token that shows it, the translations that are right, and what
    was measured for a reason that it gives: the last three are empty for one that is gone on with."""

    name: str
    sentence: str
    lesson: str
    token: str = ""
    accepted: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()


@cache
def examples() -> tuple[Example, ...]:
    """All of them, in the order in which they are offered. Raises ValueError for a line that lacks something."""
    return tuple(_example(*fields) for fields in _lines(FILE, 5, optional=1))


def _example(name: str, sentence: str, lesson: str, token: str, accepted: str, reasons: str = "") -> Example:
    measured = [Reason.read(each) for each in reasons.split("|") if each]
    return Example(name, sentence, lesson, token, tuple(accepted.split("|")), tuple(measured))


@cache
def judged_examples() -> tuple[Example, ...]:
    """Those of a classifier, whose labels may be any: what each asks in the place of what it teaches."""
    return tuple(Example(*fields) for fields in _lines(JUDGED, 3))


@cache
def prompts() -> tuple[Example, ...]:
    """The beginnings, in the order in which they are offered; errors as `examples`."""
    return tuple(Example(*fields) for fields in _lines(PROMPTS, 3))


def _lines(file: Path, expected: int, optional: int = 0) -> Iterator[list[str]]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if not expected <= len(fields) <= expected + optional or not all(fields):
            raise ValueError(
                f"{file.name}, line {number}, has {sum(map(bool, fields))} fields; expected {expected} with a tab between"
            )
        yield fields


def lesson(sentence: str) -> str | None:
    """What a sentence teaches, where it is an example."""
    return next((each.lesson for each in examples() if each.sentence == sentence.strip()), None)
