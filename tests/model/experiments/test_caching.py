"""Cached and uncached runs write the same within bounded time."""

from __future__ import annotations

import itertools

import pytest
import torch

from model.config import END
from model.decoding.search import allowed
from model.experiments.caching import ROUNDS, Caching, measure, run_length
from model.network.context import forced
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
    logits = lab.model.project(forced(lab.model, rows, torch.tensor([run.ids])))[0]
    logits[:, END] = -torch.inf
    assert allowed(logits).argmax(-1).tolist()[2:] == list(run.ids[2:])


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
