"""What the candidates are given, and what is taken from them. Clicking is tested in a browser."""

import dataclasses

import numpy as np
import pytest
import torch

from model.config import PAD, START
from model.decoding.strategy import Decoding
from model.inference.analyse import analyse
from model.inference.analysis import Analysis
from model.inference.request import Request
from tests.support import tiny
from tests.support.component_helpers import Mounted
from viz.decoding_steps.candidates import SHOWN, events, payload
from viz.state import session

TEXT = "The red fox takes a lamp."
SHORT = Decoding(max_total_tokens=8)
DRAWN = Decoding("sample", max_total_tokens=8, seed=7)
UNLIKELY = "Né à l'été 🦉."
CONTROLS = [{"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.4}, {"temperature": 0.0, "top_k": 3, "top_p": 0.5}]
CONTROLS += [{}, {"top_p": 0.05}, {"temperature": 1.7, "top_k": 12, "top_p": 0.7}]


def asked(checkpoint, text: str = TEXT, **more) -> Analysis:
    return analyse(checkpoint, Request(text, **({"decoding": SHORT} | more)))


def given(checkpoint, analysis: Analysis, **controls):
    """Returns the payload, as if the tokens had been sampled with other controls."""
    decoding = Decoding("sample", **controls) if controls else SHORT
    request = dataclasses.replace(analysis.request, decoding=decoding)
    return payload(dataclasses.replace(analysis, request=request), checkpoint.target_tokenizer)


def logits_of(checkpoint, analysis: Analysis) -> np.ndarray:
    """What the network itself says, one step a row."""
    found = analysis.trace
    source, inputs = torch.tensor([found.source.ids]), torch.tensor([found.inputs.ids])
    return tiny.logits(checkpoint.model, source, inputs)[0].double().numpy()


def by_hand(logits: np.ndarray, temperature=1.0, top_k=0, top_p=1.0) -> dict[int, tuple[float, str]]:
    """Probability of being drawn and reason of the cut, for every token that may be chosen, likeliest first."""
    order = sorted(set(range(len(logits))) - {PAD, START}, key=lambda i: -logits[i])
    if temperature == 0:
        return {i: (1.0, "") if i == order[0] else (0.0, "t") for i in order}
    weight = {i: np.exp((logits[i] - logits[order[0]]) / temperature) for i in order}
    most = order[: top_k or None]
    whole, before, kept = sum(weight[i] for i in most), 0.0, []
    for i in most:
        if before >= top_p * whole:
            break
        kept.append(i)
        before += weight[i]
    reasons = {i: "" if i in kept else "p" if i in most else "k" for i in order}
    return {i: (weight[i] / before if i in kept else 0.0, reasons[i]) for i in order}


@pytest.mark.parametrize("controls", CONTROLS, ids=str)
def test_rows_while_sampling_by_hand(tiny_checkpoint, controls):
    analysis = asked(tiny_checkpoint, decoding=DRAWN)
    data = given(tiny_checkpoint, analysis, **({"temperature": 1.0} | controls))
    logits = logits_of(tiny_checkpoint, analysis)
    temperature = controls.get("temperature", 1.0)
    for step, rows in enumerate(data["rows"]):
        expected = by_hand(logits[step], **controls)
        assert [row[1] for row in rows] == list(expected)[:SHOWN]
        for piece, token, logit, scaled, probability, reason in [*rows, data["chosen"][step]]:
            assert piece == tiny_checkpoint.target_tokenizer.piece(token)
            assert logit == pytest.approx(logits[step, token], abs=0.52e-3)
            assert scaled == (pytest.approx(logits[step, token] / temperature, abs=0.55e-3) if temperature else None)
            assert (pytest.approx(probability, abs=1e-5), reason) == expected[token]
        assert data["kept"][step] == sum(not reason for _, reason in expected.values())


@pytest.mark.parametrize("more", [{}, {"target": UNLIKELY}, {"decoding": DRAWN}, {"extra_padding": 2}], ids=str)
def test_without_sampling_rows_are_the_softmax(tiny_checkpoint, more):
    analysis = asked(tiny_checkpoint, **more)
    data, logits = given(tiny_checkpoint, analysis), logits_of(tiny_checkpoint, analysis)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    shares_of_all = 0
    for step, rows in enumerate(data["rows"]):
        assert len(rows) == SHOWN
        for _, token, logit, scaled, probability, reason in [*rows, data["chosen"][step]]:
            assert probability == pytest.approx(shares[step, token], abs=1e-5)
            assert logit == scaled == pytest.approx(logits[step, token], abs=0.52e-3)
            assert reason == ""
        assert [row[4] for row in rows] == sorted((row[4] for row in rows), reverse=True)
        assert not {PAD, START} & {row[1] for row in rows}
        shares_of_all += shares[step, [PAD, START]].sum() > 1e-3
    assert shares_of_all  # what may never be chosen has a share that is not dealt out to the others
    assert data["sampling"] is False


def test_what_is_taken_from_the_browser(monkeypatch):
    browser, heard = Mounted(monkeypatch), []
    monkeypatch.setattr(session, "change", lambda **fields: heard.append(*fields.items()))
    handlers = (lambda *values, name=name: heard.append((name, *values)) for name in ("branch", "word", "reason"))
    browser.events = events({"rows": [[], []], "size": 100}, *handlers)
    refused = [("branch", {"step": 3, "token": 5}), ("branch", {"step": 1, "token": 100}), ("branch", {"step": 1})]
    refused += [("word", {"step": 3, "text": "a"}), ("word", {"step": 1, "text": 5}), ("reason", {"step": 2, "token": 100})]
    for name, value in refused:
        browser.report(name, value)
        assert heard == [], value
    for name, value in (("branch", {"step": 2, "token": 99}), ("reason", {"step": 2, "token": 99})):
        browser.report(name, value)
    for value in ({"step": 2, "text": "<b>"}, {"step": 1, "text": ""}):
        browser.report("word", value)
    for value in (True, None):
        browser.report("guess", value)
    assert heard[:4] == [("branch", 1, 99), ("reason", 1, 99), ("word", 1, "<b>"), ("word", 0, "")]
    assert heard[4:] == [("guess", True), ("guess", False)]
