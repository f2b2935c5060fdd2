"""The entry point: baseline, masks, padding, both modes, and edits of heads, cells, layers and positions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from model.config import END, PAD, START
from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE, Intervention
from model.experiments.effects import mask_effects
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import PAD_WHEN_UNMASKED, Request, RequestError
from model.trace import Site
from tests.support import tiny
from tests.support.analyse_helpers import ALL_SITES, LONG, SHORT, TARGET, TEXT, UNCAUSAL, UNPADDED, arrays, assert_same_bits
from tests.support.edit_helpers import EXAMPLES, NAMED, ONE_EACH
from tests.support.floats import assert_close

BEAM = Decoding("beam", max_total_tokens=8, width=3)
MODES = pytest.mark.parametrize("mode", ["given", "again"])


@pytest.fixture(scope="module")
def checkpoint(tiny_checkpoint):
    return tiny.with_means(tiny_checkpoint)


@pytest.fixture(scope="module")
def pad(checkpoint) -> int:
    """The number of the last token of the source, which is padding."""
    return len(analyse(checkpoint, asked()).trace.source)


def asked(*codes, **values) -> Request:
    return Request(TEXT, intervention=tiny.edited(*codes), **({"decoding": SHORT, "extra_padding": 2} | values))


@pytest.mark.parametrize("code", ONE_EACH)
@MODES
def test_edited_answer_has_the_plain_one_as_baseline(checkpoint, mode, code):
    plain, edited = analyse(checkpoint, asked(mode=mode)), analyse(checkpoint, asked(code, mode=mode))
    without = edited.request.intervention.without_edit(code).without_edit(NAMED)
    removed = dataclasses.replace(edited.request, intervention=without)
    assert removed == plain.request
    assert (edited.baseline.request.intervention, edited.baseline.translation) == (removed.intervention, plain.translation)
    np.testing.assert_allclose(edited.baseline.trace.log_probs, plain.trace.log_probs, atol=1e-4)
    if mode == "again":
        assert_same_bits(edited.baseline.trace, plain.trace)
    ids = edited.baseline.trace.outputs.ids[: edited.comparable_steps]
    believed = [edited.trace.log_probs[step, token] for step, token in enumerate(ids)]
    assert edited.baseline_token_log_probs.tolist() == believed
    if mode == "given":
        assert believed == edited.trace.token_log_probs.tolist()


@pytest.mark.parametrize("decoding", [SHORT, BEAM], ids=["greedy", "beam"])
def test_decode_again_traces_the_edited_model(checkpoint, decoding):
    changed = 0
    for code in ONE_EACH if decoding is BEAM else (*EXAMPLES[::2], "causal-off"):
        found = analyse(checkpoint, asked(code, mode="again", decoding=decoding))
        assert (found.final_pass is not None) == (code == "causal-off")
        assert found.hypothesis.log_probs == pytest.approx(found.trace.token_log_probs.tolist(), abs=1e-4)
        own = found.trace.log_probs.copy()
        own[:, [PAD, START]] = -np.inf
        assert decoding is BEAM or own.argmax(1).tolist() == list(found.hypothesis.ids)
        changed += found.translation != found.baseline.translation
    assert changed > 3


@MODES
def test_row_may_wait_for_a_later_token(checkpoint, mode):
    found = analyse(checkpoint, asked("row_dec_1-3", "causal-off", mode=mode))
    assert len(found.trace.outputs) > 3
    assert (found.full_pass.patterns[Site("decoder", 0)][:, 0, 2] == 1).all()
    beyond = analyse(checkpoint, asked("row_dec_1-99", "causal-off", mode=mode))
    assert any(note.startswith("Waiting for a step") for note in beyond.notes)


FORBIDDEN = "The mask forbids this already, so it changes nothing: "


@MODES
@pytest.mark.parametrize("code", ["block_dec_2-3", "block_dec.1.1_1-4", "block_cross_all-{pad}", "block_enc_2-{pad}"])
def test_block_of_a_masked_cell_changes_nothing(checkpoint, pad, mode, code):
    found = analyse(checkpoint, asked(code.format(pad=pad), "off_cross.1.1", mode=mode))
    other = analyse(checkpoint, asked("off_cross.1.1", mode=mode))
    told = FORBIDDEN + found.no_op_blocks[0].text(found.labels) + "."
    assert [note for note in found.notes if note not in other.notes] == [told]
    assert_same_bits(found.trace, other.trace)


SEEN = [
    "block_dec_2-3 causal-off",
    "block_cross_all-{pad} padding-off",
    "block_dec_3-2",
    "block_dec_all-2",
    "block_enc_2-all",
]


@MODES
def test_block_of_a_visible_cell_is_no_noop(checkpoint, pad, mode):
    for codes in (*SEEN, "block_dec_99-100"):  # the last waits for its step
        found = analyse(checkpoint, asked(*codes.format(pad=pad).split(), mode=mode))
        assert found.no_op_blocks == () and not any(FORBIDDEN in note for note in found.notes), codes
    found = analyse(checkpoint, asked("window-2", "block_enc_1-3", "block_enc_1-2", mode=mode))  # one is beyond the window
    assert [block.code for block in found.no_op_blocks] == ["block_enc_1-3"]


@MODES
def test_block_of_one_head_changes_its_mask_only(checkpoint, mode):
    found = analyse(checkpoint, asked("block_cross.2.1_3-2", mode=mode))
    trace, site = found.trace, Site("cross", 1)
    first, second, mean = (trace.view(site, head) for head in (0, 1, None))
    assert not first.allowed[2, 1]
    assert (first.allowed != second.allowed).sum() == 1
    assert (mean.allowed == second.allowed).all()
    assert (second.allowed == found.baseline.trace.view(site, 1).allowed).all()
    assert first.values[2, 1] == 0 < second.values[2, 1]
    assert list(trace.head_masks) == [site]
    assert found.baseline_mask(site, 0) is None or found.baseline_mask(site, 0)[2, 1]
    assert trace.view(Site("cross", 0), 0).allowed[2, 1]


def test_decode_again_keeps_blocks_of_each_head(checkpoint):
    codes = ("causal-off", "block_dec.1.2_all-1", "block_cross.2.1_2-3", "block_enc.1.1_1-2")
    found = analyse(checkpoint, asked(*codes, mode="again"))
    trace, steps = found.trace, len(found.hypothesis.ids)
    assert len(trace.outputs) == steps > 3
    decoder, cross, encoder = Site("decoder", 0), Site("cross", 1), Site("encoder", 0)
    assert set(trace.head_masks) == {decoder, cross, encoder}
    n = np.arange(steps)
    seen = n[:, None] >= n  # what a step had, its own token included
    assert (trace.view(decoder, 0).allowed == seen).all()
    assert (trace.view(decoder, 1).allowed == (seen & (n > 0))).all()
    assert (trace.view(decoder).allowed == seen).all()
    assert np.argwhere(trace.view(cross, 0).allowed != trace.view(cross, 1).allowed).tolist() == [[1, 2]]
    assert not trace.view(encoder, 0).allowed[0, 1]
    assert trace.fully_masked_rows == ((decoder, 0),)
    for t in range(steps):
        (alone,) = teacher_force(checkpoint, trace.source.ids, found.hypothesis.ids[: t + 1], [found.request.intervention])
        assert_close(trace.log_probs[t], alone.log_probs[-1])
        for site in (decoder, cross):
            width = alone.patterns[site].shape[-1]
            np.testing.assert_allclose(trace.patterns[site][:, t, :width], alone.patterns[site][:, -1], atol=1e-6)
            assert (trace.head_masks[site][:, t, :width] == alone.head_masks.get(site, alone.masks[site][None])[:, -1]).all()
    assert found.final_pass.outputs.ids == found.hypothesis.ids


@pytest.mark.parametrize("values", [{}, {"target": TARGET}, {"prefix": "Lo"}, {"extra_padding": 3}], ids=str)
@pytest.mark.parametrize("mode", ["given", "again"])
def test_an_empty_intervention_is_the_baseline_bit_for_bit(tiny_checkpoint, values, mode):
    plain = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, **values))
    edited = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, mode=mode, intervention=Intervention(), **values))
    assert_same_bits(edited.trace, plain.trace)
    assert edited.tree == plain.tree
    assert edited.baseline is None
    assert edited.final_pass is None
    assert edited.full_pass is edited.trace
    assert edited.comparable_steps == len(edited.trace.outputs)


@pytest.mark.parametrize("edit", [UNCAUSAL, UNPADDED])
def test_baseline_of_decode_again_is_the_plain_answer(tiny_checkpoint, edit):
    again = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, extra_padding=4, mode="again", intervention=edit))
    plain = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, extra_padding=4))
    assert again.baseline.tree[0].ids == plain.tree[0].ids
    assert_same_bits(again.baseline.trace, plain.trace)
    known = analyse(tiny_checkpoint, again.request, cached_baseline=plain)
    assert known.baseline.trace is plain.trace
    assert_same_bits(known.trace, again.trace)


def test_a_trace_has_every_site_with_its_labels(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, extra_padding=2)).trace
    assert set(trace.patterns) == set(trace.scores) == set(trace.masks) == ALL_SITES
    assert trace.source.ids[-3:] == (END, PAD, PAD)
    assert trace.source.labels[-3:] == ("</s>", "<pad>", "<pad>")
    assert trace.inputs.ids == (START, *trace.outputs.ids[:-1])
    assert trace.outputs.labels[-1] == "</s>"
    assert trace.queries(Site("cross", 0))[0] == "<s> → Lo"
    tokens = tiny_checkpoint.target_tokenizer
    assert tokens.decode(trace.outputs.ids) == TARGET


@pytest.mark.parametrize("edit", [BASELINE, UNCAUSAL, UNPADDED])
def test_rows_sum_to_one_and_what_is_masked_is_zero(tiny_checkpoint, edit):
    trace = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, extra_padding=3, intervention=edit)).trace
    for site in ALL_SITES:
        np.testing.assert_allclose(trace.patterns[site].sum(-1), 1, atol=1e-5)
        assert (trace.patterns[site][:, ~trace.masks[site]] == 0).all()
    steps, pads = len(trace.outputs), [3, 0][edit is UNPADDED]
    for layer in range(2):
        assert trace.masks[Site("decoder", layer)].sum() == (steps * steps if edit is UNCAUSAL else steps * (steps + 1) / 2)
        assert (~trace.masks[Site("cross", layer)]).sum() == steps * pads
        assert (~trace.masks[Site("encoder", layer)]).sum() == len(trace.source) * pads


def test_padding_changes_nothing_at_real_positions(exact_checkpoint):
    plain = analyse(exact_checkpoint, Request(TEXT, decoding=SHORT))
    padded = analyse(exact_checkpoint, Request(TEXT, decoding=SHORT, extra_padding=7))
    assert padded.translation == plain.translation
    real = len(plain.trace.source)
    np.testing.assert_allclose(padded.trace.log_probs, plain.trace.log_probs, atol=1e-5)
    for site in ALL_SITES:
        before, after = plain.trace.patterns[site], padded.trace.patterns[site]
        assert (after[..., before.shape[2] :] == 0).all()
        rows = real if site.kind == "encoder" else len(plain.trace.outputs)
        np.testing.assert_allclose(after[:, :rows, : before.shape[2]], before, atol=1e-6)


def test_decode_again_without_padding_mask_is_one_pass(tiny_checkpoint):
    again = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, mode="again", intervention=UNPADDED))
    assert again.final_pass is None
    assert again.trace.source.ids[-PAD_WHEN_UNMASKED:] == (PAD,) * PAD_WHEN_UNMASKED == again.baseline.trace.source.ids[-4:]
    own = again.trace.log_probs.copy()
    own[:, [PAD, START]] = -np.inf
    assert own.argmax(1).tolist() == list(again.hypothesis.ids)


def test_decode_again_without_causal_mask_has_each_step(tiny_checkpoint):
    again = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, mode="again", intervention=UNCAUSAL))
    ids, trace = again.hypothesis.ids, again.trace
    assert len(ids) == len(trace.outputs)
    assert again.full_pass is again.final_pass
    for t in range(len(ids)):
        (step,) = teacher_force(tiny_checkpoint, trace.source.ids, ids[: t + 1], [UNCAUSAL])
        np.testing.assert_allclose(trace.log_probs[t], step.log_probs[-1], atol=1e-5, rtol=1e-5)
        own = step.log_probs[-1].copy()
        own[[PAD, START]] = -np.inf
        assert own.argmax() == ids[t]
        assert again.hypothesis.log_probs[t] == pytest.approx(float(step.log_probs[-1, ids[t]]), abs=1e-5)
        for site in ALL_SITES - {Site("encoder", 0), Site("encoder", 1)}:
            width = step.patterns[site].shape[-1]
            for gathered, own_step in ((trace.patterns, step.patterns), (trace.scores, step.scores)):
                np.testing.assert_allclose(gathered[site][:, t, :width], own_step[site][:, -1], atol=1e-5, rtol=1e-5)
                assert (gathered[site][:, t, width:] == 0).all()
            assert trace.masks[site][t, :width].all()
            assert not trace.masks[site][t, width:].any()
    for layer in range(2):
        assert (trace.patterns[Site("encoder", layer)] == again.full_pass.patterns[Site("encoder", layer)]).all()
        np.testing.assert_allclose(trace.patterns[Site("decoder", layer)].sum(-1), 1, atol=1e-5)
    for array in arrays(trace).values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_what_is_too_long_is_refused_with_both_numbers(tiny_checkpoint):
    ids = len(tiny_checkpoint.source_tokenizer.encode(LONG.strip())) + 1
    for what, values in (("sentence", {"source": LONG}), ("target", {"target": LONG}), ("prefix", {"prefix": LONG})):
        message = f"^The {what} has {ids} tokens, </s> included; expected at most 128. Shorten it"
        for use in (analyse, mask_effects):
            with pytest.raises(RequestError, match=message):
                use(tiny_checkpoint, Request(**({"source": TEXT} | values)))
