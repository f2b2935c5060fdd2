"""Figures of plain data and payloads of patterns: values, cells, labels and hover texts."""

import json

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from model.trace import MapView
from tests.support.component_helpers import unpacked
from tests.support.viz_helpers import hover, numbers, read, through_json
from viz import theme
from viz.kit import charts, patterns
from viz.kit.chart_figures import Drawing, attention_map, change_chart, heatmap, surprise_chart

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
    """Adds the same traces and shapes to a figure of either library."""
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


def test_the_same_calls_make_the_same_figure():
    heat = {"z": VALUES, "zmin": 0, "zmax": 1, "colorscale": [[0, "#000000"], [1, "#ffffff"]]}
    ours = Drawing(heatmap(**heat))
    theirs = go.Figure(go.Heatmap(x0=0, dx=1, y0=0, dy=1, showscale=False, **heat), {"template": "none"})
    fill(ours)
    fill(theirs)
    first, second = (json.loads(plotly.io.to_json(figure, validate=False)) for figure in (ours.figure(), theirs))
    assert first == second


def test_a_chart_that_cannot_be_drawn_is_one_sentence():
    assert charts.payload([charts.Chart("", "", surprise_chart(LABELS, BITS, EXPECTED, "light"))])["charts"][0]["figure"]
    for trace, layout, message in (
        (go.Pie(values=[1]), {}, "a trace of type 'pie'; expected one of scatter, heatmap, bar, upright"),
        (go.Bar(x=["a"], y=[1]), {}, "has texts on an axis"),
        (go.Bar(x=[1], y=[1]), {"height": 20}, "lacks margin, font, xaxis.tickfont, yaxis.tickfont; see"),
    ):
        with pytest.raises(ValueError, match=message):
            charts.payload([charts.Chart("", "", go.Figure(trace, layout))])


def test_unknown_plotly_properties_are_found():
    (drawing := Drawing()).update_layout(colour="red")
    with pytest.raises(ValueError, match=r"Invalid property specified for object of type .*Layout: 'colour'"):
        drawing.figure()


QUERIES = ("<s> → a", "a → &", "& → a", 'a → "')
KEYS = ("<s>", "a", "&", "a")  # a word twice, and what would vanish as markup
CAUSAL = np.tril(np.ones((4, 4), bool))
MAP_VALUES = (CAUSAL / np.arange(1, 5)[:, None]).astype(np.float32)
MAP_LABELS = {"queries": QUERIES, "keys": KEYS}
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw_map(values=MAP_VALUES, allowed=CAUSAL, *, mode="light", **changes):
    return attention_map(values, allowed, kind="decoder", **(MAP_LABELS | {"mode": mode} | changes))


def edges(line) -> set[tuple[float, float, float, float]]:
    """The pieces of a broken line, each one cell long: (x0, y0, x1, y1)."""
    x, y = list(line.x), list(line.y)
    pieces = {(*sorted((x[i], x[i + 1])), *sorted((y[i], y[i + 1]))) for i in range(0, len(x), 3)}
    assert len(pieces) == len(x) // 3  # none twice
    return {(x0, y0, x1, y1) for x0, x1, y0, y1 in pieces}


def border(allowed: np.ndarray) -> set[tuple[float, float, float, float]]:
    """Every side of a cell that has an allowed cell on one side only."""
    inside = np.pad(allowed, 1)
    rows, columns = range(allowed.shape[0] + 1), range(allowed.shape[1] + 1)
    cells = [(i, j) for i in rows for j in columns]
    upright = {(j - 0.5, i - 0.5, j - 0.5, i + 0.5) for i, j in cells if inside[i + 1, j + 1] != inside[i + 1, j]}
    level = {(j - 0.5, i - 0.5, j + 0.5, i - 0.5) for i, j in cells if inside[i + 1, j + 1] != inside[i, j + 1]}
    return upright | level


@MODES
def test_cells_equal_the_values_and_forbidden_cells_are_blank(mode):
    heat = through_json(draw_map(mode=mode))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], MAP_VALUES[CAUSAL])
    assert heat["hoverongaps"] is False
    assert (heat["zmin"], heat["zmax"]) == (0, 1) and heat["colorscale"] == theme.plotly_scale("decoder", mode)


def test_an_allowed_zero_is_drawn_and_a_forbidden_one_is_not():
    z = draw_map(np.array([[0.0, 1.0]]), np.array([[True, False]]), queries=["q"], keys=["a", "b"]).data[0].z
    assert z[0, 0] == 0 and np.isnan(z[0, 1])
    nothing = draw_map(np.zeros((4, 4), np.float32), np.zeros((4, 4), bool))
    assert np.isnan(nothing.data[0].z).all() and edges(nothing.data[1]) == set()


def test_rows_and_labels_stand_in_the_order_of_the_tokens():
    layout = draw_map().layout
    assert tuple(layout.yaxis.range) == (3.5, -0.5) and tuple(layout.xaxis.range) == (-0.5, 3.5)
    for axis, tokens in ((layout.xaxis, KEYS), (layout.yaxis, QUERIES)):
        assert axis.type != "category" and list(axis.tickvals) == [0, 1, 2, 3]  # four places, though a token occurs twice
        assert [read(text) for text in axis.ticktext] == list(tokens) and axis.showticklabels is True
    for labels, message in (({"queries": QUERIES[:3]}, "with 3 and 4 labels"), ({"keys": KEYS * 2}, "with 4 and 8 labels")):
        with pytest.raises(ValueError, match=f"a map of 4 x 4 {message}"):
            draw_map(**labels)


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>", "&", "&lt;", "'", '"', "<script>", "<br>", "%{z}", "é", "⟨E2⟩"])
def test_an_odd_token_reads_as_it_is(token):
    figure = draw_map(MAP_VALUES[:1, :1], CAUSAL[:1, :1], queries=[token], keys=[token])
    assert read(figure.layout.xaxis.ticktext[0]) == read(figure.layout.yaxis.ticktext[0]) == token


def test_hovering_names_both_tokens_and_the_number():
    assert hover(draw_map(), 2, 1) == "& → a looks at a\nweight 0.333333"
    longest, values = "incompréhensiblement & <indivisible>", np.full((100, 100), 0.5, np.float32)
    figure = draw_map(values, values > 0, queries=[f"{longest} → q"] * 100, keys=[longest] * 100)
    assert figure.layout.xaxis.showticklabels is False  # no room for labels: the hover text has them whole
    assert hover(figure, 99, 0) == f"{longest} → q looks at {longest}\nweight 0.500000"


@pytest.mark.parametrize("seed", range(6))
def test_the_outline_encloses_exactly_the_allowed_cells(seed):
    draws = np.random.default_rng(seed)
    allowed = draws.random((draws.integers(1, 9), draws.integers(1, 9))) < 0.6
    labels = {"queries": ["q"] * allowed.shape[0], "keys": ["k"] * allowed.shape[1]}
    assert edges(draw_map(allowed.astype(np.float32), allowed, **labels).data[1]) == border(allowed)


def test_the_largest_map_is_light_enough_to_send():
    values = np.full((128, 128), 1 / 128, np.float32)
    labels = {"queries": [f"q{i}" for i in range(128)], "keys": [f"k{j}" for j in range(128)]}
    assert len(draw_map(values, values > 0, **labels).to_json()) < 400_000


PATTERN_MASK = np.tril(np.ones((3, 3), bool))
PATTERN = (PATTERN_MASK / np.arange(1, 4)[:, None]).astype(np.float32)
VIEW = MapView(PATTERN, PATTERN_MASK, ("<s> → a", "a → b", "b → </s>"), ("<s>", "a", "b"))


def test_a_payload_has_the_values_and_labels():
    payload = patterns.pattern(VIEW, "decoder", "Decoder")
    assert np.array_equal(unpacked(payload, "values"), PATTERN)
    assert np.array_equal(unpacked(payload, "allowed"), PATTERN_MASK)
    assert (tuple(payload["queries"]), tuple(payload["keys"]), payload["shape"]) == (VIEW.queries, VIEW.keys, [3, 3])
    assert (payload["most"], payload["scale"], payload["follows"]) == (None, "decoder", True)
    assert not patterns.pattern(VIEW, "encoder")["follows"] and "former" not in payload
    mask = patterns.pattern(VIEW, "decoder", masked=True)
    assert mask["scale"] == patterns.MASK and np.array_equal(unpacked(mask, "values"), PATTERN_MASK)


def test_a_difference_is_symmetric():
    payload = patterns.difference(MapView(PATTERN - 1, PATTERN_MASK, VIEW.queries, VIEW.keys), "decoder")
    assert payload["most"] == 1 and payload["scale"] == patterns.DIFFERENCE
    assert patterns.difference(MapView(0 * PATTERN, PATTERN_MASK, VIEW.queries, VIEW.keys))["most"] == patterns.MIN_LIMIT


def test_marks_have_a_row_for_each_query():
    payload = patterns.pattern(VIEW, former=np.ones((3, 3), bool), candidates=[[("a", 0.123456)], [], []])
    assert payload["former"] == "1" * 9 and payload["candidates"][0] == [["a", 0.123456]]
    assert "former" not in patterns.pattern(VIEW, former=PATTERN_MASK.copy())
    with pytest.raises(ValueError, match=r"candidates has shape \[1, 3\]; expected \[3, 3\]"):
        patterns.pattern(VIEW, candidates=[[]])
    with pytest.raises(ValueError, match=r"values has shape \[3, 3\]; expected \[2, 3\]"):
        patterns.pattern(MapView(PATTERN, PATTERN_MASK, VIEW.queries[:2], VIEW.keys))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_scale_of_a_payload_has_colours(mode):
    colours = patterns.scales(mode)
    assert {patterns.MASK, patterns.DIFFERENCE, "encoder", "decoder", "cross"} == set(colours)
    assert all(colour.startswith("#") and len(colour) == 7 for scale in colours.values() for colour in scale)
