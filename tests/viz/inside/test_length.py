"""The part Length of the page Inside, without a browser."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.experiments.length_runs import Curve, Limits, Point, Run, fit, stored
from model.inference.request import Request
from model.network.lengths import WAYS
from model.trace import Site
from tests.support.viz_helpers import INSIDE, Lab, numbers
from viz import readings
from viz.inside import length_part

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


def test_an_own_measurement_joins_the_stored_run(monkeypatch):
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
