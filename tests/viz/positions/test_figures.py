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
def test_the_table_is_drawn_with_position_0_on_top(mode):
    figure = figures.table_map(TABLE, 1, mode)
    heat = through_json(figure)["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), TABLE)
    assert (heat["zmin"], heat["zmax"]) == (-7, 7)
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]
    assert list(figure.layout.xaxis.range) == [-0.5, 3.5]
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.line.color) == (1.5, 3.5, theme.PALETTES[mode].ink)


@MODES
def test_a_strip_for_each_pair_keeps_the_values(mode):
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


def test_distance_shows_mean_band_and_shift():
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


def test_the_shift_chart_keeps_its_points():
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


@MODES
def test_repeated_tokens_stay_apart(mode):
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
