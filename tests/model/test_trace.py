"""Traces, views of one head and probes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from model.decoding.strategy import Decoding
from model.edits.intervention import BASELINE
from model.inference.analyse import analyse
from model.inference.request import Request
from model.trace import Axis, Probe, Site, Trace
from tests.support import tiny

ENCODER, DECODER, CROSS = Site("encoder", 0), Site("decoder", 0), Site("cross", 0)
SOURCE = Axis((5, 6, 2), ("the", "fox", "</s>"), (0, 1, 2))
INPUTS = Axis((1, 7), ("<s>", "le"), (0, 1))
OUTPUTS = Axis((7, 2), ("le", "</s>"), (0, 1))
SHAPES = {ENCODER: (2, 3, 3), DECODER: (2, 2, 2), CROSS: (2, 2, 3)}


def trace(seed: int = 0, **changes) -> Trace:
    draw = np.random.default_rng(seed)
    maps = {site: draw.random(shape, dtype=np.float32) for site, shape in SHAPES.items()}
    masks = {site: np.ones(shape[1:], dtype=bool) for site, shape in SHAPES.items()}
    masks[DECODER] = np.tril(masks[DECODER])
    log_probs = np.log(draw.dirichlet(np.ones(9), size=2)).astype(np.float32)
    values = {
        "source": SOURCE,
        "inputs": INPUTS,
        "outputs": OUTPUTS,
        "patterns": maps,
        "scores": {site: -m for site, m in maps.items()},
        "masks": masks,
        "log_probs": log_probs,
    }
    return Trace(**(values | changes))


def test_rows_of_the_decoder_are_labelled_input_to_output():
    assert trace().queries(DECODER) == trace().queries(CROSS) == ("<s> → le", "le → </s>")
    assert trace().keys(DECODER) == ("<s>", "le")
    assert trace().keys(CROSS) == trace().keys(ENCODER) == trace().queries(ENCODER) == ("the", "fox", "</s>")


@pytest.mark.parametrize("site", SHAPES)
def test_a_view_is_one_head_with_its_labels(site):
    whole = trace()
    for head in range(2):
        view = whole.view(site, head)
        assert (view.values == whole.patterns[site][head]).all()
        assert (view.allowed == whole.masks[site]).all()
        assert view.values.shape == (len(view.queries), len(view.keys))
        assert (view.queries, view.keys) == (whole.queries(site), whole.keys(site))
    np.testing.assert_allclose(whole.view(site).values, whole.patterns[site].mean(0), rtol=1e-6)


def test_a_difference_of_equal_tokens():
    one, two = trace(0).view(DECODER, 0), trace(1).view(DECODER, 0)
    difference = one - two
    assert (difference.values == one.values - two.values).all()
    assert (difference.queries, difference.keys) == (one.queries, one.keys)
    assert (difference.allowed == np.tril(np.ones((2, 2)))).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queries": ("<s> → la", "la → </s>")}, r"the queries differ \(2 and 2 tokens\); expected equal ones"),
        ({"keys": ("<s>", "la")}, r"the keys differ \(2 and 2 tokens\)"),
        ({"keys": ("<s>",)}, r"the keys differ \(2 and 1 tokens\)"),
    ],
)
def test_a_difference_of_unequal_tokens_raises(changes, message):
    view = trace().view(DECODER, 0)
    with pytest.raises(ValueError, match=message):
        view - dataclasses.replace(view, **changes)


@pytest.mark.parametrize("site", SHAPES)
def test_a_map_that_does_not_fit_its_tokens_is_refused(site):
    patterns = dict(trace().patterns)
    patterns[site] = np.zeros((2, 4, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=rf"{site.kind}.* has a map of \(4, 3\); its tokens say"):
        trace(patterns=patterns)


def test_log_probabilities_of_the_outputs():
    whole = trace()
    assert whole.token_log_probs.tolist() == [whole.log_probs[0, 7], whole.log_probs[1, 2]]
    assert whole.probabilities == pytest.approx(np.exp([whole.log_probs[0, 7], whole.log_probs[1, 2]]))
    with pytest.raises(ValueError, match="read-only"):
        whole.token_log_probs[0] = 0


def test_a_trace_and_its_parts_are_frozen():
    whole = trace()
    for record, name in ((whole, "patterns"), (whole.view(ENCODER, 0), "values"), (SOURCE, "ids")):
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            setattr(record, name, None)


TEXT = "The red fox takes a lamp."
CUT = ("off_cross.2.1", "block_enc_3-2")


def said(checkpoint, source, inputs, edit) -> np.ndarray:
    """What the network gives each token before the softmax, in one pass, [T,V]."""
    found = tiny.logits(checkpoint.model, torch.tensor([source]), torch.tensor([inputs]), edit, means=checkpoint.mean_z)
    return found[0].double().numpy()


def logsumexp(logits: np.ndarray) -> np.ndarray:
    return np.logaddexp.reduce(logits.astype(np.float64), axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("codes", "mode"),
    [((), "given"), *((codes, mode) for mode in ("given", "again") for codes in (CUT, ("padding-off",), ("causal-off",)))],
    ids=str,
)
def test_logits_are_those_of_the_network(exact_checkpoint, codes, mode):
    edit = tiny.edited(*codes)
    request = Request(TEXT, extra_padding=2, mode=mode, decoding=Decoding(max_total_tokens=8), intervention=edit)
    analysis = analyse(exact_checkpoint, request)
    stepwise = mode == "again" and not edit.causal_mask
    assert (analysis.final_pass is not None) == stepwise
    pairs = [(analysis.trace, edit), *([(analysis.baseline.trace, BASELINE)] if codes else [])]
    for found, under in pairs:
        source, inputs = found.source.ids, found.inputs.ids
        expected = said(exact_checkpoint, source, inputs, under)
        if stepwise and under is edit:  # step t was chosen after t tokens, and has seen no others
            reads = [said(exact_checkpoint, source, inputs[: t + 1], under)[-1] for t in range(len(inputs))]
            assert np.abs(expected - np.stack(reads)).max() > 0.1
            expected = np.stack(reads)
        np.testing.assert_allclose(found.logits, expected, rtol=0, atol=1e-4)
        np.testing.assert_allclose(found.logits - logsumexp(found.logits), found.log_probs, rtol=0, atol=1e-5)
        np.testing.assert_allclose(found.logit_normalizers[:, None], logsumexp(expected), rtol=0, atol=1e-5)
        assert not found.logit_normalizers.flags.writeable
        assert found.logit(2, 7) == float(found.logits[2, 7])
    np.testing.assert_array_equal(analysis.full_pass.logits[-1], analysis.trace.logits[-1])


def test_a_probe_keeps_what_its_level_asks_for():
    tensors = {name: torch.zeros(1) for name in ("scores", "pattern", "mask", "q", "z", "v")}
    maps, full, one = Probe("maps"), Probe("full"), Probe("full", layer=1)
    for probe in (maps, full, one):
        for layer in (0, 1):
            probe.record(Site("decoder", layer), **tensors)
    small, large = {"scores", "pattern", "mask"}, set(tensors)
    assert [set(maps.records[Site("decoder", n)]) for n in (0, 1)] == [small, small]
    assert [set(full.records[Site("decoder", n)]) for n in (0, 1)] == [large, large]
    assert [set(one.records[Site("decoder", n)]) for n in (0, 1)] == [small, large]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_arrays_are_read_only_float32_copies(dtype):
    probe, pattern = Probe(), torch.rand(2, 1, 3, 3).to(dtype).requires_grad_()
    probe.record(ENCODER, pattern=pattern, mask=torch.ones(2, 3, 3, dtype=torch.bool))
    array = probe.array(ENCODER, "pattern", row=1)
    assert array.dtype == np.float32
    assert array.shape == (1, 3, 3)
    assert probe.array(ENCODER, "mask").dtype == bool
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0, 0] = 1
    before = array.copy()
    with torch.no_grad():
        pattern.zero_()
    assert (array == before).all()
