"""Checks: findings as tests. A file has one check a line, which is measured on a checkpoint.

A kind of check is one entry of `KINDS`: its form, its meaning and its measurement. docs/checks.md lists them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..io.files import short_repr
from ..io.numbers import decimal, wilson_interval
from ..readings.heads.head_metrics import Rows, metrics_of
from ..trace import MapView, Site, Trace
from . import check_forms
from .check_forms import Amount, CorpusShare, FormError, Head, LabelledToken, format_condition, within

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from ..experiments.leak_report import LeakReport
    from ..inference.analysis import Analysis
    from ..inference.request import Request

MAX_CACHED = 32  # analyses, and leak reports: a file may have thousands of sentences
T = TypeVar("T")


@dataclass
class Lab:
    """A checkpoint with the results of the last checks."""

    checkpoint: Checkpoint
    sentences: Sequence[str] = ()  # of the checks of a corpus
    analyses: dict[Request, Analysis] = field(default_factory=dict)
    reports: dict[Request, LeakReport] = field(default_factory=dict)

    def analyse(self, request: Request) -> Analysis:
        from ..inference.analyse import analyse

        return _cached(self.analyses, request, lambda: analyse(self.checkpoint, request).without_scores())

    def leaks(self, request: Request) -> LeakReport:
        from ..experiments.leaks import leak_test

        return _cached(self.reports, request, lambda: leak_test(self.checkpoint, request, batch_and_cache=False))


def _cached(known: dict[Request, T], request: Request, make: Callable[[], T]) -> T:
    """Returns the cached result of a request, or computes it. Drops the result that was not used for longest."""
    result = known.pop(request) if request in known else make()
    known[request] = result
    if len(known) > MAX_CACHED:
        del known[next(iter(known))]
    return result


MAX_BYTES = 1 << 20  # of a file


@dataclass(frozen=True)
class CheckResult:
    """Result of a check: True where it holds, and the measured numbers in words."""

    holds: bool
    description: str
    value: float | None = None  # the measured number, or the share of the sentences
    sentences: int | None = None  # of a corpus: those that have the parts of the check
    interval: tuple[float, float] | None = None  # of the share, 95%


@dataclass(frozen=True)
class CheckKind:
    """A kind of check. `measure` may raise ValueError where the checkpoint lacks the part: then the check fails."""

    name: str
    form: str
    meaning: str
    example: str
    measure: Callable[..., CheckResult]


@dataclass(frozen=True)
class Check:
    """A line of a file, counted from 1, with its kind and fields."""

    number: int
    text: str
    kind: CheckKind
    values: dict[str, Any]

    def measure(self, lab: Lab) -> CheckResult:
        """Measures the check on a checkpoint."""
        try:
            if isinstance(wanted := self.values["request"], CorpusShare):
                return self._over_corpus(lab, wanted.share)
            return self.kind.measure(lab, **self.values)
        except ValueError as fault:
            return CheckResult(False, str(fault))

    def _over_corpus(self, lab: Lab, share: float) -> CheckResult:
        """Measures the check on each sentence of the lab; leaves out those that lack a token of it, or are too long."""
        from ..inference.request import Request

        if not lab.sentences:
            raise ValueError("this check needs sentences; give --data FILE")
        results = []
        for number, sentence in enumerate(lab.sentences, 1):
            try:
                results.append((number, self.kind.measure(lab, **self.values | {"request": Request(sentence)}).holds))
            except ValueError:
                continue
        if not results:
            raise ValueError(f"none of {len(lab.sentences)} sentences has the parts of this check")
        failing = [number for number, holds in results if not holds]
        count, total = len(results) - len(failing), len(results)
        low, high = wilson_interval(count, total)
        text = f"{count} of {total} sentences, {count / total:.1%} (95% interval {low:.1%} to {high:.1%})"
        text += f"; the first that fails is sentence {failing[0]}" if failing else ""
        return CheckResult(count >= share * total, text, count / total, total, (low, high))


def _number(amount: Amount, value: float, what: str = "") -> CheckResult:
    return CheckResult(amount.holds(value), f"{decimal(value, 4)}{what}", value)


def _weight(lab: Lab, head: Head, query: LabelledToken, key: LabelledToken, amount: Amount, request: Request) -> CheckResult:
    trace = lab.analyse(request).trace
    view = _view(trace, head)
    rows = (
        trace.outputs if head.site.spec.query_side == "target" and trace.outputs else trace.axis(head.site.spec.query_side)
    )
    row, column = _position_of(rows.labels, query), _position_of(view.keys, key)
    return _number(amount, float(view.values[row, column]))


def _view(trace: Trace, head: Head) -> MapView:
    """Returns the map of a head. Raises ValueError for an unknown head, numbered from 1."""
    site, number = head
    heads = len(trace.patterns[site]) if site in trace.patterns else 0
    if not heads or (number or 0) >= heads:
        has = f"{heads} heads" if heads else f"{len(trace.sites(site.kind))} layers"
        raise ValueError(f"there is no {check_forms.head(site, number)}; this model has {has} there")
    return trace.view(site, number)


def _position_of(labels: Sequence[str], token: LabelledToken) -> int:
    """Returns the position of a token. Raises ValueError where it is missing."""
    places = [place for place, label in enumerate(labels) if label == token.label]
    if len(places) < token.number:
        which = f", {token.number} times" if token.number > 1 else ""
        raise ValueError(f"there is no {short_repr(token.label)}{which} among {' '.join(labels)}")
    return places[token.number - 1]


def _metric(lab: Lab, head: Head, metric: str, amount: Amount, request: Request) -> CheckResult:
    value = metric_of(lab.analyse(request), head, metric)
    if math.isnan(value):
        raise ValueError(f"head {check_forms.head(*head)} has no {metric} here: no row has such a token")
    return _number(amount, value)


def metric_of(analysis: Analysis, head: Head, metric: str) -> float:
    """Returns a metric of one head on a sentence without padding; nan where no row has a value."""
    trace = analysis.trace
    view = _view(trace, head)
    real = [t for t, label in enumerate(trace.axis(head.site.spec.query_side).labels) if label != "<pad>"]
    return float(metrics_of(Rows.of(view.values[None], view.keys, real, view.allowed), (metric,))[metric][0])


def _translation(lab: Lab, request: Request, text: str) -> CheckResult:
    translation = lab.analyse(request).translation
    return CheckResult(translation == text, translation or "(nothing)")


def _probability(lab: Lab, step: int, text: str, amount: Amount, request: Request) -> CheckResult:
    trace = lab.analyse(request).trace
    if step >= len(trace.predicted_axis):
        raise ValueError(f"there is no step {step + 1}; there are {len(trace.predicted_axis)}")
    label, value = trace.predicted_axis.labels[step], float(trace.probabilities[step])
    return CheckResult(label == text and amount.holds(value), f"{decimal(value, 4)} of “{label}”", value)


def _effect(lab: Lab, head: Head, score: str, amount: Amount, request: Request) -> CheckResult:
    from ..edits.intervention import Intervention
    from ..experiments.effects import effects

    _view(lab.analyse(request).trace, head)  # raises ValueError for an unknown head
    score = None if score == "default" else score
    (effect,) = effects(lab.checkpoint, request, [Intervention().off(*head)], score=score)
    return _number(amount, effect.change, " nats")


def _later(lab: Lab, request: Request) -> CheckResult:
    report = lab.leaks(request)
    if not report.shift_by_changed_token.size:
        raise ValueError("this model has no decoder, so there is no later token")
    if not report.leaks:
        return CheckResult(
            True, f"nothing moves: {len(report.labels)} tokens changed, {len(report.shift_by_changed_token)} layers"
        )
    layer, changed, moved = min(report.leaks)
    far = report.shift_by_changed_token[layer, changed, moved]
    return CheckResult(
        False,
        f"{len(report.leaks)} earlier positions move; first: “{report.labels[changed]}” moves “{report.labels[moved]}” "
        f"at decoder layer {layer + 1}, by {far:.1%} of the largest entry",
    )


def _padding(lab: Lab, request: Request) -> CheckResult:
    report = lab.leaks(request)
    if not report.pads:
        raise ValueError("this model has no encoder, so there is no padding")
    if not report.padding_leaks:
        return CheckResult(True, f"nothing moves: {report.pads} padded positions changed")
    stack, layer, _ = report.padding_leaks[0]
    return CheckResult(False, f"{len(report.padding_leaks)} real positions move, first at {stack} layer {layer + 1}")


KINDS: dict[str, CheckKind] = {
    kind.name: kind
    for kind in (
        CheckKind(
            "effect",
            "head {head} off changes the log-probability of {score} by {amount} in {request}",
            "the change in nats, summed over `target`, `continuation`, `all` or `default` tokens (docs/given-tokens.md)",
            'head cross.3.5 off changes the log-probability of target by at most -0.1 in "The fox sleeps."',
            _effect,
        ),
        CheckKind(
            "weight",
            "head {head} puts {amount} of {query} on {key} in {request}",
            "the weight of a head on the second token, in the row that predicts the first (in the encoder: in its own row)",
            'head cross.3.2 puts at least 0.9 of "il" on "it" in "The fox sleeps because it is tired."',
            _weight,
        ),
        CheckKind(
            "metric",
            "head {head} has {metric} {amount} in {request}",
            "a metric of a head over a sentence, as on the page Heads",
            'head enc.2.1 has entropy 0.51 within 0.05 in "The fox sleeps."',
            _metric,
        ),
        CheckKind(
            "translation",
            "the translation of {request} is {text}",
            "the decoded text, exactly",
            'the translation of "I love you." is "Je t\'aime."',
            _translation,
        ),
        CheckKind(
            "probability",
            "step {step} writes {text} with probability {amount} in {request}",
            "the token of a step, and its probability",
            'step 1 writes "Je" with probability at least 0.8 in "I love you." with strategy="beam" width=4',
            _probability,
        ),
        CheckKind(
            "later",
            "no later token leaks in {request}",
            "the decoder: a changed input token must change no earlier position, at any layer",
            'no later token leaks in "The fox sleeps."',
            _later,
        ),
        CheckKind(
            "padding",
            "no padding leaks in {request}",
            "changed padding must change no real token, in the encoder or the decoder",
            'no padding leaks in "The fox sleeps."',
            _padding,
        ),
    )
}


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
    for kind in KINDS.values():
        try:
            return Check(number, line, kind, check_forms.read(kind.form, line))
        except FormError as fault:
            furthest = fault if fault.position > furthest.position else furthest
    if furthest.position == 0 or (furthest.position < 4 and not line.startswith("head")):
        raise FormError('one of the forms of docs/checks.md, such as “no later token leaks in "..."”', 0)
    raise furthest


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


def table() -> str:
    """Returns the table of docs/checks.md."""
    rows = [f"| `{kind.form}` | {kind.meaning} | `{kind.example}` |" for kind in KINDS.values()]
    return "\n".join(["| form | condition | example |", "|---|---|---|", *rows])
