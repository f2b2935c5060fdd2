"""Two replicas behind Debian's nginx, with deploy/nginx.conf:  python -m benchmarks.replicas

New sentences a second, through nginx, of one replica and of two, in turns; each replica has one processor, as compose.yaml
says. Then one of them is killed (-9) under 50 sessions: how long until all are served again, with the view of their link.
The driver shares the processors with them; it says what it took.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import websockets

from benchmarks.load import Result, crowd
from benchmarks.visitors import ROOT, Visitor, free_port, lab, processor_seconds, query_of, sentences, served

SESSIONS = 50
TURNS = 3


@contextlib.contextmanager
def behind_nginx(ports: list[int]) -> Iterator[int]:
    """Yields the port of an nginx with the shipped configuration before replicas on this machine."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not Path(program).exists():
        raise SystemExit("nginx is not here; on Debian: apt install nginx-light")
    text, entry = (ROOT / "deploy" / "nginx.conf").read_text(), free_port()
    line = next(line for line in text.splitlines() if "server lab1:8501" in line)
    servers = "\n".join(line.replace("lab1:8501", f"127.0.0.1:{port}") for port in ports)
    other = next(other for other in text.splitlines() if "server lab2:8501" in other)
    text = text.replace(line, servers).replace(other, "").replace("listen 8080", f"listen 127.0.0.1:{entry}")
    with tempfile.TemporaryDirectory() as folder:
        head = f"daemon off;\npid {folder}/pid;\nerror_log {folder}/log crit;\n"
        (written := Path(folder, "nginx.conf")).write_text(head + text)
        with served([program, "-p", folder, "-c", str(written)], entry, "/healthz"):
            yield entry


async def kill_replica(port: int, replica: subprocess.Popen[bytes]) -> tuple[int, list[float]]:
    """Kills a replica under load. Returns the number of its sessions, and the seconds until each was served again."""
    source, moved, gone = sentences(1), [], asyncio.Event()
    open_ = 0

    async def visit(result: Result, number: int) -> None:
        nonlocal open_
        query, cookie = query_of(next(source)), f"lab=visitor{number}"
        async with Visitor(port, cookie) as visitor:
            await visitor.run(query)
            open_ += 1
            if open_ == SESSIONS:
                replica.kill()
                start.append(time.perf_counter())
                gone.set()
            await gone.wait()
            try:
                await visitor.run(query)
                return
            except (websockets.ConnectionClosed, OSError):
                moved.append(number)
        while True:  # retries as a browser does
            try:
                async with Visitor(port, cookie) as again:
                    await again.run(query)
                result.took.append(time.perf_counter() - start[0])
                return
            except (websockets.WebSocketException, OSError):
                await asyncio.sleep(0.2)

    start: list[float] = []
    result = await crowd(SESSIONS, visit)
    if result.faults:
        raise RuntimeError(result.faults[0])
    return len(moved), result.took


async def new_sentences(port: int, source: Iterator[str], seconds: float = 10.0, visitors: int = 8) -> tuple[int, float]:
    """Returns the number of served sentences and the seconds. Each visitor sends the next sentence after each answer."""
    end = time.monotonic() + seconds

    async def visit(result: Result, number: int) -> None:
        while time.monotonic() < end:
            async with Visitor(port, f"lab=typist{number}") as visitor:
                result.took.append(await visitor.run(query_of(next(source))))

    result = await crowd(visitors, visit)
    if result.faults:
        raise RuntimeError(result.faults[0])
    return len(result.took), result.seconds


def compare_rates(ports: list[int], processes: list[int]) -> None:
    """Compares the rates of one replica and of all, in turns."""
    source, rates, ratios = sentences(2), {}, []
    with behind_nginx(ports[:1]) as one, behind_nginx(ports) as all_:
        for entry in (one, all_):  # warm-up
            asyncio.run(new_sentences(entry, source, 3.0))
        for _ in range(TURNS):
            for count, entry in ((1, one), (len(ports), all_)):
                before = [time.process_time(), *map(processor_seconds, processes)]
                served_, seconds = asyncio.run(new_sentences(entry, source))
                rates[count] = served_ / seconds
                after = [time.process_time(), *map(processor_seconds, processes)]
                driver, *labs = (b - a for a, b in zip(before, after, strict=True))
                took = f"{' + '.join(f'{each:.1f}' for each in labs)} processor seconds ({served_ / sum(labs):.1f} in each)"
                rate = f"{count} behind nginx: {rates[count]:.1f} new sentences a second in {seconds:.1f} s; {took}"
                print(f"{rate}, the driver {driver:.1f}", flush=True)
            ratios.append(rates[len(ports)] / rates[1])
    values = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"two serve {statistics.median(ratios):.2f} times what one serves (median of {values})", flush=True)


def main() -> None:
    last = (os.cpu_count() or 1) - 1
    with lab(0) as (first, stays), lab(last) as (second, replica):
        compare_rates([first, second], [stays.pid, replica.pid])
        with behind_nginx([first, second]) as entry:
            before = processor_seconds(stays.pid)
            moved, took = asyncio.run(kill_replica(entry, replica))
            spent = processor_seconds(stays.pid) - before
        print(
            f"one replica killed under {SESSIONS} sessions: {moved} were on it; served again, half of them after "
            f"{statistics.median(took):.1f} s, all after {max(took):.1f} s; the other took {spent:.1f} s of its processor "
            "for all sessions, before and after"
        )


if __name__ == "__main__":
    main()
