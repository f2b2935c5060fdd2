"""The part "Why there?" of the page Inside: one score by who wrote it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from model.inference.request import Request
from model.trace import Site
from tests.support.component_helpers import Mounted
from tests.support.viz_helpers import INSIDE, Lab, value
from viz import cache
from viz.inside.writers import SHOWN, writers
from viz.inside.writers_part import leads_to
from viz.inside.writers_texts import missed

SENTENCE = "The dog sleeps under the table."


def inside(**link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE, "part": "writers"} | link))


@pytest.mark.parametrize(
    "link", [{}, {"kind": "decoder", "step": "4", "layer": "4"}, {"kind": "cross", "step": "4"}], ids=str
)
def test_what_stands_there_adds_up_to_the_score_that_is_told(link):
    page = inside(**link)
    shown = page.writers
    values = np.array(shown["values"])
    assert values.shape == (len(shown["rows"]), len(shown["columns"])) <= (SHOWN + 1, SHOWN + 1)
    assert values.sum() == pytest.approx(shown["score"], abs=1e-3)
    assert abs(value(shown["remainder"])) < 1e-4
    (told,) = page.sentences("lab-score")
    score, part = map(value, re.findall(r"[+−]?\d+\.\d\d", told)[:2])
    row, column = shown["largest"]
    assert (score, part) == pytest.approx((shown["score"], values[row, column]), abs=0.006)


def test_the_key_is_the_one_it_looks_at_most_unless_another_is_chosen():
    page = inside(kind="cross", layer="3", head="2", step="3")
    pattern = cache.analyse(Request(SENTENCE), "auto").trace.patterns[Site("cross", 2)][1, 2]
    shown = page.writers
    assert shown["key"] == pattern.argmax() + 1
    assert [each["weight"] for each in shown["keys"]] == pytest.approx(pattern, abs=6e-4)
    other = inside(kind="cross", layer="3", head="2", step="3", key="2")
    assert other.writers["key"] == 2 and other.link["key"] == "2"
    assert "key" not in other.type("Birds sing.").link


def test_a_writer_that_is_a_head_leads_to_it_at_the_token_where_it_wrote():
    """On the side that asks the query stays; on the side that answers the key becomes what asks."""
    at = (2, 3)
    assert leads_to(*at, "asks", "decoder", 2, 5) == {"kind": "decoder", "layer": 2, "head": 5, "step": 3, "key": 0}
    assert leads_to(*at, "answers", "encoder", 4, 1) == {"kind": "encoder", "layer": 4, "head": 1, "token": 4, "key": 0}
    own = leads_to(5, 2, "answers", "cross", 1, 1)
    assert own == {"kind": "cross", "layer": 1, "head": 1, "step": 3, "key": 0}


def test_a_token_that_the_mask_hides_has_a_score_and_is_told():
    page = inside(kind="decoder", layer="2", head="1", step="2", key="4")
    assert not page.writers["keys"][3]["seen"]
    assert any("The mask hides this token" in told for told in page.sentences("lab-note"))


def test_a_token_that_is_not_there_is_one_sentence():
    page = inside(key="99")
    assert len(page.warnings) == 1 and "There is no token 99 to look at: there are 9" in page.warnings[0]
    assert page.writers


def test_an_edit_of_the_scaling_is_told():
    assert any("leaves out the division by √dₖ" in told for told in inside(edits="scaling-off").sentences("lab-note"))
    assert not any("leaves out" in told for told in inside().sentences("lab-note"))


def test_what_no_writer_wrote_is_told():
    class Found:
        score, remainder = 2.0, 0.01

    assert "miss +0.01 of the score" in missed(Found)
    Found.remainder = -1e-6
    assert missed(Found) == ""


def test_only_what_can_have_been_clicked_is_heard(monkeypatch):
    data, heard = inside(kind="cross", step="4").writers, []
    mounted = Mounted(monkeypatch)
    writers(data, *[lambda *told: heard.append(told)] * 3)
    head = next(row["head"] for row in data["rows"] if row["head"])
    good = dict(zip(("kind", "layer", "head"), head, strict=True)) | {"side": "asks"}
    for bad in (None, 3, {}, good | {"side": "x"}, good | {"layer": 99}, good | {"kind": "enc"}):
        mounted.report("writer", bad)
    assert heard == []
    mounted.report("writer", good)
    mounted.report("key", len(data["keys"]) + 1)
    mounted.report("key", 1)
    assert heard == [(*head, "asks"), (1,)]
