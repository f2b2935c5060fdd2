"""A class at once, on this machine:  python -m benchmarks.load [--seconds 30]

Visitors who type: each opens the page with a sentence of its own, again and again. Visitors who click: each keeps its page
and runs it anew. Arrivals: all open the first page within a second. In the same run an empty Streamlit page under the same
load: what the server cannot go below. The driver shares the processors with the server; it says what it took.
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

    def told(self, what: str) -> str:
        a_second = len(self.took) / self.seconds
        faults = f", {len(self.faults)} FAULTS: {self.faults[0]}" if self.faults else ""
        return f"{what:58} {len(self.took):6} runs, {a_second:6.1f} a second, {quantiles(self.took)}{faults}"


async def crowd(visitors: int, visit) -> Result:
    """So many at once; `visit(result, number)` is what each does. A visitor that is lost is a result, too."""
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


async def alone(port: int, count: int, source: Iterator[str], page: str = "") -> tuple[Result, Result]:
    """One visitor after the other: until the page stands, and until that stands, too, which is computed once it is seen."""
    whole = Result()

    async def visit(result: Result, number: int) -> None:
        for _ in range(count):
            async with Visitor(port) as visitor:
                asked = query_of(next(source)), page
                result.took.append(await visitor.run(*asked))
                if more := await visitor.look(*asked):
                    whole.took.append(result.took[-1] + more)

    found = await crowd(1, visit)
    whole.seconds = found.seconds
    return found, whole


async def measured(port: int, seconds: float, where: str) -> None:
    source = sentences()
    for page in ("", "what-if", "positions", "heads", "inside") if where == "lab" else ("",):
        result, whole = await alone(port, 20, source, page)
        print(result.told(f"{where}: one visitor, a new sentence{', ' * bool(page)}{page}"), flush=True)
        if whole.took:
            print(whole.told(f"{where}: the same, with all that is on {page}"), flush=True)
    result = await typing(port, 30, seconds, 3, source)
    print(result.told(f"{where}: 30 visitors, a new sentence every 3 s each"), flush=True)
    print((await clicking(port, 100, seconds, 5)).told(f"{where}: 100 visitors, a run every 5 s each"), flush=True)
    print((await arriving(port, 50)).told(f"{where}: 50 visitors arrive within a second"), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each kind of load")
    args = parser.parse_args()
    with lab() as (port, _), empty_page() as empty:
        for where, at in (("empty page", empty), ("lab", port)):
            start = time.process_time()
            asyncio.run(measured(at, args.seconds, where))
            print(f"{where}: the driver took {time.process_time() - start:.1f} s of processor time", flush=True)


if __name__ == "__main__":
    main()
