"""Checks: findings as tests. A file has one check a line, which is measured on a checkpoint. `check` does so in Python."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.files import short_repr
from ..io.numbers import wilson_interval
from ..trace import Site
from . import check_forms
from .check_forms import CorpusShare, FormError, Head, format_condition, within
from .check_kinds import KINDS, AbsentPartError, CheckKind, CheckResult, Lab, metric_of

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from ..inference.analysis import Analysis

MAX_BYTES = 1 << 20  # of a file
_NOT = re.compile(r"not:\s*")  # before a check: it holds where the check does not


@dataclass(frozen=True)
class Check:
    """A line of a file, counted from 1, with its kind and fields."""

    number: int
    text: str
    kind: CheckKind
    values: dict[str, Any]
    is_negated: bool = False  # the line starts with “not: ”

    def measure(self, lab: Lab) -> CheckResult:
        """Measures the check on a checkpoint. A check that cannot be measured fails, and so does its negation."""
        try:
            if isinstance(wanted := self.values["request"], CorpusShare):
                result = self._over_corpus(lab, wanted)
            else:
                result = self.kind.measure(lab, **self.values)
        except ValueError as fault:
            return CheckResult(False, str(fault), check=self.text)
        return replace(result, holds=result.holds != self.is_negated, check=self.text)

    def _over_corpus(self, lab: Lab, wanted: CorpusShare) -> CheckResult:
        """Measures the check on each sentence of the lab; leaves out those that lack a token of it, or are too long."""
        from ..inference.request import Request

        if not lab.sentences:
            raise ValueError("this check needs sentences; give --data FILE")
        results: list[tuple[int, bool]] = []
        reason = ""
        for number, sentence in enumerate(lab.sentences, 1):
            try:
                results.append((number, self.kind.measure(lab, **self.values | {"request": Request(sentence)}).holds))
            except AbsentPartError:
                raise
            except ValueError as fault:
                reason = reason or f"sentence {number}: {fault}"
        if not results:
            raise ValueError(f"none of {len(lab.sentences)} sentences has the parts of this check; {reason}")
        count, total = sum(holds for _, holds in results), len(results)
        low, high = wilson_interval(count, total)
        text = f"{count} of {total} sentences, {count / total:.1%} (95% interval {low:.1%} to {high:.1%})"
        is_counterexample = wanted.is_limit != self.is_negated  # for the line as a whole
        if numbers := [number for number, holds in results if holds == is_counterexample]:
            text += f"; the first that {'holds' if is_counterexample else 'fails'} is sentence {numbers[0]}"
        return CheckResult(wanted.holds(count / total), text, count / total, total, (low, high))


def check(checkpoint: Checkpoint, lines: str | Iterable[str], sentences: Sequence[str] = ()) -> tuple[CheckResult, ...]:
    """Measures findings on a checkpoint, each as one line in a form of docs/checks.md. Returns a result for each.

    A line that starts with `not: ` holds where the rest of the line does not hold.

    Args:
        checkpoint: the model, as `load` returns it.
        lines: one line, the content of a file of checks, or a list of lines.
        sentences: the corpus of the checks about `every sentence` or a share. Equal sentences count once.

    Raises ValueError that names the line which is not a check.
    """
    if isinstance(sentences, str):
        raise ValueError(f"sentences is the text {short_repr(sentences)}; expected a list of texts")
    checks = parse(lines if isinstance(lines, str) else "\n".join(lines), "the checks")
    lab = Lab(checkpoint, tuple(dict.fromkeys(sentences)))
    return tuple(each.measure(lab) for each in checks)


def parse(content: str, name: str = "the file") -> tuple[Check, ...]:
    """Returns the checks of a file. Empty lines and lines that begin with # are ignored.

    Raises ValueError that names the line and the expected text, and for a file without a check.
    """
    checks = []
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), 1):
        text = line.strip()
        if text and not text.startswith("#"):
            try:
                checks.append(_read(number, text))
            except FormError as fault:
                there = short_repr(text[fault.position :][:60]) if text[fault.position :] else "its end"
                raise ValueError(f"{name}, line {number}: expected {fault} at {there}") from None
    if not checks:
        raise ValueError(f"{name} has no check; expected lines such as: {KINDS['later'].example}")
    return tuple(checks)


def _read(number: int, line: str) -> Check:
    """Returns the check of a line. Raises the error of the form that matches furthest."""
    furthest = FormError("a check", -1)
    negation = _NOT.match(line)
    text = line[negation.end() :] if negation else line
    for kind in KINDS.values():
        try:
            return Check(number, line, kind, check_forms.read(kind.form, text), negation is not None)
        except FormError as fault:
            furthest = fault if fault.position > furthest.position else furthest
    start = len(line) - len(text)
    if furthest.position == 0 or (furthest.position < 4 and not text.startswith("head")):
        raise FormError('one of the forms of docs/checks.md, such as “no later token leaks in "..."”', start)
    raise FormError(str(furthest), start + furthest.position)


AttentionRow = tuple[Site, int | None, int]  # site, head (None: the mean) and row; from 0


def view_checks(checkpoint: Checkpoint, analysis: Analysis, step: int, places: Sequence[AttentionRow]) -> tuple[str, ...]:
    """Returns the checks of a view: its translation, the token of a step (from 0), the top key of each head and row, and no
    leaks.

    Checks that do not hold on this analysis are left out.
    """
    lab = Lab(checkpoint, analyses={analysis.request: analysis})
    about, trace = check_forms.format_request(analysis.request), analysis.trace
    texts = []
    if analysis.hypothesis is not None:
        texts.append(f"the translation of {about} is {check_forms.text(analysis.translation)}")
        label = check_forms.text(trace.predicted_axis.labels[step])
        probability = format_condition(float(trace.probabilities[step]))
        texts.append(f"step {step + 1} writes {label} with probability {probability} in {about}")
    for site, head, row in places:
        view, name = trace.view(site, head), check_forms.head(site, head)
        labels = (
            trace.outputs.labels
            if site.spec.query_side == "target" and trace.outputs
            else trace.axis(site.spec.query_side).labels
        )
        key = int(np.argmax(view.values[row]))
        query, to = check_forms.token(labels[row], labels, row), check_forms.token(view.keys[key], view.keys, key)
        texts.append(f"head {name} puts {format_condition(float(view.values[row, key]))} of {query} on {to} in {about}")
        entropy = metric_of(analysis, Head(site, head), "entropy")
        texts.append(f"head {name} has entropy {within(entropy)} in {about}")
    texts += [f"no later token leaks in {about}", f"no padding leaks in {about}"]
    return tuple(line for line in texts if _read(1, line).measure(lab).holds)
