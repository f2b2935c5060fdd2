"""The page Why: a choice taken apart, with its sum, and a head that is tested."""

from __future__ import annotations

import re

import numpy as np
import pytest
from viz_helpers import WHY, Lab

from viz import cache
from viz.why import texts


def why(**link: str) -> Lab:
    return Lab(WHY, **({"step": "11"} | link))


def data(lab: Lab) -> dict:
    return lab.sum


def test_the_parts_that_stand_there_add_up_to_the_difference_that_is_told():
    lab = why()
    shown = data(lab)
    assert sum(row["value"] for row in shown["rows"]) + shown["rest"][1] == pytest.approx(shown["total"], abs=2e-4)
    assert abs(float(shown["remainder"])) < 1e-4
    told = lab.sentences("lab-why")[0]
    assert f"{shown['total']:+.3f}" in told
    first, second = map(float, re.findall(r"0\.\d+", told)[:2])
    assert np.log(first / second) == pytest.approx(shown["total"], abs=0.01)
    heads = sum(np.sum(grid["values"]) for grid in shown["grids"])
    ways = sum(np.sum(sentence["values"]) for sentence in shown["tokens"])
    assert heads == pytest.approx(ways, abs=1e-3)


def test_the_rival_is_the_likeliest_other_token_unless_another_is_chosen_and_goes_with_its_step():
    lab = why()
    options = lab.at.selectbox(key="rival").options
    assert len(options) == 12 and lab.at.selectbox(key="rival").value not in (None, "")
    lab.at.selectbox(key="rival").select_index(3)
    other = lab.run().link["rival"]
    assert data(lab)["total"] > data(why())["total"]
    assert Lab(WHY, **lab.link).link["rival"] == other
    lab.at.select_slider(key="what if step").set_value(5)
    assert "rival" not in lab.run().link


def test_a_rival_that_is_none_is_told_and_the_likeliest_other_one_shown():
    plain = why()
    own = cache.analyse(plain.at.session_state["view"].request(), "auto").trace.outputs.ids[10]
    for rival, told in ((own, "is the token itself"), (999_999, "tokens up to 7999")):
        lab = why(rival=str(rival))
        assert data(lab)["total"] == data(plain)["total"]
        assert [told in sentence for sentence in lab.warnings] == [True]


def test_a_head_is_tested_by_switching_it_off():
    lab = why(kind="decoder", layer="4", head="1")
    told = next(text for text in lab.sentences("lab-note") if text.startswith("Decoder self-attention, layer 4, head 1"))
    wrote, way, without, change, after = (float(n.replace("−", "-")) for n in re.findall(r"[+−]\d+\.\d+", told))
    assert without == -wrote and abs(way) <= abs(wrote) + 1
    request = cache.page_data(lab.at.session_state["view"]).request
    assert request.mode == "given"
    assert after == pytest.approx(data(lab)["total"] + change, abs=2e-3)
    lab.click("why off")
    assert lab.link["edits"] == "off_dec.4.1"


def test_what_is_off_is_not_tested_again():
    lab = why(kind="decoder", layer="4", head="1", edits="off_dec.4.1")
    told = next(text for text in lab.sentences("lab-note") if text.startswith("Decoder self-attention, layer 4, head 1"))
    assert "wrote +0.000" in told and "switched off" not in told


@pytest.mark.parametrize(
    "link",
    [
        {"checkpoint": "en-fr-peek"},
        {"checkpoint": "en-fr-learned", "head": "1"},
        {"causal": "off", "mode": "again"},
        {"rival": "999999"},
        {"text": "I love you. She sleeps.", "step": "1"},
        {"decode": "beam", "head": "mean"},
        {"text": ""},
    ],
    ids=str,
)
def test_every_view_is_drawn(link):
    lab = why(**link)
    if link.get("text") == "":
        assert lab.faults
    else:
        assert abs(float(data(lab)["remainder"])) < 1e-4


@pytest.mark.parametrize(
    ("difference", "told"),
    [(0.0, "The first is 1.0 times"), (-2.3, "The second is 10.0 times"), (5.0, "The first is 148 times")],
)
def test_a_difference_is_odds(difference, told):
    assert texts._times(difference).startswith(told)
