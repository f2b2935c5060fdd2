"""Time and memory of each way to compute attention, against the length of the text.

The measurement runs in a separate process, which `measure` starts and stops:

    python -m model.experiments.length_runs '{"seconds": 5, "bytes": 1073741824, "total": 90, "longest": 8192}'

One sentence, causal, float32, random q, k and v of one layer (d_model 256, 8 heads) on one core. The projections are left
out because they are alike in all ways. After each point the process prints the results so far as a line of JSON.
"""

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

from ..network.attention_methods import METHODS, AttentionMethod

ROOT = Path(__file__).resolve().parent.parent.parent
LENGTHS = tuple(64 << n for n in range(8))  # tokens, 64 to 8192
D_MODEL, HEADS = 256, 8
TICK = 0.5  # seconds between two checks for a caller that has left
STORED = Path(__file__).with_name("lengths.json")


@dataclass(frozen=True)
class Limits:
    """Limits of a run: seconds for one point, bytes beside q, k and v, seconds in total, and the longest text."""

    seconds: float = 5.0
    bytes: int = 1 << 30
    total: float = 90.0
    longest: int = LENGTHS[-1]


@dataclass(frozen=True)
class Point:
    """Measurement of one way at one length: seconds of the fastest repeat, and peak bytes beside query, key and value.

    `off` is the relative difference of the result from the explicit one; None where that was not computed.
    """

    length: int
    seconds: float
    bytes: int
    off: float | None


@dataclass(frozen=True)
class Curve:
    """Points of one way, and why they end: "time", "memory", "total", or empty for a complete curve."""

    points: tuple[Point, ...] = ()
    stopped: str = ""


@dataclass(frozen=True)
class Fit:
    """Fit of values = c * length^power between two lengths, by least squares on logarithms. `departs` is the largest
    relative deviation of a value."""

    power: float
    departs: float
    first: int
    last: int


@dataclass(frozen=True)
class Run:
    """Results of a run, complete or not."""

    cores: int
    torch: str
    limits: Limits
    curves: Mapping[str, Curve] = dataclasses.field(hash=False)  # by the names of `model.network.attention_methods.METHODS`

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Run:
        """Returns the run of a dict that `to_dict` made."""
        curves = {
            name: Curve(tuple(Point(**point) for point in each["points"]), each["stopped"])
            for name, each in values["curves"].items()
        }
        return cls(values["cores"], values["torch"], Limits(**values["limits"]), curves)

    @property
    def done(self) -> int:
        """Returns the number of points that are done. The missing points of a stopped curve count too."""
        lengths = [n for n in LENGTHS if n <= self.limits.longest]
        return sum(len(lengths) if each.stopped else len(each.points) for each in self.curves.values())


def fit_power_law(sizes: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Returns the exponent p of c * size^p by least squares on logarithms, and the largest relative deviation of a value."""
    x, y = np.log(sizes), np.log(values)
    exponent, constant = np.polyfit(x, y, 1)
    return float(exponent), float(np.expm1(np.abs(y - (exponent * x + constant)).max()))


def fit(curve: Curve, quantity: str) -> Fit | None:
    """Fits seconds or bytes over the upper half of the lengths, at least three. Returns None for fewer points."""
    points = curve.points[-max(3, -(-len(curve.points) // 2)) :]
    if len(points) < 3:
        return None
    lengths = [point.length for point in points]
    return Fit(*fit_power_law(lengths, [getattr(point, quantity) for point in points]), lengths[0], lengths[-1])


@functools.cache
def shipped_run() -> Run:
    """Returns the run that comes with the lab."""
    return Run.from_dict(json.loads(STORED.read_text(encoding="utf-8")))


def measure(limits: Limits) -> Iterator[Run]:
    """Starts a process that measures, and yields its results at least twice a second. Closing the iterator ends the process.

    Raises ValueError where the process ends without a result.
    """
    words = [sys.executable, "-m", __name__, json.dumps(dataclasses.asdict(limits))]
    alone = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(words, cwd=ROOT, env=alone, text=True, **pipes)
    lines: queue.Queue[str | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        yield from _parse_lines(lines, limits)
    finally:
        process.kill()
        process.wait()
        reader.join()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    with process.stdout as output:
        for line in output:
            lines.put(line)
    lines.put(None)


def _parse_lines(lines: queue.Queue[str | None], limits: Limits) -> Iterator[Run]:
    run, end = None, time.monotonic() + limits.total
    while time.monotonic() < end:
        try:
            line = lines.get(timeout=TICK)
        except queue.Empty:
            line = ""
        if line is None:
            break
        if line.startswith("{"):  # other lines are noise
            run = Run.from_dict(json.loads(line))
        if run is not None:
            yield run
    if run is None:
        raise ValueError("The measurement ended before it had begun. Try again later.")
    yield _mark_incomplete(run)


def _mark_incomplete(run: Run) -> Run:
    """Returns the run with its incomplete curves marked as stopped."""
    left = [n for n in LENGTHS if n <= run.limits.longest]
    curves = {
        name: each if each.stopped or len(each.points) == len(left) else dataclasses.replace(each, stopped="total")
        for name, each in run.curves.items()
    }
    return dataclasses.replace(run, curves=curves)


TURNS, ENOUGH = 20, 0.6  # repeats at most, and seconds at most after five repeats
SLACK = 512 << 20  # bytes of address space that the libraries may map beside the tensors


def peak_bytes(run: Callable[[], Tensor]) -> int:
    """Returns the peak bytes of the tensors that a function allocates. Its result counts."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        run()
    current = highest = 0
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(events, key=lambda event: event.start_ns()):
        current += event.nbytes()
        highest = max(highest, current)
    return highest


def fastest_seconds(run: Callable[[], Tensor]) -> float:
    """Returns the seconds of the fastest repeat. A repeat of more than a second is the last."""
    took: list[float] = []
    while len(took) < 5 or (len(took) < TURNS and sum(took) < ENOUGH):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
        if took[-1] > 1:
            break
    return min(took)


def relative_error(result: Tensor, expected: Tensor | None) -> float | None:
    """Returns the relative difference of a result from the expected one: root of summed squares."""
    return None if expected is None else float((result - expected).norm() / expected.norm())


def reason_to_stop(way: AttentionMethod, points: tuple[Point, ...], length: int, limits: Limits) -> str:
    """Returns why the next point of a way is not measured, judged by its last point and its power; empty if it is."""
    if not points:
        return ""
    times = length / points[-1].length
    if points[-1].bytes * times ** way.growth_exponents[1] > limits.bytes:
        return "memory"
    return "time" if points[-1].seconds * times ** way.growth_exponents[0] > limits.seconds else ""


@torch.inference_mode()
def measure_all(limits: Limits, report: Callable[[Run], None]) -> Run:
    """Measures all ways at all lengths, the shortest first. Calls `report` with the run after every point."""
    run = Run(os.cpu_count() or 1, torch.__version__, limits, {name: Curve() for name in METHODS})
    report(run)
    generator = torch.Generator().manual_seed(0)
    for length in (n for n in LENGTHS if n <= limits.longest):
        q, k, v = (torch.randn(1, HEADS, length, D_MODEL // HEADS, generator=generator) for _ in range(3))  # [B,H,T,K]
        expected = None
        for name, way in METHODS.items():
            curve = run.curves[name]
            if curve.stopped:
                continue
            curve = dataclasses.replace(curve, stopped=reason_to_stop(way, curve.points, length, limits))
            if not curve.stopped:
                try:
                    result = way.run(q, k, v, True)  # [B,H,T,K]; also warms up
                    expected = result if name == "full" else expected
                    run_once = lambda way=way, each=(q, k, v): way.run(*each, True)  # noqa: E731
                    point = Point(length, fastest_seconds(run_once), peak_bytes(run_once), relative_error(result, expected))
                    curve = Curve((*curve.points, point))
                except (RuntimeError, MemoryError):  # out of memory
                    curve = dataclasses.replace(curve, stopped="memory")
            run = dataclasses.replace(run, curves={**run.curves, name: curve})
            report(run)
    return run


def limit_process(limits: Limits) -> None:
    """Limits the processor time and memory of this process, as far as the system can."""
    seconds = int(limits.total) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    sizes = Path("/proc/self/statm")
    if sizes.exists():
        mapped = int(sizes.read_text().split()[0]) * resource.getpagesize()
        limit = mapped + limits.bytes + SLACK
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> None:
    limits = Limits(**json.loads(sys.argv[1]))
    torch.set_num_threads(1)
    limit_process(limits)
    measure_all(limits, lambda run: print(json.dumps(run.to_dict()), flush=True))


if __name__ == "__main__":
    main()
