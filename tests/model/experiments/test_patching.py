"""Patching measured: shares of the way between two sentences, on models of a few thousand weights and on the shipped one."""

from __future__ import annotations

import numpy as np
import pytest

from model.decoding.strategy import Decoding
from model.edits.intervention import Intervention
from model.edits.kinds import PatchStream, PatchZ, Place, parse
from model.experiments import patching
from model.experiments.patching import logit_differences, patch_all, patching_request
from model.inference.analyse import analyse
from model.inference.request import Request, RequestError
from model.readings.logits.direct_logits import Writer, direct_logits
from tests.support import tiny

FIRST, SECOND = "The red fox takes a lamp.", "The old lamp takes a fox."  # of as many tokens
YOUNG = "The dog didn't cross the street because it was too young."
WIDE = YOUNG.replace("young", "wide")


def question(checkpoint, first: str, second: str, step: int | None = None):
    one, two = (analyse(checkpoint, Request(text, decoding=Decoding(limit=16))) for text in (first, second))
    ids = (one.trace.source.ids, second, one.trace.outputs.ids, two.trace.outputs.ids)
    return patching_request(checkpoint, *ids, step), one, two


@pytest.fixture(scope="module")
def young(shipped):
    asked, first, second = question(shipped, YOUNG, WIDE)
    heard: list[float] = []
    return asked, first, second, patch_all(shipped, asked, heard.append), heard


def test_patch_effects_equal_their_edits(tiny_checkpoint):
    asked, *_ = question(tiny_checkpoint, FIRST, SECOND)
    found = patch_all(tiny_checkpoint, asked)
    pieces = dict(found.patches)
    config = tiny_checkpoint.config
    assert len(pieces) == 3 * len(asked.source) + 2 * (asked.step + 1) + 3 * 2 * config.heads
    for code in ("patch_enc.0_2", "patch_enc.2_4", f"patch_dec.1_{asked.step + 1}", "patch_z_cross.1.2_all"):
        edit = Intervention(donor=SECOND, edits=(parse(code),))
        trace = analyse(tiny_checkpoint, Request(FIRST, intervention=edit, decoding=Decoding(limit=16))).trace
        expected = trace.logit(asked.step, asked.tokens[0]) - trace.logit(asked.step, asked.tokens[1])
        assert pieces[parse(code)] == pytest.approx(expected, abs=1e-4), code
    everything = [tuple(PatchStream("encoder", n, at) for at in range(len(asked.source))) for n in range(3)]
    for value in logit_differences(tiny_checkpoint, asked, everything):
        assert value == pytest.approx(found.other, abs=1e-4)
    assert found.share(found.before) == 0 and found.share(found.other) == 1
    assert found.decoder[-1, asked.step] == pytest.approx(found.other, abs=1e-4)
    assert found.decoder[-1, :-1] == pytest.approx(found.before, abs=1e-4)  # the step alone is read after the last layer


def test_patching_step_is_where_translations_differ(tiny_checkpoint):
    asked, first, second = question(tiny_checkpoint, FIRST, SECOND)
    ids = [each.trace.outputs.ids for each in (first, second)]
    assert ids[0][: asked.step] == ids[1][: asked.step]
    assert asked.tokens == (ids[0][asked.step], ids[1][asked.step])
    same = patching_request(tiny_checkpoint, first.trace.source.ids, SECOND, ids[0], ids[0])
    assert same.tokens[0] == ids[0][same.step] != same.tokens[1]
    later = patching_request(tiny_checkpoint, first.trace.source.ids, SECOND, ids[0], ids[1], 7)
    assert (later.step, later.tokens[0]) == (7, ids[0][7])


def test_what_cannot_be_measured_is_refused(tiny_checkpoint, tokenizer, monkeypatch):
    with pytest.raises(RequestError, match="Both sentences are the same, so there is nothing to patch"):
        question(tiny_checkpoint, FIRST, FIRST)
    with pytest.raises(RequestError, match="There is no step 100; this translation has 16"):
        question(tiny_checkpoint, FIRST, SECOND, 99)
    with pytest.raises(RequestError, match="Patching needs an encoder and a decoder"):
        patching_request(tiny.checkpoint(tokenizer, family="decoder-only", encoder_layers=0), (), SECOND, (5, 6))
    asked, *_ = question(tiny_checkpoint, FIRST, SECOND)
    monkeypatch.setattr(patching, "MAX_WORK", 10)
    with pytest.raises(RequestError, match=r"Patching every place here takes .* expected at most 10\."):
        patch_all(tiny_checkpoint, asked)


def test_patched_difference_is_the_sum_of_its_parts(tokenizer):
    for changes in ({}, {"norm_first": False}):
        checkpoint = tiny.checkpoint(tokenizer, **changes)
        edits = (PatchStream("decoder", 1, 3), PatchStream("encoder", 1, 2), PatchZ(Place("cross", 1, 0), 3))
        found = analyse(
            checkpoint, Request(FIRST, intervention=Intervention(donor=SECOND, edits=edits), decoding=Decoding(limit=8))
        )
        split = direct_logits(checkpoint, found, 3, 10, 11)
        assert abs(split.remainder) < 1e-4
        assert abs(dict(zip(split.writers, split.values, strict=True))[Writer("patch", layer=0)]) > 1e-3


def test_one_piece_turns_il_into_elle(shipped, young):
    asked, first, second, found, heard = young
    assert shipped.target_tokenizer.pieces(asked.tokens) == ("il", "elle")
    assert heard == sorted(heard) and heard[-1] == 1
    logits = [each.trace.logit(10, asked.tokens[0]) - each.trace.logit(10, asked.tokens[1]) for each in (first, second)]
    assert (found.before, found.other) == pytest.approx(logits, abs=1e-4)
    assert found.flips_choice(found.other) and found.head_set is None
    (best,) = found.best
    edit = Intervention(donor=WIDE, edits=(best,))
    assert found.flips_choice(dict(found.patches)[best])
    said = analyse(shipped, Request(YOUNG, intervention=edit, mode="again")).translation
    assert "qu'elle" in said and "qu'il" in first.translation
    shares = np.nan_to_num(found.share(found.encoder))
    labels = first.trace.source.labels
    assert [labels[at] for at in shares.argmax(1)] == ["young", "it", "it", "it", "it"]  # it travels to the pronoun


def test_few_heads_are_enough_where_one_is_not(shipped):
    asked, *_ = question(shipped, YOUNG, YOUNG.replace("dog", "cat"))
    found = patch_all(shipped, asked)
    alone = [value for edit, value in found.patches if isinstance(edit, PatchZ)]
    assert not any(map(found.flips_choice, alone))
    edits, reached = found.head_set
    assert 1 < len(edits) < len(alone) and found.flips_choice(reached) and found.best == edits
    assert logit_differences(shipped, asked, [edits])[0] == pytest.approx(reached, abs=1e-4)
    assert not any(map(found.flips_choice, logit_differences(shipped, asked, [edits[:-1]])))
