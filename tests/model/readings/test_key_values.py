"""The key-value cache: what is told of it against the tensors that decoding really holds, and its arithmetic."""

from __future__ import annotations

import pytest
import torch

from model.decoding.fast import FastSteps
from model.decoding.strategy import Decoding
from model.edits.apply import NO_EDITS
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Cache, Pass, forced, shifted
from model.readings.key_values import key_values, multiplications
from model.readings.sizes import of_config
from tests.support import tiny

TEXT = "The red fox sees a lamp."
FAMILIES = {"decoder-only": {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"}, "encoder-decoder": {}}
EACH = pytest.mark.parametrize("family", FAMILIES)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_are_those_of_the_tensors_at_each_step(tokenizer, family, dtype):
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
def test_multiplications_are_counted_by_hand(family):
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


@torch.inference_mode()
def test_steps_with_a_cache_are_the_rows_of_one_pass():
    model, outputs = tiny.lively(4, **FAMILIES["decoder-only"]), tiny.ids(1, 9, seed=3)
    inputs, whole, cache = shifted(outputs), forced(model, None, outputs), Cache()
    for step in range(9):
        seen = masks.decoder_mask(model.config, inputs[:, : step + 1], queries=1)
        own = model.decode(inputs[:, step : step + 1], None, seen, None, Pass(cache=cache, start=step))
        torch.testing.assert_close(own[:, 0], whole[:, step], atol=1e-10, rtol=0)
