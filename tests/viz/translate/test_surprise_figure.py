from __future__ import annotations

import numpy as np
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.translate.surprise_figure import surprise_chart

LABELS = ["·le", "<b>", "&lt;", "·le", "</s>"]  # a word twice, and what would vanish or change as markup
BITS = np.array([0.25, 7.5, 3.0, 0.0, 1.5], dtype=np.float32)
EXPECTED = [None, ("<script>alert(1)</script>", 0.4375), ("&amp;", 0.5), None, ("chat", 0.625)]
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw(labels=LABELS, bits=BITS, expected=EXPECTED, mode="light", **more):
    return through_json(surprise_chart(labels, bits, expected, mode, **more))


def many(count: int):
    return draw([f"w{n}" for n in range(count)], np.arange(count, dtype=float), [("x", 0.5)] * count)


def axis(figure, name: str):
    return figure["layout"][f"{name}axis"]


@MODES
def test_a_bar_is_as_high_as_its_token_has_bits(mode):
    figure = draw(mode=mode)
    (bars,) = figure["data"]
    assert bars["type"] == "bar"
    np.testing.assert_array_equal(numbers(bars["x"]), np.arange(5))
    np.testing.assert_array_equal(numbers(bars["y"]), BITS)
    assert bars.get("orientation", "v") == "v"
    assert "base" not in bars


@MODES
def test_every_bar_carries_its_label_even_where_a_word_comes_twice(mode):
    across = axis(draw(mode=mode), "x")
    np.testing.assert_array_equal(numbers(across["tickvals"]), np.arange(5))
    assert [read(text) for text in across["ticktext"]] == LABELS
    assert across.get("type", "linear") != "category"


def test_what_the_model_expected_stands_above_the_bar_and_nothing_where_it_is_the_same():
    (bars,) = draw()["data"]
    assert [read(text) for text in bars["text"]] == [each[0] if each else "" for each in EXPECTED]
    assert "texttemplate" not in bars
    assert "hovertemplate" not in bars
    assert bars["textposition"] == "outside"


def test_no_tag_of_a_token_is_left_in_the_figure():
    figure = draw()
    texts = [*figure["data"][0]["text"], *axis(figure, "x")["ticktext"], *figure["data"][0]["hovertext"]]
    own = "".join(texts).replace("<b>", "").replace("</b>", "").replace("<br>", "")  # the hover text's own
    assert "<" not in own
    assert sum(text.count("<b>") for text in texts) == len(LABELS)


def test_the_hover_text_names_the_token_its_bits_its_probability_and_what_was_expected():
    (bars,) = draw()["data"]
    assert bars["hoverinfo"] == "text"
    shown = [read(text.replace("<br>", "\n")).split("\n") for text in bars["hovertext"]]
    assert shown == [
        ["·le", "0.250 bits, probability 0.84090", "the likeliest"],
        ["<b>", "7.500 bits, probability 0.00552", "expected: <script>alert(1)</script> (0.438)"],
        ["&lt;", "3.000 bits, probability 0.12500", "expected: &amp; (0.500)"],
        ["·le", "0.000 bits, probability 1.00000", "the likeliest"],
        ["</s>", "1.500 bits, probability 0.35355", "expected: chat (0.625)"],
    ]


@MODES
def test_a_token_that_was_not_the_likeliest_has_the_ink_of_the_text(mode):
    colours = theme.PALETTES[mode]
    (bars,) = draw(mode=mode)["data"]
    assert bars["marker"]["color"] == [colours.ink if each else colours.bar for each in EXPECTED]
    assert colours.ink != colours.bar


@MODES
def test_the_chart_has_the_colours_of_the_theme(mode):
    layout, colours = draw(mode=mode)["layout"], theme.PALETTES[mode]
    assert layout["paper_bgcolor"] == colours.page
    assert layout["font"]["color"] == colours.ink
    assert layout["xaxis"]["tickfont"]["color"] == layout["yaxis"]["tickfont"]["color"] == colours.ink2
    assert layout["yaxis"]["gridcolor"] == colours.line
    assert layout["hoverlabel"]["bgcolor"] == colours.field
    assert layout["hoverlabel"]["font"]["color"] == colours.ink
    other = theme.PALETTES["dark" if mode == "light" else "light"]
    for name in ("page", "ink", "ink2", "line"):
        assert getattr(other, name) not in str(draw(mode=mode))


@pytest.mark.parametrize("bits", [[0.0, 0.0], [0.125, 0.5], [30.0, 0.1], [1.0, 1.0]], ids=str)
def test_the_scale_begins_at_zero_and_holds_every_bar_with_room_for_its_text(bits):
    bottom, top = axis(draw(["a", "b"], np.array(bits), [None, ("c", 0.5)]), "y")["range"]
    assert bottom == 0
    assert top > 1.1 * max(bits)
    assert top >= 1
    assert top < 1.5 * max(1, *bits)


def test_every_bar_lies_within_the_width():
    left, right = axis(draw(), "x")["range"]
    half = draw()["data"][0]["width"] / 2
    assert left < -half
    assert right > len(LABELS) - 1 + half
    assert half < 0.5


def test_the_axis_says_what_it_counts():
    assert axis(draw(), "y")["title"]["text"] == "bits"


@pytest.mark.parametrize(
    ("count", "above", "below"), [(12, True, True), (40, True, True), (41, False, True), (61, False, False)]
)
def test_of_many_tokens_the_texts_go_and_the_bars_and_hover_texts_stay(count, above, below):
    figure = many(count)
    (bars,) = figure["data"]
    assert ("text" in bars) == above
    assert axis(figure, "x")["showticklabels"] is below
    assert len(numbers(bars["y"])) == len(bars["hovertext"]) == count
    assert all("expected: x (0.500)" in text for text in bars["hovertext"])


def test_labels_that_would_meet_are_turned():
    assert axis(many(12), "x")["tickangle"] == 0
    assert axis(many(13), "x")["tickangle"] != 0


def test_the_height_is_the_one_that_was_asked_for():
    assert draw(height=333)["layout"]["height"] == 333


def test_one_token_and_none_are_drawn():
    assert numbers(draw(["</s>"], np.array([2.0]), [None])["data"][0]["y"]).tolist() == [2.0]
    assert surprise_chart([], np.array([]), [], "light").data[0].y.size == 0


@pytest.mark.parametrize(
    ("labels", "bits", "expected", "told"),
    [
        (["a"], [1.0, 2.0], [None, None], "1 labels, 2 values and 2 expected tokens"),
        (["a", "b"], [1.0], [None, None], "2 labels, 1 values and 2 expected tokens"),
        (["a", "b"], [1.0, 2.0], [None], "2 labels, 2 values and 1 expected tokens"),
    ],
)
def test_lengths_that_differ_are_refused(labels, bits, expected, told):
    with pytest.raises(ValueError, match=f"^{told}; expected as many$"):
        surprise_chart(labels, np.array(bits), expected, "light")
