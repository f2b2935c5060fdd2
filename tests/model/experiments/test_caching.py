"""Cached and uncached runs write the same within bounded time, and the cache has the stated size."""

from __future__ import annotations

import itertools

import pytest
import torch

from model.config import END
from model.decoding.fast import FastSteps
from model.decoding.search import suppress_excluded
from model.decoding.strategy import Decoding
from model.edits.apply import NO_EDITS
from model.experiments.caching import ROUNDS, Caching, cache_sizes, measure, run_length
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.context import Cache, Pass, shift_right, teacher_forced_states
from tests.support import tiny

DECODER = {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"}


@pytest.mark.parametrize(("sizes", "source"), [(DECODER, None), ({}, (5, 6, 7, END))], ids=["decoder-only", "both"])
def test_cached_and_uncached_runs_write_the_same(tokenizer, sizes, source):
    lab = tiny.checkpoint(tokenizer, **sizes)
    *_, run = measure(lab, source, (9, 4), 20)
    assert (len(run.cached), len(run.uncached), len(run.ids), run.done) == (20, 20, 20, ROUNDS * 20)
    assert run.ids[:2] == (9, 4) and END not in run.ids
    assert run.first_divergence is None and run.max_difference < 1e-5
    assert min(run.cached + run.uncached) > 0 and run.ratio == sum(run.uncached) / sum(run.cached)
    rows = None if source is None else torch.tensor([source])
    logits = lab.model.project(teacher_forced_states(lab.model, rows, torch.tensor([run.ids])))[0]
    logits[:, END] = -torch.inf
    assert suppress_excluded(logits).argmax(-1).tolist()[2:] == list(run.ids[2:])


def test_run_ends_when_its_time_is_over(tokenizer):
    lab = tiny.checkpoint(tokenizer, **DECODER)
    seconds = itertools.count()  # a clock that goes on by one at every look
    *_, run = measure(lab, None, (5,), 50, seconds=25, clock=lambda: float(next(seconds)))
    assert (len(run.cached), run.limit, set(run.cached)) == (run.done, 50, {1.0})
    assert 3 < run.done < 8
    assert list(measure(lab, None, (5,), 50, seconds=-1)) == []


def test_model_without_a_cache_is_refused(tokenizer):
    for sizes in ({"causal": False}, {"family": "encoder-only", "decoder_layers": 0}):
        with pytest.raises(ValueError, match=r"^the checkpoint tiny has no key-value cache;"):
            next(measure(tiny.checkpoint(tokenizer, **sizes), (5, END)))
    assert run_length(tiny.checkpoint(tokenizer, **DECODER)) == 128
    assert run_length(tiny.checkpoint(tokenizer, positions="learned", max_positions=48)) == 48
    assert Caching(9, (1.0, 1.0), (2.0, 4.0)).ratio == 3


TEXT = "The red fox sees a lamp."
CACHE_FAMILIES = {
    "decoder-only": {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"},
    "encoder-decoder": {},
}
EACH = pytest.mark.parametrize("family", CACHE_FAMILIES)


@EACH
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bytes_are_those_of_the_tensors_at_each_step(tokenizer, family, dtype):
    lab = tiny.checkpoint(tokenizer, dtype=dtype, **CACHE_FAMILIES[family])
    found = analyse(lab, Request(TEXT, decoding=Decoding(limit=16)))
    told, model = cache_sizes(lab, found), lab.model.requires_grad_(False)
    inputs, memory, cross = shift_right(torch.tensor([found.trace.outputs.ids])), None, None
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
        own = fast.self_key_values[:, :, :, :, : fast.position]
        assert told.nbytes(step) == own.numel() * own.element_size() + sum(
            k.nbytes + v.nbytes for k, v in fast.cross_key_values
        )
    first = told.own[0]
    assert told.nbytes(1) - sum(each.nbytes for each in told.source) == (
        len(told.own) * 2 * first.heads * first.width * dtype.itemsize
    )
