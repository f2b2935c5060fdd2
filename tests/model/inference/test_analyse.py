"""One analysis: baseline, masks, padding and both modes."""

from __future__ import annotations

import numpy as np
import pytest

from model.config import END, PAD, START
from model.edits.intervention import BASELINE, Intervention
from model.experiments.effects import mask_effects
from model.inference.analyse import analyse
from model.inference.passes import teacher_force
from model.inference.request import PAD_WHEN_UNMASKED, Request, RequestError
from model.trace import Site
from tests.support.analyse_helpers import ALL_SITES, LONG, SHORT, TARGET, TEXT, UNCAUSAL, UNPADDED, arrays, assert_same_bits


@pytest.mark.parametrize("values", [{}, {"target": TARGET}, {"prefix": "Lo"}, {"pad": 3}], ids=str)
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
    again = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, pad=4, mode="again", intervention=edit))
    plain = analyse(tiny_checkpoint, Request(TEXT, decoding=SHORT, pad=4))
    assert again.baseline.tree[0].ids == plain.tree[0].ids
    assert_same_bits(again.baseline.trace, plain.trace)
    known = analyse(tiny_checkpoint, again.request, cached_baseline=plain)
    assert known.baseline.trace is plain.trace
    assert_same_bits(known.trace, again.trace)


def test_a_trace_has_every_site_with_its_labels(tiny_checkpoint):
    trace = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, pad=2)).trace
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
    trace = analyse(tiny_checkpoint, Request(TEXT, target=TARGET, pad=3, intervention=edit)).trace
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
    padded = analyse(exact_checkpoint, Request(TEXT, decoding=SHORT, pad=7))
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
