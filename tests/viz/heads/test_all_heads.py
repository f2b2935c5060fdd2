"""What the view of all heads is given, and what is taken from it. Hovering and clicking are tested in a browser."""

from __future__ import annotations

import base64
import dataclasses
import json
import zlib

import numpy as np
import pytest
import tiny
from component_helpers import Mounted
from viz_helpers import ROOT

from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.contributions import value_norms
from model.readings.head_maps import MEASURES, measured
from model.readings.head_metrics import METRICS, Metric, head_metrics, order, orders
from model.trace import KINDS, Site
from viz import theme
from viz.heads.all_heads import READ_AS, chosen, grids, heads, payload, thumbnails
from viz.links import link, parse
from viz.view import View

TEXT = "The red fox takes a lamp."


@pytest.fixture
def read(tiny_checkpoint):
    """A trace and the norms of its values, under edits and padding where asked for."""

    def found(*codes: str, **more):
        analysis = analyse(tiny_checkpoint, Request(TEXT, intervention=tiny.edited(*codes), **more))
        return analysis.whole, value_norms(tiny_checkpoint, analysis)

    return found


def pictures(grid: dict) -> np.ndarray:
    allowed = np.array([cell == "1" for cell in grid["allowed"]]).reshape(grid["shape"])
    heads = np.zeros((len(grid["places"]), *grid["shape"]), dtype=np.uint8)
    packed = np.frombuffer((zlib.decompress if grid["deflated"] else bytes)(base64.b64decode(grid["bytes"])), dtype=np.uint8)
    heads[:, allowed] = packed.reshape(len(heads), -1)
    return heads


@pytest.mark.parametrize(
    ("by", "codes"), [*((by, ()) for by in orders()), ("position", ("causal-off",)), ("entropy", ("off_cross.1",))], ids=str
)
def test_every_thumbnail_is_the_pattern_of_the_head_that_it_names(read, by, codes):
    trace, _ = read(*codes)
    made = grids(trace, by, "light")
    assert [grid["kind"] for grid in made] == list(KINDS)
    for grid in made:
        count = grid["layers"] * grid["heads"]
        assert sorted(map(tuple, grid["places"])) == [
            (layer, head) for layer in range(1, grid["layers"] + 1) for head in range(1, grid["heads"] + 1)
        ]
        for picture, (layer, head) in zip(pictures(grid), grid["places"], strict=True):
            pattern = trace.patterns[Site(grid["kind"], layer - 1)][head - 1]
            np.testing.assert_allclose(picture / 255, pattern, atol=0.51 / 255)
        site = Site(grid["kind"], 0)
        assert (grid["queries"], grid["keys"]) == (list(trace.queries(site)), list(trace.keys(site)))
        assert {name: len(values) for name, values in grid["numbers"].items()} == dict.fromkeys(METRICS, count)


@pytest.mark.parametrize("by", orders())
def test_thumbnails_stand_in_the_order_asked_for_with_their_own_numbers(read, by):
    trace, _ = read()
    for grid in grids(trace, by, "light"):
        patterns = np.concatenate([trace.patterns[s] for s in sorted(trace.patterns) if s.kind == grid["kind"]])
        ranked = order(patterns, by)
        assert grid["places"] == [[n // grid["heads"] + 1, n % grid["heads"] + 1] for n in ranked]
        numbers = head_metrics(patterns, grid["keys"])
        for name, values in grid["numbers"].items():
            np.testing.assert_allclose(values, numbers[name][ranked], atol=0.51e-5)


def test_a_metric_that_is_registered_reaches_the_page_and_the_link(read, monkeypatch):
    """In one place: its number, its words, its order, the link; the script names no metric."""
    made = Metric("alone", "Alone", "What nobody else has", lambda rows: rows.weights.min(-1), "marks", 3, "most")
    monkeypatch.setitem(METRICS, made.name, made)
    trace, norms = read()
    *_, last = payload(trace, norms, View(kind="cross", layer=1, order="alone"), "light")["metrics"]
    assert last == {"name": "alone", "label": "Alone", "unit": "marks", "meaning": made.meaning, "digits": 3}
    for grid in thumbnails(trace, "alone", "light")["grids"]:
        assert grid["numbers"]["alone"] == sorted(grid["numbers"]["alone"], reverse=True)
    assert "alone" in orders()
    view, faults = parse({"order": "alone"})
    assert (view.order, faults, link(view)) == ("alone", (), {"order": "alone"})
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "viz" / "heads").glob("*.js"))
    assert not [metric.label for metric in METRICS.values() if metric.label in scripts]


def test_every_measure_has_its_words():
    assert set(READ_AS) == set(MEASURES)


def test_padded_queries_count_in_no_number(read):
    plain, padded = (grids(read(pad=pad)[0], "position", "light") for pad in (0, 3))
    for one, two in zip(plain, padded, strict=True):
        for name in METRICS:
            np.testing.assert_allclose(one["numbers"][name], two["numbers"][name], atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "head", "measure"),
    [(kind, (None, 2)[(k + m) % 2], measure) for k, kind in enumerate(KINDS) for m, measure in enumerate(MEASURES)],
)
def test_the_chosen_head_is_drawn_from_its_measure(read, kind, head, measure):
    trace, norms = read()
    view = View(kind=kind, layer=2, head=head, measure=measure, step=3, mass=50)
    data = chosen(trace, norms, view)
    site = Site(kind, 1)
    expected = measured(trace, norms, site, None if head is None else 1, measure)
    np.testing.assert_allclose(data["values"], expected, atol=0.51e-5)
    assert (data["kind"], data["layer"], data["head"], data["measure"]) == (kind, 2, head, measure)
    assert (data["queries"], data["keys"]) == (list(trace.queries(site)), list(trace.keys(site)))
    np.testing.assert_array_equal(np.array(data["allowed"]) == 1, trace.masks[site])
    assert data["row"] == (None if kind == "encoder" else 2)
    drawn = np.array(data["kept"]) == 1
    assert (np.array(data["values"])[drawn].sum() >= 0.5 * len(drawn) - 1e-3) and not drawn.all()


def test_words_can_be_merged_and_the_step_goes_with_its_word(read):
    trace, norms = read()
    for step, word in enumerate(trace.inputs.words, 1):
        data = chosen(trace, norms, View(kind="cross", layer=1, head=1, step=step, merge=True))
        assert trace.inputs.labels[step - 1] in data["queries"][data["row"]]
        assert len(data["queries"]) == len(set(trace.inputs.words)) == np.array(data["values"]).shape[0]
        assert list(dict.fromkeys(trace.inputs.words)).index(word) == data["row"]


def test_all_of_it_is_json(read):
    trace, norms = read()
    for mode in ("light", "dark"):
        data = payload(trace, norms, View(kind="decoder", layer=1, head=1), mode)
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert [grid["scale"] for grid in grids(trace, "position", mode)] == [
            list(theme.scale(kind, mode)) for kind in KINDS
        ]


def test_one_token_has_heads_too(tiny_checkpoint):
    analysis = analyse(tiny_checkpoint, Request("fox", target="lumel"))
    data = payload(analysis.trace, value_norms(tiny_checkpoint, analysis), View(kind="cross", layer=1), "light")
    assert json.loads(json.dumps(data, allow_nan=False)) == data


@pytest.fixture
def mounted(monkeypatch, read):
    """Mounts the view without a browser; gives what it told, and a way to report something as the browser does."""
    told, browser = [], Mounted(monkeypatch)
    trace, norms = read()
    data = payload(trace, norms, View(kind="cross", layer=1), "light")
    shown = thumbnails(trace, "position", "light")
    heads(
        shown, data, lambda *place: told.append(place), lambda *setting: told.append(setting), lambda: told.append("unfold")
    )

    def heard(name: str, value) -> list:
        told.clear()
        browser.report(name, value)
        return told

    return heard


def test_a_click_names_a_head(mounted):
    assert mounted("choose", {"kind": "cross", "layer": 2, "head": 1}) == [("cross", 2, 1)]
    assert mounted("choose", {"kind": "encoder", "layer": 1.0, "head": None}) == [("encoder", 1, None)]


@pytest.mark.parametrize(
    "junk",
    [
        None,
        "cross",
        {},
        {"kind": "cross"},
        {"kind": "other", "layer": 1, "head": 1},
        {"kind": "cross", "layer": 99, "head": 1},
        {"kind": "cross", "layer": 1, "head": 0},
        {"kind": "cross", "layer": "1", "head": 1},
    ],
    ids=str,
)
def test_what_names_no_head_is_ignored(mounted, junk):
    assert mounted("choose", junk) == []


def test_a_head_is_unfolded_when_that_is_asked_for(mounted):
    assert mounted("unfold", True) == ["unfold"]
    assert mounted("unfold", None) == []


def test_switches_are_told(mounted):
    assert mounted("set", {"merge": True}) == [("merge", True)]
    assert mounted("set", {"mass": 90}) == [("mass", 90)]
    assert mounted("set", {"mass": 900, "hide": "yes", "other": 1}) == []


def test_thumbnails_have_another_name_when_their_content_changes(read):
    trace, _ = read()
    names = {thumbnails(trace, by, mode)["id"] for by in orders() for mode in ("light", "dark")}
    assert thumbnails(trace, "position", "light")["id"] in names
    assert len(names) == 2 * len(orders())
    assert thumbnails(read(pad=3)[0], "position", "light")["id"] not in names


def test_the_mean_over_layers_is_that_of_all_heads(read):
    trace, norms = read()
    for kind in KINDS:
        data = chosen(trace, norms, View(kind=kind, average=True))
        assert (data["layer"], data["head"]) == (None, None)
        mean = np.mean([trace.patterns[site].mean(0) for site in trace.patterns if site.kind == kind], axis=0)
        np.testing.assert_allclose(data["values"], mean, atol=0.51e-5)


def test_the_three_readings_are_those_that_can_be_chosen(read):
    trace, norms = read()
    view = View(kind="cross", layer=2, head=1, merge=True)
    each = {measure: chosen(trace, norms, dataclasses.replace(view, measure=measure)) for measure in MEASURES}
    for data in each.values():
        for measure, other in each.items():
            np.testing.assert_allclose(data["readings"][measure], other["values"], atol=0.00501)


def test_all_three_hold_the_same_maps_as_each_alone(read):
    trace, norms = read()
    view = View(layer=2, head=1, merge=True, hide=True, together=True, step=3)
    data = payload(trace, norms, view, "light")["together"]
    for kind in KINDS:
        alone = chosen(trace, norms, dataclasses.replace(view, kind=kind))
        assert data["maps"][kind] == {name: alone[name] for name in ("values", "allowed", "kept")}
        assert data["source" if kind == "encoder" else "target"] == alone["queries"]
        assert kind == "encoder" or data["row"] == alone["row"]
    assert payload(trace, norms, dataclasses.replace(view, together=False), "light")["together"] is None
