"""Translate: lecture keys, the next step, and the way to a ready experiment."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest

from model.edits.intervention import Intervention
from model.experiments.effects import mask_effects
from model.experiments.ready_questions import EXPERIMENTS
from model.inference.analyse import analyse
from model.inference.predictions import largest_edited_change
from model.inference.request import Request
from tests.support.analyse_helpers import SHORT, TEXT, UNCAUSAL, UNPADDED
from tests.support.viz_helpers import Lab
from viz import pages
from viz.kit.site_texts import causal_reason, strongest_change
from viz.state.links import parse
from viz.state.view import View
from viz.translate import mask_charts


def keys(**link: str) -> dict[str, str]:
    """The keys of the page with a link, and what each says that it does."""
    listed = Lab(text="I am tired. It rains.", lecture="on", **link)._mounted(".frame_component")["keys"]
    return {name: does for name, does, *_ in listed}


def test_a_key_says_its_present_effect():
    plain, other = keys(), keys(large="2", causal="off", mode="again", rows="training", sentence="2")
    every, uncached = "the picture: steps, maps, cache, tree", "the picture: steps, maps, tree"
    assert (plain["v"], other["v"]) == (every, uncached)
    assert (plain["m"], other["m"]) == ("causal mask off", "causal mask on")
    assert (plain["s"], other["s"]) == ("sentence 2 of 2", "sentence 1 of 2")
    assert (plain["r"], other["r"]) == ("rows: input above output", "rows: as it writes")
    assert "t" in other and "t" not in plain
    lab = Lab(text="I am tired.", lecture="on", large="2", guess="first")
    assert lab.maps == []  # they would give the next tokens away
    assert lab.timeline["hall"]["steps"] is True and "v" not in keys(guess="first")


def test_the_cache_is_a_lecture_picture():
    for link in ({"large": "3"}, {"show": "cache"}):
        lab = Lab(text="I am tired.", lecture="on", step="3", **link)
        assert lab.timeline["hall"]["steps"] is False and lab._mounted("candidates") is None
        data = lab._mounted("key_values")
        assert (data["step"], data["trace"], data["large"]) == (3, lab.timeline["trace"], True)
    assert (lab.pressed("v").large, lab.pressed("v").show) == (4, "decoding")
    steps = Lab(text="I am tired.", lecture="on", show="attention")
    after = steps.pressed("v")
    assert (after.large, after.show) == (2, "attention")
    for link in ({"large": "3", "causal": "off", "mode": "again"}, {"show": "cache", "guess": "first"}):
        lab = Lab(text="I am tired.", lecture="on", **link)  # no cache, or it would give tokens away
        assert lab._mounted("key_values") is None and lab.timeline["hall"]["steps"] is True


@pytest.mark.parametrize("page", [page.name for page in pages.PAGES])
def test_the_next_step_of_a_page_can_be_taken(page):
    lab = Lab(None if page == "translate" else pages.find(page).file, text="I love you.")
    frame = next(c.proto for c in lab.app_test.get("bidi_component") if c.proto.component_name.endswith(".frame_component"))
    assert lab._mounted(".frame_component")["nextStep"]
    before = lab.view
    lab.report(frame, "next", True)
    assert not lab.faults and (lab.data.page != page or lab.view != before)


def test_the_question_carries_the_view():
    (asked,) = [known for known in EXPERIMENTS if known.name == mask_charts.QUESTION]
    view = View(source='A "quoted" <b>cat</b> & a dog.', step=2, intervention=Intervention(causal_mask=False))
    (href, shown) = re.search(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', mask_charts.question(view)).groups()
    address = urlsplit(html.unescape(href))
    found, faults = parse(dict(parse_qsl(address.query)))
    assert pages.find(address.path) and shown == asked.question and not faults
    assert (found.experiment, found.source, found.step) == (asked.name, view.source, 2)


def is_small(change: np.ndarray, total: float) -> bool:
    return np.abs(change).max() < 0.05 and abs(total) < 0.5


@pytest.mark.parametrize("mode", ["given", "again"])
@pytest.mark.parametrize("edit", [UNCAUSAL, UNPADDED, UNCAUSAL.with_edit("off_cross.1")], ids=str)
def test_the_sentence_beside_a_switch_is_measured(tiny_checkpoint, edit, mode):
    found = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, intervention=edit, mode=mode))
    told, change, base = largest_edited_change(found), found.probability_change, found.baseline
    moved = change.after - change.before[: len(change.after)]
    assert told.after - told.before == pytest.approx(moved[told.step]) and told.step == np.abs(moved).argmax()
    is_hardly = is_small(moved, found.log_prob - base.log_prob) and found.trace.outputs.ids == base.trace.outputs.ids
    assert strongest_change(found).startswith("Probabilities") == is_hardly and strongest_change(base) == ""
    effect = mask_effects(tiny_checkpoint, Request(TEXT, decoding=SHORT))["causal_mask"]
    moved = np.exp(effect.after) - np.exp(effect.before)
    why = "hardly" if is_small(moved, effect.change) else "worse, since" if effect.change < 0 else "better here"
    shown = mask_charts.causal_text(effect, View(intervention=edit, mode=mode), True, found)
    assert (f"{why} " in shown.rpartition("nats")[2]) == (not edit.causal_mask and mode == "given")
    assert [causal_reason(told, each).split()[0] for each in (-9, 9)] == ["worse,", "better"]
    assert "trained this way" not in mask_charts.causal_text(effect, View(intervention=edit, mode=mode), False, found)


def test_a_decoder_trained_without_the_mask_says_what_it_lacks():
    assert "relies on the tokens it must predict" in Lab(checkpoint="en-fr-peek", text="I love you.", show="mask").text
