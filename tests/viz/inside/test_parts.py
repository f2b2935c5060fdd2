"""Three parts of the page Inside without a browser: why sqrt(d_k), logit lens, embeddings."""

import html
import re

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.edits.intervention import Intervention
from model.inference.request import Request
from model.trace import ATTENTION_KINDS, Site
from tests.support import tiny
from tests.support.viz_helpers import INSIDE, Lab, numbers
from viz import cache, computations

SENTENCE = "The dog sleeps under the table."
TERM = re.compile(r"<dfn [^>]*>([^<]*)</dfn>")


def inside(part: str, **link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE, "part": part} | link))


def series(chart, name):
    (found,) = (trace for trace in chart["data"] if trace.get("name") == name)
    return numbers(found["y"])


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_the_charts_hold_the_numbers_of_this_layers_heads(kind):
    page = inside("scale", kind=kind, layer="2", head="8")
    own = computations.scaling(Request(SENTENCE), "auto", Site(kind, 1))
    random = computations.random_scaling(own.keys, 32)
    assert len(page.charts) == 3
    for chart, name in zip(page.charts, ("variance", "largest", "gradient"), strict=True):
        np.testing.assert_allclose(series(chart, "heads, divided"), getattr(own.divided, name))  # head 8 is the last anyway
        np.testing.assert_allclose(series(chart, "heads, not divided"), getattr(own.undivided, name))
        np.testing.assert_allclose(series(chart, "random, not divided"), getattr(random.undivided, name))
    (answer,) = page.sentences("lab-answer")
    before, after = (f"{n.largest[7]:.2f}" for n in (own.divided, own.undivided))
    assert f"head 8’s largest weight goes from {before} to {after}" in answer
    for name, norm in (("gradient", "Frobenius"), ("spectral", "spectral")):
        share = getattr(own.undivided, name)[7] / getattr(own.divided, name)[7]
        assert f"{share:.0%} of its {norm} norm" in answer


def test_the_scaling_can_be_switched_off():
    page = inside("scale").click("scaling off")
    assert (page.link["edits"], page.link["mode"]) == ("scaling-off", "again")
    asked = Request(SENTENCE, mode="again", intervention=Intervention(scaling=False))
    analysis = cache.analyse(asked, "auto")
    assert analysis.translation in re.sub(r"\s+", " ", page.text)
    assert "by the edit above" in page.text and "scaling off" not in page.buttons
    assert "edits" not in page.click("edit scaling-off").link


def test_the_last_row_is_what_the_model_says():
    page = inside("lens", step="3")
    analysis = cache.analyse(Request(SENTENCE), "auto")
    heat, cells, _ = page.charts[0]["data"]
    values = numbers(heat["z"])
    assert values.shape == (5, len(analysis.trace.outputs))
    np.testing.assert_allclose(values[-1], analysis.trace.probabilities, atol=1e-5)
    last = [re.sub("</?b>", "", html.unescape(text)) for text in cells["text"][-len(analysis.trace.outputs) :]]
    assert last == list(analysis.trace.outputs.labels)
    text = re.sub(r"\s+", " ", page.text)
    assert f"Step 3, {analysis.trace.inputs.labels[2]} → {analysis.trace.outputs.labels[2]}" in text
    assert f"{analysis.trace.probabilities[2]:.4f}" in text


def chosen(page: Lab) -> str:
    (found,) = re.findall(r'lab-chosen">(.*?)</span>', TERM.sub(r"\1", " ".join(page.html)))
    return html.unescape(found)


def labels(chart) -> list[str]:
    return [html.unescape(text) for text in chart["layout"]["yaxis"]["ticktext"]]


def test_the_default_word_is_the_predicted_token():
    page = inside("embeddings", step="2")
    loaded, trace = cache.checkpoint("en-fr", "auto"), cache.analyse(Request(SENTENCE), "auto").trace
    assert chosen(page) == loaded.target_tokenizer.piece(trace.outputs.ids[1])
    assert "predicted at step 2" in page.text
    assert len(page.charts) == 2


def test_a_word_its_neighbours_and_the_link():
    page = inside("embeddings")
    page.app_test.text_input(key="near word").set_value(" eat ")
    assert page.run().link["near"] == "eat" and chosen(page) == "·eat"
    token = cache.checkpoint("en-fr", "auto").source_tokenizer.encode(" eat")[0]
    found = computations.neighbours("en-fr", "auto", token, "source")
    for chart, side in zip(page.charts, ("source", "target"), strict=True):
        np.testing.assert_allclose(numbers(chart["data"][0]["x"]), [n.cosine for n in found[side]])
        tokenizer = cache.checkpoint("en-fr", "auto").source_tokenizer
        assert labels(chart) == [tokenizer.piece(n.id) for n in found[side]]
    page.app_test.text_input(key="near word").set_value("")
    assert "near" not in page.run().link


@pytest.mark.parametrize("counted", [True, False])
def test_two_tables_have_a_list_each(home, tokenizer, counted):
    made, folder = tiny.checkpoint(tokenizer, joint_vocab=False), home.parent / f"two-tables-{counted}"
    checkpoints.save(made, folder)
    if not counted:
        (folder / "counts.json").unlink()
    page = inside("embeddings", checkpoint=folder.name, text="The red fox takes a lamp.", near="fox")
    assert not page.faults and "a table for each language" in page.text
    shown = TERM.sub(r"\1", " ".join(page.html))
    names = [html.unescape(name) for name in re.findall(r'lab-chosen">(.*?)</span>', shown)]
    assert names == ["·fox", "·fox"] and len(page.charts) == 2
    assert ("so none is left out" in page.text) is not counted
    one = inside("embeddings", checkpoint=folder.name, text="The red fox takes a lamp.")
    assert not one.faults and len(one.charts) == 1
