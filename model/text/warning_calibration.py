"""Calibration of warnings: precision and recall on test sentences, and the share of bad translations by number of warning
signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..io.files import is_count, short_repr

MIN_SENTENCES = 100  # sentences needed to state a share in tenths


@dataclass(frozen=True)
class WarningCounts:
    """Counts over `sentences`: `bad` have a bad translation, `warned` a warning, and `right` both."""

    sentences: int
    bad: int
    warned: int
    right: int

    @property
    def precision(self) -> float:
        """Returns the share of the warnings that are right, 0 to 1; nan without a warning."""
        return self.right / self.warned if self.warned else float("nan")

    @property
    def recall(self) -> float:
        """Returns the share of the bad translations with a warning, 0 to 1; nan where none is bad."""
        return self.right / self.bad if self.bad else float("nan")

    @property
    def base(self) -> float:
        """Returns the precision of a warning on every sentence."""
        return self.bad / self.sentences


@dataclass(frozen=True)
class Signs:
    """Bad translations of test sentences by number of warning signs.

    `counts` holds (sentences, bad ones) for 0, 1, 2... signs. Bad means chrF below `bar`, 0 to 100; `beam` is the beam
    width.
    """

    counts: tuple[tuple[int, int], ...]
    bar: float
    beam: int | None = None

    def describe(self, number: int) -> str:
        """Returns `60% of test translations with 2 or more warnings were bad (all: 20%)`; empty for few sentences.

        Where too few sentences have this number of signs, the range widens downwards to one sign.
        """
        if number < len(self.counts) and self.counts[number][0] >= MIN_SENTENCES:
            return self._share("such test translations", number, number + 1)
        for low in range(min(number, len(self.counts) - 1), 0, -1):
            if sum(sentences for sentences, _ in self.counts[low:]) >= MIN_SENTENCES:
                return self._share(f"test translations with {low} or more warnings", low, len(self.counts))
        return ""

    def _share(self, which: str, low: int, high: int) -> str:
        sentences, bad = map(sum, zip(*self.counts[low:high], strict=True))
        total, all_bad = map(sum, zip(*self.counts, strict=True))
        sentence = f"{_percent(bad / sentences)} of {which} were bad (all: {_percent(all_bad / total)})"
        return sentence[0].upper() + sentence[1:]

    def describe_sample(self) -> str:
        """Returns the sample and the definition of a bad translation."""
        total, bad = map(sum, zip(*self.counts, strict=True))
        how = "" if self.beam is None else " greedily" if self.beam == 1 else f" with a beam of {self.beam}"
        return (
            f"Counted over {total:,} test sentences, decoded{how}: {bad:,} were bad, with chrF under {self.bar:g} "
            "against the best of their references. chrF: how many short runs of letters two texts share, from 0 to 100."
        )


def _percent(share: float) -> str:
    return "less than 1%" if 0 < share < 0.005 else f"{share:.0%}"


def read_warnings(metrics: Mapping[str, Any]) -> dict[str, WarningCounts]:
    """Returns the counts of each kind of warning in a checkpoint's metrics; ValueError that names the fault."""
    if "warnings" not in metrics:
        return {}
    values = metrics["warnings"]
    rules = values.get("rules") if isinstance(values, Mapping) else None
    if not isinstance(rules, Mapping):
        raise ValueError("'warnings' has no object 'rules', with the numbers of each kind of warning")
    warnings = {}
    for name, rule in rules.items():
        numbers = [rule.get(key) if isinstance(rule, Mapping) else None for key in ("warned", "right")]
        numbers = [values.get("sentences"), values.get("bad"), *numbers]
        are_counts = all(map(is_count, numbers))
        if not are_counts or not numbers[3] <= min(numbers[1:3]) or not 0 < max(numbers[1:3]) <= numbers[0]:
            message = f"{short_repr(name)} has sentences, bad, warned, right = {short_repr(numbers)}"
            raise ValueError(f"'warnings': {message}; expected counts that fit one another")
        warnings[str(name)] = WarningCounts(*numbers)
    return warnings


def read_signs(metrics: Mapping[str, Any]) -> Signs | None:
    """Returns the counts by number of warning signs in a checkpoint's metrics, or None; ValueError that names the fault."""
    values = metrics.get("warnings")
    if not isinstance(values, Mapping) or "signs" not in values:
        return None
    rows, bar, beam = values["signs"], values.get("bar"), values.get("beam")
    are_rows = isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
    counts = tuple((row.get("sentences"), row.get("bad")) for row in rows) if are_rows else ()
    fits = counts and all(is_count(n) for row in counts for n in row) and all(bad <= n for n, bad in counts)
    if not fits or tuple(map(sum, zip(*counts, strict=True))) != (values.get("sentences"), values.get("bad")):
        raise ValueError(
            f"'warnings': 'signs' is {short_repr(rows)}; expected the sentences and the bad ones of each number of signs, "
            "which add up to all"
        )
    if type(bar) not in (int, float) or not (beam is None or type(beam) is int):
        raise ValueError(
            f"'warnings' has bar, beam = {short_repr(bar)}, {short_repr(beam)}; expected two numbers, or no beam"
        )
    return Signs(counts, float(bar), beam)
