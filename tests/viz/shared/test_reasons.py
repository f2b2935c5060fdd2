"""A text that explains a translation is backed by a measured edit."""

from __future__ import annotations

import re

import numpy as np
import pytest

from model.edits.intervention import Intervention
from model.experiments.ready import EXPERIMENTS
from model.inference.analyse import analyse
from model.inference.request import Request
from viz.lessons.lessons import LESSONS
from viz.shared.examples import examples
from viz.shared.reasons import Reason
from viz.talks import known

# Words of a claim about what the model goes by.
CLAIM = re.compile(
    r"\b(masculine|feminine|agrees?|knows? that|refers?|plural|alone|with “?\w+”? hidden|so it is|it is the)\b"
)
LEAST = 0.1  # of probability: an edit that changes less is no reason
TEXTS = [
    *((f"example {each.name}", each.sentence, each.lesson, each.reasons) for each in examples()),
    *((f"lesson {each.name}", each.view.source, f"{each.question} {each.task}", each.reasons) for each in LESSONS),
    *((f"question {each.name}", each.sentence_in("English"), each.question, ()) for each in EXPERIMENTS),
]
LINES = [(f"{name} {n}", stop) for name, talk in known.ready().items() for n, stop in enumerate(talk.stops, 1)]
GIVEN = [(name, source, text, reason) for name, source, text, reasons in TEXTS for reason in reasons]


def change(checkpoint, source: str, reason: Reason) -> list[float]:
    """Measures the probability of a token, without the edits and with them."""
    edits = Intervention()
    for code in reason.edits.split("~"):
        edits = edits.with_edit(code)
    found = analyse(checkpoint, Request(source, intervention=edits))
    step = found.baseline.trace.outputs.labels.index(reason.token)
    return [float(each.trace.probabilities[step]) for each in (found.baseline, found)]


@pytest.mark.parametrize(("name", "source", "text", "reasons"), TEXTS, ids=[name for name, *_ in TEXTS])
def test_a_text_with_a_claim_carries_what_was_measured(name, source, text, reasons):
    assert bool(reasons) >= bool(CLAIM.search(text))
    stated = {float(number) for number in re.findall(r"\d\.\d+", text)}
    measured = {value for each in reasons for value in (each.before, each.after)}
    assert stated <= measured


@pytest.mark.parametrize(("name", "stop"), LINES, ids=[name for name, _ in LINES])
def test_a_line_of_a_talk_claims_nothing_without_an_edit(name, stop):
    assert stop.view.intervention or not CLAIM.search(stop.line)


@pytest.mark.parametrize(("name", "source", "text", "reason"), GIVEN, ids=[f"{n} {r.edits[-12:]}" for n, _, _, r in GIVEN])
def test_a_reason_is_what_its_edit_changes(shipped, name, source, text, reason):
    np.testing.assert_allclose(change(shipped, source, reason), [reason.before, reason.after], atol=0.006)
    assert f"{reason.after:.2f}" in text or abs(reason.after - reason.before) >= LEAST
