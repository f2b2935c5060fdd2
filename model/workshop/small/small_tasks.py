"""Tasks for small models: each makes pairs of texts, a character a token, from a random generator."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

SIZES = {"layers": (1, 2), "heads": (1, 2, 4), "d_model": (16, 32, 64)}  # of small models
MAX_PAIRS = 2000  # of own pairs
MAX_LENGTH = 40  # characters of an own text
HELD_OUT = 0.1  # share of own pairs that only measure
OWN_PAIRS = "pairs"  # in place of a task
Pair = tuple[str, str]


@dataclass(frozen=True)
class SmallTask:
    """A task: its name, title and question, and a function that makes a pair of texts."""

    name: str
    title: str
    question: str  # what is to be predicted before the training
    make: Callable[[random.Random], Pair]


def _letters(draw: random.Random, low: int = 4, high: int = 9) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(low, high)))


def _copy(draw: random.Random) -> Pair:
    text = _letters(draw)
    return text, text


def _reverse(draw: random.Random) -> Pair:
    text = _letters(draw)
    return text, text[::-1]


def _sort(draw: random.Random) -> Pair:
    text = "".join(draw.choices(string.digits, k=draw.randint(4, 8)))
    return text, "".join(sorted(text))


def _add(draw: random.Random) -> Pair:
    one, other = draw.randrange(1000), draw.randrange(1000)
    return f"{one:03}+{other:03}", f"{one + other:04}"


FORMATS = (
    "{day} {name} {year}",
    "{name} {day}, {year}",
    "{day}.{month}.{year}",
    "{short} {day} {year}",
    "{day}/{month}/{year}",
)
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october")
MONTHS += ("november", "december")


def _date(draw: random.Random) -> Pair:
    day = date.fromordinal(draw.randint(date(1950, 1, 1).toordinal(), date(2049, 12, 31).toordinal()))
    name = MONTHS[day.month - 1]
    values = {"day": day.day, "month": day.month, "year": day.year, "name": name, "short": name[:3]}
    return draw.choice(FORMATS).format(**values), day.isoformat()


TASKS = {
    task.name: task
    for task in (
        SmallTask("copy", "Copy", "Will it learn to copy letters?", _copy),
        SmallTask("reverse", "Reverse", "Will it learn to write letters backwards?", _reverse),
        SmallTask("sort", "Sort digits", "Will it learn to sort digits?", _sort),
        SmallTask("add", "Add two numbers", "Will it learn to add numbers of three digits?", _add),
        SmallTask("dates", "Dates to ISO form", "Will it learn to write dates as year-month-day?", _date),
    )
}


EXAMPLES = 3  # pairs whose attention is recorded: those of a task are the same in all its trainings


def examples(task: str) -> list[Pair]:
    """Returns the recorded pairs of a task, none of which is trained on."""
    draw = random.Random("examples")
    return [TASKS[task].make(draw) for _ in range(EXAMPLES)]


def read_pairs(text: str) -> list[Pair]:
    """Returns own pairs from lines with a tab, or ` = `, between both texts.

    Raises ValueError, one sentence, for a line without it, an empty or too long text, fewer than 20 different pairs, or
    more than `MAX_PAIRS`.
    """
    pairs: dict[Pair, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        divider = "\t" if "\t" in line else " = "
        source, _, target = (each.strip() for each in line.partition(divider))
        if not (source and target):
            raise ValueError(f"Line {number} has no pair; expected two texts with a tab, or “ = ”, between them.")
        longest = max(len(source.encode()), len(target.encode()))
        if longest > MAX_LENGTH:
            raise ValueError(f"Line {number} has a text of {longest} bytes; expected at most {MAX_LENGTH}.")
        pairs[source, target] = None
    if not 20 <= len(pairs) <= MAX_PAIRS:
        count = "is 1 different pair" if len(pairs) == 1 else f"are {len(pairs):,} different pairs"
        raise ValueError(f"There {count}; expected 20 to {MAX_PAIRS:,}.")
    return [*pairs]
