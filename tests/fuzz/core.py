"""Fuzzers: each throws one random thing after another at the lab, and knows what the lab has promised of it.

A fuzzer is a function of a `random.Random` that makes one case of it, tries it, and raises where a promise is broken. It may
return a word for what came of the case (`refused`, say), which is counted; nothing counts as `answered`. It is declared by
`@fuzzer(...)` in a module of this folder, and nothing else is to be done for the tests and the command line to find it.
A case is told by its fuzzer's name and a number, and is the same whenever it is tried.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import resource
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

Case = Callable[[random.Random], str | None]
MAX_SECONDS = 60.0  # of one case, on a busy machine
MAX_GROWTH = 1 << 30  # bytes by which one case may raise the most memory that the process ever held


@dataclass(frozen=True)
class Fuzzer:
    """A kind of attack: `few` is how many cases the tests try of it, in a second or two."""

    name: str
    case: Case
    few: int


@dataclass
class Found:
    """What came of some cases."""

    outcomes: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)  # the cases that broke a promise, with what was raised
    slowest: float = 0.0  # s

    def told(self) -> str:
        """`1,200 tried: 700 refused, 500 answered; 0 broken; the slowest took 0.2 s`."""
        came = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        tried = self.outcomes.total() + len(self.broken)
        return f"{tried:,} tried: {came or 'none held'}; {len(self.broken)} broken; the slowest took {self.slowest:.1f} s"


FUZZERS: dict[str, Fuzzer] = {}


def fuzzer(name: str, few: int) -> Callable[[Case], Case]:
    """Declares a fuzzer under a name of its own."""

    def declare(case: Case) -> Case:
        assert name not in FUZZERS, f"two fuzzers are called {name!r}"
        FUZZERS[name] = Fuzzer(name, case, few)
        return case

    return declare


def all_fuzzers() -> dict[str, Fuzzer]:
    """All that the modules of this folder declare."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith(("test_", "__")):
            importlib.import_module(f"tests.fuzz.{module.name}")
    return FUZZERS


def try_cases(one: Fuzzer, numbers: Iterator[int], until: float = float("inf")) -> Found:
    """Tries cases by their numbers, until a moment of `time.monotonic()`; a broken promise does not end it."""
    found = Found()
    for number in numbers:
        if time.monotonic() > until:
            break
        began, most = time.monotonic(), _most_memory()
        try:
            outcome = one.case(random.Random(f"{one.name}/{number}")) or "answered"
            grown = _most_memory() - most
            assert grown < MAX_GROWTH, f"the case took {grown >> 20:,} MB"
            assert time.monotonic() - began < MAX_SECONDS, f"the case took {time.monotonic() - began:.0f} s"
        except KeyboardInterrupt:
            raise
        except BaseException as fault:  # a panic of the tokenizer's library is no Exception
            at = traceback.extract_tb(fault.__traceback__)[-1]
            said = f"{type(fault).__name__}: {' '.join(str(fault).split())[:400]}"
            found.broken.append(f"{one.name} {number}: {said} ({Path(at.filename).name}, line {at.lineno})")
        else:
            found.outcomes[outcome] += 1
        found.slowest = max(found.slowest, time.monotonic() - began)
    return found


def _most_memory() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
