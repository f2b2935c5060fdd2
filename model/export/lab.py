"""A checkpoint while a file of checks is measured on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.experiments.leaks import LeakReport
    from model.inference.analysis import Analysis
    from model.inference.request import Request

MOST_KEPT = 32  # analyses, and leak reports: a file may ask of thousands of sentences
T = TypeVar("T")


@dataclass
class Lab:
    """A checkpoint with what has been computed on it for the last checks."""

    checkpoint: Checkpoint
    analyses: dict[Request, Analysis] = field(default_factory=dict)
    reports: dict[Request, LeakReport] = field(default_factory=dict)

    def analyse(self, request: Request) -> Analysis:
        from model.inference.analyse import analyse

        return _kept(self.analyses, request, lambda: analyse(self.checkpoint, request).without_scores())

    def leaks(self, request: Request) -> LeakReport:
        from model.experiments.leaks import leak_test

        return _kept(self.reports, request, lambda: leak_test(self.checkpoint, request))


def _kept(known: dict[Request, T], request: Request, make: Callable[[], T]) -> T:
    """What is known of a request, made where it is not; the one that was not asked for longest goes."""
    found = known.pop(request) if request in known else make()
    known[request] = found
    if len(known) > MOST_KEPT:
        del known[next(iter(known))]
    return found
