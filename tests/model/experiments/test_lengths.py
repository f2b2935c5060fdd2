"""The measurement of attention by length, and the end of its process."""

from __future__ import annotations

import subprocess

import pytest
import torch

from model.experiments import length_runs
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
from model.network.attention_methods import METHODS


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
