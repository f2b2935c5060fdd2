"""Heatmaps: cells equal the values, forbidden cells are blank, labels and hover texts keep the tokens."""

import numpy as np
import pytest

from tests.support.viz_helpers import ROOT, TRANSLATE, WHAT_IF, Lab, hover, numbers, read, through_json
from viz import theme
from viz.kit.heatmap_figures import attention_map, difference_map, mask_map

QUERIES = ("<s> → a", "a → &", "& → a", 'a → "')
KEYS = ("<s>", "a", "&", "a")  # a word twice, and what would vanish as markup
CAUSAL = np.tril(np.ones((4, 4), bool))
VALUES = (CAUSAL / np.arange(1, 5)[:, None]).astype(np.float32)
LABELS = {"queries": QUERIES, "keys": KEYS}
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw(values=VALUES, allowed=CAUSAL, *, show="attention", mode="light", **changes):
    options = LABELS | {"mode": mode} | changes
    return mask_map(allowed, **options) if show == "mask" else attention_map(values, allowed, kind="decoder", **options)


def change_of(values=VALUES, allowed=CAUSAL, **changes):
    return difference_map(values, allowed, **(LABELS | {"mode": "light"} | changes))


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
@pytest.mark.parametrize("show", ["attention", "mask"])
def test_cells_equal_the_values_and_forbidden_cells_are_blank(show, mode):
    heat = through_json(draw(show=show, mode=mode))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], VALUES[CAUSAL] if show == "attention" else 1)
    assert heat["hoverongaps"] is False
    if show == "attention":
        assert (heat["zmin"], heat["zmax"]) == (0, 1) and heat["colorscale"] == theme.plotly_scale("decoder", mode)


def test_an_allowed_zero_is_drawn_and_a_forbidden_one_is_not():
    z = draw(np.array([[0.0, 1.0]]), np.array([[True, False]]), queries=["q"], keys=["a", "b"]).data[0].z
    assert z[0, 0] == 0 and np.isnan(z[0, 1])
    nothing = draw(np.zeros((4, 4), np.float32), np.zeros((4, 4), bool))
    assert np.isnan(nothing.data[0].z).all() and edges(nothing.data[1]) == set()


@pytest.mark.parametrize("show", ["attention", "mask"])
def test_rows_and_labels_stand_in_the_order_of_the_tokens(show):
    layout = draw(show=show).layout
    assert tuple(layout.yaxis.range) == (3.5, -0.5) and tuple(layout.xaxis.range) == (-0.5, 3.5)
    for axis, tokens in ((layout.xaxis, KEYS), (layout.yaxis, QUERIES)):
        assert axis.type != "category" and list(axis.tickvals) == [0, 1, 2, 3]  # four places, though a token occurs twice
        assert [read(text) for text in axis.ticktext] == list(tokens) and axis.showticklabels is True
    for labels, message in (({"queries": QUERIES[:3]}, "with 3 and 4 labels"), ({"keys": KEYS * 2}, "with 4 and 8 labels")):
        with pytest.raises(ValueError, match=f"a map of 4 x 4 {message}"):
            draw(show=show, **labels)


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>", "&", "&lt;", "'", '"', "<script>", "<br>", "%{z}", "é", "⟨E2⟩"])
def test_an_odd_token_reads_as_it_is(token):
    figure = draw(VALUES[:1, :1], CAUSAL[:1, :1], queries=[token], keys=[token])
    assert read(figure.layout.xaxis.ticktext[0]) == read(figure.layout.yaxis.ticktext[0]) == token


def test_hovering_names_both_tokens_and_the_number():
    assert hover(draw(), 2, 1) == "& → a looks at a\nweight 0.333333"
    assert hover(draw(show="mask"), 3, 0) == 'a → " may look at <s>'
    assert hover(change_of(-VALUES), 2, 1) == "& → a looks at a\nchange -0.333333"
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


def test_the_former_mask_is_dashed_where_the_mask_has_changed():
    now, before = draw(VALUES, np.ones_like(CAUSAL), former=CAUSAL).data[1:]
    assert (now.line.dash, before.line.dash) == (None, "dot")
    assert edges(now) == border(np.ones_like(CAUSAL)) and edges(before) == border(CAUSAL)
    assert len(draw(former=CAUSAL.copy()).data) == 2


@MODES
@pytest.mark.parametrize("largest", [0.25, -0.75, 0.001])
def test_a_difference_is_drawn_symmetrically_about_0(mode, largest):
    values = np.where(CAUSAL, np.where(VALUES == 1, np.float32(largest), -VALUES * np.float32(largest / 2)), np.float32(9))
    values.flags.writeable = False
    heat = through_json(change_of(values, mode=mode))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], values[CAUSAL])
    assert (heat["zmin"], heat["zmax"]) == pytest.approx((-max(0.01, abs(largest)), max(0.01, abs(largest))))
    assert heat["colorscale"] == theme.plotly_scale("difference", mode)


def test_the_largest_map_is_light_enough_to_send():
    values = np.full((128, 128), 1 / 128, np.float32)
    labels = {"queries": [f"q{i}" for i in range(128)], "keys": [f"k{j}" for j in range(128)]}
    assert len(draw(values, values > 0, **labels).to_json()) < 400_000


@pytest.mark.parametrize("page", [TRANSLATE, WHAT_IF])
def test_the_frame_of_the_step_is_moved_by_the_script(page):
    (frame,) = through_json(draw(step_row=True))["layout"]["shapes"]
    assert f'NAME = "{frame["name"]}"' in (ROOT / "viz" / "kit" / "step_rows.js").read_text(encoding="utf-8")
    one, four = (Lab(page, text="The dog sleeps.", kind="cross", step=step).charts for step in ("1", "4"))
    assert one[:3] == four[:3]
    named = [[shape.get("name") for shape in chart["layout"].get("shapes", ())] for chart in one[:3]]
    assert named == [["step row"] if page == WHAT_IF or n else [] for n in range(3)]
