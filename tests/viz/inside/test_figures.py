"""The figures of three parts of the page Inside: what is drawn is what was computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.inside.lens_figure import lens_map
from viz.inside.neighbours_figure import neighbours_chart
from viz.inside.scaling_figure import APART, scaling_chart

MODES = ("light", "dark")


WIDTHS = (4, 8, 16)
DIVIDED, UNDIVIDED = np.array([1.0, 1.1, 0.9]), np.array([4.0, 8.0, 15.0])
HEADS = np.array([2.0, 3.0]), np.array([16.0, 24.0])


def scaling(chosen=1, mode="light", **more):
    return scaling_chart(WIDTHS, DIVIDED, UNDIVIDED, 8, HEADS, chosen, "cross", mode, **more)


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
    heat, cells, points = through_json(lens())["data"]
    np.testing.assert_allclose(numbers(heat["z"]), PROBABILITY)
    for trace in (cells, points):
        assert [(y, x) for x, y in zip(trace["x"], trace["y"], strict=True)] == [(i, j) for i in range(2) for j in range(3)]
    assert [read(text) for text in cells["text"]] == ["<b>x</b>", "la", "le", "un", "la", "la"]
    assert [text.startswith("<b>") for text in cells["text"]] == [False, True, False, False, True, True]
    assert "rank 900" in points["hovertext"][0] and "probability 0.12500" in points["hovertext"][3]
    assert "likeliest: <b>x</b>" in read(points["hovertext"][0])


def test_repeated_steps_stay_apart():
    figure = lens()
    assert [read(text) for text in figure.layout.xaxis.ticktext] == list(STEPS)
    assert list(figure.layout.yaxis.ticktext) == list(LAYERS)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the embedding on top


@pytest.mark.parametrize("mode", MODES)
def test_bars_are_cosines_the_first_on_top(mode):
    figure = neighbours_chart(["·eats", "<s>", "·eats"], np.array([0.75, 0.5, -0.25]), ["a", "<i>", "c"], "encoder", mode)
    (bars,) = through_json(figure)["data"]
    np.testing.assert_allclose(numbers(bars["x"]), [0.75, 0.5, -0.25])
    assert (bars["y"], bars["text"]) == ([0, 1, 2], ["0.75", "0.50", "−0.25"])
    assert [read(text) for text in figure.layout.yaxis.ticktext] == ["·eats", "<s>", "·eats"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    assert figure.layout.xaxis.range[0] < -0.25 and figure.layout.xaxis.range[1] == 1
    assert "<i>" in read(bars["hovertext"][1]) and "cosine 0.50000" in bars["hovertext"][1]
