"""Why, the route of a choice: the sentence, the links, cuts by a click, and sentences with measured routes."""

import dataclasses
import re

import numpy as np
import pytest

from model.experiments import routes
from model.inference.request import Request
from model.io.numbers import probability, signed, three_digits
from tests.support.viz_helpers import WHAT_IF, WHY, Lab
from viz import cache, computations
from viz.state.view import without_edits
from viz.why.route_panel import READY

APPLE = READY[0]


def opened(**link: str) -> Lab:
    return Lab(WHY, **({"text": APPLE.text, "step": str(APPLE.step + 1)} | link))


def route_of(lab: Lab) -> routes.Route:
    """Returns the route of the visitor's step, of its token against the top other one."""
    request = without_edits(lab.view.request())
    row = cache.analyse(request, "auto").trace.log_probs[lab.view.step]
    token, rival = np.argsort(-row)[:2].tolist()
    return computations.result(request, "auto", computations.ROUTE(lab.view.step, token, rival))


def report(lab: Lab, event: str, value) -> Lab:
    (proto,) = [each.proto for each in lab.app_test.get("bidi_component") if each.proto.component_name.endswith(".route")]
    return lab.report(proto, event, value)


def test_the_page_opens_with_the_route():
    lab = opened()
    route, shown = route_of(lab), lab._mounted(".route")
    assert [link["effect"] for link in shown["links"]] == [pytest.approx(each.effect, abs=1e-5) for each in route.links]
    (told,) = lab.sentences("lab-why")
    near = [each for each in route.links if each.hop == 1 and each.effect < 0]
    assert all(f"(cut: {signed(each.effect)})" in told for each in near[:2])
    note = next(text for text in lab.sentences("lab-note") if text.startswith("Completeness"))
    assert [float(n.replace("−", "-")) for n in re.findall(r"−?\d\.\d\d(?!\d)", note)] == [
        pytest.approx(share, abs=0.006) for share in (route.completeness, route.faithfulness)
    ]
    assert "with all links cut, il leads" in note and "with these links alone, elle leads" in note
    assert note.endswith(f"Median of {route.tested - len(route.links)} other cuts: {three_digits(route.control)} logits.")
    assert not lab.sum and not lab.faults


def test_a_click_cuts_a_link_and_restores_it():
    lab = opened()
    cut = report(lab, "cut", 1)
    assert cut.link["edits"] == APPLE.cut and cut.link["mode"] == "again"
    assert cut._mounted(".route")["cuts"][0] and not any(cut._mounted(".route")["cuts"][1:])
    edited = cache.analyse(cut.view.request(), "auto")
    told = next(text for text in cut.sentences("lab-note lab-odds"))
    for text in (edited.baseline.translation, edited.translation):
        assert text in " ".join(cut.text.split()).replace(" '", "'") or text.split()[-2] in cut.text
    for analysis in (edited.baseline, edited):
        assert all(probability(float(np.exp(analysis.trace.log_probs[10][t]))) in told for t in route_ids(cut))
    assert Lab(WHAT_IF, **cut.link).edits.keys() == {APPLE.cut}
    assert "edits" not in report(cut, "cut", 1).link
    assert "edits" not in report(cut, "cut", 2).click("why restore").link


def route_ids(lab: Lab) -> tuple[int, int]:
    route = route_of(lab)
    return route.token, route.rival


def test_a_click_hides_a_token_from_every_token():
    lab = report(opened(edits="off_cross.3.5"), "hide", {"side": "source", "number": 7})
    assert set(lab.link["edits"].split("~")) == {"off_cross.3.5", "block_cross_all-7", "block_enc_all-7"}
    assert lab._mounted(".route")["hidden"] == {"source": [6], "target": []}
    assert lab.click("why restore").link["edits"] == "off_cross.3.5"  # other edits stay
    lab = report(lab, "hide", {"side": "target", "number": 2})
    assert "block_dec_all-2" in lab.link["edits"].split("~")


def test_the_route_stays_that_of_the_sentence_without_edits():
    plain, edited = opened(), opened(edits=APPLE.cut, mode="again")
    assert edited._mounted(".route")["links"] == plain._mounted(".route")["links"]
    assert edited.sentences("lab-why") == [f"Without edits: {text}" for text in plain.sentences("lab-why")]


def test_a_text_that_differs_before_the_step_is_kept():
    lab = opened(edits="block_cross_all-7~block_enc_all-7", mode="again")
    request = lab.view.request()
    assert cache.analyse(request, "auto").comparable_steps <= APPLE.step
    (told,) = lab.sentences("lab-note lab-odds")
    assert told.startswith("With the text before this step kept")
    kept = cache.analyse(dataclasses.replace(request, mode="given"), "auto")
    for analysis in (kept.baseline, kept):
        assert all(probability(float(np.exp(analysis.trace.log_probs[10][t]))) in told for t in route_ids(lab))


@pytest.mark.parametrize("each", READY, ids=[each.name for each in READY])
def test_the_cut_of_a_ready_sentence_flips_the_choice(each):
    lab = opened().click(f"ready {each.name}")
    assert (lab.box, lab.view.step) == (each.text, each.step) and not lab.faults
    route = route_of(lab)
    assert any(text.endswith(f": then {each.token} leads.") for text in lab.sentences("lab-note"))
    assert route.completeness > 0.6 and each.cut in {link.cell.cut().code for link in route.links if link.hop == 1}
    number = [link.cell.cut().code for link in route.links].index(each.cut)
    edited = cache.analyse(report(lab, "cut", number + 1).view.request(), "auto")
    assert edited.trace.outputs.labels[each.step] == each.token
    assert edited.trace.outputs.ids[each.step] == route.rival


def test_no_hint_where_the_cut_does_not_turn_the_choice():
    for lab in (opened(checkpoint="en-fr-learned"), opened(rival="9")):
        assert any(text.startswith("Click a link to cut it") for text in lab.sentences("lab-note"))
        assert not any("masculine" in text for text in lab.sentences("lab-note"))


def test_no_short_route_names_the_largest_parts():
    lab = opened(text="We got up early this morning.", step="4")
    assert not (route := route_of(lab)).explains
    (told,) = [text for text in lab.sentences("lab-note") if text.startswith("No short route")]
    assert f"{100 * route.completeness:.0f}% of the lead goes" in told and "speaks most for" in told


@pytest.mark.parametrize(
    ("checkpoint", "text"), [("bert-mini", "The ___ sleeps."), ("gpt-mini", "Once upon"), ("sentiment", "A warm film.")]
)
def test_relatives_have_routes_too(checkpoint, text):
    lab = Lab(WHY, checkpoint=checkpoint, text=text)
    shown = lab._mounted(".route")
    assert not lab.faults and shown["links"] and len(lab.sentences("lab-why")) == 1
    assert report(lab, "cut", 1).link["edits"].startswith("block_")


def test_a_near_tie_has_no_shares(monkeypatch):
    monkeypatch.setattr(routes, "NEAR_TIE", 99.0)
    request = Request(READY[1].text)
    assert cache.analyse(request, "auto").trace is not None
    lab = opened(text=READY[1].text, step="2", rival="9")
    assert "near-tie" in lab.sentences("lab-why")[0] and not any(
        "Completeness" in text for text in lab.sentences("lab-note")
    )
