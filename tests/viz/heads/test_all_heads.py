"""Data and events of the view of all heads. Hovering and clicking are tested in a browser."""

import base64
import dataclasses
import zlib

import numpy as np
import pytest

from model.inference.analyse import analyse
from model.inference.request import Request
from model.readings.heads.head_maps import MAP_READINGS, head_map
from model.readings.heads.head_metrics import METRICS, Metric, applicable_metrics, head_metrics, order, order_label, orders
from model.readings.tokens.token_attribution import value_norms
from model.text.route_heads import RouteHead, RouteHeads
from model.trace import ATTENTION_KINDS, Site
from tests.support import tiny
from tests.support.component_helpers import unpacked
from tests.support.viz_helpers import ROOT
from viz.heads.all_heads import chosen, grids, payload, thumbnail_data
from viz.state.links import link, parse
from viz.state.view import View

TEXT = "The red fox takes a lamp."


@pytest.fixture
def read(tiny_checkpoint):
    """A trace and the norms of its values, under edits and padding where asked for."""

    def trace_and_norms(*codes: str, **more):
        analysis = analyse(tiny_checkpoint, Request(TEXT, intervention=tiny.edited(*codes), **more))
        return analysis.full_pass, value_norms(tiny_checkpoint, analysis)

    return trace_and_norms


def pictures(grid: dict) -> np.ndarray:
    allowed = np.array([cell == "1" for cell in grid["allowed"]]).reshape(grid["shape"])
    heads = np.zeros((len(grid["places"]), *grid["shape"]), dtype=np.uint8)
    packed = np.frombuffer((zlib.decompress if grid["deflated"] else bytes)(base64.b64decode(grid["bytes"])), dtype=np.uint8)
    heads[:, allowed] = packed.reshape(len(heads), -1)
    return heads


@pytest.mark.parametrize("codes", [(), ("causal-off",), ("off_cross.1",)], ids=str)
def test_every_thumbnail_is_the_pattern_of_its_head(read, codes):
    trace, _ = read(*codes)
    made = grids(trace, "light")
    assert [grid["kind"] for grid in made] == list(ATTENTION_KINDS)
    for grid in made:
        count = grid["layers"] * grid["heads"]
        assert grid["places"] == [[n // grid["heads"] + 1, n % grid["heads"] + 1] for n in range(count)]
        for picture, (layer, head) in zip(pictures(grid), grid["places"], strict=True):
            pattern = trace.patterns[Site(grid["kind"], layer - 1)][head - 1]
            np.testing.assert_allclose(picture / 255, pattern, atol=0.51 / 255)
        site = Site(grid["kind"], 0)
        assert (grid["queries"], grid["keys"]) == (list(trace.queries(site)), list(trace.keys(site)))
        told = applicable_metrics(trace.masks[site], grid["keys"], site.spec.is_self)
        assert {name: len(values) for name, values in grid["numbers"].items()} == dict.fromkeys(told, count)


def test_each_site_has_its_own_numbers_and_orders(read):
    trace, _ = read()
    for grid in grids(trace, "light"):
        patterns = np.concatenate([trace.patterns[s] for s in sorted(trace.patterns) if s.kind == grid["kind"]])
        numbers = head_metrics(patterns, grid["keys"])
        for name, values in grid["numbers"].items():
            np.testing.assert_allclose(values, numbers[name], atol=0.51e-5)
        assert grid["orders"] == {by: order(patterns, by, grid["keys"]) for by in grid["orders"]}
        assert set(orders()) - set(grid["orders"]) == (set(orders()) & set(METRICS)) - set(grid["numbers"])
    found = {grid["kind"]: set(grid["orders"]) for grid in grids(read("causal-off")[0], "light")}
    assert "next" in found["decoder"] and "next" not in {g["kind"]: g["orders"] for g in grids(trace, "light")}["decoder"]


def test_the_weights_of_two_tokens_are_those_of_every_head(read):
    trace, norms = read()
    for kind, merge in ((kind, merge) for kind in ATTENTION_KINDS for merge in (False, True)):
        view = View(kind=kind, layer=1, head=0, step=0, merge=merge, find=(kind, 2, 1))
        found, data = (payload(trace, norms, view, "light")[name] for name in ("find", "chosen"))
        weight = found["weights"][data["head"] - 1 + (data["layer"] - 1) * 2]
        assert weight == pytest.approx(unpacked(data, "values")[tuple(found["cell"])], abs=1e-5)
        sides = [trace.axis(Site(kind, 0).spec.query_side), trace.axis(Site(kind, 0).spec.key_side)]
        for side, at, cell, name in zip(sides, (2, 1), found["cell"], ("queries", "keys"), strict=True):
            first = data["firsts"][name][cell]
            assert side.word_numbers[first] == side.word_numbers[at] if merge else first == at
    assert payload(trace, norms, View(step=0), "light")["find"] is None
    late = payload(trace, norms, View(layer=0, step=0, find=("cross", 0, 899)), "light")["find"]
    assert late == {"fault": f"The link asks for source token 900; there are {len(trace.source)}."}


def test_a_registered_metric_reaches_page_and_link(read, monkeypatch):
    made = Metric("alone", "Alone", "What nobody else has", lambda rows: rows.weights.min(-1), "marks", 3, "most")
    monkeypatch.setitem(METRICS, made.name, made)
    trace, norms = read()
    *_, last = payload(trace, norms, View(kind="cross", layer=0, step=0, order="alone"), "light")["metrics"]
    assert last == {name: getattr(made, name) for name in ("name", "label", "unit", "meaning", "digits", "order")}
    for grid in thumbnail_data(trace, "light")["grids"]:
        values = grid["numbers"]["alone"]
        assert [values[n] for n in grid["orders"]["alone"]] == sorted(values, reverse=True)
    assert order_label("alone") == "Alone, most first"
    assert "alone" in orders()
    view, faults = parse({"order": "alone"})
    assert (view.order, faults, link(view)) == ("alone", (), {"order": "alone"})
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "viz" / "heads").glob("*.js"))
    assert not [metric.label for metric in METRICS.values() if metric.label in scripts]


def test_padded_queries_count_in_no_number(read):
    plain, padded = (grids(read(extra_padding=pad)[0], "light") for pad in (0, 3))
    for one, two in zip(plain, padded, strict=True):
        assert one["numbers"].keys() == two["numbers"].keys()
        for name in one["numbers"]:
            np.testing.assert_allclose(one["numbers"][name], two["numbers"][name], atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "head", "measure"),
    [
        (kind, (None, 1)[(k + m) % 2], measure)
        for k, kind in enumerate(ATTENTION_KINDS)
        for m, measure in enumerate(MAP_READINGS)
    ],
)
def test_the_chosen_head_is_drawn_from_its_measure(read, kind, head, measure):
    trace, norms = read()
    view = View(kind=kind, layer=1, head=head, measure=measure, step=2, mass=50)
    data = chosen(trace, norms, view)
    site = Site(kind, 1)
    expected = head_map(trace, norms, site, None if head is None else 1, measure)
    np.testing.assert_array_equal(unpacked(data, "values"), expected.astype(np.float32))
    assert (data["kind"], data["layer"], data["head"], data["measure"]) == (kind, 2, head and head + 1, measure)
    assert (data["queries"], data["keys"]) == (list(trace.queries(site)), list(trace.keys(site)))
    np.testing.assert_array_equal(unpacked(data, "allowed"), trace.masks[site])
    assert data["row"] == (None if kind == "encoder" else 2)
    drawn = unpacked(data, "kept")
    assert (unpacked(data, "values")[drawn].sum() >= 0.5 * len(drawn) - 1e-3) and not drawn.all()


def test_merged_mean_and_joint_maps_are_those_of_the_trace(read):
    trace, norms = read()
    for step, word in enumerate(trace.inputs.word_numbers):
        data = chosen(trace, norms, View(kind="cross", layer=0, head=0, step=step, merge=True))
        assert trace.inputs.labels[step] in data["queries"][data["row"]]
        assert len(data["queries"]) == len(set(trace.inputs.word_numbers)) == data["shape"][0]
        assert list(dict.fromkeys(trace.inputs.word_numbers)).index(word) == data["row"]
    for kind in ATTENTION_KINDS:
        data = chosen(trace, norms, View(kind=kind, step=0, average="layers"))
        assert (data["layer"], data["head"]) == (None, None)
        mean = np.mean([trace.patterns[site].mean(0) for site in trace.patterns if site.kind == kind], axis=0)
        np.testing.assert_allclose(unpacked(data, "values"), mean, atol=1e-7)
    view = View(layer=1, head=0, merge=True, hide=True, together=True, step=2)
    data = payload(trace, norms, view, "light")["together"]
    for kind in ATTENTION_KINDS:
        alone = chosen(trace, norms, dataclasses.replace(view, kind=kind))
        assert data["maps"][kind] == {name: alone[name] for name in ("shape", "values", "allowed", "kept")}
        assert data["source" if kind == "encoder" else "target"] == alone["queries"]
        assert kind == "encoder" or data["row"] == alone["row"]
    assert payload(trace, norms, dataclasses.replace(view, together=False), "light")["together"] is None


@pytest.mark.parametrize("average", ["none", "head", "layers"])
@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_maximum_says_that_its_rows_do_not_sum_to_one(read, kind, average):
    trace, norms = read()
    view = View(kind=kind, layer=1, head=None if average == "none" else 1, average=average, combine="max", step=0)
    data, mean = chosen(trace, norms, view), chosen(trace, norms, dataclasses.replace(view, combine="mean"))
    sites, heads = trace.sites(kind) if average != "none" else [Site(kind, 1)], [1] if average == "head" else [0, 1]
    patterns = np.concatenate([trace.patterns[site][heads] for site in sites])
    np.testing.assert_array_equal(unpacked(data, "values"), patterns.max(0))
    np.testing.assert_allclose(unpacked(mean, "values"), patterns.mean(0), atol=1e-7)
    assert (unpacked(data, "values") >= unpacked(mean, "values") - 1e-7).all()
    assert data["readAs"] == f"weights; each cell: the largest of {len(patterns)} heads. Rows need not add up to 1"
    assert (data["combine"], data["term"], mean["combine"], mean["readAs"]) == ("max", None, "mean", "weights")
    assert mean["term"] == "attention weight"  # its explanation says that a row adds up to 1
    rolled = [chosen(trace, norms, dataclasses.replace(view, measure="rollout", combine=each)) for each in ("mean", "max")]
    assert rolled[0] == rolled[1] and rolled[0]["combine"] == "mean"


def test_maximum_of_one_head_is_that_head(read):
    trace, norms = read()
    one, other = (
        chosen(trace, norms, View(kind="cross", layer=1, head=1, step=0, combine=each)) for each in ("mean", "max")
    )
    assert one == other


def test_thumbnails_are_named_by_their_content(read):
    (trace, _), (padded, _) = read(), read(extra_padding=3)
    names = [
        thumbnail_data(*each)["id"] for each in ((trace, "light"), (trace, "light"), (trace, "dark"), (padded, "light"))
    ]
    assert names[0] == names[1] and len(set(names)) == 3


def test_heads_that_carry_routes_say_how_often(read):
    trace, _ = read()
    carried = [RouteHead("decoder", 0, 1, 1, 0.53, 0.46, 0.6), RouteHead("cross", 0, 0, 1, 0.1, 0.06, 0.15)]
    made = {
        grid["kind"]: grid["roles"] for grid in grids(trace, "light", None, RouteHeads(200, 5, 200, 1, "", tuple(carried)))
    }
    (name, meaning), *_ = made["decoder"][1]
    assert name == "carries the choice of a pronoun: 53% of 200 sentences" and "53% (46 to 60)" in meaning
    assert not any("carries" in role[0] for kind in ("encoder", "cross") for head in made[kind] for role in head)
