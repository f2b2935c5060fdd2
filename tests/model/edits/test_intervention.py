"""Sets of edits as data: equality, what contradicts, adding and removing, and what a checkpoint or a sentence lacks."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from model.edits.intervention import BASELINE, DONOR, SWITCHES, Intervention
from model.edits.kinds import EditError, TokenLabels, parse
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES, ONE_EACH, SWITCHED

WORDS = ("causal mask off", "padding mask off", "scaling by √d_k off", "self-attention sees only tokens less than 2 away")


@pytest.mark.parametrize("code", EXAMPLES)
def test_every_edit_counts_is_described_comes_and_goes(code):
    edit = BASELINE.with_edit(code)
    assert edit
    text = WORDS[SWITCHED.index(code)] if code in SWITCHED else parse(code).text(TokenLabels())
    assert edit.codes_and_texts() == ((code, text),)
    assert edit.describe() == text
    assert edit.with_edit(code) == edit
    assert edit.without_edit(code) == BASELINE == BASELINE.without_edit(code)
    assert BASELINE.covering_text(code) is edit.covering_text(code) is None


def test_each_edit_is_removed_alone_and_has_a_code():
    everything = tiny.edited(*ONE_EACH)
    fields = {f.name for f in dataclasses.fields(Intervention)}
    assert {switch.field for switch in SWITCHES.values()} == fields - {"edits"}
    assert all(getattr(everything, name) != getattr(BASELINE, name) for name in fields)
    for code in ONE_EACH:
        without = everything.without_edit(code)
        assert dict(without.codes_and_texts()).keys() == {*ONE_EACH, DONOR.code.format(tiny.OTHER)} - {code}
        assert without.with_edit(code) == everything


def test_a_contradiction_is_refused_and_names_both():
    told = "cross-attention, layer 3, head 5: mean instead; cross-attention, layer 3: off"
    for first, second in itertools.permutations(("off_cross.3", "mean_cross.3.5")):
        with pytest.raises(EditError, match=rf"^Two edits contradict each other \({told}\): remove one of them\.$"):
            BASELINE.with_edit(first).with_edit(second)


@pytest.mark.parametrize(
    ("made", "code", "told"),
    [
        ("off_cross.1", "off_cross.1.2", "cross-attention, layer 1: off"),
        ("off_cross", "off_cross.1", "cross-attention, all layers: off"),
        ("block_dec_2-all", "block_dec_2-1", "decoder, all layers: step 2 sees nothing"),
        ("block_dec_all-1", "block_dec.1.1_2-1", "decoder, all layers: no one sees token 1"),
        ("patch_z_enc.1_all", "patch_z_enc.1.1_3", "encoder, layer 1: the other sentence’s output"),
        ("patch_enc.1_all", "patch_enc.1_3", "encoder, after layer 1: the other sentence’s residual stream"),
        ("patch_enc.1_3", "patch_enc.1_all", None),
        ("off_cross.1.2", "off_cross.1", None),
        ("off_cross.1", "off_enc.1.1", None),
        ("off_cross.1", "mean_cross.1.2", None),  # these contradict each other, and that is told instead
        ("row_enc_2-1", "row_enc.1_2-1", None),
        ("block_dec_2-1", "block_dec_2-all", None),
        ("block_dec_2-all", "block_dec_3-1", None),
        ("block_dec.1_2-all", "block_dec.2_2-1", None),
        ("off_cross.1", "block_cross.1_1-1", None),
        ("off_cross.1", "causal-off", None),
        ("window-2", "window-3", None),
    ],
)
def test_an_edit_that_covers_another_is_named(made, code, told):
    assert tiny.edited(made).covering_text(code) == told


CONFIG = tiny.config(encoder_layers=3)  # and 2 decoder layers of 2 heads


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("off_enc.4", r"“encoder, layer 4: off” names layer 4; this checkpoint has 3 there\. Remove it\."),
        ("off_dec.3.1", r"“decoder, layer 3, head 1: off” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("row_cross.3_1-1", r"“.*” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("skip_enc.4.self", r"“.*” names layer 4; this checkpoint has 3 there\. Remove it\."),
        ("skip_dec.3.cross", r"“.*” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("mean_enc.1.3", r"“.*” names head 3; this checkpoint has 2\. Remove it\."),
        ("block_cross.1.3_1-1", r"“.*” names head 3; this checkpoint has 2\. Remove it\."),
        ("block_enc_6-1", r"“encoder, all layers: token 6 sees no token 1” names row 6; there are 5\. Remove it\."),
        ("block_enc_all-6", r"“.*” names column 6; there are 5\. Remove it\."),
        ("block_cross_1-6", r"“.*” names column 6; there are 5\. Remove it\."),
        ("block_cross_129-1", r"“.*” names row 129; there are 128\. Remove it\."),
        ("block_dec_all-129", r"“.*” names column 129; there are 128\. Remove it\."),
        ("row_enc.1_6-uniform", r"“.*” names row 6; there are 5\. Remove it\."),
        ("row_enc.1_1-6", r"“.*” names column 6; there are 5\. Remove it\."),
        ("row_dec_2-3", r"“.*” looks ahead, which the causal mask forbids: choose an earlier token\."),
    ],
)
def test_edit_of_a_missing_part_is_refused(code, message):
    asked = tiny.edited("off_cross.1", code, "scaling-off")
    with pytest.raises(EditError, match=rf"^The edit {message}$") as told:
        asked.check(CONFIG, source_length=5, has_means=True)
    kept, aside = asked.possible_and_rejected(CONFIG, 5, True)
    assert (kept, aside) == (asked.without_edit(code), ((code, str(told.value)),))


REACHED = {"block_dec_4-2": 4, "block_dec_2-4": 4, "block_dec_all-4": 4, "block_dec_4-all": 4, "block_cross_3-9": 3}
REACHED |= {"row_cross_5-uniform": 5, "row_dec_5-1": 5, **dict.fromkeys(["block_cross_all-9", "block_enc_9-9"], 0)}
REACHED |= dict.fromkeys(["row_enc_9-9", "off_dec.1", "skip_dec.1.ff", "target-positions_shifted-9", "window-9"], 0)


@pytest.mark.parametrize("code", REACHED)
def test_an_edit_waits_until_its_step_is_reached(code):
    edit = tiny.edited(code)
    for length in range(11):
        assert edit.pending_edits(length) == (edit.edits if length < REACHED[code] else ())
