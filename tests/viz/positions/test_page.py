"""Positions: the page and its figures."""

import dataclasses

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model.config import END
from model.inference.request import Request
from model.io import folders
from model.io.numbers import scientific
from model.readings.positions.sentence_positions import position_edits
from tests.support import tiny
from tests.support import viz_helpers as helpers
from tests.support.viz_helpers import POSITIONS, WHAT_IF, Lab, numbers, read, through_json
from viz import cache, computations, theme
from viz.positions import position_figures
from viz.positions.cached_figures import strips
from viz.state import result_cache
from viz.state.page_fields import MAX_PE_WIDTH

SENTENCE = "The dog sees the dog."
SIX = 6  # figures of a scheme


def page(**link: str) -> Lab:
    """A visitor who looks at all that is there."""
    return Lab(POSITIONS, **({"text": SENTENCE} | link)).look()


def notes(lab: Lab) -> str:
    return " ".join(lab.sentences("lab-note"))


@pytest.fixture
def only(monkeypatch, tokenizer, tmp_path):
    """A folder with nothing but one tiny checkpoint of a kind of positions."""

    def made(kind: str, **changes) -> str:
        checkpoint = dataclasses.replace(tiny.checkpoint(tokenizer, positions=kind, **changes), name=kind)
        with torch.no_grad():
            checkpoint.model.projection.weight[END].mul_(3)  # its sentences end soon
        checkpoints.save(checkpoint, tmp_path / kind)
        for function in (folders.list_checkpoints, folders.search_folders):
            monkeypatch.setattr(function, "__defaults__", (tmp_path,))
        result_cache.clear_all()
        return kind

    yield made
    result_cache.clear_all()


@pytest.mark.parametrize("scheme", ["sinusoidal", "rotary"])
def test_the_figures_show_what_was_measured(scheme):
    lab = page(scheme=scheme, pe_d="64", pe_base="100", pe_n="32", pe_k="3", pe_i="5")
    found = computations.position_numbers(scheme, 32, 64, 100.0, 3)
    table, curves, distance, similarity, shift, residual = lab.charts[:SIX]
    np.testing.assert_array_equal(numbers(table["data"][0]["z"]), found.values)
    np.testing.assert_array_equal(numbers(similarity["data"][0]["z"]), found.similarity)
    names = [read(a["text"]) for a in curves["layout"]["annotations"]]
    assert f"i = 5, wavelength {2 * np.pi * 100 ** (10 / 64):.2f}" in names and len(names) == 4
    line = next(trace for trace in distance["data"] if trace.get("line", {}).get("width") == 2)
    np.testing.assert_allclose(numbers(line["y"]), found.mean)
    assert len(shift["data"]) == 5
    np.testing.assert_allclose(numbers(residual["data"][0]["y"]), np.maximum(found.residual, 1e-9))
    assert f"at most {scientific(found.worst, 1)}" in notes(lab) and "exact but for rounding" in notes(lab)
    assert not lab.faults and not lab.warnings


@pytest.mark.parametrize("side", ["source", "target"])
def test_learned_positions_are_those_of_the_checkpoint(side):
    kind = {"source": "encoder", "target": "decoder"}[side]
    lab = page(scheme="learned", pe_n="32", kind=kind)
    found = computations.learned_numbers("en-fr-learned", "auto", side, 32, 1)
    np.testing.assert_array_equal(numbers(lab.charts[0]["data"][0]["z"]), found.values)
    assert f"en-fr-learned, {side}: rows of 128 numbers" in notes(lab)
    lengths = checkpoints.load("en-fr-learned").corpus_stats.lengths[side]
    longest, count = lengths.max_length, f"{lengths.sentences:,}"
    reached = f"One epoch of training is counted: the longest of its {count} sentences has {longest} tokens."
    assert reached in notes(lab)
    alone = "No row alone can be told from one that was drawn at random. "
    assert (alone if found.seen == 1 else f"Rows 0 to {found.seen - 1} ") in notes(lab) and found.seen < longest
    both = [f"together lie {abs(found.together[0]):.1f}", f"together they lie {abs(found.together[1]):.1f}"]
    assert f"rows {found.seen} to {longest - 1} {both[0]} standard deviations from random ones." in notes(lab)
    assert f"No sentence reaches rows {longest} to 159; {both[1]} standard deviations" in notes(lab)
    assert abs(found.together[0]) > 4 > 3 > abs(found.together[1])
    assert "no exact map" in notes(lab) and f"{found.relative:.0%} of the length is missed" in notes(lab)
    sliders = {slider.key: slider for slider in lab.app_test.select_slider}
    assert "pe count" in sliders and not {"pe width", "pe base"} & set(sliders)  # the table has its own width, and no base
    other = lab.pick("table side", {"source": "target", "target": "source"}[side])
    assert np.abs(numbers(other.charts[0]["data"][0]["z"]) - found.values).max() > 0.1


@pytest.mark.parametrize("width", [2, 4, 6, 8, 16, 256, MAX_PE_WIDTH])
def test_the_pair_that_is_followed_is_among_the_curves(width):
    for pair in range(width // 2):
        drawn = strips(pair, width)
        assert pair in drawn and len(set(drawn)) == len(drawn) <= 4
        assert all(0 <= i < width // 2 for i in drawn)


@pytest.mark.parametrize(("checkpoint", "d_model", "d_k"), [("en-fr", 256, 32), ("en-fr-learned", 128, 32)])
def test_a_formula_is_as_wide_as_the_checkpoint(checkpoint, d_model, d_k):
    lab = page(checkpoint=checkpoint)
    for scheme, width in (("sinusoidal", d_model), ("rotary", d_k)):
        lab.pick("scheme", scheme)
        assert numbers(lab.charts[0]["data"][0]["z"]).shape[1] == width
        assert lab.app_test.select_slider(key="pe width").value == width and "pe_d" not in lab.link


def test_a_slider_changes_the_picture_and_the_link():
    lab = page()
    for key, name, value in (("pe width", "pe_d", 16), ("pe base", "pe_base", 100.0), ("pe count", "pe_n", 8)):
        before = lab.charts[0]["data"][0]["z"]
        lab.app_test.select_slider(key=key).set_value(value)
        assert lab.run().charts[0]["data"][0]["z"] != before
        assert lab.link[name] == f"{value:g}"


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_sentence_alone_by_position_and_both(side):
    lab = page().pick("sentence side", side)
    found = computations.sentence_positions(Request(SENTENCE), "auto", side)
    for chart, values in zip(lab.charts[SIX:], (found.alone, found.positions, found.both), strict=True):
        np.testing.assert_array_equal(numbers(chart["data"][0]["z"]), values)
        assert [read(text) for text in chart["layout"]["xaxis"]["ticktext"]] == list(found.labels)
    (i, j) = found.repeated[0]
    told = f"“{found.labels[i]}” ({i + 1} and {j + 1}): cosine 1.000 alone, {found.both[i, j]:.3f} with positions"
    assert told in notes(lab)


@pytest.mark.parametrize(("text", "fault"), [("", "The sentence is empty"), ("a b c d e " * 400, "expected at most 128")])
def test_the_schemes_need_no_sentence(text, fault):
    lab = page(text=text, split="off", scheme="rotary")
    assert len(lab.faults) == 1 and fault in lab.faults[0]
    assert len(lab.charts) == SIX
    assert len(lab.type(SENTENCE).charts) == SIX + 3


def test_every_variant_is_translated_and_told():
    lab = page(pe_k="5")
    base = cache.analyse(Request(SENTENCE), "auto").translation
    assert lab.sentences("lab-variant")[0] == base
    for edit, text in zip(position_edits(5), lab.sentences("lab-variant")[1:], strict=True):
        request = Request(SENTENCE, intervention=tiny.edited(edit.code), mode="again")
        assert text.startswith(" ".join(cache.analyse(request, "auto").translation.split()))  # a near-tie is told behind it
    shown = [helpers.value(text) for text in lab.sentences("lab-number ?(?:loss|gain)")]
    given = [cache.analyse(Request(SENTENCE, intervention=tiny.edited(edit.code)), "auto") for edit in position_edits(5)]
    measured = [float(g.trace.token_log_probs.sum() - g.baseline.trace.token_log_probs.sum()) for g in given]
    np.testing.assert_allclose(shown, measured, atol=0.0051)


def test_a_click_toggles_the_edit_on_every_page():
    lab = page()
    lab.click("variant source-positions_off")
    assert lab.edits == {"source-positions_off": "Source: positions off"}
    assert (lab.link["edits"], lab.link["mode"]) == ("source-positions_off", "again")
    lab.click("variant target-positions_shuffled-1")
    lab.click("variant source-positions_shuffled-1")  # in place of the other on its side
    assert set(lab.edits) == {"source-positions_shuffled-1", "target-positions_shuffled-1"}
    assert lab.go(WHAT_IF).switchboard and set(lab.edits) == {"source-positions_shuffled-1", "target-positions_shuffled-1"}
    lab.go(POSITIONS).click("variant source-positions_shuffled-1")
    lab.click("variant target-positions_shuffled-1")
    assert lab.edits == {} and "edits" not in lab.link


def test_a_rotary_checkpoint_shows_scores(only):
    lab = page(checkpoint=only("rotary"), scheme="rotary", text="The fox sees the fox.")
    assert not lab.faults
    assert "Rotary positions add nothing to the embeddings" in notes(lab)
    found = computations.sentence_positions(Request("The fox sees the fox.", checkpoint="rotary"), "auto", "source")
    for chart, values in zip(lab.charts[SIX:], (found.alone, found.scores_without, found.scores_with), strict=True):
        np.testing.assert_array_equal(numbers(chart["data"][0]["z"]), values)
    assert "differ by" in notes(lab)


MODES = pytest.mark.parametrize("mode", ["light", "dark"])
TABLE = np.array([[0.0, 1, -2, 3], [4, -5, 6, -7], [0.5, 0.25, 0, 1]], dtype=np.float32)


@MODES
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


@MODES
def test_repeated_tokens_stay_apart(mode):
    labels = ["<s>", "dog", "&amp;", "dog"]
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    figure = position_figures.token_map(values, labels, [(1, 3)], mode, 1.0)
    heat = through_json(figure)["data"][0]
    np.testing.assert_array_equal(numbers(heat["z"]), values)
    assert (heat["zmin"], heat["zmax"]) == (-1, 1)
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert list(axis.tickvals) == [0, 1, 2, 3]
        assert [read(text) for text in axis.ticktext] == labels
    boxes = {(shape.y0 + 0.5, shape.x0 + 0.5) for shape in figure.layout.shapes}
    assert boxes == {(1, 3), (3, 1)}
    assert position_figures.token_map(values, labels, [], mode).data[0].zmax == 15
