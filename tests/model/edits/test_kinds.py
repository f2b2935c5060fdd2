"""Kinds of edits and interventions: codes, texts, refusals and contradictions."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

from model.edits.apply import BatchEdits
from model.edits.intervention import BASELINE, DONOR, SWITCHES, Intervention
from model.edits.kinds import (
    MAX_POSITION_SEED,
    MAX_SHIFT,
    Ablate,
    EditError,
    PatchRow,
    Place,
    Positions,
    Skip,
    TokenLabels,
    contradict,
    parse,
)
from model.trace import Site
from tests.support import tiny
from tests.support.edit_helpers import EXAMPLES, ONE_EACH, SWITCHED

PLACED = [code for code in EXAMPLES if code not in SWITCHED]
EXTREMES = [
    "block_enc.12.1_128-127",
    "row_cross_128-128",
    f"source-positions_shuffled-{MAX_POSITION_SEED}",
    "skip_dec.12.ff",
]


def test_every_code_is_one_edit_with_its_own_text():
    edits = [parse(code) for code in (*PLACED, *EXTREMES)]
    assert [edit.code for edit in edits] == [*PLACED, *EXTREMES]
    assert len(set(edits)) == len({edit.text(TokenLabels()) for edit in edits}) == len(edits)


BAD = """nonsense|off_encoder.1|off_cross.1.2.3|OFF_cross.1|off_cross.1 |off_cross.-1|off_cross.1000|off_.1.2|block_enc_1
block_enc_uniform-1|row_enc_all-1|row_enc_1-all|skip_dec.1|skip_cross.1.ff|source-positions_off-1|source-positions_shuffled
source-positions_shifted--1|middle-positions_off|off_cross.1,off_cross.2|causal-off"""


@pytest.mark.parametrize("code", ["", "off_cross.1\n", "x" * 400, *BAD.replace("\n", "|").split("|")])
def test_a_code_that_is_none_is_refused(code):
    with pytest.raises(EditError, match=r"is no edit; expected one such as off_cross\.3\.5 or block_enc_9-2\.$") as told:
        parse(code)
    assert str(told.value).startswith(f"“{code[:40]}” is")
    assert isinstance(told.value, ValueError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Place("middle"), r"The kind of attention is 'middle'; expected encoder, decoder or cross\."),
        (lambda: Place("cross", None, 2), r"A head is named without its layer; expected both\."),
        (lambda: Place("cross", -1), r"The layer of an edit is -1; expected at least 0, where the first is 0\."),
        (lambda: PatchRow(Place("cross"), -2, 0), r"The row of an edit is -2; expected at least 0, where the first is 0\."),
        (lambda: parse("block_enc.1_all-all"), r"A block names neither a row nor a column; expected one of them, or both\."),
        (lambda: Ablate(Place("cross"), "noise"), r"The kind of ablation is 'noise'; expected 'zero' or 'mean'\."),
        (lambda: Skip("cross", 0, "ff"), r"The stack is 'cross'; expected 'encoder' or 'decoder'\."),
        (lambda: parse("skip_enc.1.cross"), r"The encoder has no sub-layer 'cross'; expected self, ff, or cross .*\."),
        (lambda: Skip("decoder", 0, "norm"), r"The decoder has no sub-layer 'norm'; expected self, ff, or cross .*\."),
        (lambda: Positions("both", "off"), r"Positions cannot be 'off' on 'both'; expected off, shuffled or shifted\."),
        (lambda: Positions("source", "moved"), r"Positions cannot be 'moved' on 'source'; expected off, .*\."),
        (lambda: parse("source-positions_shifted-257"), rf"The shift of the source's .* is 257; .* to {MAX_SHIFT}\."),
        (lambda: Positions("target", "shifted", -1), r"The shift of the target's positions is -1; expected 0 to 256\."),
        (lambda: Positions("target", "shuffled", 10000), r"The seed of the target's positions is 10000; expected .* 9999\."),
        (lambda: Positions("source", "off", 1), r"The shift of the source's positions is 1; expected 0 to 0\."),
    ],
)
def test_what_is_out_of_range_is_told(make, message):
    with pytest.raises(EditError, match=f"^{message}$"):
        make()


CONTRADICTING = [
    ("source-positions_off", "source-positions_shuffled-1"),
    ("source-positions_shuffled-1", "source-positions_shuffled-2"),
    ("off_cross.3.5", "mean_cross.3.5"),
    ("off_cross.3", "mean_cross.3.5"),
    ("mean_cross", "off_cross.3.5"),
    ("row_enc_2-1", "row_enc.1.1_2-uniform"),
    ("row_enc_2-1", "block_enc_2-1"),
    ("row_enc_2-1", "block_enc.2.1_all-1"),
    ("row_enc_2-1", "block_enc_2-all"),
    ("row_enc_2-uniform", "block_enc.1_2-all"),
    ("patch_z_enc.1.1_2", "off_enc.1"),
]
TOGETHER = [
    ("source-positions_off", "target-positions_off"),
    ("off_cross.3.5", "mean_cross.3.6"),
    ("off_cross.3.5", "mean_cross.2.5"),
    ("off_enc.3", "mean_cross.3"),
    ("off_cross.3", "off_cross.3.5"),
    ("row_enc_2-1", "row_enc_3-1"),
    ("row_enc.1.1_2-1", "row_enc.1.2_2-3"),
    ("row_enc_2-uniform", "block_enc_2-1"),
    ("row_enc_2-1", "block_enc_3-1"),
    ("row_enc_2-1", "block_enc_2-3"),
    ("row_enc_2-1", "block_dec_2-1"),
    ("block_enc_2-1", "block_enc_2-all"),
    ("skip_enc.1.self", "skip_enc.1.ff"),
    ("off_enc.1", "skip_enc.1.self"),
    ("patch_z_enc.1.1_2", "off_enc.1.2"),
    ("patch_z_enc.1.1_2", "patch_z_enc.1.1_3"),
]


@pytest.mark.parametrize(("one", "two"), [*CONTRADICTING, *TOGETHER], ids=str)
def test_what_contradicts_what(one, two):
    expected = (one, two) in CONTRADICTING
    assert contradict(parse(one), parse(two)) is contradict(parse(two), parse(one)) is expected


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
    told = "cross 3.5: mean instead; cross-attention, layer 3: off"
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
        ("off_dec.3.1", r"“decoder 3\.1: off” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("row_cross.3_1-1", r"“.*” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("skip_enc.4.self", r"“.*” names layer 4; this checkpoint has 3 there\. Remove it\."),
        ("skip_dec.3.cross", r"“.*” names layer 3; this checkpoint has 2 there\. Remove it\."),
        ("mean_enc.1.3", r"“.*” names head 3; this checkpoint has 2\. Remove it\."),
        ("block_cross.1.3_1-1", r"“.*” names head 3; this checkpoint has 2\. Remove it\."),
        ("block_enc_6-1", r"“encoder, all layers: token 6 sees no token 1” names row 6; expected at most 5\. Remove it\."),
        ("block_enc_all-6", r"“.*” names column 6; expected at most 5\. Remove it\."),
        ("block_cross_1-6", r"“.*” names column 6; expected at most 5\. Remove it\."),
        ("block_cross_1025-1", r"“.*” names row 1025; expected at most 1024\. Remove it\."),
        ("block_dec_all-1025", r"“.*” names column 1025; expected at most 1024\. Remove it\."),
        ("row_enc.1_6-uniform", r"“.*” names row 6; expected at most 5\. Remove it\."),
        ("row_enc.1_1-6", r"“.*” names column 6; expected at most 5\. Remove it\."),
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


def test_typed_edits_count_from_0_and_equal_their_codes():
    none = Intervention(donor="the cat")
    made = {
        "off_cross.3.5": none.off(Site("cross", 2), head=4),
        "mean_enc.1": none.off(Site("encoder", 0), mean=True),
        "off_dec": none.off("decoder"),
        "block_enc_9-2": none.block("encoder", query=8, key=1),
        "block_dec.2.1_all-2": none.block(Site("decoder", 1), key=1, head=0),
        "row_cross.1_4-2": none.replace_row(Site("cross", 0), query=3, key=1),
        "row_dec_3-uniform": none.replace_row("decoder", query=2),
        "patch_z_cross.1.2_2": none.patch(Site("cross", 0), position=1, head=1),
        "patch_enc.2_all": none.patch_stream("encoder", layers=2),
        "skip_dec.1.cross": none.skip("decoder", layer=0, sublayer="cross"),
    }
    for code, intervention in made.items():
        assert intervention == none.with_edit(code) and code in intervention.code.split("~")
    assert Intervention().code == ""
    assert none.off("decoder").block("encoder", key=1) == none.with_edit("off_dec").with_edit("block_enc_all-2")
    with pytest.raises(EditError):
        none.off("cross", head=1)
    with pytest.raises(EditError):
        none.block("encoder")


def test_scaled_scores_are_those_of_the_heads_times_the_factor():
    edits = BatchEdits([tiny.edited("scale_cross.1.2_0.5")])
    scores = torch.randn(1, 2, 3, 4)
    found = edits.scale(Site("cross", 0), scores, 8)
    torch.testing.assert_close(found, scores * torch.tensor([1.0, 0.5])[None, :, None, None])
    assert edits.scale(Site("cross", 1), scores, 8) is scores
    assert Intervention().scale_scores(Site("cross", 0), 1, 0.5).code == "scale_cross.1.2_0.5"


def test_an_intervention_prints_its_codes_and_takes_plain_pairs():
    edits = Intervention().off(("cross", 2), head=4).scale_scores(("decoder", 1), head=2, factor=0.5)
    assert str(edits) == edits.code == "off_cross.3.5~scale_dec.2.3_0.5" and str(Intervention()) == "no edits"
    for wrong in (lambda: edits.scale_scores(Site("decoder", 1), 0.5, 2), lambda: edits.off(("cross", "2"))):
        with pytest.raises(EditError, match="expected a whole number from 0"):
            wrong()


def test_two_factors_of_a_head_contradict():
    for code in ("scale_enc.1_2", "scale_enc.1.1_0.5", "scale_enc_0.5"):
        with pytest.raises(EditError, match="contradict"):
            tiny.edited("scale_enc.1_0.5", code)


@pytest.mark.parametrize("factor", [-0.5, 100.5, 0.12345, float("nan")])
def test_a_factor_out_of_range_is_refused(factor):
    with pytest.raises(EditError, match="expected 0 to 100"):
        Intervention().scale_scores("encoder", None, factor)
