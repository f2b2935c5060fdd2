"""Processor time of a rerun of an unchanged page, beside an empty Streamlit page:  python -m benchmarks.reruns [--rounds 5]

Both pages take turns, run by run, in processes of their own, so the ratio holds on a busy machine too. The pages are as a
visitor without a browser gets them: a lazy part is not computed. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics

from benchmarks.visitors import Visitor, empty_page, lab, processor_seconds
from viz import pages

PAUSE = 0.02  # seconds between two pairs of runs
FIRST_RUNS = 4  # until nothing is sent for the first time


async def cost_of_both(
    visitors: tuple[Visitor, Visitor], processes: tuple[int, int], page: str, runs: int
) -> tuple[float, float]:
    """Returns milliseconds of processor time for each run of the lab's page and of the empty one, which take turns."""
    before = [processor_seconds(process) for process in processes]
    for _ in range(runs):
        await visitors[0].run(page=page)
        await visitors[1].run()
        await asyncio.sleep(PAUSE)
    own, empty = (processor_seconds(process) - start for process, start in zip(processes, before, strict=True))
    return own / runs * 1e3, empty / runs * 1e3


async def measure(ports: tuple[int, int], processes: tuple[int, int], rounds: int, runs: int) -> None:
    """Prints the cost of each page. `ports` and `processes` are those of the lab and of the empty page."""
    found: dict[str, list[tuple[float, float]]] = {page.title: [] for page in pages.PAGES}
    sizes = {}
    for _ in range(rounds):
        for page in pages.PAGES:
            address = pages.address_of(page)
            async with Visitor(ports[0]) as visitor, Visitor(ports[1]) as other:
                for _ in range(FIRST_RUNS):
                    await visitor.run(page=address)
                    await other.run()
                    await asyncio.sleep(0.2)
                received = visitor.received
                found[page.title].append(await cost_of_both((visitor, other), processes, address, runs))
                sizes[page.title] = visitor.messages, (visitor.received - received) / runs
    for title, costs in found.items():
        own = statistics.median(each for each, _ in costs)
        ratios = sorted(own / empty for own, empty in costs)
        messages, size = sizes[title]
        print(
            f"{title:16} {own:5.1f} ms, {statistics.median(ratios):4.2f} times the empty page "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}); {messages} messages, {size / 1e3:.1f} kB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=200, help="of a page in a round")
    args = parser.parse_args()
    with lab() as (port, process), empty_page() as (empty, other):
        asyncio.run(measure((port, empty), (process.pid, other.pid), args.rounds, args.runs))


if __name__ == "__main__":
    main()
