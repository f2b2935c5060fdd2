"""The figures of positions: what is drawn equals what was measured, labels are escaped, nothing is out of range."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.viz_helpers import numbers, read, through_json
from viz import theme
from viz.positions import figures

MODES = pytest.mark.parametrize("mode", ["light", "dark"])
TABLE = np.array([[0.0, 1, -2, 3], [4, -5, 6, -7], [0.5, 0.25, 0, 1]], dtype=np.float32)


@MODES
def test_the_table_is_drawn_as_it_is_with_position_0_above(mode):
    figure = figures.table_map(TABLE, 1, mode)
    heat = through_json(figure)["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), TABLE)
    assert (heat["zmin"], heat["zmax"]) == (-7, 7)
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]
    assert list(figure.layout.xaxis.range) == [-0.5, 3.5]
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.line.color) == (1.5, 3.5, theme.PALETTES[mode].ink)


def test_the_end_of_the_training_is_marked_only_inside_the_picture():
    marked = figures.table_map(TABLE, 0, "light", 2, "not <b>moved")
    line = marked.layout.shapes[1]
    assert (line.y0, line.y1, line.line.dash) == (1.5, 1.5, "dash")
    assert read(marked.layout.annotations[0].text) == "not <b>moved"
    for seen in (None, 3, 128):
        assert not figures.table_map(TABLE, 0, "light", seen).layout.annotations
        assert not figures.similarity_map(TABLE[:, :3], "light", seen).layout.shapes


@pytest.mark.parametrize("pair", [-1, 2, 99])
def test_a_pair_that_is_not_there_is_refused(pair):
    with pytest.raises(ValueError, match=rf"pair {pair} is asked for; there are 2, from 0"):
        figures.table_map(TABLE, pair, "light")


def test_similarity_runs_from_its_least_to_its_most():
    values = np.array([[3.0, 1], [1, 2]])
    heat = through_json(figures.similarity_map(values, "light"))["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), values)
    assert (heat["zmin"], heat["zmax"]) == (1, 3)
    flat = figures.similarity_map(np.ones((2, 2)), "light").data[0]
    assert flat.zmin < flat.zmax


@MODES
def test_a_strip_for_each_pair_keeps_the_values_and_the_chosen_one_is_ink(mode):
    figure = figures.curves(TABLE, (0, 1), 1, ("i = 0, wavelength 6.28", "<s>"), mode)
    assert len(figure.data) == 4
    for n, line in enumerate(figure.data):
        np.testing.assert_array_equal(line.customdata, TABLE[:, n])
        assert line.line.dash == ("solid", "dot")[n % 2]
        assert (line.line.color == theme.PALETTES[mode].ink) == (n >= 2)
    low, high = figure.layout.yaxis.range
    assert all(low <= line.y.min() and line.y.max() <= high for line in figure.data)
    strips = [np.concatenate([line.y for line in figure.data[n : n + 2]]) for n in (0, 2)]
    assert strips[0].min() > strips[1].max()  # they do not touch
    assert [read(a.text) for a in figure.layout.annotations] == ["i = 0, wavelength 6.28", "<s>"]
    with pytest.raises(ValueError, match="2 pairs with 1 names"):
        figures.curves(TABLE, (0, 1), 1, ("one",), mode)


def test_distance_shows_the_mean_the_band_and_a_ring_at_the_shift():
    mean, least, most = np.array([3.0, 2, 1]), np.array([3.0, 1, 0]), np.array([3.0, 2.5, 4])
    figure = figures.distance_chart(mean, least, most, 1, "light", other=np.array([0.0, 0.5, 0.25]))
    band, other, line, ring = figure.data
    np.testing.assert_array_equal(band.y, [3, 2.5, 4, 0, 1, 3])
    np.testing.assert_array_equal(other.y, [0, 0.5, 0.25])
    np.testing.assert_array_equal(line.y, mean)
    assert (list(ring.x), list(ring.y)) == ([1], [2.0])
    assert line.hovertext[2] == "distance 2<br>mean 1.00000<br>from 0.00000 to 4.00000<br>random vectors 0.25000"
    assert len(figures.distance_chart(mean, least, most, 3, "light").data) == 2  # the shift is out of the picture
    with pytest.raises(ValueError, match="3 means, 2 least and 3 largest"):
        figures.distance_chart(mean, least[:2], most, 1, "light")


def test_the_shift_draws_rings_where_the_map_goes_and_dots_where_it_should():
    rotated, reached = TABLE[1:] + 0.5, TABLE[1:]
    figure = figures.shift_chart(TABLE, rotated, reached, 1, 1, "light")
    lines, rings, dots, *hands = figure.data
    np.testing.assert_allclose(np.stack((rings.x, rings.y), 1), rotated[:, 2:])
    np.testing.assert_allclose(np.stack((dots.x, dots.y), 1), reached[:, 2:])
    np.testing.assert_allclose(lines.x[:2], [rotated[0, 2], reached[0, 2]])
    assert [[float(h.x[1]), float(h.y[1])] for h in hands] == [TABLE[0, 2:].tolist(), reached[0, 2:].tolist()]
    assert [read(a.text) for a in figure.layout.annotations] == ["0", "1"]
    assert figure.layout.yaxis.scaleanchor == "x"
    for axis, column in ((figure.layout.xaxis, 2), (figure.layout.yaxis, 3)):
        assert axis.range[0] < min(rotated[:, column].min(), TABLE[:, column].min())
    assert "position 0 to 1<br>it is at (6.00000, -7.00000)" in dots.hovertext[0]


def test_without_two_positions_so_far_apart_there_is_nothing_to_draw():
    assert len(figures.shift_chart(TABLE, TABLE[:0], TABLE[:0], 0, 9, "light").data) == 0
    assert len(figures.residual_chart(np.zeros(0), "light").data[0].x) == 0


def test_residuals_keep_their_numbers_on_a_logarithmic_axis():
    figure = figures.residual_chart(np.array([0.0, 1e-7, 0.5]), "dark")
    np.testing.assert_array_equal(figure.data[0].y, [figures.FLOOR, 1e-7, 0.5])
    assert figure.data[0].hovertext[1] == "position 1<br>1\u00a0×\u00a010⁻⁷"
    assert figure.layout.yaxis.type == "log"
    assert list(figure.layout.yaxis.range) == [-9, 1]


# -- tokens -----------------------------------------------------------------------------------------------------------


@MODES
def test_tokens_keep_repeated_words_apart_and_control_tokens_visible(mode):
    labels = ["<s>", "dog", "&amp;", "dog"]
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    figure = figures.token_map(values, labels, [(1, 3)], mode, 1.0)
    heat = through_json(figure)["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), values)
    assert (heat["zmin"], heat["zmax"]) == (-1, 1)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert list(axis.tickvals) == [0, 1, 2, 3]
        assert [read(text) for text in axis.ticktext] == labels
    boxes = {(shape.y0 + 0.5, shape.x0 + 0.5) for shape in figure.layout.shapes}
    assert boxes == {(1, 3), (3, 1)}
    assert figures.token_map(values, labels, [], mode).data[0].zmax == 15


def test_many_tokens_are_read_on_hover_and_one_is_drawn():
    many = figures.token_map(np.eye(128), ["w"] * 128, [(0, 1)], "light")
    assert not many.layout.shapes
    assert not many.layout.xaxis.showticklabels and len(many.layout.xaxis.ticktext) == 128
    one = figures.token_map(np.eye(1), ["</s>"], [], "light", 1.0)
    assert one.layout.xaxis.showticklabels
    with pytest.raises(ValueError, match="a map of 2 x 2 with 3 labels"):
        figures.token_map(np.eye(2), ["a", "b", "c"], [], "light")


def test_a_pair_of_halves_is_drawn_from_both():
    halves = np.concatenate((TABLE[:, 0::2], TABLE[:, 1::2]), axis=1)
    for one, other in (
        (
            figures.curves(TABLE, (0, 1), 1, ("a", "b"), "light"),
            figures.curves(halves, (0, 1), 1, ("a", "b"), "light", True),
        ),
        (
            figures.shift_chart(TABLE, TABLE, TABLE, 1, 1, "light"),
            figures.shift_chart(halves, halves, halves, 1, 1, "light", True),
        ),
    ):
        for mine, theirs in zip(one.data, other.data, strict=True):
            for axis in "xy":
                np.testing.assert_array_equal(np.asarray(mine[axis], float), np.asarray(theirs[axis], float))
    frames = figures.table_map(halves, 1, "light", halves=True).layout.shapes
    assert [(frame.x0, frame.x1) for frame in frames] == [
        (0.5, 1.5),
        (halves.shape[1] // 2 + 0.5, halves.shape[1] // 2 + 1.5),
    ]
