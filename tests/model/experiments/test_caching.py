"""Cached and uncached runs write the same within bounded time; and the measurement of attention by length."""

from __future__ import annotations

import itertools
import subprocess

import pytest
import torch

from model.config import END
from model.decoding.fast import FastSteps
from model.decoding.search import suppress_excluded
from model.decoding.strategy import Decoding
from model.edits.apply import NO_EDITS
from model.experiments import caching, length_runs
from model.experiments.caching import ROUNDS, Caching, cache_sizes, run_length
from model.experiments.length_runs import (
    D_MODEL,
    HEADS,
    LENGTHS,
    Limits,
    Point,
    Run,
    fit,
    measure,
    measure_all,
    peak_bytes,
    reason_to_stop,
    relative_error,
    shipped_run,
)
from model.inference.analyse import analyse
from model.inference.request import Request
from model.network import masks
from model.network.attention_methods import METHODS
from model.network.context import Cache, Pass, shift_right, teacher_forced_states
from tests.support import tiny

DECODER = {"family": "decoder-only", "encoder_layers": 0, "positions": "rotary"}


@pytest.mark.parametrize(("sizes", "source"), [(DECODER, None), ({}, (5, 6, 7, END))], ids=["decoder-only", "both"])
def test_cached_and_uncached_runs_write_the_same(tokenizer, sizes, source):
    lab = tiny.checkpoint(tokenizer, **sizes)
    *_, run = caching.measure(lab, source, (9, 4), 20, seconds=600)
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
    *_, run = caching.measure(lab, None, (5,), 50, seconds=25, clock=lambda: float(next(seconds)))
    assert (len(run.cached), run.limit, set(run.cached)) == (run.done, 50, {1.0})
    assert 3 < run.done < 8
    assert list(caching.measure(lab, None, (5,), 50, seconds=-1)) == []


def test_model_without_a_cache_is_refused(tokenizer):
    for sizes in ({"causal": False}, {"family": "encoder-only", "decoder_layers": 0}):
        with pytest.raises(ValueError, match=r"^the checkpoint tiny has no key-value cache;"):
            next(caching.measure(tiny.checkpoint(tokenizer, **sizes), (5, END)))
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
    found = analyse(lab, Request(TEXT, decoding=Decoding(max_total_tokens=16)))
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


@pytest.fixture(scope="module")
def run() -> Run:
    return measure_all(Limits(longest=256), lambda run: None)


def test_memory_is_the_most_that_tensors_take_at_once():
    x = torch.ones(1000)
    assert peak_bytes(x.exp) == 4000
    assert peak_bytes(lambda: x.exp().exp()) == 8000  # both are there for a moment
    assert peak_bytes(lambda: x.exp().exp().exp()) == 8000


def test_every_way_is_measured_at_every_length(run):
    assert set(run.curves) == set(METHODS)
    assert all([p.length for p in each.points] == [64, 128, 256] for each in run.curves.values())
    assert all(p.seconds > 0 and p.bytes >= 4 * D_MODEL * p.length for each in run.curves.values() for p in each.points)
    assert Run.from_dict(run.to_dict()) == run and run.done == 12
    explicit = [p.bytes for p in run.curves["full"].points]
    assert explicit[-1] > 4 * HEADS * 256**2 and explicit[2] / explicit[1] == pytest.approx(4, rel=0.1)


def test_exact_ways_differ_by_rounding_only(run):
    for name, way in METHODS.items():
        departs = run.curves[name].points[-1].off
        assert departs < 1e-6 if way.is_exact else departs > 0.1
    assert relative_error(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 3.0])) == pytest.approx(1 / 18**0.5)
    assert relative_error(torch.ones(2), None) is None


def test_measuring_process_ends_with_its_reader(monkeypatch):
    started = []

    class Seen(subprocess.Popen):
        def __init__(self, *args, **named):
            super().__init__(*args, **named)
            started.append(self)

    monkeypatch.setattr(length_runs.subprocess, "Popen", Seen)
    heard = measure(Limits(bytes=32_000_000))
    last = next(run for run in heard if run.curves["full"].stopped)
    assert [p.length for p in last.curves["full"].points] == [64, 128, 256]  # 512 tokens would take 34 MB
    assert last.curves["full"].stopped == "memory" and last.curves["fused"].stopped == ""
    assert started[0].poll() is None
    heard.close()
    assert started[0].poll() is not None and len(started) == 1


def test_the_stored_run_is_whole():
    run = shipped_run()
    assert set(run.curves) == set(METHODS)
    for name, way in METHODS.items():
        curve = run.curves[name]
        assert curve.stopped or [p.length for p in curve.points] == list(LENGTHS)
        assert fit(curve, "bytes").power == pytest.approx(way.growth_exponents[1], abs=0.25)


def test_a_way_stops_before_it_exceeds_its_limits():
    limits = Limits(seconds=1, bytes=1000)
    for seconds, size, why in ((0.24, 249, ""), (0.26, 249, "time"), (0.24, 251, "memory")):
        assert reason_to_stop(METHODS["full"], (Point(64, seconds, size, None),), 128, limits) == why
    assert reason_to_stop(METHODS["linear"], (Point(64, 0.49, 499, None),), 128, limits) == ""
    assert reason_to_stop(METHODS["full"], (), 64, limits) == ""
