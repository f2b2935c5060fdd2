"""How much memory the lab holds after many sentences, through what its pages compute and keep.

    python -m benchmarks.memory [--sentences 300]

First ordinary sentences of six to twelve words, then long ones of forty to seventy, each with what Translate and Heads draw
of it, two layers and heads, and one edit. Told, every fifty sentences: resident memory, and what the analyses kept weigh.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import sys
import time
from pathlib import Path

from viz import cache, experiments
from viz.heads import picture
from viz.keep import KEEP_MB
from viz.links import parse
from viz.translate import steps
from viz.view import View, unedited

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


def sentence(draw: random.Random, clauses: int) -> str:
    """So many clauses, each of six to nine words."""
    made = (" ".join(map(draw.choice, (SUBJECTS, VERBS, OBJECTS, PLACES))) for _ in range(clauses))
    return " and ".join(made) + "."


def sentences(draw: random.Random, count: int, clauses: tuple[int, int]) -> list[str]:
    """That many different ones."""
    found = dict.fromkeys(sentence(draw, draw.randint(*clauses)) for _ in itertools.repeat(None, 4 * count))
    return list(found)[:count]


def visit(text: str, draw: random.Random) -> None:
    """What a visitor's runs compute and keep of a sentence: two heads on two pages, then one edit."""
    for layer, head in ((3, 2), (draw.randint(1, 4), draw.randint(1, 8))):
        view, _ = parse({"text": text, "layer": str(layer), "head": str(head)})
        data = cache.page_data(view)
        drawn = steps.timeline_data(data.request, view.device, layer - 1, head - 1, "light")
        steps.candidate_rows(data.request, view.device, None, drawn["trace"])
        picture.thumbnails(data.request, view.device, "light")
        picture.payload(data.request, view.device, data.view, "light")
    experiments.mask_effects(unedited(data.request), view.device)
    edited, _ = parse({"text": text, "edits": f"off_cross.{draw.randint(1, 4)}", "mode": "again"})
    cache.page_data(edited)


def resident() -> float:
    """MB that the process holds now; where the system does not tell, the most that it ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1024)


def kept() -> float:
    """MB of the analyses that are kept."""
    return cache.analyse.cache.currsize / (1 << 20)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=300, help="of each length (default: %(default)s)")
    args = parser.parse_args()
    draw = random.Random(1)
    cache.page_data(View())
    gc.collect()
    print(f"at the start: {resident():,.0f} MB, analyses {kept():,.0f} MB", flush=True)
    for name, clauses in (("ordinary", (1, 2)), ("long", (6, 9))):
        began = time.monotonic()
        for number, text in enumerate(sentences(draw, args.sentences, clauses), 1):
            visit(text, draw)
            if number % EVERY == 0 or number == args.sentences:
                took = (time.monotonic() - began) / number
                told = f"{resident():,.0f} MB, analyses {kept():,.0f} MB in {len(cache.analyse.cache)}"
                print(f"{number} {name}: {told}, {took:.2f} s a sentence", flush=True)
    bound, now = 600 + 2 * KEEP_MB, resident()
    held = "held" if now <= bound else "BROKEN"
    print(f"the bound is {bound:,} MB, 600 and twice the {KEEP_MB} that may be kept: {held} at {now:,.0f} MB")
    return int(now > bound)


if __name__ == "__main__":
    sys.exit(main())
