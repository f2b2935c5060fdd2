"""All heads at a glance beside BertViz's `model_view`: time to build what the browser is sent, and its bytes.

    pip install --target PEER --no-deps bertviz && pip install --target PEER ipython
    PYTHONPATH=PEER python -m benchmarks.all_heads

The same attentions of the shipped checkpoint, on both sides the three kinds of site with all layers and heads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable

import torch

from model import Request, analyse, load
from model.config import END
from model.inference.analysis import Analysis
from model.readings.tokens.token_attribution import value_norms
from model.trace import Site
from viz.heads.all_heads import payload, thumbnails
from viz.state.view import View

WORDS = "The old man who lives in the small house near the river gave the children a red ball because they were kind "


def analysed(lab, source: int, target: int) -> Analysis:
    """Returns an analysis with exactly these numbers of source tokens (`</s>` included) and target tokens."""

    def text(tokenizer, count: int) -> str:
        ids = tokenizer.encode((WORDS * 8).strip())[: count - 1]
        while len(again := tokenizer.encode(tokenizer.decode(ids))) != count - 1:
            ids = ids[: count - 1 - (len(again) > count - 1)]
        return tokenizer.decode(ids)

    analysis = analyse(lab, Request(text(lab.source_tokenizer, source), target=text(lab.target_tokenizer, target)))
    assert (len(analysis.trace.source), len(analysis.trace.outputs), analysis.trace.outputs.ids[-1]) == (source, target, END)
    return analysis


def timed(builds: list[Callable[[], str]], times: int) -> list[tuple[list[float], int]]:
    """Returns the seconds of each build, with the builds in turns, and the bytes of its result."""
    timings = [([], len(build().encode())) for build in builds]  # warm-up
    for _ in range(times):
        for build, (seconds, _) in zip(builds, timings, strict=True):
            start = time.perf_counter()
            build()
            seconds.append(time.perf_counter() - start)
    return timings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=int, default=40, help="source tokens")
    parser.add_argument("--target", type=int, default=48, help="target tokens")
    parser.add_argument("--times", type=int, default=25)
    args = parser.parse_args()
    from bertviz import model_view

    torch.set_num_threads(1)
    lab = load("en-fr")
    analysis = analysed(lab, args.source, args.target)
    trace, norms = analysis.trace, value_norms(lab, analysis)

    def stack(kind: str) -> list[torch.Tensor]:
        layers = sorted(site for site in trace.patterns if site.kind == kind)
        return [torch.from_numpy(trace.patterns[Site(*site)].copy())[None] for site in layers]  # [1,H,T,S] each

    attentions = {f"{kind}_attention": stack(kind) for kind in ("encoder", "decoder", "cross")}
    tokens = {"encoder_tokens": list(trace.source.labels), "decoder_tokens": list(trace.inputs.labels)}
    view = View(kind="cross", layer=2, head=1)

    def build() -> str:
        return json.dumps([thumbnails(trace, "light"), payload(trace, norms, view, "light")])

    def peer() -> str:
        return model_view(**attentions, **tokens, html_action="return").data

    (ours, bytes_ours), (theirs, bytes_theirs) = timed([build, peer], args.times)
    ratio = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))
    layers = sum(map(len, attentions.values()))
    print(f"{args.source} source and {args.target} target tokens, {layers} layers of 8 heads; medians of {args.times} turns")
    print(f"ours:    {statistics.median(ours) * 1e3:8.1f} ms {bytes_ours / 1e3:10.0f} kB")
    print(f"BertViz: {statistics.median(theirs) * 1e3:8.1f} ms {bytes_theirs / 1e3:10.0f} kB")
    print(f"ratio:   {ratio:8.1f}    {bytes_theirs / bytes_ours:10.1f}")


if __name__ == "__main__":
    main()
