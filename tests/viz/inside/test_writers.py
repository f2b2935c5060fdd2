"""The part "Why there?" of the page Inside: one score by who wrote it."""

import re

import numpy as np
import pytest

from model.inference.request import Request
from model.trace import Site
from tests.support.component_helpers import Mounted
from tests.support.viz_helpers import INSIDE, Lab, value
from viz import cache
from viz.inside.writers import SHOWN, leads_to, writers

SENTENCE = "The dog sleeps under the table."


def inside(**link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE, "part": "writers"} | link))


@pytest.mark.parametrize(
    "link", [{}, {"kind": "decoder", "step": "4", "layer": "4"}, {"kind": "cross", "step": "4"}], ids=str
)
def test_the_writers_add_up_to_the_score(link):
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


def test_the_default_key_has_the_largest_weight():
    page = inside(kind="cross", layer="3", head="2", step="3")
    pattern = cache.analyse(Request(SENTENCE), "auto").trace.patterns[Site("cross", 2)][1, 2]
    shown = page.writers
    assert shown["key"] == pattern.argmax() + 1
    assert [each["weight"] for each in shown["keys"]] == pytest.approx(pattern, abs=6e-4)
    other = inside(kind="cross", layer="3", head="2", step="3", key="2")
    assert other.writers["key"] == 2 and other.link["key"] == "2"
    assert "key" not in other.type("Birds sing.").link


def test_a_head_that_wrote_opens_at_its_token():
    at = (2, 3)
    assert leads_to(*at, "asks", "decoder", 2, 5) == {"kind": "decoder", "layer": 2, "head": 5, "step": 3, "key": 0}
    assert leads_to(*at, "answers", "encoder", 4, 1) == {"kind": "encoder", "layer": 4, "head": 1, "token": 4, "key": 0}
    own = leads_to(5, 2, "answers", "cross", 1, 1)
    assert own == {"kind": "cross", "layer": 1, "head": 1, "step": 3, "key": 0}


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
