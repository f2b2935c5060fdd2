"""Memory of the lab after many sentences, and while many visitors read long texts at once.

    python -m benchmarks.memory [--sentences 300] [--visitors 20] [--texts 6] [--rest 150]

The first part computes in this process what Translate and Heads draw: first of ordinary sentences of six to twelve words,
then of long ones of forty to seventy, each with two layers and heads and one edit. It prints resident memory every fifty
sentences. The second part starts a lab. Its visitors come at the same time, and each one types texts of 110 to 128 tokens
and opens each of them on seven pages, with an edit on one. It prints the maximum, what is left when the last one has
finished, and what is left when the server has forgotten the sessions.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import random
import sys
import time
from pathlib import Path

from benchmarks.visitors import Visitor, lab, query_of
from viz import computations, page_context
from viz.decoding_steps.steps import CANDIDATES, STEPS
from viz.frame import panel_page
from viz.heads.grid_panel import GRID
from viz.server.serve import return_memory
from viz.state import result_cache
from viz.state.links import parse
from viz.state.view import View, without_edits

SUBJECTS = ("The old man", "My sister", "A black cat", "The teacher", "Our neighbour", "The little girl", "Their dog", "He")
VERBS = ("saw", "found", "forgot", "wanted", "sold", "lost", "bought", "liked", "took", "needed")
OBJECTS = (
    "a red car",
    "the big house",
    "some bread",
    "his new book",
    "the keys",
    "a glass of water",
    "her letter",
    "the chair",
)
PLACES = ("in the garden", "near the river", "at the station", "after the rain", "this morning", "in Paris", "at school")
EVERY = 50
CLAUSES = 12  # of a long text: 110 to 128 tokens
PAGES = ("", "heads", "inside", "positions", "what-if", "why", "compare")


def sentence(draw: random.Random, clauses: int) -> str:
    """Returns a sentence of some clauses, each of six to nine words."""
    clauses_ = (" ".join(map(draw.choice, (SUBJECTS, VERBS, OBJECTS, PLACES))) for _ in range(clauses))
    return " and ".join(clauses_) + "."


def sentences(draw: random.Random, count: int, clauses: tuple[int, int]) -> list[str]:
    """Returns this many different sentences."""
    texts = dict.fromkeys(sentence(draw, draw.randint(*clauses)) for _ in itertools.repeat(None, 4 * count))
    return list(texts)[:count]


def visit(text: str, draw: random.Random) -> None:
    """Computes the runs of one visitor on a sentence: two heads on two pages, then one edit."""
    for layer, head in ((3, 2), (draw.randint(1, 4), draw.randint(1, 8))):
        view, _ = parse({"text": text, "layer": str(layer), "head": str(head)})
        data = page_context.build(view)
        for panel in (STEPS, CANDIDATES, GRID):
            panel_page.make_data(panel, data, panel.result(data))
    computations.mask_effects(without_edits(data.request), view.device)
    edited, _ = parse({"text": text, "edits": f"off_cross.{draw.randint(1, 4)}", "mode": "again"})
    page_context.build(edited)


def resident(process: int | str = "self", what: str = "VmRSS") -> float:
    """Returns the MB that a process holds now, or its peak (VmHWM). Elsewhere: the peak of this process."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith(what))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024)


def cached_mb() -> float:
    """Returns the MB of all cached results."""
    return result_cache.LEDGER.total / (1 << 20)


def compute(count: int) -> float:
    """Runs the first part. Returns the MB at the end."""
    draw = random.Random(1)
    page_context.build(View())
    gc.collect()
    print(f"at the start: {resident():,.0f} MB, kept {cached_mb():,.0f} MB", flush=True)
    for name, clauses in (("ordinary", (1, 2)), ("long", (6, 9))):
        began = time.monotonic()
        for number, text in enumerate(sentences(draw, count, clauses), 1):
            visit(text, draw)
            if number % EVERY == 0 or number == count:
                took = (time.monotonic() - began) / number
                print(
                    f"{number} {name}: {resident():,.0f} MB, kept {cached_mb():,.0f} MB, {took:.2f} s a sentence", flush=True
                )
    return resident()


async def come(port: int, visitors: int, texts: int) -> int:
    """Lets visitors read texts at the same time. Returns the number of runs."""

    async def one(number: int) -> int:
        draw, runs = random.Random(number), 0
        async with Visitor(port) as visitor:
            for _ in range(texts):
                query = query_of(sentence(draw, CLAUSES))
                for page in draw.sample(PAGES, len(PAGES)):
                    edit = f"&edits=off_cross.{draw.randint(1, 4)}&mode=again" if page == "what-if" else ""
                    await visitor.run(f"{query}&layer={draw.randint(1, 4)}&head={draw.randint(1, 8)}{edit}", page)
                    runs += 1
        return runs

    return sum(await asyncio.gather(*map(one, range(visitors))))


def serve(visitors: int, texts: int, rest: float) -> float:
    """Runs the second part. Returns the peak MB."""
    with lab() as (port, process):
        print(f"the lab at its start: {resident(process.pid):,.0f} MB", flush=True)
        runs = asyncio.run(come(port, visitors, texts))
        print(f"{visitors} visitors, {texts} long texts each, {runs} runs", flush=True)
        peak, left = resident(process.pid, "VmHWM"), resident(process.pid)
        time.sleep(rest)
        print(f"{peak:,.0f} MB at most, {left:,.0f} MB left, {resident(process.pid):,.0f} MB after {rest:g} s", flush=True)
    return peak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=300, help="of each length; 0: no first part (default: %(default)s)")
    parser.add_argument(
        "--visitors", type=int, default=20, help="at the same time; 0: no second part (default: %(default)s)"
    )
    parser.add_argument("--texts", type=int, default=6, help="that each of them types (default: %(default)s)")
    parser.add_argument("--rest", type=float, default=150, help="s until the last look (default: %(default)s)")
    args = parser.parse_args()
    return_memory()
    peak = max(
        compute(args.sentences) if args.sentences else 0, serve(args.visitors, args.texts, args.rest) if args.visitors else 0
    )
    bound = result_cache.max_memory_mb(runs := max(1, args.visitors))
    verdict = "held" if peak <= bound else "BROKEN"
    base, keep, run = result_cache.BASE_MB, result_cache.KEEP_MB, result_cache.RUN_MB
    parts = f"{base}, the {keep} of cached results, and {run} for each of {runs} runs at once"
    print(f"the bound is {bound:,} MB ({parts}): {verdict} at {peak:,.0f} MB")
    return int(peak > bound)


if __name__ == "__main__":
    sys.exit(main())
