"""The Positions page without a browser."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
import torch

from model import checkpoint as checkpoints
from model import folders, format
from model.config import END
from model.decoding.strategy import Decoding
from model.inference.request import Request
from model.readings.sentence_positions import FAR, variants
from tests.support import tiny
from tests.support.viz_helpers import POSITIONS, WHAT_IF, Lab, numbers, read
from viz import cache, keep, readings
from viz.page_fields import MAX_PE_WIDTH
from viz.positions import figures, scheme_part, sentence_part
from viz.positions.drawn import strips

SENTENCE = "The dog sees the dog."
SIX = 6  # figures of a scheme
DRAWN = ["WIDTHS", "BASES", "COUNTS"]


def page(**link: str) -> Lab:
    """A visitor who looks at all that is there."""
    return Lab(POSITIONS, **({"text": SENTENCE} | link)).look()


def notes(lab: Lab) -> str:
    return " ".join(lab.sentences("lab-note"))


def said(lab: Lab) -> list[str]:
    return lab.sentences("lab-variant")


@pytest.fixture
def only(monkeypatch, tokenizer, tmp_path):
    """A folder with nothing but one tiny checkpoint of a kind of positions."""

    def made(kind: str, **changes) -> str:
        checkpoint = dataclasses.replace(tiny.checkpoint(tokenizer, positions=kind, **changes), name=kind)
        with torch.no_grad():
            checkpoint.model.projection.weight[END].mul_(3)  # its sentences end soon
        checkpoints.save(checkpoint, tmp_path / kind)
        for function in (folders.survey, folders.homes):
            monkeypatch.setattr(function, "__defaults__", (tmp_path,))
        keep.forget()
        return kind

    yield made
    keep.forget()


@pytest.mark.parametrize("scheme", ["sinusoidal", "rotary"])
def test_the_figures_show_what_was_measured(scheme):
    lab = page(scheme=scheme, pe_d="64", pe_base="100", pe_n="32", pe_k="3", pe_i="5")
    found = readings.position_numbers(scheme, 32, 64, 100.0, 3)
    table, curves, distance, similarity, shift, residual = lab.charts[:SIX]
    np.testing.assert_array_equal(numbers(table["data"][0]["z"]), found.values)
    np.testing.assert_array_equal(numbers(similarity["data"][0]["z"]), found.similarity)
    names = [read(a["text"]) for a in curves["layout"]["annotations"]]
    assert f"i = 5, wavelength {2 * np.pi * 100 ** (10 / 64):.2f}" in names and len(names) == 4
    line = next(trace for trace in distance["data"] if trace.get("line", {}).get("width") == 2)
    np.testing.assert_allclose(numbers(line["y"]), found.mean)
    assert len(shift["data"]) == 5
    np.testing.assert_allclose(numbers(residual["data"][0]["y"]), np.maximum(found.residual, 1e-9))
    assert f"at most {format.rounded(found.worst, 1)}" in notes(lab) and "exact but for rounding" in notes(lab)
    assert not lab.faults and not lab.warnings


@pytest.mark.parametrize("side", ["source", "target"])
def test_learned_positions_come_from_a_checkpoint_that_has_them(side):
    kind = {"source": "encoder", "target": "decoder"}[side]
    lab = page(scheme="learned", pe_n="32", kind=kind)
    found = readings.learned_numbers("en-fr-learned", "auto", side, 32, 1)
    np.testing.assert_array_equal(numbers(lab.charts[0]["data"][0]["z"]), found.values)
    assert f"en-fr-learned, {side}: rows of 128 numbers" in notes(lab)
    lengths = checkpoints.load("en-fr-learned").seen.lengths[side]
    longest, count = lengths.longest, f"{lengths.sentences:,}"
    reached = f"One epoch of training is counted: the longest of its {count} sentences has {longest} tokens."
    assert reached in notes(lab)
    told = (
        "No row alone can be told from one that was drawn at random. " if found.seen == 1 else f"Rows 0 to {found.seen - 1} "
    )
    assert told in notes(lab) and found.seen < longest
    both = [f"together lie {abs(found.together[0]):.1f}", f"together they lie {abs(found.together[1]):.1f}"]
    assert f"rows {found.seen} to {longest - 1} {both[0]} standard deviations from random ones." in notes(lab)
    assert f"No sentence reaches rows {longest} to 159; {both[1]} standard deviations" in notes(lab)
    assert abs(found.together[0]) > 4 > 3 > abs(found.together[1])
    assert "no exact map" in notes(lab) and f"{found.relative:.0%} of the length is missed" in notes(lab)
    sliders = {slider.key: slider for slider in lab.at.select_slider}
    assert "pe count" in sliders and not {"pe width", "pe base"} & set(sliders)  # the table has its own width, and no base
    other = lab.pick("table side", {"source": "target", "target": "source"}[side])
    assert np.abs(numbers(other.charts[0]["data"][0]["z"]) - found.values).max() > 0.1


@pytest.mark.parametrize("side", ["source", "target"])
def test_page_counts_the_sentences_that_reach_each_row(side):
    """Of the first and the last row that is told, and not one number for the rows between them."""
    lab = page(scheme="learned", kind={"source": "encoder", "target": "decoder"}[side])
    lengths = checkpoints.load("en-fr-learned").seen.lengths[side]
    beyond_one = sum(count for length, count in enumerate(lengths.histogram) if length > 1)
    assert f"{beyond_one:,} sentences reach row 1 and 1 sentence reaches row {lengths.longest - 1}; rows 1" in notes(lab)
    assert "reached rows" not in notes(lab)


def test_beyond_the_table_is_refused_and_beyond_the_training_is_marked():
    lab = page(scheme="learned", pe_n="256")
    assert lab.warnings == ["The table ends at position 159: a position beyond is refused."]
    assert len(numbers(lab.charts[0]["data"][0]["z"])) == 160
    assert figures.UNSEEN in [read(a["text"]) for a in lab.charts[0]["layout"]["annotations"]]
    lab = page(scheme="sinusoidal", pe_n="256")
    longest = max(known.longest for known in checkpoints.load("en-fr").seen.lengths.values())
    assert f"the longest has {longest}, so none reaches position {longest} (below the dashed line)" in notes(lab)
    line = lab.charts[0]["layout"]["shapes"][1]
    assert (line["y0"], line["line"]["dash"]) == (longest - 0.5, "dash")
    assert f"the counted epoch of training has none from {longest} on" in notes(page(scheme="rotary", pe_n="8"))


def test_without_the_lengths_of_the_training_nothing_is_said_of_what_it_never_saw(only):
    """The dashed line is then the text limit, and is called so."""
    name = only("sinusoidal")
    lab = page(checkpoint=name, pe_n="256", text="The red fox.")
    assert (
        f"how long the training texts of {name} were is not kept with it. The dashed line is the text limit, 128"
        in notes(lab)
    )
    named = [read(a["text"]) for a in lab.charts[0]["layout"]["annotations"]]
    assert "over the text limit" in named and figures.UNSEEN not in named
    assert "none reaches position" not in notes(lab)
    assert "epoch of training has none" not in notes(page(checkpoint=name, text="The red fox."))


def test_a_shift_larger_than_what_is_drawn_is_told():
    assert "The shift by 100 leads out of the picture" in notes(page(pe_n="8", pe_k="100"))
    lab = page(scheme="learned", pe_n="8", pe_k="120")
    assert "No two of the first 8 rows, which training reached, lie 120 apart: choose a smaller shift." in notes(lab)
    assert not lab.faults


@pytest.mark.parametrize(
    ("scheme", "link"),
    [
        ("sinusoidal", {"pe_d": "2", "pe_n": "2", "pe_k": "0", "pe_i": "500", "pe_base": "2"}),
        ("rotary", {"pe_d": "1024", "pe_n": "512", "pe_k": "128", "pe_i": "511", "pe_base": "1e+06"}),
        ("learned", {"pe_d": "6", "pe_n": "7", "pe_k": "9", "pe_i": "3", "pe_base": "123.456"}),
        ("learned", {"pe_d": "2", "pe_n": "2", "pe_k": "0", "pe_i": "500", "pe_base": "2"}),
    ],
)
def test_the_ends_of_what_a_link_may_ask(scheme, link):
    lab = page(scheme=scheme, **link)
    assert not lab.faults
    assert lab.link == {"text": SENTENCE, "scheme": scheme, **link}


def test_nonsense_in_a_link_is_a_sentence_each():
    lab = page(scheme="no-such-scheme", pe_d="7", pe_base="nan", pe_n="1", pe_k="-1", pe_i="x")
    assert len(lab.warnings) == 6
    assert len(lab.charts) == SIX + 3


@pytest.mark.parametrize("width", [2, 4, 6, 8, 16, 256, MAX_PE_WIDTH])
def test_the_pair_that_is_followed_is_among_the_curves(width):
    for pair in range(width // 2):
        drawn = strips(pair, width)
        assert pair in drawn and len(set(drawn)) == len(drawn) <= 4
        assert all(0 <= i < width // 2 for i in drawn)


@pytest.mark.parametrize(("checkpoint", "d_model", "d_k"), [("en-fr", 256, 32), ("en-fr-learned", 128, 32)])
def test_a_formula_is_as_wide_as_the_checkpoint_until_it_is_moved(checkpoint, d_model, d_k):
    lab = page(checkpoint=checkpoint)
    for scheme, width in (("sinusoidal", d_model), ("rotary", d_k)):
        lab.pick("scheme", scheme)
        assert numbers(lab.charts[0]["data"][0]["z"]).shape[1] == width
        assert lab.at.select_slider(key="pe width").value == width and "pe_d" not in lab.link


def test_a_slider_changes_the_picture_and_the_link():
    lab = page()
    for key, name, value in (("pe width", "pe_d", 16), ("pe base", "pe_base", 100.0), ("pe count", "pe_n", 8)):
        before = lab.charts[0]["data"][0]["z"]
        lab.at.select_slider(key=key).set_value(value)
        assert lab.run().charts[0]["data"][0]["z"] != before
        assert lab.link[name] == f"{value:g}"


# -- on the sentence --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["source", "target"])
def test_the_sentence_alone_by_position_and_both(side):
    lab = page().pick("sentence side", side)
    found = readings.sentence_positions(Request(SENTENCE), "auto", side)
    for chart, values in zip(lab.charts[SIX:], (found.alone, found.positions, found.both), strict=True):
        np.testing.assert_array_equal(numbers(chart["data"][0]["z"]), values)
        assert [read(text) for text in chart["layout"]["xaxis"]["ticktext"]] == list(found.labels)
    (i, j) = found.repeated[0]
    told = f"“{found.labels[i]}” ({i + 1} and {j + 1}): cosine 1.000 alone, {found.both[i, j]:.3f} with positions"
    assert told in notes(lab)


def test_a_sentence_with_a_repeated_word_is_offered():
    lab = page(text="Nine owls sleep.")
    assert "No token occurs twice in this sentence." in notes(lab)
    (button,) = [b for b in lab.at.button if b.label.startswith("Try")]
    button.click()
    assert lab.run().box == SENTENCE
    assert "Repeated: " in notes(lab)


@pytest.mark.parametrize(("text", "scheme"), [("🦉<b>", "rotary")])
def test_short_and_odd_sentences(text, scheme):
    lab = page(text=text, split="off", scheme=scheme)
    assert not lab.faults
    assert len(lab.charts) == SIX + 3
    assert not any("<script>alert" in markup for markup in lab.html)


@pytest.mark.parametrize(("text", "fault"), [("", "The sentence is empty"), ("a b c d e " * 400, "expected at most 128")])
def test_without_a_sentence_the_schemes_are_still_there(text, fault):
    lab = page(text=text, split="off", scheme="rotary")
    assert len(lab.faults) == 1 and fault in lab.faults[0]
    assert len(lab.charts) == SIX
    assert len(lab.type(SENTENCE).charts) == SIX + 3


# -- edits ------------------------------------------------------------------------------------------------------------


def test_every_variant_is_translated_and_told():
    lab = page(pe_k="5")
    base = cache.analyse(Request(SENTENCE), "auto").translation
    assert said(lab)[0] == base
    for edit, text in zip(variants(5), said(lab)[1:], strict=True):
        request = Request(SENTENCE, intervention=tiny.edited(edit.code), mode="again")
        assert text.startswith(" ".join(cache.analyse(request, "auto").translation.split()))  # a near-tie is told behind it
    shown = [signed(text) for text in lab.sentences("lab-number ?(?:loss|gain)")]
    given = [cache.analyse(Request(SENTENCE, intervention=tiny.edited(edit.code)), "auto") for edit in variants(5)]
    measured = [float(g.trace.token_log_probs.sum() - g.baseline.trace.token_log_probs.sum()) for g in given]
    np.testing.assert_allclose(shown, measured, atol=0.0051)


def signed(text: str) -> float:
    return float(text.replace("−", "-"))


def test_changed_words_are_boxed():
    lab = page(pe_k="5")
    row = next(text for text in lab.html if "lab-variant" in text and "<mark" in text)
    assert re.search(r'<mark class="is">\w+', row)
    assert "<mark" not in next(text for text in lab.html if "lab-variant" in text)


def test_a_click_makes_the_edit_on_every_page_and_a_second_takes_it_back():
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


def test_other_edits_stay_when_a_variant_is_chosen():
    lab = page(edits="off_cross.3", causal="off")
    lab.click("variant source-positions_off")
    assert lab.link["edits"] == "off_cross.3~source-positions_off" and lab.link["causal"] == "off"


def test_a_variant_that_the_table_refuses_says_why():
    lab = page(checkpoint="en-fr-learned")
    (row,) = [text for text in lab.sentences("lab-note warn") if "source" not in text and "Refused" in text][:1]
    assert row == f"Refused: The table ends at position 159, so a shift by {FAR} leads beyond it from every position."
    assert lab.at.button(key=f"variant source-positions_shifted-{FAR}").disabled
    assert not lab.at.button(key="variant source-positions_off").disabled


@pytest.mark.parametrize(("rows", "refused"), [(FAR, 2), (FAR + 1, 0)])
def test_a_shift_that_no_sentence_can_have_is_refused_before_anybody_looks(only, rows, refused):
    name = only("learned", max_positions=rows)
    lab = Lab(POSITIONS, text="The fox sees a lamp.", checkpoint=name)
    told = [text for text in lab.sentences("lab-note warn") if "Refused" in text]
    assert (
        told
        == [f"Refused: The table ends at position {rows - 1}, so a shift by {FAR} leads beyond it from every position."]
        * refused
    )
    assert lab.at.button(key=f"variant source-positions_shifted-{FAR}").disabled == bool(refused)
    assert not lab.at.button(key="variant source-positions_off").disabled and "…" in said(lab)


def test_a_refused_edit_of_a_link_is_one_sentence_and_can_be_taken_back():
    lab = page(checkpoint="en-fr-learned", edits=f"source-positions_shifted-{FAR}", mode="again", scheme="learned")
    assert len(lab.faults) == 1 and "learned positions 0 to 159" in lab.faults[0]
    assert len(lab.charts) == SIX
    assert not lab.click(f"edit source-positions_shifted-{FAR}").faults


# -- checkpoints of other kinds ---------------------------------------------------------------------------------------


def test_a_rotary_checkpoint_shows_what_positions_change(only):
    lab = page(checkpoint=only("rotary"), scheme="rotary", text="The fox sees the fox.")
    assert not lab.faults
    assert "Rotary positions add nothing to the embeddings" in notes(lab)
    found = readings.sentence_positions(Request("The fox sees the fox.", checkpoint="rotary"), "auto", "source")
    for chart, values in zip(lab.charts[SIX:], (found.alone, found.scores_without, found.scores_with), strict=True):
        np.testing.assert_array_equal(numbers(chart["data"][0]["z"]), values)
    assert "differ by" in notes(lab)


def test_without_any_learned_checkpoint_the_page_says_what_it_can_show(only):
    lab = page(checkpoint=only("sinusoidal"), scheme="learned", text="The fox sees a lamp.")
    assert "No checkpoint here has learned positions" in notes(lab)
    assert len(lab.charts) == 3
    assert len(lab.pick("scheme", "rotary").charts) == SIX + 3


def test_a_table_without_a_trained_row_is_no_fault(only):
    """Which rows were trained is then told by nothing: the figures are of all, and no sentence says otherwise."""
    name = only("learned", max_positions=140)
    lab = page(checkpoint=name, scheme="learned", text="The fox sees a lamp.", pe_n="256")
    assert not lab.faults
    assert "Which rows training reached cannot be told from the table: all 140 are shown. Rows 1 to 139, taken" in notes(lab)
    assert "How long its training texts were is not kept with this checkpoint." in notes(lab)
    found = readings.learned_numbers(name, "auto", "source", 256, 1)
    assert (found.seen, found.used, len(found.mean), len(found.residual)) == (1, 140, 140, 139)
    apart = (
        f"Mean and range over pairs of the 140 rows: at one distance they differ by up to {format.rounded(found.spread, 3)}"
    )
    assert apart in notes(lab) and found.spread > 0 and f"At each p at most {format.rounded(found.worst)};" in notes(lab)
    assert "moved" not in notes(lab) and "choose a smaller shift" not in notes(lab) and len(lab.charts) == SIX + 3
    named = [read(a["text"]) for chart in lab.charts[:SIX] for a in chart["layout"].get("annotations", ())]
    assert not {"hardly moved", figures.UNSEEN} & set(named)
    lab = page(checkpoint=name, scheme="learned", text="The fox sees a lamp.", pe_n="8", pe_k="9")
    assert "the first 8 of 140 are shown" in notes(lab) and "No two of the first 8 rows lie 9 apart:" in notes(lab)


@pytest.mark.parametrize("name", DRAWN)
def test_options_are_in_order_and_hold_the_default(name):
    options = getattr(scheme_part, name)
    assert list(options) == sorted(options)


def test_what_is_translated_under_each_edit_is_bounded_and_told():
    wide, branch = Decoding("beam", width=8), (tuple(range(5, 90)),)
    request = Request(SENTENCE, decoding=wide, branches=branch, path=(5, 6), other_sentences=("He.",))
    assert sentence_part.tried(Request(SENTENCE, decoding=wide), 9) == (Request(SENTENCE, decoding=wide), [])
    assert sentence_part.tried(Request(SENTENCE), 128) == (Request(SENTENCE), [])
    plain, told = sentence_part.tried(request, 128)
    assert (plain, len(told)) == (Request(SENTENCE), 2)
    assert "A beam of 8 over 128 source tokens would take long here" in told[1]
    lab = page(text="The dog sees the cat and " * 8 + "sleeps.", decode="beam", width="8", branch="5-6-7")
    assert "The branches are left out here." in notes(lab) and "all are decoded greedily" in notes(lab)
