"""Continuations that say the same again are counted as that, and the card tells it."""

from __future__ import annotations

import pytest

from model.evaluation import card_parts, continuations, text_card
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


def test_the_card_tells_the_curve_and_what_goes_wrong():
    found = [{"step": n, "dev_loss": 9 - n / 100, "bits_per_character": 3.0} for n in range(0, 500, 20)]
    curve = card_parts.validations({"validations": found, "dev": found[-1]})
    assert (
        curve.count("\n| ") == 1 + card_parts.CURVE
        and "| 0 | 9.000 |" in curve
        and "| 480 (kept) | 4.200 | 3.000 |" in curve
    )
    assert card_parts.validations({"validations": found[:1], "dev": found[0]}) == ""
    found = {"text": 0.01, "greedy": 0.8, "drawn": 0.05}
    told = text_card._continued(
        {
            "continuations": {
                "given": 24,
                "added": 64,
                "size": 4,
                "beginnings": 9,
                "repeated": found,
                "loops": found,
                "ended": found,
            }
        }
    )
    assert "| greedy | 80.0% | 80.0% | 80.0% |" in told[1] and "| the text itself | 1.0% | 1.0% | |" in told[1]
    assert text_card._continued({}) == []
