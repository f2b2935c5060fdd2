"""Parts of the page Inside without a browser, and each part in lecture mode for every kind of model."""

import html
import re

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.edits.intervention import Intervention
from model.inference.request import Request
from model.io.numbers import probability
from model.readings.tokens.neighbours import nearest
from model.trace import ATTENTION_KINDS, Site
from tests.support import tiny
from tests.support.viz_helpers import INSIDE, Lab, numbers
from viz import cache, computations
from viz.classroom import lecture
from viz.inside import lens_part
from viz.state.page_fields import PARTS

SENTENCE = "The dog sleeps under the table."


def inside(part: str, **link: str) -> Lab:
    return Lab(INSIDE, **({"text": SENTENCE, "part": part} | link))


def series(chart, name):
    (found,) = (trace for trace in chart["data"] if trace.get("name") == name)
    return numbers(found["y"])


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_the_charts_hold_the_numbers_of_this_layers_heads(kind):
    page = inside("scale", kind=kind, layer="2", head="8")
    own = computations.result(Request(SENTENCE), "auto", computations.SCALING(Site(kind, 1)))
    random = computations.random_scaling(own.keys, 32)
    assert len(page.charts) == 3
    for chart, name in zip(page.charts, ("variance", "largest", "gradient"), strict=True):
        np.testing.assert_allclose(series(chart, "heads, divided"), getattr(own.divided, name))  # head 8 is the last anyway
        np.testing.assert_allclose(series(chart, "heads, not divided"), getattr(own.undivided, name))
        np.testing.assert_allclose(series(chart, "random, not divided"), getattr(random.undivided, name))
    (answer,) = page.sentences("lab-answer-line")
    before, after = (probability(n.largest[7]) for n in (own.divided, own.undivided))
    assert f".8: without the division, the largest weight goes from {before} to {after}" in answer
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


def of_lens(page):
    """The chart of the logit lens."""
    return page._mounted(".charts")["charts"][0]["figure"]


def test_the_last_row_is_what_the_model_says():
    page = inside("lens", step="3")
    analysis = cache.analyse(Request(SENTENCE), "auto")
    heat, cells = of_lens(page)["data"]
    values = numbers(heat["z"])
    assert values.shape == (5, len(analysis.trace.outputs))
    np.testing.assert_allclose(values[-1], analysis.trace.probabilities, atol=1e-5)
    last = [re.sub("</?b>", "", html.unescape(text)) for text in cells["text"][-len(analysis.trace.outputs) :]]
    assert last == list(analysis.trace.outputs.labels)
    text = re.sub(r"\s+", " ", page.text)
    assert f"Step 3, {analysis.trace.inputs.labels[2]} → {analysis.trace.outputs.labels[2]}" in text
    assert probability(analysis.trace.probabilities[2]) in text


def test_sublayer_rows_are_named_and_end_with_the_output():
    page = inside("lens", step="3").click("lens_rows sublayer")
    assert page.link["lens_rows"] == "sublayer"
    analysis = cache.analyse(Request(SENTENCE), "auto")
    chart = of_lens(page)
    values = numbers(chart["data"][0]["z"])
    assert values.shape == (13, len(analysis.trace.outputs))
    np.testing.assert_allclose(values[-1], analysis.trace.probabilities, atol=1e-5)
    parts = ("self-attention", "cross-attention", "feed-forward")
    names = [(n, part) for n in range(1, 5) for part in parts]
    assert chart["layout"]["yaxis"]["ticktext"] == ["embedding", *(f"{n} {part}" for n, part in names)]
    hovered = chart["data"][0]["hovertext"][:: values.shape[1]]
    full = ["embedding", *(f"layer {n}, after {part}" for n, part in names)]
    assert [text.partition(", step")[0] for text in hovered] == full
    assert all(f">{name}</th>" in "".join(page.html) for name in full)
    other = page.click("lens_rows layer")
    assert "lens_rows" not in other.link
    np.testing.assert_allclose(numbers(of_lens(other)["data"][0]["z"]), values[::3], atol=1e-6)


def test_key_changes_the_rows_of_the_large_lens():
    page = inside("lens", lecture="on", large="6")
    assert numbers(of_lens(page)["data"][0]["z"]).shape[0] == 5
    assert page.pressed(lecture.INNER.key).lens_rows == "sublayer"
    assert page.pressed(lecture.INNER.key, lecture.INNER.key).lens_rows == "layer"
    page.click("lens_rows sublayer")
    assert numbers(of_lens(page)["data"][0]["z"]).shape[0] == 13


NORM, PROJECTION = "the norm behind the last layer", "the projection"


@pytest.mark.parametrize(
    ("changes", "row", "said"),
    [
        ({}, "sub-layer", f"Read: the residual stream after the sub-layer. It goes through {NORM}, then {PROJECTION}."),
        (
            {"norm_first": False, "final_norm": False},
            "sub-layer",
            "Read: the residual stream after the sub-layer, behind its own norm. "
            f"It goes through {PROJECTION}, with no further norm.",
        ),
        (
            {"final_norm": False},
            "layer",
            f"Read: the residual stream after the layer. It goes through {PROJECTION}, with no further norm.",
        ),
        (
            {"norm_first": False},
            "layer",
            "Read: the residual stream after the layer, behind the last norm of that layer. "
            f"It goes through {NORM}, then {PROJECTION}.",
        ),
        (
            {"family": "encoder-only", "decoder_layers": 0, "output_transform": True},
            "layer",
            f"Read: the residual stream after the layer. It goes through {NORM}, then the output layer and {PROJECTION}.",
        ),
    ],
    ids=str,
)
def test_norms_behind_a_row_are_named(changes, row, said):
    assert lens_part.what_is_read(tiny.config(**changes), row) == said


def found(page: Lab) -> list[dict]:
    return page._mounted(".neighbours")["found"]


def test_the_default_word_is_the_predicted_token():
    page = inside("embeddings", step="2")
    loaded, trace = cache.checkpoint("en-fr", "auto"), cache.analyse(Request(SENTENCE), "auto").trace
    (token,) = found(page)
    assert token["label"] == loaded.target_tokenizer.piece(trace.outputs.ids[1]) and len(token["lists"]) == 2
    assert "predicted at step 2" in page.text


def test_a_word_its_neighbours_and_the_link():
    page = inside("embeddings")
    page.app_test.text_input(key="near word").set_value(" eat ")
    assert page.run().link["near"] == "eat"
    (shown,) = found(page)
    loaded = cache.checkpoint("en-fr", "auto")
    token = loaded.source_tokenizer.encode(" eat")[0]
    assert shown["label"] == "·eat"
    for each, expected in zip(shown["lists"], nearest(loaded, token, "source").values(), strict=True):
        assert [row["cosine"] for row in each["rows"]] == pytest.approx([n.cosine for n in expected], abs=1e-5)
        assert [row["token"][0] for row in each["rows"]] == [loaded.source_tokenizer.piece(n.id) for n in expected]
    page.app_test.text_input(key="near word").set_value("")
    assert "near" not in page.run().link


def test_a_word_of_several_tokens_offers_the_others():
    (shown,) = found(inside("embeddings", near="unconstitutionally"))
    tokenizer = cache.checkpoint("en-fr", "auto").source_tokenizer
    first, *others = map(tokenizer.piece, tokenizer.encode(" unconstitutionally"))
    assert shown["label"] == first and [label for label, _ in shown["others"]] == others[:8]
    for _, near in shown["others"][:2]:
        assert found(inside("embeddings", near=near))[0]["count"] == 1


@pytest.mark.parametrize("counted", [True, False])
def test_two_tables_have_a_list_each(home, tokenizer, counted):
    made, folder = tiny.checkpoint(tokenizer, joint_vocab=False), home.parent / f"two-tables-{counted}"
    checkpoints.save(made, folder)
    if not counted:
        (folder / "counts.json").unlink()
    page = inside("embeddings", checkpoint=folder.name, text="The red fox takes a lamp.", near="fox")
    assert not page.faults and "a table for each language" in page.text
    assert [(token["label"], len(token["lists"])) for token in found(page)] == [("·fox", 1)] * 2
    assert ("so none is left out" in page.text) is not counted
    one = inside("embeddings", checkpoint=folder.name, text="The red fox takes a lamp.")
    assert not one.faults and len(found(one)) == 1


COMPONENTS = ("stages", "writers", "tokens")


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_drawn_large(part):
    page = Lab(INSIDE, text=SENTENCE, lecture="on", part=part, kind="cross")
    assert not page.faults and not page.warnings
    assert "part" not in page.keys and [box.key for box in page.app_test.text_input] == ["source"]
    if part in COMPONENTS:
        assert getattr(page, part)["large"] is True
    assert Lab(INSIDE, text=SENTENCE, part="stages").stages["large"] is False


def test_the_button_shows_the_next_picture():
    page = Lab(INSIDE, text=SENTENCE, lecture="on", part="scale", large="3")
    assert page.click("next_picture").link["large"] == "4" and not page.charts
    page.click("next_picture")
    assert page.link["part"] == "length" and "large" not in page.link and len(page.charts) == 1
    page = Lab(INSIDE, text=SENTENCE, lecture="on", kind="cross")
    assert "kind" not in page.pick("kind", "encoder").link  # the default, which no link needs to name


@pytest.mark.parametrize(
    ("steps", "step", "seen"), [(3, 2, (0, 3)), (10, 9, (0, 10)), (16, 0, (0, 10)), (16, 12, (6, 16)), (31, 30, (21, 31))]
)
def test_the_lens_window_contains_the_step(steps, step, seen):
    first, end = lens_part.window(steps, step)
    assert (first, end) == seen and first <= step < end
