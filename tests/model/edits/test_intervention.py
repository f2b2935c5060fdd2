"""Sets of edits as data: equality, what contradicts, adding and removing, and what a checkpoint or a sentence lacks."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import tiny

from model.edits.intervention import BASELINE, SWITCHES, Intervention
from model.edits.kinds import Ablate, Block, EditError, Labels, PatchRow, Place, Positions, Skip

CODES = {
    "causal-off": "causal mask off",
    "padding-off": "source padding mask off",
    "scaling-off": "scaling by √d_k off",
    "window-3": "self-attention sees less than 3 away",
    "block_enc_1-2": "encoder, all layers: token 1 sees no token 2",
    "mean_cross.1": "cross-attention, layer 1: mean instead",
    "off_cross.2.1": "cross-attention, layer 2, head 1: off",
    "row_dec.1.2_3-uniform": "decoder, layer 1, head 2: step 3 looks evenly at all that it may see",
    "skip_dec.1.ff": "decoder, layer 1: feed-forward skipped",
    "source-positions_shuffled-4": "source: positions shuffled, seed 4",
}
EACH = pytest.mark.parametrize("code", list(CODES))


def test_the_empty_intervention_is_the_baseline():
    assert Intervention() == BASELINE
    assert not BASELINE
    assert BASELINE.describe() == "no edits"
    assert BASELINE.parts() == ()
    assert Intervention(edits=[]) == BASELINE


@EACH
def test_every_single_edit_counts_and_is_described(code):
    edit = BASELINE.with_edit(code)
    assert edit
    assert edit != BASELINE
    assert edit.parts() == ((code, CODES[code]),)
    assert edit.describe() == CODES[code]


@EACH
def test_an_edit_comes_and_goes(code):
    everything = tiny.edited(*CODES)
    assert BASELINE.with_edit(code).without(code) == BASELINE
    without = everything.without(code)
    assert dict(without.parts()).keys() == CODES.keys() - {code}
    assert without.with_edit(code) == everything == everything.with_edit(code)
    assert without.without(code) == without


def test_every_field_has_a_code():
    changed = {f.name for f in dataclasses.fields(Intervention)}
    for code in CODES:
        edit = BASELINE.with_edit(code)
        changed -= {name for name in changed if getattr(edit, name) != getattr(BASELINE, name)}
    assert not changed
    assert set(SWITCHES) < set(CODES)


def test_the_order_of_the_edits_does_not_matter():
    codes = list(CODES)[3:8]
    made = [tiny.edited(*order) for order in itertools.permutations(codes)]
    assert len(set(made)) == len({hash(edit) for edit in made}) == len({edit.describe() for edit in made}) == 1
    assert made[0] != tiny.edited(*codes[1:])


def test_an_edit_twice_is_an_edit_once():
    edit = Ablate(Place("cross", 0))
    assert Intervention(edits=(edit, edit)).edits == (edit,)


def test_all_edits_are_described_in_order_with_the_tokens_where_they_are_known():
    made = tiny.edited("block_enc_1-2", "scaling-off", "causal-off", "padding-off", "window-2")
    plain = "causal mask off; source padding mask off; scaling by √d_k off; self-attention sees less than 2 away; "
    assert made.describe() == plain + CODES["block_enc_1-2"]
    assert made.describe(Labels(("The", "cat"))) == plain + "encoder, all layers: The sees no cat"


def test_edits_are_frozen_and_hashable():
    assert len({Intervention(), BASELINE, Intervention(causal_mask=False)}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="causal_mask"):
        BASELINE.causal_mask = False


@pytest.mark.parametrize("width", [0, 129])
def test_a_window_out_of_range_is_refused(width):
    with pytest.raises(EditError, match=rf"^The window's width is {width}; expected 1 to 128, for a token sees itself\.$"):
        Intervention(window=width)
    with pytest.raises(EditError, match=rf"^The window's width is {width}; expected 1 to 128"):
        BASELINE.with_edit(f"window-{width}")


@pytest.mark.parametrize("width", [1, 128])
def test_a_window_in_range_is_taken(width):
    assert BASELINE.with_edit(f"window-{width}") == Intervention(window=width)
    assert Intervention(window=5).with_edit(f"window-{width}").window == width


@pytest.mark.parametrize("code", ["window-", "window-1000", "window--1", "causal-on", "scaling"])
def test_a_code_that_is_none_is_refused(code):
    with pytest.raises(EditError, match=rf"^“{code}” is no edit; expected one such as off_cross\.3\.5 or block_enc_9-2\.$"):
        BASELINE.with_edit(code)


@pytest.mark.parametrize(
    ("one", "two", "told"),
    [
        ("source-positions_off", "source-positions_shifted-1", "source: positions off; source: positions shifted by 1"),
        ("off_cross.3", "mean_cross.3.5", "cross-attention, layer 3, head 5: mean instead; cross-attention, layer 3: off"),
        ("row_enc_2-1", "row_enc_2-3", "looks at token 1 alone; encoder, all layers: token 2 looks at token 3 alone"),
        ("row_enc_2-1", "block_enc_2-1", "token 2 sees no token 1; encoder, all layers: token 2 looks at token 1 alone"),
        (
            "row_cross.1.1_2-uniform",
            "block_cross_2-all",
            "step 2 sees nothing; cross-attention, layer 1, head 1: step 2 looks",
        ),
    ],
)
def test_a_contradiction_is_refused_and_names_both(one, two, told):
    for first, second in ((one, two), (two, one)):
        with pytest.raises(EditError, match=rf"^Two edits contradict each other \(.*{told}.*\): remove one of them\.$"):
            BASELINE.with_edit(first).with_edit(second)


@pytest.mark.parametrize(
    ("made", "code", "told"),
    [
        ("off_cross.1", "off_cross.1.2", "cross-attention, layer 1: off"),
        ("off_cross", "off_cross.1", "cross-attention, all layers: off"),
        ("block_dec_2-all", "block_dec_2-1", "decoder, all layers: step 2 sees nothing"),
        ("block_dec_all-1", "block_dec.1.1_2-1", "decoder, all layers: no one sees token 1"),
        ("off_cross.1", "off_cross.1", None),
        ("off_cross.1.2", "off_cross.1", None),
        ("off_cross.1", "off_enc.1.1", None),
        ("block_dec_2-1", "block_dec_2-all", None),
        ("block_dec_2-all", "block_dec_3-1", None),
        ("off_cross.1", "block_cross.1_1-1", None),
        ("off_cross.1", "causal-off", None),
        ("window-2", "window-3", None),
    ],
)
def test_an_edit_that_covers_another_is_named(made, code, told):
    assert BASELINE.covering(code) is None
    assert tiny.edited(made).covering(code) == told


# -- what a checkpoint or a sentence lacks -------------------------------------------------------------------------------

CONFIG = tiny.config(encoder_layers=3)  # and 2 decoder layers of 2 heads


@pytest.mark.parametrize(
    "code",
    [
        *("off_enc.3.2", "off_dec.2.2", "mean_cross.2", "off_cross", "skip_enc.3.ff", "skip_dec.2.cross"),
        *("block_enc_5-5", "block_enc_all-5", "block_cross_128-5", "block_dec_128-128", "row_dec.2_128-uniform"),
        *("row_cross.1_1-5", "source-positions_shifted-256", "window-128", "causal-off", "scaling-off"),
    ],
)
def test_what_exists_passes(code):
    tiny.edited(code).check(CONFIG, source_length=5, has_means=True)


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
    ],
)
def test_what_does_not_exist_is_refused(code, message):
    with pytest.raises(EditError, match=rf"^The edit {message}$"):
        tiny.edited("off_cross.1", code).check(CONFIG, source_length=5, has_means=True)


def test_means_that_are_not_stored_are_refused():
    message = (
        r"^The edit “encoder, layer 1: mean instead” needs the heads' means, which this checkpoint does not have\. Switch"
    )
    with pytest.raises(EditError, match=message):
        tiny.edited("mean_enc.1").check(CONFIG, source_length=5, has_means=False)
    tiny.edited("off_enc.1").check(CONFIG, source_length=5, has_means=False)


@pytest.mark.parametrize(
    ("code", "reached"),
    [
        ("block_dec_4-2", 4),
        ("block_dec_2-4", 4),
        ("block_dec_all-4", 4),
        ("block_dec_4-all", 4),
        ("block_cross_3-9", 3),
        ("block_cross_all-9", 0),
        ("row_cross_5-uniform", 5),
        ("row_dec_5-1", 5),
        ("block_enc_9-9", 0),
        ("row_enc_9-9", 0),
        ("off_dec.1", 0),
        ("skip_dec.1.ff", 0),
        ("target-positions_shifted-9", 0),
        ("window-9", 0),
    ],
)
def test_an_edit_waits_until_its_step_is_reached(code, reached):
    edit = tiny.edited(code)
    for length in range(11):
        assert edit.waiting(length) == (edit.edits if length < reached else ())


def test_those_that_wait_are_told_apart():
    made = tiny.edited("block_dec_4-2", "off_dec.1", "row_cross_2-uniform", "block_enc_9-all")
    assert made.waiting(2) == (Block(Place("decoder"), 3, 1),)
    assert made.waiting(1) == (Block(Place("decoder"), 3, 1), PatchRow(Place("cross"), 1, None))
    assert {type(edit) for edit in made.edits} == {Block, Ablate, PatchRow}
    assert tiny.edited("skip_enc.1.ff", "source-positions_off").edits == (
        Skip("encoder", 0, "ff"),
        Positions("source", "off"),
    )
