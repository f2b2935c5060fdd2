"""What the runs of the variants will cost: counted work over a measured speed, or what those that ended took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from model.experiments.variant_runs import VariantRun
from model.variants.record import Variants


class Cost(NamedTuple):
    """How many runs are left, how many hours they are thought to take, and what this is known from."""

    runs: int
    hours: float
    known_from: str

    def told(self) -> str:
        runs = "1 run is" if self.runs == 1 else f"{self.runs} runs are"
        return f"{runs} left: about {hours(self.hours)}, {self.known_from}."


def hours(count: float) -> str:
    """A span of time in words."""
    if count < 1:
        minutes = max(1, round(60 * count))
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{count:.1f} hours"


def from_speed(left: Sequence[VariantRun], target_tokens: int, speeds: Mapping[str, float]) -> Cost:
    """By the target tokens of a run, and how many of them a second each variant was measured to train on."""
    seconds = math.fsum(target_tokens / speeds[run.variant.name] for run in left)
    return Cost(len(left), seconds / 3600, "from the speed measured here; validating and scoring come on top")


def from_runs(left: Sequence[VariantRun], found: Variants) -> Cost:
    """By the minutes of the runs that have ended: of the same variant, else of all."""
    minutes = {each.name: [run.minutes for run in each.runs] for each in found.variants}
    every = [each for own in minutes.values() for each in own]
    total = math.fsum(_mean(minutes.get(run.variant.name) or every) for run in left)
    ended = "the run" if len(every) == 1 else f"the {len(every)} runs"
    return Cost(len(left), total / 60, f"from the minutes of {ended} that ended; validating and scoring come on top")


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
