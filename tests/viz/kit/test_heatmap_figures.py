"""Heatmaps: cells equal the values, forbidden cells are blank, labels and hover texts keep the tokens."""

import numpy as np
import pytest

from tests.support.viz_helpers import hover, numbers, read, through_json
from viz import theme
from viz.kit.heatmap_figures import attention_map

QUERIES = ("<s> → a", "a → &", "& → a", 'a → "')
KEYS = ("<s>", "a", "&", "a")  # a word twice, and what would vanish as markup
CAUSAL = np.tril(np.ones((4, 4), bool))
VALUES = (CAUSAL / np.arange(1, 5)[:, None]).astype(np.float32)
LABELS = {"queries": QUERIES, "keys": KEYS}
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw(values=VALUES, allowed=CAUSAL, *, mode="light", **changes):
    return attention_map(values, allowed, kind="decoder", **(LABELS | {"mode": mode} | changes))


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
    heat = through_json(draw(mode=mode))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], VALUES[CAUSAL])
    assert heat["hoverongaps"] is False
    assert (heat["zmin"], heat["zmax"]) == (0, 1) and heat["colorscale"] == theme.plotly_scale("decoder", mode)


def test_an_allowed_zero_is_drawn_and_a_forbidden_one_is_not():
    z = draw(np.array([[0.0, 1.0]]), np.array([[True, False]]), queries=["q"], keys=["a", "b"]).data[0].z
    assert z[0, 0] == 0 and np.isnan(z[0, 1])
    nothing = draw(np.zeros((4, 4), np.float32), np.zeros((4, 4), bool))
    assert np.isnan(nothing.data[0].z).all() and edges(nothing.data[1]) == set()


def test_rows_and_labels_stand_in_the_order_of_the_tokens():
    layout = draw().layout
    assert tuple(layout.yaxis.range) == (3.5, -0.5) and tuple(layout.xaxis.range) == (-0.5, 3.5)
    for axis, tokens in ((layout.xaxis, KEYS), (layout.yaxis, QUERIES)):
        assert axis.type != "category" and list(axis.tickvals) == [0, 1, 2, 3]  # four places, though a token occurs twice
        assert [read(text) for text in axis.ticktext] == list(tokens) and axis.showticklabels is True
    for labels, message in (({"queries": QUERIES[:3]}, "with 3 and 4 labels"), ({"keys": KEYS * 2}, "with 4 and 8 labels")):
        with pytest.raises(ValueError, match=f"a map of 4 x 4 {message}"):
            draw(**labels)


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>", "&", "&lt;", "'", '"', "<script>", "<br>", "%{z}", "é", "⟨E2⟩"])
def test_an_odd_token_reads_as_it_is(token):
    figure = draw(VALUES[:1, :1], CAUSAL[:1, :1], queries=[token], keys=[token])
    assert read(figure.layout.xaxis.ticktext[0]) == read(figure.layout.yaxis.ticktext[0]) == token


def test_hovering_names_both_tokens_and_the_number():
    assert hover(draw(), 2, 1) == "& → a looks at a\nweight 0.333333"
    longest, values = "incompréhensiblement & <indivisible>", np.full((100, 100), 0.5, np.float32)
    figure = draw(values, values > 0, queries=[f"{longest} → q"] * 100, keys=[longest] * 100)
    assert figure.layout.xaxis.showticklabels is False  # no room for labels: the hover text has them whole
    assert hover(figure, 99, 0) == f"{longest} → q looks at {longest}\nweight 0.500000"


@pytest.mark.parametrize("seed", range(6))
def test_the_outline_encloses_exactly_the_allowed_cells(seed):
    draws = np.random.default_rng(seed)
    allowed = draws.random((draws.integers(1, 9), draws.integers(1, 9))) < 0.6
    labels = {"queries": ["q"] * allowed.shape[0], "keys": ["k"] * allowed.shape[1]}
    assert edges(draw(allowed.astype(np.float32), allowed, **labels).data[1]) == border(allowed)


def test_the_largest_map_is_light_enough_to_send():
    values = np.full((128, 128), 1 / 128, np.float32)
    labels = {"queries": [f"q{i}" for i in range(128)], "keys": [f"k{j}" for j in range(128)]}
    assert len(draw(values, values > 0, **labels).to_json()) < 400_000
