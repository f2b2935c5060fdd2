"""Charts of one number per step, and figures of plain data: values and tokens as they are."""

import json

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.decoding_steps.surprise_figure import surprise_chart
from viz.kit.chart_figures import Drawing, change_chart, heatmap

LABELS = ("<s>", "owls", "owls", "<b>owl</b>")
BEFORE, AFTER = np.array([0.9, 0.2, 0.5, 0.999]), np.array([0.4, 0.6, 0.5, 0.001])
BITS = np.array([0.25, 7.5, 3.0, 0.0], dtype=np.float32)
EXPECTED = [None, ("<script>alert(1)</script>", 0.4375), ("&amp;", 0.5), None]


def draw(comparable: int = 4, mode: theme.Mode = "light", before=BEFORE, after=AFTER, **more):
    return change_chart(more.pop("labels", LABELS), before, after, comparable, mode, **more)


def dots(figure) -> tuple:
    """The hollow and the filled markers."""
    return tuple(trace for trace in figure.data if trace.mode == "markers")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_hollow_is_before_and_filled_is_after(mode):
    figure, palette = draw(mode=mode), theme.PALETTES[mode]
    hollow, filled = (numbers(trace["y"]) for trace in through_json(figure)["data"] if trace["mode"] == "markers")
    np.testing.assert_array_equal((hollow, filled), (BEFORE, AFTER))
    stems = {trace.line.color: list(trace.y)[:2] for trace in figure.data if trace.mode == "lines"}
    assert stems == {palette.loss: [0.9, 0.4], palette.gain: [0.2, 0.6]} and not figure.layout.shapes
    texts = [read(text.replace("<br>", "\n")) for text in dots(figure)[0].hovertext]
    assert texts[0] == "<s>\nbefore 0.900000\nafter 0.400000" and len(texts) == 4


@pytest.mark.parametrize("comparable", [0, 1, 3])
@pytest.mark.parametrize("length", [3, 4, 7])
def test_steps_that_cannot_be_compared_are_grey(comparable, length):
    figure = draw(comparable, after=np.resize(AFTER, length))
    for markers, values in zip(dots(figure), (BEFORE, AFTER), strict=True):
        np.testing.assert_array_equal(markers.y, values[:comparable])
    (grey,), (words,) = figure.layout.shapes, figure.layout.annotations
    assert (grey.x0, grey.x1) == (comparable - 0.5, 3.5) and "no comparison" in words.text


@pytest.mark.parametrize("chosen", [0, 2, 3, None, 4, 99])
def test_only_the_chosen_step_is_outlined(chosen):
    figure = draw(1, chosen=chosen)
    axis = figure.layout.xaxis
    assert [read(text) for text in axis.ticktext] == list(LABELS) and list(axis.tickvals) == [0, 1, 2, 3]
    assert [text.startswith("<b>") for text in axis.ticktext] == [i == chosen for i in range(4)]
    frames = [(shape.x0, shape.x1) for shape in figure.layout.shapes if shape.line.width]
    assert frames == ([(chosen - 0.5, chosen + 0.5)] if chosen in range(4) else [])


def test_bars_are_bits_under_their_tokens():
    figure = through_json(surprise_chart(LABELS, BITS, EXPECTED, "light"))
    (bars,), across = figure["data"], figure["layout"]["xaxis"]
    np.testing.assert_array_equal(numbers(bars["y"]), BITS)
    assert [read(text) for text in across["ticktext"]] == list(LABELS) and across.get("type", "linear") != "category"
    assert [read(text) for text in bars["text"]] == [each[0] if each else "" for each in EXPECTED]
    shown = [read(text.replace("<br>", "\n")).split("\n") for text in bars["hovertext"]]
    assert shown[0] == ["<s>", "0.250 bits, probability 0.84090", "the likeliest"]
    assert shown[1] == ["owls", "7.500 bits, probability 0.00552", "expected: <script>alert(1)</script> (0.438)"]
    assert surprise_chart([], np.array([]), [], "light").data[0].y.size == 0


def test_lengths_that_differ_are_refused():
    for changes, message in (
        ({"after": AFTER[:3]}, "4 labels, 4 and 3 values for 4 comparable steps"),
        ({"labels": LABELS[:3]}, "3 labels, 4 and 4 values for 4 comparable steps"),
        ({"comparable": 5}, "4 labels, 4 and 4 values for 5 comparable steps"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(**changes)
    with pytest.raises(ValueError, match="1 labels, 2 values and 2 expected tokens"):
        surprise_chart(["a"], np.array([1.0, 2.0]), [None, None], "light")


VALUES = np.arange(6, dtype=np.float32).reshape(2, 3)


def fill(figure: Drawing | go.Figure) -> None:
    """The same calls on either."""
    figure.add_scatter(x=np.arange(3), y=[1.0, None, 2.0], mode="lines", line={"color": "#000000", "width": 2})
    figure.add_bar(x=[1, 2], y=np.array([0.5, 0.25]), text=["a", "b"], marker={"line": {"width": 1}})
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, line={"width": 1}, opacity=0, layer="above", name="frame")
    figure.add_vrect(x0=0.5, x1=1.5, fillcolor="#ffffff", line={"width": 0}, layer="below")
    figure.add_hline(y=1.5, line={"dash": "dash"})
    figure.add_annotation(x=1, y=2, text="here", showarrow=False, font={"size": 12})
    figure.update_xaxes(range=[0, 3], tickvals=np.arange(3), ticktext=["a", "b", "c"])
    figure.update_xaxes(title={"text": "x", "standoff": 4})
    figure.update_yaxes(type="log", fixedrange=True)
    figure.update_layout(theme.chart_layout("dark", 120, l=1, t=2, r=3, b=4), plot_bgcolor="#123456")
    figure.update_layout(hovermode="closest")


def spec(figure: go.Figure) -> dict:
    return json.loads(plotly.io.to_json(figure, validate=False))


def test_the_same_calls_make_the_same_figure():
    heat = {"z": VALUES, "zmin": 0, "zmax": 1, "colorscale": [[0, "#000000"], [1, "#ffffff"]]}
    ours = Drawing(heatmap(**heat))
    theirs = go.Figure(go.Heatmap(x0=0, dx=1, y0=0, dy=1, showscale=False, **heat), {"template": "none"})
    for figure in (ours, theirs):
        fill(figure)
    assert spec(ours.figure()) == spec(theirs)


def test_unknown_plotly_properties_are_found():
    drawing = Drawing()
    drawing.update_layout(colour="red")
    with pytest.raises(ValueError, match=r"Invalid property specified for object of type .*Layout: 'colour'"):
        drawing.figure()
