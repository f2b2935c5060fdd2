"""Sessions for a long time:  python -m benchmarks.soak [--sessions 100] [--minutes 30] [--out curve.csv]

Every session runs its page every 20 s or so, each tenth time with a new sentence; now and then one leaves and another comes,
one sends half a request and one a frame of garbage. Written down every 5 s: resident memory, threads and open files of the
server, and at the end how they grew after the warm-up, half of the time, and whether memory stayed within its bound.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import csv
import random
import sys
import time
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
import websockets

from benchmarks.visitors import Visitor, lab, query_of, sentences
from viz.state.result_cache import max_memory_mb

THINK, LOOK = 20.0, 5.0  # seconds
CACHE_MB = 128  # MB: the warm-up fills it, so later growth has another cause
BOUND = max_memory_mb(8, CACHE_MB)  # MB of the process: a hundred sessions draw short texts, seldom at the same time


@dataclass(frozen=True)
class Look:
    """The server at a moment."""

    seconds: float
    megabytes: float
    threads: int
    files: int
    runs: int


def looked_at(process: int, seconds: float, runs: int) -> Look:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return Look(round(seconds, 1), int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), files, runs)


async def soak(port: int, process: int, sessions: int, seconds: float, think: float = THINK) -> tuple[list[Look], list[str]]:
    source, looks, faults, runs = sentences(3), [], [], 0
    start = time.monotonic()
    end = start + seconds

    async def session() -> None:
        nonlocal runs
        while time.monotonic() < end:
            stays = random.randint(3, 30)
            try:
                async with Visitor(port) as visitor:
                    query = query_of(next(source))
                    for _ in range(stays):
                        await visitor.run(query)
                        runs += 1
                        if random.random() < 0.1:
                            query = query_of(next(source))
                        await asyncio.sleep(min(random.expovariate(1 / think), max(0.0, end - time.monotonic())))
                        if time.monotonic() >= end:
                            return
            except Exception as fault:
                faults.append(repr(fault)[:200])
                await asyncio.sleep(1)

    async def nuisance() -> None:
        """Connections that are opened and left, half requests, garbage: the others must notice nothing."""
        while time.monotonic() < end:
            with contextlib.suppress(OSError, websockets.WebSocketException, TimeoutError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(b"GET / HTTP/1.1\r\nHost: loc")
                await writer.drain()
                url = f"ws://127.0.0.1:{port}/_stcore/stream"
                async with websockets.connect(url, subprotocols=["streamlit"]) as connection:
                    await connection.send(random.randbytes(2000))
                    await asyncio.wait_for(connection.recv(), 2)
                writer.close()
            await asyncio.sleep(2)

    async def look() -> None:
        while time.monotonic() < end:
            looks.append(looked_at(process, time.monotonic() - start, runs))
            await asyncio.sleep(LOOK)

    await asyncio.gather(look(), nuisance(), *(session() for _ in range(sessions)))
    return looks, faults


def growth(looks: list[Look], of: str) -> float:
    """Returns the growth of a number per hour after the warm-up, by a line of least squares."""
    later = looks[len(looks) // 2 :]
    return float(np.polyfit([look.seconds / 3600 for look in later], [getattr(look, of) for look in later], 1)[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--out", type=Path, help="a CSV file for the curve")
    args = parser.parse_args()
    with lab(KEEP_MB=str(CACHE_MB)) as (port, process):
        looks, faults = asyncio.run(soak(port, process.pid, args.sessions, args.minutes * 60))
    if args.out:
        with args.out.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([list(Look.__annotations__), *map(astuple, looks)])
    first, last = looks[len(looks) // 2], looks[-1]
    for wanted in range(0, int(last.seconds) + 300, 300):
        near = min(looks, key=lambda look, wanted=wanted: abs(look.seconds - wanted))
        print(f"{near.seconds / 60:5.1f} min: {near.megabytes:7,.0f} MB, {near.threads:3} threads, {near.files:4} files")
    print(f"{last.runs} runs of {args.sessions} sessions in {args.minutes:g} minutes, {len(faults)} faults {faults[:1]}")
    for what in ("megabytes", "threads", "files"):
        change = f"{getattr(first, what):,.0f} -> {getattr(last, what):,.0f}"
        print(f"{what:10} {change:>16}, {growth(looks, what):+,.1f} an hour after the warm-up")
    peak = max(look.megabytes for look in looks)
    print(f"memory: {peak:,.0f} MB at most; the bound is {BOUND:,} MB")
    return 1 if faults or peak > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
