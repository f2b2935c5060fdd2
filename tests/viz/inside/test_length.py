"""The part Length of the page Inside, without a browser."""

from __future__ import annotations

import dataclasses
import html
import re

import numpy as np
import pytest

from model.experiments.length_runs import Curve, Limits, Point, Run, fit, stored
from model.inference.request import Request
from model.network.lengths import WAYS
from model.trace import Site
from tests.support.viz_helpers import INSIDE, Lab, numbers
from viz import readings
from viz.inside import length_part, length_texts
from viz.inside.length_figure import Line, length_chart

SENTENCE = "The dog sleeps under the table."
ALL = tuple(WAYS.values())


@pytest.fixture(autouse=True)
def unmeasured():
    """Nothing has been measured here before or after."""
    length_part._own.clear()
    yield
    length_part._own.clear()


def opened(**link: str) -> Lab:
    return Lab(INSIDE, **({"part": "length", "text": SENTENCE, "kind": "encoder", "layer": "2", "head": "3"} | link))


def plain(markup: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def test_the_stored_run_and_the_patterns_of_this_head():
    page = opened(near_w="2")
    time, memory, *maps = page.charts
    for chart, what in ((time, "seconds"), (memory, "bytes")):
        for trace, (name, way) in zip(chart["data"], WAYS.items(), strict=True):
            assert trace["name"] == way.title
            np.testing.assert_allclose(numbers(trace["y"]), [getattr(p, what) for p in stored().curves[name].points])
    growth, said = page.sentences("lab-answer")
    for way in ALL:
        assert f"T{fit(stored().curves[way.name], 'seconds').power:.2f} ({way.title.lower()}" in growth
    found = readings.other_patterns(Request(SENTENCE), "auto", Site("encoder", 1), 2)
    shown = [found.softmax, found.linear.values, found.window.values]
    for chart, values in zip(maps, shown, strict=True):
        np.testing.assert_allclose(numbers(chart["data"][0]["z"]), values[2], atol=1e-6)
    linear, window = (f"{other.of_head(2):.0%}" for other in (found.linear, found.window))
    assert f"linear attention would put {linear} of the weight elsewhere than the softmax does (" in said
    assert f"; with a window of 2 it is {window};" in said
    assert any("a run that comes with the lab" in told for told in page.sentences("lab-note"))


def test_cross_attention_has_no_window():
    page = opened(kind="cross")
    assert len(page.charts) == 4 and not page.at.slider
    assert "window of" not in page.sentences("lab-answer")[-1]


def test_a_wider_window_is_in_the_link():
    page = opened()
    page.at.slider(key="window width").set_value(32)
    assert page.run().link["near_w"] == "32"
    assert "; with a window of 32 it is 0%;" in page.sentences("lab-answer")[-1]


def test_what_is_measured_here_stands_before_the_stored_run(monkeypatch):
    few = [Point(n, 1e-3 * n, 100 * n, 0.0) for n in (64, 128, 256)]
    made = Run(3, "9.9", Limits(), {name: Curve(tuple(few), "total") for name in WAYS})
    started = []

    def heard(limits):
        started.append(limits)
        yield dataclasses.replace(made, curves={name: Curve() for name in WAYS})
        yield made

    monkeypatch.setattr(length_part.length_runs, "measure", heard)
    page = opened().click("measure lengths")
    assert started == [length_part.LIMITS] and length_part.own() == made
    page.run()
    names = [trace["name"] for trace in page.charts[0]["data"]]
    assert names == [*(f"{way.title}, stored" for way in ALL), *(way.title for way in ALL)]
    assert "T1.00 (explicit, 64 to 256)" in page.sentences("lab-answer")[0]
    assert any("measured here (3 cores, one of them used; torch 9.9)" in told for told in page.sentences("lab-note"))
    assert any("Linear ends at 256 tokens: the 90 s of the run were over." in told for told in page.sentences("lab-note"))


def test_a_measurement_that_fails_says_so(monkeypatch):
    def fails(limits):
        raise ValueError("The measurement ended before it had begun.")
        yield

    monkeypatch.setattr(length_part.length_runs, "measure", fails)
    page = opened().click("measure lengths")
    assert page.sentences("lab-fault") == ["The measurement ended before it had begun."] and length_part.own() is None


@pytest.mark.parametrize(
    ("stopped", "told"),
    [
        ("time", "Explicit ends at 64 tokens: twice as many would take about 8 s, and a point may take 5 s."),
        ("memory", "Explicit ends at 64 tokens: twice as many would take about 1.6 GB, and a point may take 1 GB."),
        ("total", "Explicit ends at 64 tokens: the 90 s of the run were over."),
        ("", ""),
    ],
)
def test_why_a_way_ends(stopped, told):
    curves = {"full": Curve((Point(64, 2.0, 400_000_000, 0.0),), stopped)}
    assert length_texts.stops(ALL[:1], Run(1, "2", Limits(bytes=10**9), curves)) == told


def test_departures_are_told_at_the_longest_text_that_all_have():
    off = {"full": 0.0, "fused": 3.2e-7, "window": 1.94, "linear": 0.706}
    curves = {name: Curve((Point(64, 1, 1, 0.5), Point(128, 1, 1, off[name]), Point(256, 1, 1, None))) for name in WAYS}
    assert length_texts.departures(ALL, Run(1, "2", Limits(), curves)) == (
        "Over 128 random tokens, fused differs from the explicit result by 3.2\xa0×\xa010⁻⁷ of its size: the same function, "
        "rounded otherwise. Sliding window by 1.9 times its size and linear by 71% of its size: other functions."
    )
    assert length_texts.departures(ALL, Run(1, "2", Limits(), {name: Curve() for name in WAYS})) == ""


def test_a_run_of_nothing_is_told_without_numbers():
    run = Run(1, "2", Limits(), {name: Curve((), "total") for name in WAYS})
    assert length_texts.growth(ALL, run) == ""
    assert "Explicit was not measured: the run was over." in length_texts.stops(ALL, run)
    assert plain(length_texts.ways_table(ALL, run)).count("–") == 8


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_chart_has_its_titles_apart(mode):
    lengths = (64, 128, 256)
    lines = [Line(f"way {n}", n, lengths, (1.0, 2.0, 4.0 + n / 100), ("", "", "")) for n in range(5)]
    figure = length_chart(lines, lengths, {1.0: "1", 10.0: "10"}, mode)
    places = sorted(each.y for each in figure.layout.annotations)
    low, high = figure.layout.yaxis.range
    assert min(np.diff(places)) >= (high - low) * 16 / 292
    with pytest.raises(ValueError, match="a line of 3 lengths, 2 values and 3 texts; expected as many of each"):
        length_chart([Line("a", 0, lengths, (1.0, 2.0), ("", "", ""))], lengths, {}, mode)
    assert length_chart([], lengths, {}, mode).data == ()
