"""Heads: the page, and its lecture."""

import json

import numpy as np
import pytest

from model.inference.analyse import analyse
from model.inference.predictions import NEAR_TIE_RATIO
from model.inference.request import Request
from model.readings.heads.head_maps import head_map
from model.readings.heads.head_metrics import METRICS, orders
from model.trace import Site
from tests.support import tiny
from tests.support.component_helpers import unpacked
from tests.support.viz_helpers import HEADS, Lab, made_session
from viz import cache, computations, page_context
from viz.classroom import lecture
from viz.heads import all_heads, grid_panel
from viz.state.view import View

SENTENCE = "The dog sleeps under the table."


def heads(**link: str) -> Lab:
    return Lab(HEADS, **({"text": SENTENCE} | link))


def analysed(**more):
    request = Request(SENTENCE, **more)
    return cache.analyse(request, "auto"), computations.result(request, "auto", computations.VALUE_NORMS())


def test_the_saved_table_has_the_numbers_of_the_page():
    view = View(source=SENTENCE)
    trace = analysed()[0].full_pass
    table = grid_panel._numbers(trace, view)
    for grid in all_heads.grids(trace, "light"):
        own = [row for row in table.rows if row[0] == grid["kind"]]
        for name in set(table.columns) & set(METRICS):
            values = [row[table.columns.index(name)] for row in own]
            if name in grid["numbers"]:
                assert values == pytest.approx(grid["numbers"][name], abs=1e-5)
            else:
                assert values == [None] * len(own)
        assert ("start" in grid["numbers"]) == (grid["kind"] == "decoder") == ("end" not in grid["numbers"])


def test_a_head_that_sees_nothing_has_no_number(tiny_checkpoint):
    size = len(analyse(tiny_checkpoint, Request("The red fox.")).trace.source)
    blocked = tiny.edited(*(f"block_enc.1.1_all-{key}" for key in range(1, size + 1)))
    trace = analyse(tiny_checkpoint, Request("The red fox.", intervention=blocked)).full_pass
    (grid,) = (each for each in all_heads.grids(trace, "light") if each["kind"] == "encoder")
    for name, values in grid["numbers"].items():
        assert values[0] is None and None not in values[1:], name
    assert json.dumps(grid["numbers"], allow_nan=False)
    table = grid_panel._numbers(trace, View())
    (row,) = (row for row in table.rows if row[:3] == ("encoder", 1, 1))
    assert set(row[3:]) == {None}


def test_orders_and_measures_are_in_the_link():
    page, (analysis, norms) = heads(kind="cross", layer="2", head="3", measure="contribution"), analysed()
    data = page.all_heads["chosen"]
    assert (data["kind"], data["layer"], data["head"]) == ("cross", 2, 3)
    expected = head_map(analysis.trace, norms, Site("cross", 1), 2, "contribution")
    np.testing.assert_array_equal(unpacked(data, "values"), expected.astype(np.float32))
    for order in orders(two=False)[1:]:
        assert setting(page, order=order).all_heads["order"] == page.link["order"] == order
    assert "order" not in setting(page, order="position").link
    assert setting(page, measure="rollout").all_heads["chosen"]["measure"] == page.link["measure"] == "rollout"


def setting(page: Lab, event: str = "set", **change: object) -> Lab:
    (proto,) = (c.proto for c in page.app_test.get("bidi_component") if c.proto.component_name.endswith(".all_heads"))
    return page.report(proto, event, change)


COMBINED = ("kind", "layer", "head", "average", "combine")  # parameters of what is shown


def test_several_heads_have_one_map():
    page, (analysis, _) = heads(kind="cross", layer="2", head="3"), analysed()
    shown = lambda: {name: page.link[name] for name in COMBINED if name in page.link}  # noqa: E731
    values = lambda: unpacked(page.all_heads["chosen"], "values")  # noqa: E731
    of_layer = analysis.trace.patterns[Site("cross", 1)]
    every = np.concatenate([analysis.trace.patterns[site] for site in analysis.trace.sites("cross")])
    setting(page, "combine", average="none", head=None, combine="max")
    assert shown() == {"kind": "cross", "layer": "2", "head": "mean", "combine": "max"}
    np.testing.assert_array_equal(values(), of_layer.max(0))
    setting(page, "combine", average="layers", combine="max")
    assert shown() == {"kind": "cross", "layer": "2", "head": "mean", "average": "layers", "combine": "max"}
    np.testing.assert_array_equal(values(), every.max(0))
    setting(page, "combine", average="none", head=None, combine="mean")
    assert shown() == {"kind": "cross", "layer": "2", "head": "mean"}
    np.testing.assert_allclose(values(), of_layer.mean(0), atol=1e-7)
    setting(page, "combine", average="head", head=4, combine="mean")
    assert shown() == {"kind": "cross", "layer": "2", "head": "4", "average": "head"}
    over_layers = np.stack([analysis.trace.patterns[site][3] for site in analysis.trace.sites("cross")])
    np.testing.assert_allclose(values(), over_layers.mean(0), atol=1e-7)
    setting(page, "combine", average="none", head=4, combine="mean")
    assert shown() == {"kind": "cross", "layer": "2", "head": "4"}
    np.testing.assert_array_equal(values(), of_layer[3])
    for wrong in ({"average": True, "combine": "max"}, {"average": "layers", "combine": "sum"}, {"combine": "max"}):
        assert setting(page, "combine", **wrong).link == page.link
    assert "combine" not in setting(page, "combine", average="layers", head=0, combine="max").link


def test_another_layer_keeps_the_maximum_and_a_head_ends_it(monkeypatch):
    for head, number, kept in ((None, None, "max"), (None, 2, "mean"), (2, None, "mean")):
        session = made_session(monkeypatch, view=View(kind="cross", layer=0, head=head, combine="max"))
        lecture._choose_head(1, number)
        assert (session.view.layer, session.view.head, session.view.combine) == (1, number, kept)


@pytest.mark.parametrize("link", [{"head": "mean"}, {"average": "layers"}])
def test_links_without_a_combination_show_the_mean(link):
    chosen, trace = heads(kind="cross", layer="2", **link).all_heads["chosen"], analysed()[0].trace
    sites = trace.sites("cross") if "average" in link else [Site("cross", 1)]
    np.testing.assert_allclose(
        unpacked(chosen, "values"), np.mean([trace.patterns[s].mean(0) for s in sites], axis=0), atol=1e-7
    )


def test_the_answer_counts_heads_by_their_place():
    few, numbers = {"places": [[1, 1]], "numbers": {"end": [0.4]}}, {"previous": [0.5, 0.9, None], "end": [0.2, 0.6, 0.4]}
    said = all_heads.answer([{"places": [[1, 1], [1, 2], [1, 3]], "numbers": numbers}, few])["text"]
    assert said == "Of 4 heads, 2 put at least half of their weight on the previous token, 1 on </s>."
    assert all_heads.answer([few])["text"].endswith(": at most 0.40, on </s>.")


def test_two_tokens_open_the_head_that_links_them_best():
    analysis, _ = analysed()
    weights = np.stack([analysis.trace.patterns[site][:, 2, 1] for site in analysis.trace.sites("cross")])  # [layers, H]
    layer, head = np.unravel_index(weights.argmax(), weights.shape)
    page = heads(find="cross_3_2", sites="all")
    chosen, best = page.all_heads["chosen"], (int(layer) + 1, int(head) + 1)
    assert (chosen["kind"], (chosen["layer"], chosen["head"])) == ("cross", best)
    assert (page.link["layer"], page.link["head"]) == tuple(map(str, best)) and "sites" not in page.link
    found = page.all_heads["find"]
    ordered = [found["weights"][n] for n in found["order"]]
    assert ordered == sorted(ordered, reverse=True)
    assert found["near"] == sum(ordered[0] < NEAR_TIE_RATIO * weight for weight in ordered[1:])
    for own in (View.layer, View.head), (best[0] % 4 + 1, best[1]):  # the link names even the first head, at its default
        page = heads(find="cross_3_2", kind="cross", layer=str(own[0]), head=str(own[1]))
        assert (page.all_heads["chosen"]["layer"], page.all_heads["chosen"]["head"]) == own
        assert (page.run().link["layer"], page.link["head"]) == tuple(map(str, own))


def test_an_ablated_head_contributes_nothing():
    off = {"kind": "cross", "measure": "contribution", "edits": "off_cross.2.3"}
    alone = heads(**off, layer="2", head="3").all_heads["chosen"]
    assert not unpacked(alone, "values").any()
    assert alone["readAs"].endswith("; this head is switched off and contributes nothing")
    mean = heads(**off, layer="2", head="mean").all_heads["chosen"]
    assert unpacked(mean, "values").any() and mean["readAs"].endswith("; 1 of 8 heads is switched off and counts 0")
    assert "switched" not in heads(**off, layer="3", head="3").all_heads["chosen"]["readAs"]


@pytest.mark.parametrize(
    ("link", "large", "sites"), [({}, 1, False), ({"large": "3", "sites": "all"}, 3, True), ({"large": "9"}, 1, False)]
)
def test_one_picture_is_large(link, large, sites):
    lab = heads(lecture="on", **link)
    assert (lab.all_heads["large"], lab.all_heads["sites"], lab.all_heads["together"]) == (large, sites, None)
    assert lab.faults == [] and [name for name, *_ in lab._mounted(".frame_component")["keys"]] == list("vknpowOmTMK")


def test_the_order_is_that_of_the_link():
    for link, first in (({"find": "encoder_2_3"}, "find"), ({"order": "entropy"}, "entropy"), ({}, "position")):
        lab = heads(lecture="on", **link)
        data, grid = lab.all_heads, lab.all_heads["grids"][0]
        ordered = grid_panel.ranked_heads(page_context.build(lab.view))
        order = data["find"]["order"] if first == "find" else grid["orders"][first]
        assert ordered == [tuple(each - 1 for each in grid["places"][n]) for n in order] and len(set(ordered)) == len(
            grid["places"]
        )
