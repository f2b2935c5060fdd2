"""What if: the switchboard, the ready experiments, the leak test, and the baseline."""

import json

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.edits.kinds import Ablate, BlockCells, Place, parse
from model.experiments.effects import HeadEffect, head_effects
from model.experiments.ready_questions import EXPERIMENTS, PADS
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Site
from tests.support import tiny
from tests.support.viz_helpers import WHAT_IF, Lab
from viz import computations
from viz.what_if.edit_controls import NAMES
from viz.what_if.switchboard import blocked, grids, payload

SENTENCE = "The dog bites the man."


def what_if(**link: str) -> Lab:
    return Lab(WHAT_IF, **({"text": SENTENCE} | link))


def leaks(lab: Lab) -> list[str]:
    return [text for kind in ("lab-note", "lab-note warn") for text in lab.sentences(kind) if "eak: " in text]


def test_the_leak_test_finds_leaks_without_either_mask():
    lab = what_if(edits="causal-off")
    assert leaks(lab) == []
    lab.switch("leak test", True)
    report = computations.leak_test(Request(SENTENCE, intervention=tiny.edited("causal-off")), "auto")
    (warned,) = [text for text in lab.warnings if text.startswith("Leak:")]
    assert len(leaks(lab)) == 2
    assert any(text.startswith("Cache: not measured, without a causal mask") for text in lab.sentences("lab-note"))
    layer, j, i = min(report.leaks)
    moved = f"“{report.labels[j]}” (token {j + 1}) moves “{report.labels[i]}” (token {i + 1}) at decoder layer {layer + 1}"
    assert f"Leak: {len(report.leaks)} times" in warned and moved in warned
    (table,) = [text for text in lab.html if "<table>" in text]
    assert table.count('class="bad"') == len({(j, i) for _, j, i in report.leaks})
    lab.click("edit causal-off")
    assert [text[:8] for text in leaks(lab)] == ["No leak:", "No leak:"]
    assert f"Cache: all {len(report.labels)} steps equal one full pass, up to rounding." in lab.sentences("lab-note")
    assert "Padded batch: a longer sentence moves no real token." in lab.sentences("lab-note")
    assert not any('class="bad"' in text for text in lab.html)
    assert lab.link == {"text": SENTENCE}
    lab = what_if(edits="padding-off").switch("leak test", True)
    report = computations.leak_test(Request(SENTENCE, intervention=tiny.edited("padding-off")), "auto")
    (warned,) = [text for text in lab.warnings if text.startswith("Leak:")]
    stack, layer, _ = report.padding_leaks[0]
    places = len({(name, i) for name, _, i in report.padding_leaks})
    assert f"padding moves {places} real tokens, first at {stack} layer {layer + 1}" in warned
    assert any(text.startswith("Padded batch: a longer sentence moves") for text in lab.warnings)


def test_a_question_shows_its_request_and_answer():
    lab = what_if().click("try padding")
    (known,) = [e for e in EXPERIMENTS if e.name == "padding"]
    expected = computations.answer("padding", Request(known.sentence_in("English")), "auto").text
    said = f"This question uses the sentence “{known.sentence_in('English')}”; yours comes back afterwards."
    assert lab.answers() == [f"{known.question} {expected} {said}"]
    shown = {"padmask": "off", "pad": str(PADS), "mode": "again"}
    assert lab.link == {"text": known.sentence_in("English"), "own": SENTENCE, "try": "padding", **shown}
    there = what_if(**lab.link)
    typed = said.replace("yours comes", "the sentence that was typed comes")  # whoever has typed it
    assert there.answers() == [f"{known.question} {expected} {typed}"]
    plain = what_if(**{name: value for name, value in lab.link.items() if name != "own"})
    assert plain.answers() == [f"{known.question} {expected}"] and "back to own" not in plain.buttons
    lab.click("edit padding-off")
    assert lab.answers() == []
    assert lab.link == {"text": known.sentence_in("English"), "own": SENTENCE, "pad": str(PADS), "mode": "again"}
    assert {f"try {e.name}" for e in EXPERIMENTS} <= set(lab.buttons)


def test_each_question_gives_the_own_sentence_back():
    lab = what_if(edits="off_cross.3.5", pad="2")
    made = lab.link
    for name in ("padding", "scaling"):  # the second is not asked of what the first has left
        (known,) = [e for e in EXPERIMENTS if e.name == name]
        lab.click(f"try {name}")
        assert lab.box == known.sentence_in("English")
        answer = computations.answer(name, Request(known.sentence_in("English")), "auto").text
        assert answer in lab.answers()[0]
    asked = lab.link
    assert lab.click("back to own").link == made | {"step": "3"}
    assert "back to own" not in lab.buttons
    (first,) = [e for e in EXPERIMENTS if e.name == "padding"]
    assert lab.click("undo").click("undo").link["text"] == first.sentence_in("English")
    assert lab.click("back to own").link == made | {"step": "3"}  # also from the first of the two, to which undo leads
    lab.click("try padding").click("try scaling").click("back to own")
    _, title, *_ = lab.grouped["undo"]  # in a row without a single edit it says what it takes back
    assert title.startswith(f"Brings back the sentence “{known.sentence_in('English')[:30]}")
    assert lab.click("undo").link == asked | {"step": "11"}
    lab.click("ask own")
    (said,) = lab.answers()
    assert computations.answer("scaling", Request(SENTENCE, extra_padding=2), "auto").text in said
    assert (lab.box, lab.link["edits"], lab.link["pad"]) == (SENTENCE, "scaling-off", "2")
    assert lab.click("try align").click("back to own").link == made | {"step": "3"}


def test_a_typed_text_survives_a_question():
    typed, (known,) = "My brother sold his old car.", [e for e in EXPERIMENTS if e.name == "padding"]
    lab = what_if(text=typed, **{"try": "order"})
    assert lab.box == typed and lab.link == {"text": typed, "try": "order"}  # asked of what was typed
    lab.click("try padding").click("try scaling")
    assert (lab.link["own"], lab.box != typed) == (typed, True)
    again = what_if(**lab.link)  # a link, or a page that is loaded anew, knows nothing else
    assert again.grouped["ask own"][0] == f"Ask it of the sentence that was typed, “{typed}”"
    assert again.grouped["back to own"][0] == "Back to the sentence that was typed"
    again.click("try padding")
    assert (again.link["own"], again.box) == (typed, known.sentence_in("English"))
    assert again.click("back to own").link == {"text": typed}
    assert lab.click("ask own").link["text"] == typed and "own" not in lab.link
    assert lab.click("try padding").link["own"] == typed
    assert lab.click("back to own").link == {"text": typed, "try": "order", "step": "3"}


TEXT = "The red fox takes a lamp."
SHORT = Decoding(max_total_tokens=6)
PLACES = [Place(kind, layer, head) for kind in NAMES for layer, head in ((None, None), (1, None), (0, 1), (1, 0))]


def asked(checkpoint, *codes: str, **more):
    return analyse(checkpoint, Request(TEXT, decoding=SHORT, intervention=tiny.edited(*codes), **more))


def given(checkpoint, place: Place, *codes: str, effects=(), mode="light", **more):
    """An analysis and the payload of one of its places."""
    found = asked(checkpoint, *codes, **more)
    return found, payload(found.full_pass, effects, place, found.request.intervention, mode)


def within(checkpoint, place: Place) -> list[tuple[Site, int]]:
    """The heads of a place, one by one."""
    sites = [s for s in tiny.sites(checkpoint.config) if s.kind == place.kind and place.layer in (None, s.layer)]
    return [(site, head) for site in sites for head in range(checkpoint.config.heads) if place.head in (None, head)]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.code)
@pytest.mark.parametrize("codes", [(), ("causal-off",), ("block_enc.2_3-2", "block_cross.2.1_1-all")], ids=str)
def test_values_are_the_mean_pattern_of_the_place(tiny_checkpoint, place, codes):
    analysis, data = given(tiny_checkpoint, place, *codes)
    heads = within(tiny_checkpoint, place)
    trace = analysis.full_pass
    expected = sum(trace.patterns[site][head].astype(float) for site, head in heads) / len(heads)
    np.testing.assert_allclose(data["values"], expected, rtol=0, atol=0.51e-4)
    site = heads[0][0]
    assert data["queries"] == list(trace.queries(site))
    assert data["keys"] == list(trace.keys(site))
    seen = np.any([trace.view(site, head if place.head is not None else None).allowed for site, head in heads], axis=0)
    np.testing.assert_array_equal(np.array(data["allowed"]) == 1, seen)
    assert json.loads(json.dumps(data, allow_nan=False)) == data


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.code)
def test_the_codes_that_clicks_report_name_the_place(tiny_checkpoint, place):
    _, data = given(tiny_checkpoint, place, effects=[HeadEffect(Site(place.kind, 1), 0, -1.0)])
    code, every = data["block"]["code"], data["block"]["every"]
    for query, key in ((2, 1), (None, 1), (2, None)):  # as switchboard.js puts them in
        said = (every if n is None else str(n + 1) for n in (query, key))
        assert parse(code.replace("{query}", next(said)).replace("{key}", next(said))) == BlockCells(place, query, key)
    codes = {grid["kind"]: grid["codes"] for grid in data["grids"]}
    assert parse(codes[place.kind][1][0]) == Ablate(Place(place.kind, 1, 0))


@pytest.mark.parametrize(
    ("name", "cells"), [("3-2", [(2, 1)]), ("3-all", [(2, j) for j in range(4)]), ("all-2", [(i, 1) for i in range(5)])]
)
@pytest.mark.parametrize(
    ("at", "place", "meets"),
    [
        ("enc", Place("encoder"), True),
        ("enc", Place("encoder", 1, 0), True),
        ("enc.2", Place("encoder"), True),
        ("enc.2", Place("encoder", 1), True),
        ("enc.2", Place("encoder", 0), False),
        ("enc.2.1", Place("encoder", 1), True),
        ("enc.2.1", Place("encoder", 1, 0), True),
        ("enc.2.1", Place("encoder", 1, 1), False),
        ("cross", Place("encoder"), False),
    ],
)
def test_blocked_cells_are_those_of_the_place(name, cells, at, place, meets):
    expected = np.zeros((5, 4), bool)
    for cell in cells if meets else []:
        expected[cell] = True
    np.testing.assert_array_equal(blocked((5, 4), place, tiny.edited(f"block_{at}_{name}")), expected)


def test_blocks_add_up():
    made = tiny.edited("block_dec_2-1", "block_dec.1_4-all", "block_dec_99-1", "row_dec_3-1", "off_dec.1")
    found = blocked((4, 4), Place("decoder"), made)
    assert np.argwhere(found).tolist() == [[1, 0], [3, 0], [3, 1], [3, 2], [3, 3]]
    assert not blocked((4, 4), Place("decoder"), BASELINE).any()


def test_grids_hold_what_every_head_costs(tokenizer):
    checkpoint = tiny.checkpoint(tokenizer, encoder_layers=3, heads=4)
    effects = head_effects(checkpoint, Request(TEXT, decoding=SHORT))
    found = grids(effects, BASELINE)
    assert [grid["name"] for grid in found] == list(NAMES.values())
    assert [grid["codes"][1][3] for grid in found] == ["off_enc.2.4", "off_dec.2.4", "off_cross.2.4"]
    assert [len(grid["changes"]) for grid in found] == [3, 2, 2]
    for effect in effects:
        grid = found[list(NAMES).index(effect.site.kind)]
        assert grid["changes"][effect.site.layer][effect.head] == pytest.approx(effect.change, abs=0.51e-4)
    assert not any(off for grid in found for row in grid["off"] for off in row)
    assert all(np.shape(grid["off"]) == np.shape(grid["changes"]) for grid in found)
    assert [grid["name"] for grid in grids([e for e in effects if e.site.kind == "cross"], BASELINE)] == [NAMES["cross"]]


@pytest.mark.parametrize(
    ("codes", "off"),
    [
        (("off_cross.2.1",), {("cross", 1, 0)}),
        (("mean_cross.2.1",), {("cross", 1, 0)}),
        (("off_enc.1",), {("encoder", 0, head) for head in range(3)}),
        (("off_dec",), {("decoder", layer, head) for layer in range(2) for head in range(3)}),
        (("off_enc.2.3", "mean_dec.1.2"), {("encoder", 1, 2), ("decoder", 0, 1)}),
        (("block_cross_1-1", "skip_dec.1.cross", "window-2"), set()),
    ],
)
def test_ablated_heads_are_marked(codes, off):
    effects = [HeadEffect(Site(kind, layer), head, 0.5) for kind in NAMES for layer in range(2) for head in range(3)]
    found = grids(effects, tiny.edited(*codes))
    for kind, grid in zip(NAMES, found, strict=True):
        assert {(kind, *map(int, place)) for place in np.argwhere(grid["off"])} == {each for each in off if each[0] == kind}
