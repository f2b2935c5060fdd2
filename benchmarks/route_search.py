"""The search of a route beside one analysis of the same sentence, and beside a loop of single passes over the same cuts.

python -m benchmarks.route_search [--threads N]
"""

from __future__ import annotations

import argparse
import json

import torch

from benchmarks.ablation import seconds
from model import Intervention, Request, analyse, load
from model.experiments.effects import effects
from model.experiments.routes import Cell, find_route

SENTENCES = (
    "She bought a red car.",
    "The dog didn't eat the apple because it was too hard.",
    "The dog didn't eat the apple because it was too hard. " * 3,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    checkpoint, rows = load("en-fr"), {}
    for sentence in SENTENCES:
        request = Request(sentence.strip())
        analysis = analyse(checkpoint, request)
        trace = analysis.trace
        row = len(trace.outputs) - 4
        token, rival = (int(each) for each in (-trace.log_probs[row]).argsort()[:2])
        route = find_route(checkpoint, analysis, row, token, rival)
        cells = [Cell("cross", row, key) for key in range(len(trace.source))]
        edits = [Intervention(edits=(cell.cut(),)) for cell in cells]
        search = seconds(lambda a=analysis, r=(row, token, rival): find_route(checkpoint, a, *r))
        one = seconds(lambda request=request: analyse(checkpoint, request))
        single = seconds(lambda request=request, edits=edits: [effects(checkpoint, request, [edit]) for edit in edits], 1)
        rows[f"{len(trace.source)} and {len(trace.outputs)} tokens"] = {
            "cut_cells": route.tested,
            "search_ms": round(1000 * search),
            "times_one_analysis": round(search / one, 1),
            "single_pass_per_cell_ms": round(1000 * single / len(cells)),
        }
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
