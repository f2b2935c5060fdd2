"""Thirty visitors beside a small training, on this machine: python -m benchmarks.training_beside [--seconds 20] [--rounds 2]

In turns without and with one training in its process at low priority: visitors who rerun their page every 3 s, and visitors
who type a new sentence every 6 s. It prints the medians, and the ratio of the 95th percentiles of all rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator

import numpy as np

from benchmarks.load import Result, clicking, typing
from benchmarks.visitors import lab, quantiles, sentences
from viz.state.trainings import COMMAND

VISITORS = 30
CONFIG = {"task": "add", "layers": 2, "heads": 4, "d_model": 64, "positions": True, "causal": True, "seed": 1}


@contextlib.contextmanager
def training() -> Iterator[None]:
    """Trains as the lab does, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None and process.stdout is not None
        wanted = {"folder": f"{folder}/small", "resume": False, "seconds": 3600, "steps": 10**6, "config": CONFIG}
        process.stdin.write(json.dumps(wanted) + "\n")
        process.stdin.flush()
        process.stdout.readline()  # it is ready
        try:
            yield
        finally:
            process.kill()
            process.communicate()


def measured(port: int, seconds: float) -> dict[str, Result]:
    source = sentences()
    return {
        "a run every 3 s": asyncio.run(clicking(port, VISITORS, seconds, 3)),
        "a new sentence every 6 s": asyncio.run(typing(port, VISITORS, seconds, 6, source)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    took: dict[tuple[str, bool], list[float]] = {}
    with lab() as (port, _):
        measured(port, 5)  # fills the caches
        for _ in range(args.rounds):
            for beside in (False, True):
                with training() if beside else contextlib.nullcontext():
                    for what, result in measured(port, args.seconds).items():
                        took.setdefault((what, beside), []).extend(result.took)
                        assert not result.faults, result.faults[0]
    for what in dict.fromkeys(what for what, _ in took):
        idle, busy = took[what, False], took[what, True]
        ratio = np.quantile(busy, 0.95) / np.quantile(idle, 0.95)
        print(
            f"{VISITORS} visitors, {what}: {quantiles(idle)}; beside a training {quantiles(busy)}; ratio of p95 {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
