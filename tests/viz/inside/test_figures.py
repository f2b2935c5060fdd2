"""The figures of three parts of the page Inside: what is drawn is what was computed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.inside.lens_figure import SHADE, lens_map, shaded
from viz.inside.neighbours_figure import neighbours_chart
from viz.inside.scaling_figure import APART, scaling_chart

MODES = ("light", "dark")


def contrast(one: str, two: str) -> float:
    """WCAG 2.2's ratio of two colours."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


# -- scaling -----------------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("chosen", [0, 1])
def test_the_chosen_head_is_joined_framed_and_on_top(chosen):
    drawn = traces(scaling(chosen))
    np.testing.assert_allclose(numbers(drawn["chosen"]["y"]), [HEADS[0][chosen], HEADS[1][chosen]])
    dots = drawn["heads, divided"]
    assert dots["marker"]["line"]["color"] == [theme.HUES["cross"], theme.PALETTES["light"].ink]
    assert numbers(dots["y"])[-1] == HEADS[0][chosen]
    assert dots["hovertext"][-1] == f"head {chosen + 1}, d_k 8, divided: {HEADS[0][chosen]:.4g}"


def test_for_the_mean_no_head_is_framed():
    drawn = traces(scaling(None))
    assert "chosen" not in drawn and set(drawn["heads, divided"]["marker"]["line"]["color"]) == {theme.HUES["cross"]}


def test_theory_is_dotted_and_all_is_within_the_axis():
    figure = scaling(theory=[(np.array([4.0, 8.0, 16.0]), "theory: d_k")], logarithmic=True)
    assert traces(figure)["theory: d_k"]["line"]["dash"] == "dot"
    low, high = figure.layout.yaxis.range
    assert figure.layout.yaxis.type == "log" and 10**low < 0.9 and 10**high > 24
    assert scaling().layout.yaxis.range[1] > 24
    assert list(figure.layout.xaxis.ticktext) == ["4", "8", "16"]


def test_heads_without_a_number_are_no_fault():
    empty = np.full(2, np.nan)
    figure = scaling_chart(WIDTHS, DIVIDED, UNDIVIDED, 8, (empty, empty), None, "decoder", "dark")
    assert np.isfinite(figure.layout.yaxis.range).all()


def test_lengths_that_differ_are_refused():
    with pytest.raises(ValueError, match="3 widths with lines of"):
        scaling_chart(WIDTHS, DIVIDED[:2], UNDIVIDED, 8, HEADS, None, "cross", "light")


# -- logit lens --------------------------------------------------------------------------------------------------------

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


def test_repeated_steps_stay_apart_and_control_tokens_are_seen():
    figure = lens()
    assert [read(text) for text in figure.layout.xaxis.ticktext] == list(STEPS)
    assert list(figure.layout.yaxis.ticktext) == list(LAYERS)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the embedding on top


@pytest.mark.parametrize("chosen", [0, 2])
def test_the_chosen_step_is_outlined(chosen):
    figure = lens(chosen)
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (chosen - 0.5, chosen + 0.5, -0.5, 1.5)
    assert [text.startswith("<b>") for text in figure.layout.xaxis.ticktext] == [j == chosen for j in range(3)]


@pytest.mark.parametrize("mode", MODES)
def test_text_can_be_read_on_the_deepest_colour(mode):
    colours = [colour for _, colour in shaded(mode)]
    assert min(contrast(theme.PALETTES[mode].ink, colour) for colour in colours) >= 4.5
    assert (shaded(mode)[0], shaded(mode)[-1][0]) == ([0, theme.PALETTES[mode].page], 1)
    assert colours[-1] == theme.scale("decoder", mode, 101)[round(100 * SHADE[mode])]


@pytest.mark.parametrize(("steps", "written"), [(30, True), (40, False), (128, False)])
def test_where_no_token_fits_cells_are_read_on_hover(steps, written):
    values = np.zeros((2, steps))
    figure = lens_map(values, [["token"] * steps] * 2, values + 1, LAYERS, ["token"] * steps, 0, "light")
    assert (len(figure.data) == 3) is written
    assert len(figure.data[-1].hovertext) == 2 * steps
    if written:
        assert all(len(read(text)) < 5 and text.endswith("…</b>") for text in figure.data[1].text)


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a map of 2 x 3 with 2 layers and 2 steps"):
        lens_map(PROBABILITY, SAYS, RANK, LAYERS, STEPS[:2], 0, "light")


# -- neighbours --------------------------------------------------------------------------------------------------------


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


def test_charts_beside_one_another_can_have_one_scale():
    short, long = (neighbours_chart([label], np.ones(1), [""], "decoder", "light", 12) for label in ("a", "a" * 12))
    assert short.layout.margin.l == long.layout.margin.l
    assert neighbours_chart(["a"], np.ones(1), [""], "decoder", "light").layout.margin.l < short.layout.margin.l


def test_as_many_labels_as_cosines():
    with pytest.raises(ValueError, match="1 labels, 2 cosines and 1 notes"):
        neighbours_chart(["a"], np.ones(2), [""], "encoder", "light")
