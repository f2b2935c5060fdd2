"""Every head switched off in turn: as batches, beside a loop of single runs.

python -m benchmarks.ablation [--threads N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import torch

from model import Intervention, Request, head_effects, load
from model.experiments.effects import effects

SENTENCES = ("I love you.", "The dog didn't cross the street because it was too shy.")


def seconds(run, repeats: int = 3) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    lab, rows = load("en-fr"), {}
    for sentence in SENTENCES:
        request = Request(sentence)
        results = head_effects(lab, request)  # warm
        edits = [Intervention(edits=(effect.edit,)) for effect in results]
        batched = seconds(lambda request=request: head_effects(lab, request))
        single = seconds(lambda request=request, edits=edits: [effects(lab, request, [edit]) for edit in edits])
        rows[sentence] = {"batched_ms": round(1000 * batched), "times_as_fast_as_single_runs": round(single / batched, 1)}
    print(json.dumps(rows, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
