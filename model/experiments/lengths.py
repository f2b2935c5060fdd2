"""Time and memory of each way to compute attention, against the length; run by `model.experiments.length_runs`:

    python -m model.experiments.lengths '{"seconds": 5, "bytes": 1073741824, "total": 90, "longest": 8192}'

One sentence, causal, float32, random q, k and v of one layer (d_model 256, 8 heads) on one core; the projections, which are
alike in all ways, are left out. After each point the whole run so far is written as a line of JSON.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from model.experiments.length_runs import D_MODEL, HEADS, LENGTHS, Curve, Limits, Point, Run
from model.network.lengths import WAYS, Way

TURNS, ENOUGH = 20, 0.6  # so many turns at most, and after five no more than so many seconds
SLACK = 512 << 20  # bytes of addresses, beside those of the tensors, that the libraries may map on the way


def peak(run: Callable[[], Tensor]) -> int:
    """The most bytes that tensors took at once while something ran, beside those that were there; what it returns counts."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        run()
    held = most = 0
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def fastest(run: Callable[[], Tensor]) -> float:
    """Seconds of the fastest of some turns; of a single one where that takes more than a second."""
    took: list[float] = []
    while len(took) < 5 or (len(took) < TURNS and sum(took) < ENOUGH):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
        if took[-1] > 1:
            break
    return min(took)


def off(found: Tensor, expected: Tensor | None) -> float | None:
    """The root of the summed squares by which two differ, over that of the second."""
    return None if expected is None else float((found - expected).norm() / expected.norm())


def beyond(way: Way, points: tuple[Point, ...], length: int, limits: Limits) -> str:
    """Why the next point of a way is not measured: what it would take, judged by the last one and its power."""
    if not points:
        return ""
    times = length / points[-1].length
    if points[-1].bytes * times ** way.powers[1] > limits.bytes:
        return "memory"
    return "time" if points[-1].seconds * times ** way.powers[0] > limits.seconds else ""


@torch.inference_mode()
def measured(limits: Limits, told: Callable[[Run], None]) -> Run:
    """All ways at all lengths, shortest first; `told` hears the run after every point."""
    run = Run(os.cpu_count() or 1, torch.__version__, limits, {name: Curve() for name in WAYS})
    told(run)
    generator = torch.Generator().manual_seed(0)
    for length in (n for n in LENGTHS if n <= limits.longest):
        q, k, v = (torch.randn(1, HEADS, length, D_MODEL // HEADS, generator=generator) for _ in range(3))  # [B,H,T,K]
        expected = None
        for name, way in WAYS.items():
            curve = run.curves[name]
            if curve.stopped:
                continue
            curve = dataclasses.replace(curve, stopped=beyond(way, curve.points, length, limits))
            if not curve.stopped:
                try:
                    found = way.run(q, k, v, True)  # [B,H,T,K]; it warms up as well
                    expected = found if name == "full" else expected
                    run_once = lambda way=way, each=(q, k, v): way.run(*each, True)  # noqa: E731
                    point = Point(length, fastest(run_once), peak(run_once), off(found, expected))
                    curve = Curve((*curve.points, point))
                except (RuntimeError, MemoryError):  # torch has no room
                    curve = dataclasses.replace(curve, stopped="memory")
            run = dataclasses.replace(run, curves={**run.curves, name: curve})
            told(run)
    return run


def bound(limits: Limits) -> None:
    """Holds this process to what it may take, as far as the system can."""
    seconds = int(limits.total) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        mapped = int(sizes.read_text().split()[0]) * resource.getpagesize()
        most = mapped + limits.bytes + SLACK
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    limits = Limits(**json.loads(sys.argv[1]))
    torch.set_num_threads(1)
    bound(limits)
    measured(limits, lambda run: print(json.dumps(run.to_dict()), flush=True))


if __name__ == "__main__":
    main()
