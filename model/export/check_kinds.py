"""Kinds of checks: the form of each, its meaning, and its measurement on a checkpoint. docs/checks.md lists them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from ..io.files import short_repr
from ..io.numbers import decimal
from ..readings.heads.head_metrics import Rows, metrics_of
from ..trace import SITE_KINDS, MapView, Site, Trace
from . import check_forms
from .check_forms import Amount, Head, LabelledToken, ScoreName

if TYPE_CHECKING:
    from ..checkpoint import Checkpoint
    from ..experiments.leak_report import LeakReport
    from ..inference.analysis import Analysis
    from ..inference.request import Request

MAX_CACHED = 32  # analyses, and leak reports: a file may have thousands of sentences
T = TypeVar("T")


class AbsentPartError(ValueError):
    """The checkpoint lacks a part that a check names. It lacks it in every sentence of a corpus."""


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


@dataclass(frozen=True)
class CheckResult:
    """Result of a check: `holds`, the measured numbers in words, and the check itself as its line."""

    holds: bool
    description: str
    value: float | None = None  # the measured number, or the share of the sentences
    sentences: int | None = None  # of a corpus: those that have the parts of the check
    interval: tuple[float, float] | None = None  # of the share, 95%
    check: str = ""  # the line

    def __str__(self) -> str:
        """Returns whether the check holds, its line, and what was measured."""
        return f"{'holds' if self.holds else 'FAILS'}: {self.check} (measured: {self.description})"


@dataclass(frozen=True)
class CheckKind:
    """A kind of check. `measure` may raise ValueError where the checkpoint lacks the part: then the check fails."""

    name: str
    form: str
    meaning: str
    example: str
    measure: Callable[..., CheckResult]


def _number(amount: Amount, value: float, what: str = "") -> CheckResult:
    if math.isnan(value):
        raise ValueError("the measured value is no number")
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
    """Returns the map of a head. Raises AbsentPartError, with the heads that exist, for another one."""
    site, number = head
    name, what = check_forms.head(site, number), site.spec.name
    if not (layers := len(trace.sites(site.kind))):
        kinds = ", ".join(f"{SITE_KINDS[kind].name} ({SITE_KINDS[kind].code})" for kind in trace.kinds)
        raise AbsentPartError(f"there is no {name}: this model has no {what}; name a head of {kinds}")
    heads = len(trace.patterns[Site(site.kind, 0)])
    if site.layer >= layers or (number or 0) >= heads:
        last = check_forms.head(Site(site.kind, layers - 1), heads - 1)
        has = f"{layers} layers of {what} with {heads} heads each"
        raise AbsentPartError(f"there is no {name}: this model has {has}; name one of {site.spec.code}.1.1 to {last}")
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


def _effect(lab: Lab, head: Head, score: ScoreName, amount: Amount, request: Request) -> CheckResult:
    from ..edits.intervention import Intervention
    from ..experiments.effects import effects

    _view(lab.analyse(request).trace, head)  # raises ValueError for an unknown head
    scored = None if score == "default" else score
    (effect,) = effects(lab.checkpoint, request, [Intervention().off(*head)], score=scored)
    return _number(amount, effect.change, " nats")


def _later(lab: Lab, request: Request) -> CheckResult:
    report = lab.leaks(request)
    if not report.shift_by_changed_token.size:
        raise AbsentPartError("this model has no decoder, so there is no later token")
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
        raise AbsentPartError("this model has no encoder, so there is no padding")
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
            'head enc.2.1 has entropy 0.42 within 0.05 in "The fox sleeps."',
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


def table() -> str:
    """Returns the table of docs/checks.md."""
    rows = [f"| `{kind.form}` | {kind.meaning} | `{kind.example}` |" for kind in KINDS.values()]
    return "\n".join(["| form | condition | example |", "|---|---|---|", *rows])
