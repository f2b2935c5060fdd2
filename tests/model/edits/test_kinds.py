"""Kinds of edits: codes, texts, refusals and contradictions."""

from __future__ import annotations

import pytest

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
from tests.support.edit_helpers import EXAMPLES, SWITCHED

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
