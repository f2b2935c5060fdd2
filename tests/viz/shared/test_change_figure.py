from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.shared.change_figure import change_chart

LABELS = ("Nine", "owls", "owls", "</s>")
BEFORE = np.array([0.9, 0.2, 0.5, 0.999])
AFTER = np.array([0.4, 0.6, 0.5, 0.001])
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw(comparable: int = 4, mode: theme.Mode = "light", labels=LABELS, before=BEFORE, after=AFTER):
    return change_chart(labels, before, after, comparable, mode)


def dots(figure) -> tuple:
    """The hollow and the filled markers."""
    return tuple(trace for trace in figure.data if trace.mode == "markers")


def stems(figure) -> dict[str, list[tuple[float, float, float]]]:
    """By colour, the lines as (step, from, to)."""
    found = {}
    for trace in figure.data:
        if trace.mode == "lines":
            x, y = list(trace.x), list(trace.y)
            assert x[0::3] == x[1::3]  # upright
            assert {*x[2::3], *y[2::3]} <= {None}
            found[trace.line.color] = list(zip(x[0::3], y[0::3], y[1::3], strict=True))
    return found


def test_hollow_is_before_and_filled_is_after():
    hollow, filled = (numbers(trace["y"]) for trace in through_json(draw())["data"] if trace["mode"] == "markers")
    np.testing.assert_array_equal(hollow, BEFORE)
    np.testing.assert_array_equal(filled, AFTER)
    before, after = dots(draw())
    assert before.marker.color == theme.PALETTES["light"].page
    assert before.marker.line.color == theme.PALETTES["light"].ink
    assert list(before.x) == list(after.x) == [0, 1, 2, 3]


@MODES
def test_a_loss_and_a_gain_have_their_hue_and_no_change_has_no_stem(mode):
    palette = theme.PALETTES[mode]
    assert stems(draw(mode=mode)) == {palette.loss: [(0, 0.9, 0.4), (3, 0.999, 0.001)], palette.gain: [(1, 0.2, 0.6)]}
    inks = dots(draw(mode=mode))[1].marker.color
    assert [inks[i] for i in (0, 1, 3)] == [palette.loss_ink, palette.gain_ink, palette.loss_ink]


@pytest.mark.parametrize("comparable", [0, 1, 2, 3])
@pytest.mark.parametrize("length", [3, 4, 7])
def test_from_the_first_step_that_cannot_be_compared_on_all_is_greyed(comparable, length):
    figure = draw(comparable, after=np.resize(AFTER, length))
    assert {len(trace.x) for trace in dots(figure)} == {comparable}
    np.testing.assert_array_equal(dots(figure)[0].y, BEFORE[:comparable])
    np.testing.assert_array_equal(dots(figure)[1].y, AFTER[:comparable])
    assert all(step < comparable for lines in stems(figure).values() for step, *_ in lines)
    (grey,) = figure.layout.shapes
    assert (grey.x0, grey.x1, grey.layer) == (comparable - 0.5, 3.5, "below")
    assert grey.fillcolor == theme.PALETTES["light"].mute
    (words,) = figure.layout.annotations
    assert grey.x0 < words.x < grey.x1
    assert "no comparison" in words.text


def test_where_all_can_be_compared_nothing_is_greyed():
    assert not draw().layout.shapes
    assert not draw().layout.annotations


def test_every_token_of_the_baseline_has_its_place_and_reads_as_it_is():
    odd = ("<s>", '"', "'&'", "<b>owl</b>")
    for comparable in (1, 4):
        axis = draw(comparable, labels=odd).layout.xaxis
        assert [read(text) for text in axis.ticktext] == list(odd)
        assert list(axis.tickvals) == [0, 1, 2, 3]
        assert axis.range[0] < 0 < 3 < axis.range[1]
    assert len(set(draw().layout.xaxis.tickvals)) == 4  # though "owls" comes twice


def test_hovering_names_the_token_with_both_probabilities():
    for trace in dots(draw(labels=("<s>", "owls", '"', "</s>"))):
        texts = [read(text.replace("<br>", "\n")) for text in trace.hovertext]
        assert texts[0] == "<s>\nbefore 0.900000\nafter 0.400000"
        assert texts[2] == '"\nbefore 0.500000\nafter 0.500000'
        assert len(texts) == 4


def test_the_scale_of_probability_shows_0_and_1_whole():
    axis = draw().layout.yaxis
    assert axis.range[0] < 0
    assert axis.range[1] > 1


@MODES
@pytest.mark.parametrize("chosen", [0, 2, 3])
@pytest.mark.parametrize("comparable", [1, 4])
def test_the_chosen_step_alone_is_outlined_and_set_bold(mode, chosen, comparable):
    labels = ("<s>", "owls", "owls", "</s>")
    figure = change_chart(labels, BEFORE, AFTER, comparable, mode, chosen=chosen)
    bold = [text.startswith("<b>") and text.endswith("</b>") for text in figure.layout.xaxis.ticktext]
    assert bold == [i == chosen for i in range(4)]
    assert [read(text) for text in figure.layout.xaxis.ticktext] == list(labels)
    (frame,) = [shape for shape in figure.layout.shapes if shape.line.width]
    assert (frame.x0, frame.x1, frame.line.color) == (chosen - 0.5, chosen + 0.5, theme.PALETTES[mode].ink)
    assert frame.fillcolor == "rgba(0,0,0,0)"
    assert all(
        text.startswith(f"<b>{label}</b>") for text, label in zip(dots(figure)[0].hovertext, ("&lt;s&gt;",), strict=False)
    )


@pytest.mark.parametrize("chosen", [None, 4, 99])
def test_a_step_that_is_not_there_is_not_marked(chosen):
    figure = change_chart(LABELS, BEFORE, AFTER, 4, "light", chosen=chosen)
    assert not figure.layout.shapes
    assert list(figure.layout.xaxis.ticktext) == [label.replace("<", "&lt;").replace(">", "&gt;") for label in LABELS]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"after": AFTER[:3]}, "4 labels, 4 and 3 values for 4 comparable steps"),
        ({"labels": LABELS[:3]}, "3 labels, 4 and 4 values for 4 comparable steps"),
        ({"before": BEFORE[:2]}, "4 labels, 2 and 4 values for 4 comparable steps"),
        ({"comparable": 5}, "4 labels, 4 and 4 values for 5 comparable steps"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        draw(**changes)


@MODES
@pytest.mark.parametrize("comparable", [0, 2, 4])
def test_a_chart_can_be_sent_and_leaves_what_it_is_given_alone(mode, comparable):
    before, after = BEFORE.astype(np.float32), AFTER.astype(np.float32)
    before.flags.writeable = after.flags.writeable = False
    text = draw(comparable, mode, before=before, after=after).to_json()
    assert "NaN" not in text
    assert json.loads(text)["layout"]["paper_bgcolor"] == theme.PALETTES[mode].page
    np.testing.assert_array_equal(before, BEFORE.astype(np.float32))
