"""Positions: the page and its figures."""

import base64

import numpy as np
import pytest

from model import checkpoint as checkpoints
from model.inference.request import Request
from model.io.numbers import scientific
from model.readings.positions.sentence_positions import position_edits
from tests.support import scheme_helpers, tiny
from tests.support import viz_helpers as helpers
from tests.support.component_helpers import cells_of
from tests.support.viz_helpers import POSITIONS, Lab, made_session, numbers, read, through_json
from viz import cache, computations, theme
from viz.positions import position_figures
from viz.positions.position_edits import apply
from viz.positions.scheme_panel import strips
from viz.state.page_fields import MAX_PE_WIDTH, PE_FIGURES
from viz.state.view import View

SENTENCE = "The dog sees the dog."


def page(**link: str) -> Lab:
    """A visitor who looks at all that is there."""
    return Lab(POSITIONS, **({"text": SENTENCE} | link)).look().look()


def notes(lab: Lab) -> str:
    """All that the page, the help of its slider and its chart say."""
    helps = [slider.help for slider in lab.app_test.select_slider if slider.key == "pe count"]
    return " ".join(
        [lab.text, *map(helpers.unescaped, helps), *(chart["note"] for chart in lab._mounted(".charts")["charts"])]
    )


def figure(lab: Lab) -> dict:
    """The figure, with numbers as arrays."""
    (chart,) = lab._mounted(".charts")["charts"]
    return chart["figure"]


def matrix(figure: dict) -> np.ndarray:
    """The numbers of a map."""
    z = figure["data"][0]["z"]
    return np.frombuffer(base64.b64decode(z["values"]), dtype="<f4").reshape(z["shape"])


def edits(lab: Lab) -> list[dict]:
    return lab._mounted(".position_edits")["rows"]


def click(code: str, view: View) -> View:
    """Returns the view after a click on the button of an edit."""
    with pytest.MonkeyPatch.context() as patch:
        session = made_session(patch, view=view)
        apply(code)
    return session.view


@pytest.mark.parametrize("scheme", ["sinusoidal", "rotary"])
def test_the_figures_show_what_was_measured(scheme):
    lab = page(scheme=scheme, pe_d="64", pe_base="100", pe_n="32", pe_k="3", pe_i="5")
    found = computations.position_numbers(scheme, 32, 64, 100.0, 3)
    table, curves, similarity, distance, shift, residual = (figure(lab.pick("pe_figure", name)) for name in PE_FIGURES)
    np.testing.assert_array_equal(matrix(table), found.values)
    np.testing.assert_array_equal(matrix(similarity), found.similarity)
    names = [read(a["text"]) for a in curves["layout"]["annotations"]]
    assert f"i = 5, wavelength {2 * np.pi * 100 ** (10 / 64):.2f}" in names and len(names) == 4
    line = next(trace for trace in distance["data"] if trace.get("line", {}).get("width") == 2)
    np.testing.assert_allclose(line["y"], found.mean, rtol=1e-6)
    assert len(shift["data"]) == 5
    np.testing.assert_allclose(residual["data"][0]["y"], np.maximum(found.residual, 1e-9), rtol=1e-6)
    assert scientific(found.worst, 1) in notes(lab)
    assert not lab.faults and not lab.warnings


@pytest.mark.parametrize("side", ["source", "target"])
def test_learned_positions_are_those_of_the_checkpoint(side):
    kind = {"source": "encoder", "target": "decoder"}[side]
    lab = page(scheme="learned", pe_n="32", kind=kind)
    found = computations.learned_numbers("en-fr-learned", "auto", side, 32, 1)
    np.testing.assert_array_equal(matrix(figure(lab)), found.values)
    assert f"en-fr-learned, {side}: rows of 128 numbers" in notes(lab)
    lengths = checkpoints.load("en-fr-learned").corpus_stats.lengths[side]
    longest, count = lengths.max_length, f"{lengths.sentences:,}"
    reached = f"One epoch of training is counted: the longest of its {count} sentences has {longest} tokens."
    assert reached in notes(lab)
    both = [f"together lie {abs(found.together[0]):.1f}", f"together they lie {abs(found.together[1]):.1f}"]
    assert f"rows {found.seen} to {longest - 1} {both[0]} standard deviations from random ones." in notes(lab)
    assert f"No sentence reaches rows {longest} to 159; {both[1]} standard deviations" in notes(lab)
    assert abs(found.together[0]) > 4 > 3 > abs(found.together[1])
    sliders = {slider.key: slider for slider in lab.open("pe options").app_test.select_slider}
    assert "pe count" in sliders and not {"pe width", "pe base"} & set(sliders)  # the table has its own width, and no base
    missed = f"misses {found.relative:.0%} of the length: no exact map"
    assert missed in notes(lab.pick("pe_figure", "residual")) and missed in notes(lab.pick("pe_figure", "shift"))
    other = lab.pick("pe_figure", "table").pick("kind", {"source": "decoder", "target": "encoder"}[side])
    assert np.abs(matrix(figure(other)) - found.values).max() > 0.1


@pytest.mark.parametrize("width", [2, 4, 6, 8, 16, 256, MAX_PE_WIDTH])
def test_the_pair_that_is_followed_is_among_the_curves(width):
    for pair in range(width // 2):
        drawn = strips(pair, width)
        assert pair in drawn and len(set(drawn)) == len(drawn) <= 4
        assert all(0 <= i < width // 2 for i in drawn)


@pytest.mark.parametrize(("checkpoint", "d_model", "d_k"), [("en-fr", 256, 32), ("en-fr-learned", 128, 32)])
def test_a_formula_is_as_wide_as_the_checkpoint(checkpoint, d_model, d_k):
    lab = page(checkpoint=checkpoint).open("pe options")
    for scheme, width in (("sinusoidal", d_model), ("rotary", d_k)):
        lab.pick("scheme", scheme)
        assert matrix(figure(lab)).shape[1] == width
        assert lab.app_test.select_slider(key="pe width").value == width and "pe_d" not in lab.link


def test_a_slider_changes_the_picture_and_the_link():
    lab = page().open("pe options")
    for key, name, value in (("pe width", "pe_d", 16), ("pe base", "pe_base", 100.0), ("pe count", "pe_n", 8)):
        before = figure(lab)
        lab.app_test.select_slider(key=key).set_value(value)
        assert figure(lab.run()) != before
        assert lab.link[name] == f"{value:g}"


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_sentence_alone_by_position_and_both(side):
    lab = page().pick("kind", {"source": "encoder", "target": "decoder"}[side])
    found = computations.result(Request(SENTENCE), "auto", computations.SENTENCE_POSITIONS(side), lambda share: None)
    (i, j) = found.repeated[0]
    for each, values in zip(lab.maps, (found.alone, found.positions, found.both), strict=True):
        np.testing.assert_array_equal(cells_of(each), values)
        assert each["keys"] == list(found.labels) and each["most"] == 1 and each["rings"][:2] == [[i, j], [j, i]]
    told = f"“{found.labels[i]}” ({i + 1} and {j + 1}): cosine 1.00 alone, {found.both[i, j]:.2f} with positions"
    assert told in notes(lab)


@pytest.mark.parametrize(("text", "fault"), [("", "The sentence is empty"), ("a b c d e " * 400, "expected at most 128")])
def test_the_schemes_need_no_sentence(text, fault):
    lab = page(text=text, split="off", scheme="rotary")
    assert len(lab.faults) == 1 and fault in lab.faults[0]
    assert figure(lab) and not lab.awaited
    assert len(lab.type(SENTENCE).look().maps) == 3


def test_the_table_translates_under_each_edit():
    lab = page(pe_k="5")
    assert lab._mounted(".position_edits")["base"] == cache.analyse(Request(SENTENCE), "auto").translation.split()
    rows = edits(lab)
    for edit, row in zip(position_edits(5), rows, strict=True):
        again = cache.analyse(Request(SENTENCE, intervention=tiny.edited(edit.code), mode="again"), "auto")
        assert [word for word, _ in row["words"]] == again.translation.split()
    given = [cache.analyse(Request(SENTENCE, intervention=tiny.edited(edit.code)), "auto") for edit in position_edits(5)]
    measured = [float(g.trace.token_log_probs.sum() - g.baseline.trace.token_log_probs.sum()) for g in given]
    np.testing.assert_allclose([helpers.value(row["change"][0]) for row in rows], measured, atol=0.0051)


def test_a_click_toggles_the_edit_on_its_side():
    view = click("source-positions_off", View())
    assert (view.intervention, view.mode) == (tiny.edited("source-positions_off"), "again")
    view = click("source-positions_shuffled-1", click("target-positions_shuffled-1", view))
    assert {edit.code for edit in view.intervention.edits} == {"source-positions_shuffled-1", "target-positions_shuffled-1"}
    view = click("target-positions_shuffled-1", click("source-positions_shuffled-1", view))
    assert not view.intervention
    make = page(edits="source-positions_off", mode="again")
    assert [row["code"] for row in edits(make) if row["made"]] == ["source-positions_off"]


def test_a_lecture_turns_schemes_and_pairs():
    lab = Lab(POSITIONS, text=SENTENCE, lecture="on", large="3")
    assert lab._mounted(".charts")["charts"][0]["title"] == "PE(p)·PE(q)"
    assert lab.click("lecture scheme").link["scheme"] == "learned"
    view = lab.pressed("i", "+", "+")
    assert (view.pe_pair, view.pe_shift) == (1, 3)
    assert (lab.pressed("v").large, lab.pressed("v").pe_figure) == (4, "distance")
    assert Lab(POSITIONS, text=SENTENCE, lecture="on", pe_fig="residual").view.large == 6
    assert "curves" in Lab(POSITIONS, text="", lecture="on", large="2")._mounted(".charts")["charts"][0]["title"].lower()


@pytest.mark.parametrize("large", ["8", "9"])
def test_old_links_show_the_edits_of_both_sides(large):
    lab = Lab(POSITIONS, text=SENTENCE, lecture="on", large=large)
    assert lab._mounted(".position_edits")["large"] and len(edits(lab)) == len(position_edits(1))
    assert lab.pressed("e").intervention == tiny.edited("source-positions_off")


def test_a_rotary_checkpoint_shows_scores(tokenizer, tmp_path, monkeypatch):
    checkpoints.save(tiny.checkpoint(tokenizer, positions="rotary"), tmp_path / "rotary")
    monkeypatch.setenv("CHECKPOINTS", str(tmp_path))
    cache.clear_all()
    lab = page(checkpoint="rotary", scheme="rotary", text="The fox sees the fox.")
    assert not lab.faults
    assert "to which this scheme adds nothing" in notes(lab)
    request, call = Request("The fox sees the fox.", checkpoint="rotary"), computations.SENTENCE_POSITIONS("source")
    found = computations.result(request, "auto", call, lambda share: None)
    for each, values in zip(lab.maps, (found.alone, found.scores_without, found.scores_with), strict=True):
        np.testing.assert_array_equal(cells_of(each), values)
    assert "differ by" in notes(lab)


TABLE = np.array([[0.0, 1, -2, 3], [4, -5, 6, -7], [0.5, 0.25, 0, 1]], dtype=np.float32)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_table_is_drawn_with_position_0_on_top(mode):
    figure = position_figures.table_map(TABLE, 1, mode)
    heat = through_json(figure)["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), TABLE)
    assert (heat["zmin"], heat["zmax"]) == (-7, 7)
    assert (figure.layout.yaxis.range, figure.layout.xaxis.range) == ((2.5, -0.5), (-0.5, 3.5))
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.line.color) == (1.5, 3.5, theme.PALETTES[mode].ink)


def test_the_shift_chart_keeps_its_points():
    rotated, reached = TABLE[1:] + 0.5, TABLE[1:]
    figure = position_figures.shift_chart(TABLE, rotated, reached, 1, 1, "light")
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


def test_a_bias_of_the_scores_has_no_charts():
    with scheme_helpers.registered() as name:
        lab = Lab(POSITIONS, scheme=name)
        assert f"The scheme {name} only adds a number to each score." in lab.text and "turned" not in lab.text
