from __future__ import annotations

import numpy as np
import pytest

from tests.support.viz_helpers import ROOT, TRANSLATE, WHAT_IF, Lab, hover, numbers, read, through_json
from viz import theme
from viz.shared.heatmap_figures import LABEL_CELL, attention_map, difference_map, mask_map

QUERIES = ("<s> → a", "a → &", "& → a", 'a → "')
KEYS = ("<s>", "a", "&", "a")  # a word twice, and what would vanish as markup
CAUSAL = np.tril(np.ones((4, 4), bool))
VALUES = (CAUSAL / np.arange(1, 5)[:, None]).astype(np.float32)
LABELS = {"queries": QUERIES, "keys": KEYS}
MODES = pytest.mark.parametrize("mode", ["light", "dark"])


def draw(values=VALUES, allowed=CAUSAL, *, show="attention", mode="light", **changes):
    options = LABELS | {"mode": mode} | changes
    return mask_map(allowed, **options) if show == "mask" else attention_map(values, allowed, kind="decoder", **options)


def unnamed(rows: int, columns: int, **changes):
    values = np.full((rows, columns), 1 / columns, np.float32)
    labels = {"queries": [f"q{i}" for i in range(rows)], "keys": [f"k{j}" for j in range(columns)]}
    return draw(values, values > 0, **labels, **changes)


def edges(line) -> set[tuple[float, float, float, float]]:
    """A broken line as the pieces it is made of, each one cell long: (x0, y0, x1, y1)."""
    x, y = list(line.x), list(line.y)
    assert len(x) == len(y)
    assert (
        [i for i, v in enumerate(x) if v is None] == [i for i, v in enumerate(y) if v is None] == list(range(2, len(x), 3))
    )
    pieces = {(*sorted((x[i], x[i + 1])), *sorted((y[i], y[i + 1]))) for i in range(0, len(x), 3)}
    assert len(pieces) == len(x) // 3  # none twice
    return {(x0, y0, x1, y1) for x0, x1, y0, y1 in pieces}


def border(allowed: np.ndarray) -> set[tuple[float, float, float, float]]:
    """Every side of a cell that has an allowed cell on one side alone."""

    def inside(i: int, j: int) -> bool:
        return 0 <= i < allowed.shape[0] and 0 <= j < allowed.shape[1] and bool(allowed[i, j])

    rows, columns = range(allowed.shape[0] + 1), range(allowed.shape[1] + 1)
    upright = {(j - 0.5, i - 0.5, j - 0.5, i + 0.5) for i in rows for j in columns if inside(i, j) != inside(i, j - 1)}
    level = {(j - 0.5, i - 0.5, j + 0.5, i - 0.5) for i in rows for j in columns if inside(i, j) != inside(i - 1, j)}
    return upright | level


def test_what_is_drawn_are_the_values_and_forbidden_cells_are_blank():
    heat = through_json(draw())["data"][0]
    z = numbers(heat["z"])
    assert z.shape == VALUES.shape
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], VALUES[CAUSAL])
    assert (heat["zmin"], heat["zmax"]) == (0, 1)
    assert heat["hoverongaps"] is False


def test_an_allowed_weight_of_nothing_is_drawn_and_a_forbidden_one_of_something_is_not():
    allowed = np.array([[True, False]])
    z = numbers(through_json(draw(np.array([[0.0, 1.0]]), allowed, queries=["q"], keys=["a", "b"]))["data"][0]["z"])
    assert z[0, 0] == 0
    assert np.isnan(z[0, 1])


def test_a_mask_fills_the_allowed_cells_with_one_colour():
    heat = through_json(draw(show="mask"))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    assert set(z[CAUSAL]) == {1}
    assert {colour for _, colour in heat["colorscale"]} == {theme.PALETTES["light"].bar}


@MODES
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_scale_is_that_of_the_kind_of_site(kind, mode):
    figure = attention_map(VALUES, CAUSAL, **LABELS, kind=kind, mode=mode)
    assert [[w, c] for w, c in figure.data[0].colorscale] == theme.plotly_scale(kind, mode)
    assert figure.layout.plot_bgcolor == figure.layout.paper_bgcolor == theme.PALETTES[mode].page


@pytest.mark.parametrize("show", ["attention", "mask"])
def test_row_0_is_on_top_and_every_cell_stands_on_its_number(show):
    figure = draw(show=show)
    assert tuple(figure.layout.yaxis.range) == (3.5, -0.5)
    assert tuple(figure.layout.xaxis.range) == (-0.5, 3.5)
    assert figure.layout.xaxis.side == "top"
    heat = figure.data[0]
    assert (heat.x0, heat.dx, heat.y0, heat.dy, heat.x, heat.y) == (0, 1, 0, 1, None, None)


@pytest.mark.parametrize("show", ["attention", "mask"])
def test_labels_stand_in_the_order_of_the_tokens_and_read_as_they_are(show):
    layout = draw(show=show).layout
    for axis, tokens in ((layout.xaxis, KEYS), (layout.yaxis, QUERIES)):
        assert axis.type != "category"
        assert list(axis.tickvals) == [0, 1, 2, 3]  # four places, though a token comes twice
        assert [read(text) for text in axis.ticktext] == list(tokens)
        assert axis.showticklabels is True


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>", "&", "&lt;", "'", '"', "<script>", "<br>", "%{z}", "é", "⟨E2⟩"])
def test_an_odd_token_reads_as_it_is(token):
    figure = draw(VALUES[:1, :1], CAUSAL[:1, :1], queries=[token], keys=[token])
    assert read(figure.layout.xaxis.ticktext[0]) == read(figure.layout.yaxis.ticktext[0]) == token


def test_hovering_names_both_tokens_and_the_weight():
    assert hover(draw(), 2, 1) == "& → a looks at a\nweight 0.333333"
    assert hover(draw(), 3, 0) == 'a → " looks at <s>\nweight 0.250000'
    assert hover(draw(show="mask"), 3, 0) == 'a → " may look at <s>'


@pytest.mark.parametrize("size", [1, 100])
def test_hovering_reads_a_long_token_whole_whether_there_is_room_for_labels_or_not(size):
    longest = "incompréhensiblement & <indivisible>"
    values = np.full((size, size), 0.5, np.float32)
    figure = draw(values, values > 0, queries=[f"{longest} → q"] * size, keys=[longest] * size)
    assert figure.layout.xaxis.showticklabels is (size == 1)
    assert hover(figure, size - 1, 0) == f"{longest} → q looks at {longest}\nweight 0.500000"


@pytest.mark.parametrize("show", ["attention", "mask"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"queries": QUERIES[:3]}, "a map of 4 x 4 with 3 and 4 labels"),
        ({"keys": (*KEYS, "a")}, "a map of 4 x 4 with 4 and 5 labels"),
    ],
)
def test_a_wrong_number_of_labels_is_refused(show, labels, message):
    with pytest.raises(ValueError, match=message):
        draw(show=show, **labels)


def test_labels_are_left_out_where_a_cell_is_too_small_for_them():
    shown = [unnamed(n, n, width=248, height=236).layout for n in range(1, 61)]
    for axis, length, sides in (("xaxis", 248, ("l", "r")), ("yaxis", 236, ("t", "b"))):
        labelled = [layout[axis].showticklabels for layout in shown]
        count = sum(labelled)
        assert labelled == [True] * count + [False] * (60 - count)
        assert 10 < count < 50
        inside = length - sum(shown[count - 1].margin[side] for side in sides)
        assert inside / count >= LABEL_CELL
    assert unnamed(3, 100).layout.xaxis.showticklabels is False
    assert unnamed(3, 100).layout.yaxis.showticklabels is True


def test_a_larger_map_has_room_for_more_labels():
    assert unnamed(40, 40).layout.xaxis.showticklabels is False
    assert unnamed(40, 40, width=800).layout.xaxis.showticklabels is True


def test_the_outline_of_a_causal_mask_is_a_staircase():
    three = draw(VALUES[:3, :3], CAUSAL[:3, :3], queries=QUERIES[:3], keys=KEYS[:3])
    left = {(-0.5, y, -0.5, y + 1) for y in (-0.5, 0.5, 1.5)}
    bottom = {(x, 2.5, x + 1, 2.5) for x in (-0.5, 0.5, 1.5)}
    stairs = {(-0.5, -0.5, 0.5, -0.5), (0.5, -0.5, 0.5, 0.5), (0.5, 0.5, 1.5, 0.5)}
    stairs |= {(1.5, 0.5, 1.5, 1.5), (1.5, 1.5, 2.5, 1.5), (2.5, 1.5, 2.5, 2.5)}
    assert edges(three.data[1]) == left | bottom | stairs


@pytest.mark.parametrize("seed", range(6))
def test_the_outline_encloses_exactly_the_allowed_cells(seed):
    draws = np.random.default_rng(seed)
    allowed = draws.random((draws.integers(1, 9), draws.integers(1, 9))) < 0.6
    labels = {"queries": ["q"] * allowed.shape[0], "keys": ["k"] * allowed.shape[1]}
    figure = draw(allowed.astype(np.float32), allowed, **labels)
    assert edges(figure.data[1]) == border(allowed)


def test_where_nothing_is_allowed_nothing_is_drawn():
    figure = draw(np.zeros((4, 4), np.float32), np.zeros((4, 4), bool))
    assert np.isnan(figure.data[0].z).all()
    assert edges(figure.data[1]) == set()


@MODES
@pytest.mark.parametrize("show", ["attention", "mask"])
def test_the_former_mask_is_dashed_where_the_mask_has_changed(show, mode):
    everything = np.ones_like(CAUSAL)
    figure = draw(VALUES, everything, show=show, mode=mode, former=CAUSAL)
    now, before = figure.data[1:]
    assert (now.line.dash, before.line.dash) == (None, "dot")
    assert now.line.color != before.line.color
    assert edges(now) == border(everything)
    assert edges(before) == border(CAUSAL)


@pytest.mark.parametrize("former", [None, CAUSAL, CAUSAL.copy()])
def test_an_unchanged_mask_has_one_outline(former):
    assert len(draw(former=former).data) == 2


@MODES
@pytest.mark.parametrize("show", ["attention", "mask"])
def test_a_figure_leaves_what_it_is_given_alone(show, mode):
    values, allowed = VALUES.copy(), CAUSAL.copy()
    values.flags.writeable = allowed.flags.writeable = False
    figure = draw(values, allowed, show=show, mode=mode, former=~allowed)
    assert {trace["type"] for trace in through_json(figure)["data"]} == {"heatmap", "scatter"}
    np.testing.assert_array_equal(values, VALUES)
    np.testing.assert_array_equal(allowed, CAUSAL)


def test_the_largest_map_is_light_enough_to_send():
    assert len(unnamed(128, 128).to_json()) < 400_000


def change_of(values=VALUES, allowed=CAUSAL, **changes):
    return difference_map(values, allowed, **(LABELS | {"mode": "light"} | changes))


@MODES
@pytest.mark.parametrize("largest", [0.25, -0.75, 0.001])
def test_a_difference_is_drawn_as_it_is_symmetrically_about_0(mode, largest):
    values = np.where(VALUES == 1, np.float32(largest), -VALUES * np.float32(largest / 2))
    heat = through_json(change_of(values, mode=mode))["data"][0]
    z = numbers(heat["z"])
    np.testing.assert_array_equal(np.isnan(z), ~CAUSAL)
    np.testing.assert_array_equal(z[CAUSAL], values[CAUSAL])
    assert (heat["zmin"], heat["zmax"]) == pytest.approx((-max(0.01, abs(largest)), max(0.01, abs(largest))))
    assert heat["colorscale"] == theme.plotly_scale("difference", mode)
    assert heat["hoverongaps"] is False


def test_what_is_forbidden_has_no_part_in_the_scale_of_differences():
    assert change_of(np.where(CAUSAL, 0.2, 9).astype(np.float32)).data[0].zmax == pytest.approx(0.2)


def test_no_difference_at_all_is_drawn_as_the_page():
    heat = change_of(np.zeros((4, 4), np.float32)).data[0]
    assert heat.zmin < 0 < heat.zmax
    assert np.isnan(change_of(allowed=np.zeros((4, 4), bool)).data[0].z).all()


def test_hovering_over_a_difference_names_both_tokens_and_the_change():
    assert hover(change_of(-VALUES), 2, 1) == "& → a looks at a\nchange -0.333333"


@pytest.mark.parametrize("builder", [draw, change_of])
def test_without_labels_tokens_are_read_on_hover_alone(builder):
    plain, labelled = builder(labelled=False), builder(width=600, height=600)
    for axis in ("xaxis", "yaxis"):
        assert (plain.layout[axis].showticklabels, labelled.layout[axis].showticklabels) == (False, True)
        assert plain.layout[axis].ticktext == labelled.layout[axis].ticktext
    assert max(plain.layout.margin.l, plain.layout.margin.t) < min(labelled.layout.margin.l, labelled.layout.margin.t)
    assert hover(plain, 3, 0).startswith('a → " looks at <s>')


def test_the_frame_around_the_first_row_is_the_one_that_the_script_moves():
    figure = draw(step_row=True)
    (frame,) = through_json(figure)["layout"]["shapes"]
    assert (frame["x0"], frame["x1"], frame["y0"], frame["y1"], frame["opacity"]) == (-0.5, 3.5, -0.5, 0.5, 0)
    assert f'NAME = "{frame["name"]}"' in (ROOT / "viz" / "shared" / "step_rows.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [TRANSLATE, WHAT_IF])
def test_a_figure_knows_no_step_and_the_maps_of_target_rows_follow_it(page):
    one, four = (Lab(page, text="The dog sleeps.", kind="cross", step=step).charts for step in ("1", "4"))
    assert one[:3] == four[:3]
    named = [[shape.get("name") for shape in chart["layout"].get("shapes", ())] for chart in one[:3]]
    assert named == [["step row"] if page == WHAT_IF or n else [] for n in range(3)]
