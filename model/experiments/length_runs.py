"""Runs of the measurement of attention over the length of a text: how one is started, bounded, read, kept and summed up.

What is measured stands in `model.experiments.length_runs`, which runs in a process of its own.

Time and memory of each way to compute attention, against the length; run by `model.experiments.length_runs`:

    python -m model.experiments.length_runs '{"seconds": 5, "bytes": 1073741824, "total": 90, "longest": 8192}'

One sentence, causal, float32, random q, k and v of one layer (d_model 256, 8 heads) on one core; the projections, which are
alike in all ways, are left out. After each point the whole run so far is written as a line of JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from model.network.extrapolation import WAYS, Way

ROOT = Path(__file__).resolve().parent.parent.parent
LENGTHS = tuple(64 << n for n in range(8))  # tokens, 64 to 8192
D_MODEL, HEADS = 256, 8
TICK = 0.5  # seconds between two looks whether somebody still waits
STORED = Path(__file__).with_name("lengths.json")


@dataclass(frozen=True)
class Limits:
    """What a run may take: seconds for one point, bytes beside q, k and v, seconds in all, and how far it goes."""

    seconds: float = 5.0
    bytes: int = 1 << 30
    total: float = 90.0
    longest: int = LENGTHS[-1]


@dataclass(frozen=True)
class Point:
    """One way at one length: the fastest of some turns, the most that its tensors took at once beside query, key and value,
    and by how much its result departs from the explicit one's, as a share of that; None where that was not computed."""

    length: int
    seconds: float
    bytes: int
    off: float | None


@dataclass(frozen=True)
class Curve:
    """The points of one way, and why there are no more: "time", "memory", "total", or nothing where it went to the end."""

    points: tuple[Point, ...] = ()
    stopped: str = ""


@dataclass(frozen=True)
class Fit:
    """values = c * length^power between two lengths, by least squares on logarithms; the largest share by which a value
    departs from it."""

    power: float
    departs: float
    first: int
    last: int


@dataclass(frozen=True)
class Run:
    """A run, or as much of it as is done."""

    cores: int
    torch: str
    limits: Limits
    curves: Mapping[str, Curve] = dataclasses.field(hash=False)  # by the names of `model.network.extrapolation.WAYS`

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Run:
        """Inverse of `to_dict`."""
        curves = {
            name: Curve(tuple(Point(**point) for point in each["points"]), each["stopped"])
            for name, each in values["curves"].items()
        }
        return cls(values["cores"], values["torch"], Limits(**values["limits"]), curves)

    @property
    def done(self) -> int:
        """How many points there are, those that a way left out counted."""
        lengths = [n for n in LENGTHS if n <= self.limits.longest]
        return sum(len(lengths) if each.stopped else len(each.points) for each in self.curves.values())


def fitted(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """The exponent p of c * size^p by least squares on logarithms; the largest share by which a value departs from it."""
    x, y = np.log(sizes), np.log(values)
    exponent, constant = np.polyfit(x, y, 1)
    return float(exponent), float(np.expm1(np.abs(y - (exponent * x + constant)).max()))


def fit(curve: Curve, what: str) -> Fit | None:
    """How seconds or bytes grow over the upper half of a way's lengths, three at least; None where it has fewer."""
    points = curve.points[-max(3, -(-len(curve.points) // 2)) :]
    if len(points) < 3:
        return None
    lengths = [point.length for point in points]
    return Fit(*fitted(lengths, [getattr(point, what) for point in points]), lengths[0], lengths[-1])


@functools.cache
def stored() -> Run:
    """The run that comes with the lab."""
    return Run.from_dict(json.loads(STORED.read_text(encoding="utf-8")))


def measure(limits: Limits) -> Iterator[Run]:
    """Starts a process that measures, and tells what is done, twice a second at least; whoever stops listening ends it.

    Raises ValueError where the process ends without having said anything.
    """
    words = [sys.executable, "-m", "model.experiments.length_runs", json.dumps(dataclasses.asdict(limits))]
    alone = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=ROOT, env=alone, text=True, **pipes)
    told: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, told), daemon=True)
    reader.start()
    try:
        yield from _heard(told, limits)
    finally:
        process.kill()
        process.wait()
        reader.join()


def _read(process: subprocess.Popen[str], told: queue.Queue[str | None]) -> None:
    with process.stdout as lines:
        for line in lines:
            told.put(line)
    told.put(None)


def _heard(told: queue.Queue[str | None], limits: Limits) -> Iterator[Run]:
    run, end = None, time.monotonic() + limits.total
    while time.monotonic() < end:
        try:
            line = told.get(timeout=TICK)
        except queue.Empty:
            line = ""
        if line is None:
            break
        if line.startswith("{"):  # all else is noise
            run = Run.from_dict(json.loads(line))
        if run is not None:
            yield run
    if run is None:
        raise ValueError("The measurement ended before it had begun. Try again later.")
    yield _ended(run)


def _ended(run: Run) -> Run:
    """With the ways that were not done marked as stopped."""
    left = [n for n in LENGTHS if n <= run.limits.longest]
    curves = {
        name: each if each.stopped or len(each.points) == len(left) else dataclasses.replace(each, stopped="total")
        for name, each in run.curves.items()
    }
    return dataclasses.replace(run, curves=curves)


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
