"""A class at once, on this machine:  python -m benchmarks.load [--seconds 30]

Visitors who type open the page again and again, each with another sentence. Visitors who click keep their page and rerun it.
Arrivals open the first page within a second. The same load on an empty Streamlit page is the lower bound. The driver shares
the processors with the server, and prints its own processor time.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import Iterator

from benchmarks.visitors import Visitor, empty_page, lab, quantiles, query_of, sentences


class Result:
    def __init__(self) -> None:
        self.took: list[float] = []
        self.faults: list[str] = []
        self.seconds = 0.0

    def summary(self, what: str) -> str:
        a_second = len(self.took) / self.seconds
        faults = f", {len(self.faults)} FAULTS: {self.faults[0]}" if self.faults else ""
        return f"{what:58} {len(self.took):6} runs, {a_second:6.1f} a second, {quantiles(self.took)}{faults}"


async def crowd(visitors: int, visit) -> Result:
    """Runs visitors at the same time; `visit(result, number)` is one of them. A lost visitor counts as a fault."""
    result, start = Result(), time.monotonic()

    async def one(number: int) -> None:
        try:
            await visit(result, number)
        except Exception as fault:
            result.faults.append(repr(fault)[:200])

    await asyncio.gather(*(one(number) for number in range(visitors)))
    result.seconds = time.monotonic() - start
    return result


async def typing(port: int, visitors: int, seconds: float, think: float, source: Iterator[str], page: str = "") -> Result:
    end = time.monotonic() + seconds

    async def visit(result: Result, number: int) -> None:
        await asyncio.sleep(think * number / visitors)
        while time.monotonic() < end:
            start = time.perf_counter()
            async with Visitor(port) as visitor:
                await visitor.run(query_of(next(source)), page)
            result.took.append(time.perf_counter() - start)
            await asyncio.sleep(min(random.expovariate(1 / think), max(0.0, end - time.monotonic())))

    return await crowd(visitors, visit)


async def clicking(port: int, visitors: int, seconds: float, think: float) -> Result:
    async def visit(result: Result, number: int) -> None:
        await asyncio.sleep(think * number / visitors)
        async with Visitor(port) as visitor:
            await visitor.run()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                await asyncio.sleep(min(random.expovariate(1 / think), max(0.0, end - time.monotonic())))
                if time.monotonic() < end:
                    result.took.append(await visitor.run())

    return await crowd(visitors, visit)


async def arriving(port: int, visitors: int) -> Result:
    async def visit(result: Result, number: int) -> None:
        await asyncio.sleep(number / visitors)
        async with Visitor(port) as visitor:
            result.took.append(await visitor.run())

    return await crowd(visitors, visit)


async def retyping(port: int, count: int, source: Iterator[str]) -> Result:
    """One visitor with an open page types one sentence after the other."""

    async def visit(result: Result, number: int) -> None:
        async with Visitor(port) as visitor:
            await visitor.run(query_of(next(source)))
            result.took += [await visitor.run(query_of(next(source))) for _ in range(count)]

    return await crowd(1, visit)


async def alone(port: int, count: int, source: Iterator[str], page: str = "") -> tuple[Result, Result]:
    """Runs one visitor after the other. Returns the times until the page stands, and until its lazy parts stand too."""
    complete = Result()

    async def visit(result: Result, number: int) -> None:
        for _ in range(count):
            async with Visitor(port) as visitor:
                link = query_of(next(source)), page
                result.took.append(await visitor.run(*link))
                looks = 0.0
                while more := await visitor.look(*link):  # one part at a time, as a browser does
                    looks += more
                if looks:
                    complete.took.append(result.took[-1] + looks)

    first = await crowd(1, visit)
    complete.seconds = first.seconds
    return first, complete


async def measured(port: int, seconds: float, where: str) -> None:
    source = sentences()
    print((await retyping(port, 20, source)).summary(f"{where}: one visitor types a new sentence"), flush=True)
    for page in ("", "what-if", "positions", "heads", "inside") if where == "lab" else ("",):
        result, complete = await alone(port, 20, source, page)
        print(result.summary(f"{where}: a new visitor with a new sentence{f', {page}' if page else ''}"), flush=True)
        if complete.took:
            print(complete.summary(f"{where}: the same, with all that is on {page}"), flush=True)
    result = await typing(port, 30, seconds, 3, source)
    print(result.summary(f"{where}: 30 visitors, a new sentence every 3 s each"), flush=True)
    print((await clicking(port, 100, seconds, 5)).summary(f"{where}: 100 visitors, a run every 5 s each"), flush=True)
    print((await arriving(port, 50)).summary(f"{where}: 50 visitors arrive within a second"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each kind of load")
    args = parser.parse_args()
    with lab() as (port, _), empty_page() as (empty, _):
        for where, address in (("empty page", empty), ("lab", port)):
            start = time.process_time()
            asyncio.run(measured(address, args.seconds, where))
            print(f"{where}: the driver took {time.process_time() - start:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
