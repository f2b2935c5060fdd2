"""Continuations that say the same again are counted as that, and the card tells it."""

from __future__ import annotations

import pytest

from model.evaluation import continuations
from model.evaluation.continuations import ADDED, GIVEN, measure, repeated
from tests.support import tiny


def test_runs_that_have_stood_before_by_hand():
    assert repeated([1, 2, 3, 4, 5, 6]) == 0
    assert repeated([1, 1, 1, 1, 1, 1]) == pytest.approx(2 / 3)  # three runs, one of them new
    assert repeated([1, 2, 1, 2, 1], size=2) == pytest.approx(2 / 4)
    assert repeated([1, 2, 3]) == 0


def test_a_model_that_goes_in_circles_is_told_beside_its_text(tokenizer, monkeypatch):
    lab = tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0, tied_output=False)
    lab.model.projection.weight.data.zero_()  # every token is as likely: the first that may be chosen, for ever
    text = " ".join(source for source, _ in tiny.PAIRS)
    heard: list[int] = []
    found = measure(lab, [text, "Short.", text[40:]], 2, heard.append)
    assert (found["beginnings"], heard) == (2, [1, 1])
    ids = lab.target_tokenizer.encode(text)[GIVEN : GIVEN + ADDED]
    other = lab.target_tokenizer.encode(text[40:])[GIVEN : GIVEN + ADDED]
    assert found["repeated"]["text"] == pytest.approx((repeated(ids) + repeated(other)) / 2, abs=1e-4)
    assert found["ended"]["greedy"] == 1  # `</s>` is the first
    assert found["repeated"]["drawn"] < found["repeated"]["text"]
    with pytest.raises(ValueError, match=r"^the longest paragraph has \d+ tokens; expected one of 88 to go on with$"):
        measure(lab, ["Short."], 2)
    with pytest.raises(ValueError, match=r"^the continuations are 0; expected at least 1$"):
        measure(lab, [text], 0)
    monkeypatch.setattr(continuations, "GIVEN", 2)
    assert measure(lab, [text], 1)["given"] == 2
