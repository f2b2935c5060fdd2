"""Calibration of warnings: how often translations with and without warnings were bad, of test sentences and of typed ones.

`python -m model evaluate --warnings` measures it. It is in the metrics of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..io.files import is_count, short_repr

MIN_SENTENCES = 100  # sentences needed to state a share in tenths
MIN_TYPED = 50  # typed sentences needed to state a share
MIN_OF_A_KIND = 6  # typed sentences of a kind that is called weak


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
class TypedCounts:
    """Counts over sentences as people type them: (sentences, wrong ones) without a warning, and by kind of sentence.

    A translation is wrong if it is none of the accepted ones.
    """

    unwarned: tuple[int, int]
    kinds: Mapping[str, tuple[int, int]]

    @property
    def weak_kinds(self) -> dict[str, tuple[int, int]]:
        """Returns the kinds of at least `MIN_OF_A_KIND` sentences, most of them wrong, the worst first."""
        weak = {name: (n, bad) for name, (n, bad) in self.kinds.items() if n >= MIN_OF_A_KIND and 2 * bad > n}
        return dict(sorted(weak.items(), key=lambda item: -item[1][1] / item[1][0]))


@dataclass(frozen=True)
class Signs:
    """Bad translations of test sentences by number of warning signs.

    `counts` holds (sentences, bad ones) for 0, 1, 2... signs. Bad means chrF below `bar`, 0 to 100; `beam` is the beam
    width. `typed` is None where no typed sentences were counted.
    """

    counts: tuple[tuple[int, int], ...]
    bar: float
    beam: int | None = None
    typed: TypedCounts | None = None

    def describe(self, number: int) -> str:
        """Returns `60% of test translations with 2 or more warnings were bad (all: 20%)`; empty for few sentences.

        Where too few sentences have this number of signs, the range widens downwards to one sign. Without a sign, it adds
        the share of typed sentences that were translated wrongly.
        """
        if not number and self.typed and self.counts[0][0] >= MIN_SENTENCES and self.typed.unwarned[0] >= MIN_TYPED:
            (sentences, bad), (typed, wrong) = self.counts[0], self.typed.unwarned
            return (
                f"Of such test sentences {_percent(bad / sentences)} were translated badly, "
                f"of such typed ones {_percent(wrong / typed)}"
            )
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
        sample = (
            f"Counted over {total:,} test sentences, decoded{how}: {bad:,} were bad, with chrF under {self.bar:g} "
            "against the best of their references. chrF: how many short runs of letters two texts share, from 0 to 100."
        )
        if self.typed is None:
            return sample
        weak = ", ".join(f"{name} ({bad} of {n} wrong)" for name, (n, bad) in self.typed.weak_kinds.items())
        sample += f" Typed: {self.typed.unwarned[0]} sentences without a warning, as people type them."
        return f"{sample} Known to be weak: {weak}." if weak else sample


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
    return Signs(counts, float(bar), beam, _read_typed(values.get("typed")))


def _read_typed(values: Any) -> TypedCounts | None:
    """Returns the counts of typed sentences, or None; ValueError that names the fault."""
    if values is None:
        return None
    kinds = values.get("kinds") if isinstance(values, Mapping) else None
    rows = [values.get("unwarned"), *kinds.values()] if isinstance(kinds, Mapping) else []
    counts = [(row.get("sentences"), row.get("wrong")) if isinstance(row, Mapping) else (None, None) for row in rows]
    if not counts or not all(is_count(n) and is_count(wrong) and wrong <= n for n, wrong in counts):
        raise ValueError(
            f"'warnings': 'typed' is {short_repr(values)}; expected sentences and wrong ones of 'unwarned' and of each kind"
        )
    return TypedCounts(counts[0], dict(zip(map(str, kinds), counts[1:], strict=True)))
