"""Inside: three charts, the size of a model, and the length of a text."""

import dataclasses

import numpy as np
import pytest

from model.experiments.length_runs import Curve, Limits, Point, Run, fit, shipped_run
from model.inference.request import Request
from model.network.attention_methods import METHODS
from model.trace import Site
from tests.support.component_helpers import floats
from tests.support.viz_helpers import INSIDE, Lab, numbers, read, through_json
from viz import computations, theme
from viz.inside import length_part
from viz.inside.inside_figures import APART, lens_map, scaling_chart

MODES = ("light", "dark")
WIDTHS = (4, 8, 16)
DIVIDED, UNDIVIDED = np.array([1.0, 1.1, 0.9]), np.array([4.0, 8.0, 15.0])
HEADS = np.array([2.0, 3.0]), np.array([16.0, 24.0])


def scaling(chosen=1, mode="light", **more):
    return scaling_chart(WIDTHS, DIVIDED, UNDIVIDED, 8, HEADS, chosen, Site("cross", 0), mode, **more)


def traces(figure):
    return {trace["name"]: trace for trace in through_json(figure)["data"]}


@pytest.mark.parametrize("mode", MODES)
def test_lines_and_dots_stand_where_they_were_measured(mode):
    drawn = traces(scaling(mode=mode))
    for name, values in (("divided", DIVIDED), ("not divided", UNDIVIDED)):
        np.testing.assert_allclose(numbers(drawn[f"random, {name}"]["x"]), [2, 3, 4])
        np.testing.assert_allclose(numbers(drawn[f"random, {name}"]["y"]), values)
    for name, values, offset in (("divided", HEADS[0], -APART), ("not divided", HEADS[1], APART)):
        np.testing.assert_allclose(numbers(drawn[f"heads, {name}"]["x"]), 3 + offset)
        np.testing.assert_allclose(numbers(drawn[f"heads, {name}"]["y"]), values)
    assert drawn["heads, divided"]["marker"]["color"] == theme.HUES["cross"]
    assert drawn["heads, not divided"]["marker"]["color"] == theme.PALETTES[mode].page
    assert drawn["random, not divided"]["line"]["dash"] == "dash" != drawn["random, divided"]["line"]["dash"]


LAYERS, STEPS = ("embedding", "layer 1"), ("<s>", "la", "la")
PROBABILITY = np.array([[0.0, 0.5, 0.25], [0.125, 1.0, 0.75]])
RANK = np.array([[900, 1, 2], [3, 1, 1]])
SAYS = [["<b>x</b>", "la", "le"], ["un", "la", "la"]]


def lens(chosen=1, mode="light"):
    return lens_map(PROBABILITY, SAYS, RANK, LAYERS, STEPS, chosen, mode)


def test_a_column_is_a_step_and_a_row_a_layer():
    figure = lens()
    heat, cells = through_json(figure)["data"]
    np.testing.assert_allclose(numbers(heat["z"]), PROBABILITY)
    assert [(y, x) for x, y in zip(cells["x"], cells["y"], strict=True)] == [(i, j) for i in range(2) for j in range(3)]
    assert [read(text) for text in cells["text"]] == ["<b>x</b>", "la", "le", "un", "la", "la"]
    assert [text.startswith("<b>") for text in cells["text"]] == [False, True, False, False, True, True]
    assert "rank 900" in heat["hovertext"][0] and "probability 0.125" in heat["hovertext"][3]
    assert "likeliest: <b>x</b>" in read(heat["hovertext"][0])
    assert [read(text) for text in figure.layout.xaxis.ticktext] == list(STEPS)
    assert list(figure.layout.yaxis.ticktext) == list(LAYERS)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the embedding on top


def test_a_window_has_its_steps_alone():
    heat, cells = through_json(lens_map(PROBABILITY, SAYS, RANK, LAYERS, STEPS, 1, "light", (1, 3)))["data"]
    np.testing.assert_allclose(numbers(heat["z"]), PROBABILITY[:, 1:])
    assert heat["x0"] == 1 and cells["x"] == [1, 2, 1, 2] and len(heat["hovertext"]) == 4
    assert ["step 2" in text for text in heat["hovertext"]] == [True, False] * 2


def test_this_checkpoint_and_then_another_size():
    page = Lab(INSIDE, part="map", text="The dog sleeps.")
    (told,), tables = page.sentences("lab-answer"), page.text
    assert told == "This checkpoint: 9,421,824 parameters, 37.7 MB as float32; just as many as the loaded model holds."
    assert "9,421,824" in tables and "the embedding table again" in tables
    page.app_test.number_input(key="size_layers").set_value(2)
    (told,) = page.run().sentences("lab-answer")
    assert told.startswith("With these sizes: ") and page.link["size_n"] == "2"
    page.app_test.number_input(key="size_heads").set_value(7)
    (fault,) = page.run().sentences("lab-fault")
    assert fault == "7 heads cannot share a width d_model of 256; expected a multiple of 7, as 259."
    page.app_test.selectbox(key="size").set_value("gpt2-xl")
    (told,) = page.run().sentences("lab-answer")
    assert told.startswith("GPT-2 XL: 1,557,611,200 parameters, 6.23 GB as float32. Its authors say 1.56 billion")
    assert {"size": "gpt2-xl"}.items() <= page.link.items() and not {"size_n", "size_h"} & page.link.keys()
    page.app_test.number_input(key="size_layers").set_value(48)  # as it has them
    assert "size_n" not in page.run().link


SENTENCE = "The dog sleeps under the table."
ALL = tuple(METHODS.values())


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
    time, memory = page.charts
    maps = page._mounted(".file_maps")["maps"]
    for chart, what in ((time, "seconds"), (memory, "bytes")):
        for trace, (name, way) in zip(chart["data"], METHODS.items(), strict=True):
            assert trace["name"] == way.title
            np.testing.assert_allclose(numbers(trace["y"]), [getattr(p, what) for p in shipped_run().curves[name].points])
    growth, said = page.sentences("lab-answer")
    for way in ALL:
        assert f"T{fit(shipped_run().curves[way.name], 'seconds').power:.2f} ({way.title.lower()}" in growth
    found = computations.result(Request(SENTENCE), "auto", computations.OTHER_PATTERNS(Site("encoder", 1), 2))
    shown = [found.softmax, found.linear.values, found.window.values]
    for pattern, values in zip(maps, shown, strict=True):
        np.testing.assert_allclose(floats(pattern["values"]), values[2].ravel(), atol=1e-6)
    linear, window = (f"{other.head_distance(2):.0%}" for other in (found.linear, found.window))
    assert f"linear attention would put {linear} of the weight elsewhere than the softmax does (" in said
    assert f"; with a window of 2 it is {window};" in said
    assert any("a run that comes with the lab" in told for told in page.sentences("lab-note"))


def test_an_own_measurement_joins_the_stored_run(monkeypatch):
    few = [Point(n, 1e-3 * n, 100 * n, 0.0) for n in (64, 128, 256)]
    made = Run(3, "9.9", Limits(), {name: Curve(tuple(few), "total") for name in METHODS})
    started = []

    def heard(limits):
        started.append(limits)
        yield dataclasses.replace(made, curves={name: Curve() for name in METHODS})
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
