"""The key-value cache: what is told of it against the tensors that decoding really holds, and its arithmetic."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from model.decoding.fast import FastSteps
from model.decoding.search import sample
from model.decoding.strategy import Decoding
from model.edits.apply import NO_EDITS
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Cache, Pass, forced, shifted
from model.readings.key_values import keeps, key_values, multiplications
from model.readings.sizes import of_config
from tests.support import tiny

TEXT = "The red fox sees a lamp."
FAMILIES = {
    "decoder-only": {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
    "encoder-decoder": {},
}
EACH = pytest.mark.parametrize("family", FAMILIES)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_bytes_are_those_of_the_tensors_after_every_step(tokenizer, family, dtype):
    """Once of the cache that the formula's own path fills, once of the arrays of the fast one."""
    lab = tiny.checkpoint(tokenizer, dtype=dtype, **FAMILIES[family])
    found = analyse(lab, Request(TEXT, decoding=Decoding(limit=16)))
    told, model = key_values(lab, found), lab.model.requires_grad_(False)
    inputs, memory, cross = shifted(torch.tensor([found.trace.outputs.ids])), None, None
    if found.trace.source is not None:
        source = torch.tensor([found.trace.source.ids])
        memory, cross = model.encode(source, masks.encoder_mask(model.config, source)), masks.cross_mask(source)
    cache, fast = Cache(), FastSteps(model, memory, cross, 1, inputs.size(1))
    for step in range(1, inputs.size(1) + 1):
        at = Pass(cache=cache, start=step - 1)
        seen = masks.decoder_mask(model.config, inputs[:, :step], queries=1)
        model.decode(inputs[:, step - 1 : step], memory, seen, cross, at)
        fast.log_probs(inputs[:, :step], NO_EDITS)
        kept = [cache[site] for site in tiny.sites(lab.config) if site.kind != "encoder"]
        assert told.nbytes(step) == sum(each.key.nbytes + each.value.nbytes for each in kept)
        own = fast.own[:, :, :, :, : fast.at]
        assert told.nbytes(step) == own.numel() * own.element_size() + sum(k.nbytes + v.nbytes for k, v in fast.memories)
    first = told.own[0]
    assert told.nbytes(1) - sum(each.nbytes for each in told.source) == (
        len(told.own) * 2 * first.heads * first.width * dtype.itemsize
    )


@EACH
def test_multiplications_are_those_of_the_weights_and_of_the_scores(family):
    config = tiny.config(**FAMILIES[family])
    model, of, d = tiny.model(**FAMILIES[family]), of_config(config), config.d_model
    matrices = sum(
        weight.numel()
        for name, weight in model.decoder.named_parameters()
        if weight.dim() == 2 and "cross_attention.key" not in name and "cross_attention.value" not in name
    )
    crossed = config.decoder_layers * 2 * 5 * d if family == "encoder-decoder" else 0
    source = 5 if crossed else 0
    one = matrices + config.decoder_layers * 2 * 7 * d + crossed
    assert multiplications(of, 7, 1, source) == one + config.target_vocab * d
    assert multiplications(of, 7, 7, source) == 7 * one + config.target_vocab * d


def test_nothing_is_kept_without_a_causal_mask(tokenizer):
    lab = tiny.checkpoint(tokenizer, **FAMILIES["decoder-only"])
    plain = Request(TEXT, decoding=Decoding(limit=16))
    assert keeps(lab, analyse(lab, plain))
    off = dataclasses.replace(plain, intervention=tiny.edited("causal-off"), mode="again")
    assert not keeps(lab, analyse(lab, off))
    peeks = tiny.checkpoint(tokenizer, causal=False)
    with pytest.raises(ValueError, match=r"^the checkpoint tiny keeps no keys and values; expected a decoder with a causal"):
        key_values(peeks, analyse(peeks, plain))


@torch.inference_mode()
def test_steps_with_a_cache_are_the_rows_of_one_pass():
    """The formula's own path, in float64."""
    model, outputs = tiny.lively(4, **FAMILIES["decoder-only"]), tiny.ids(1, 9, seed=3)
    inputs, whole, cache = shifted(outputs), forced(model, None, outputs), Cache()
    for step in range(9):
        seen = masks.decoder_mask(model.config, inputs[:, : step + 1], queries=1)
        own = model.decode(inputs[:, step : step + 1], None, seen, None, Pass(cache=cache, start=step))
        torch.testing.assert_close(own[:, 0], whole[:, step], atol=1e-10, rtol=0)


@pytest.mark.parametrize("controls", [{"temperature": 0.7}, {"temperature": 1.6, "top_k": 12}, {"top_p": 0.8}], ids=str)
def test_sampling_draws_the_same_with_a_cache_and_without(controls):
    model = tiny.lively(5, **FAMILIES["decoder-only"])
    for seed in range(4):
        ways = [sample(model, None, seed, prefix=[5, 6], limit=12, use_cache=kept, **controls)[0] for kept in (True, False)]
        assert ways[0].ids == ways[1].ids
        assert ways[0].log_probs == pytest.approx(ways[1].log_probs, abs=1e-5)
