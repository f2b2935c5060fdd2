"""Growth of time and bytes with the length of a sentence and the number of heads:  python -m benchmarks.growth

Random models, whose heads are all 32 wide (d_model = 32 x heads, d_ff = 4 x d_model), as many layers in the encoder as in
the decoder, 8,000 tokens; as many source as target tokens. Decoding is greedy with every map kept; the pass reads a given
target; the page is the payload of Heads with all thumbnails. The output has the fastest of some turns on one thread, and for
each column the exponent of a power law by least squares on logarithms, with the largest relative deviation of a value.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Callable, Sequence

import torch

from benchmarks.all_heads import analysed
from model import Request, analyse, load
from model.checkpoint import Checkpoint
from model.decoding.search import greedy
from model.decoding.uncached import Recorder
from model.experiments.length_runs import fit_power_law
from model.inference.passes import recorded_trace
from model.network.transformer import build
from model.readings.tokens.token_attribution import value_norms
from viz.heads.all_heads import payload, thumbnails
from viz.state.view import View

WIDTH = 32  # of a head
LENGTHS = (8, 16, 32, 64, 128)
STACKS = ((4, 8), (6, 8), (8, 12), (12, 16))  # layers of each stack, heads of each layer
AT_LENGTH, AT_STACK = 32, (4, 8)  # what is kept while the other changes
COLUMNS = ("decoding, ms", "one pass, ms", "page built, ms", "maps, MB", "all that is kept, MB", "page, kB")


def model_of(lab: Checkpoint, layers: int, heads: int) -> Checkpoint:
    """A checkpoint with the tokenizers of another and newly drawn weights."""
    width = WIDTH * heads
    stacks = {"encoder_layers": layers, "decoder_layers": layers, "heads": heads}
    config = dataclasses.replace(lab.config, d_model=width, d_ff=4 * width, **stacks)
    torch.manual_seed(1)
    return dataclasses.replace(lab, config=config, model=build(config).eval())


def fastest(run: Callable[[], object], seconds: float = 1.5) -> float:
    """Milliseconds of the fastest of the runs that a time allows; three at least, after one that warms up."""
    run()
    took, end = [], time.perf_counter() + seconds
    while len(took) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        took.append((time.perf_counter() - start) * 1e3)
    return min(took)


def measured(lab: Checkpoint, length: int) -> tuple[float, ...]:
    """The `COLUMNS` of one model and length."""
    analysis = analysed(lab, length, length)
    request = Request(analysis.request.source, target=analysis.request.target)
    source, target = list(analysis.trace.source.ids), list(analysis.trace.outputs.ids)
    ids, norms, view = torch.tensor([source]), value_norms(lab, analysis), View(kind="cross", layer=2, head=1)

    def decode() -> object:
        recorder = Recorder()
        (path,) = greedy(lab.model, ids, prefix=target[:-1], max_total_tokens=len(target), recorder=recorder)
        return recorded_trace(lab, source, path.ids, recorder)

    def page() -> str:
        return json.dumps([thumbnails(analysis.trace, "light"), payload(analysis.trace, norms, view, "light")])

    with torch.inference_mode():
        times = [fastest(run) for run in (decode, lambda: analyse(lab, request), page)]
    maps = sum(pattern.nbytes for pattern in analysis.trace.patterns.values())
    return (*times, maps / 1e6, analysis.without_scores().nbytes / 1e6, len(page().encode()) / 1e3)


def table(first: str, names: list[str], sizes: Sequence[float], rows: list[tuple[float, ...]]) -> str:
    """In Markdown, the exponents last."""
    lines = [[first, *COLUMNS], ["---"] * (1 + len(COLUMNS))]
    lines += [
        [name, *(f"{value:,.{2 if value < 100 else 0}f}" for value in row)] for name, row in zip(names, rows, strict=True)
    ]
    fits = [fit_power_law(sizes, column) for column in zip(*rows, strict=True)]
    what = f"**exponent, {min(sizes):g} to {max(sizes):g}**"
    lines.append([what, *(f"**{exponent:.2f}** (within {departs:.0%})" for exponent, departs in fits)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    torch.set_num_threads(1)
    lab = load("en-fr", "cpu")
    one = model_of(lab, *AT_STACK)
    rows = [measured(one, length) for length in LENGTHS]
    print("{} + {} layers of {} heads\n".format(AT_STACK[0], *AT_STACK))
    print(table("tokens of each side", [str(length) for length in LENGTHS], LENGTHS, rows), flush=True)
    rows = [measured(model_of(lab, *stack), AT_LENGTH) for stack in STACKS]
    print(f"\n{AT_LENGTH} source and {AT_LENGTH} target tokens\n")
    names = [f"{layers} + {layers} layers of {heads}" for layers, heads in STACKS]
    print(table("heads", names, [layers * heads for layers, heads in STACKS], rows))


if __name__ == "__main__":
    main()
