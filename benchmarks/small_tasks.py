"""Trains the small models: python -m benchmarks.small_tasks [--seeds 2] [--seconds 110] [--threads 1] [--only reverse]

It reports steps and seconds until two reports in a row had 99.5% of the held-out answers right, the accuracy at the end, and
for copy and reverse the mean weight of a row on the character that it copies, of the cross-attention head with most. For add
it is the share of held-out sums in which the row of the carry has most of its weight, the mean over heads, on digits.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from model import Request, analyse
from model.workshop.small.small_training import SmallConfig, SmallTraining

RECIPES = {
    "copy": {"task": "copy"},
    "reverse": {"task": "reverse"},
    "sort": {"task": "sort"},
    "dates": {"task": "dates"},
    "add, 64 dimensions, 4 heads": {"task": "add", "d_model": 64, "heads": 4},
    "copy without positions": {"task": "copy", "positions": False},
    "reverse without positions": {"task": "reverse", "positions": False},
    "sort without positions": {"task": "sort", "positions": False},
    "reverse without the causal mask": {"task": "reverse", "causal": False},
    "copy without cross-attention": {"task": "copy", "cross_attention": False},
    "reverse without cross-attention": {"task": "reverse", "cross_attention": False},
    "copy without scaling": {"task": "copy", "scaling": False},
    "reverse without scaling": {"task": "reverse", "scaling": False},
}
MEASURED = 40  # held-out pairs whose attention is read


def aligned_weight(training: SmallTraining, task: str) -> float | None:
    """Returns the mean weight of a row on the character that it copies, of the cross-attention head with most."""
    if task not in ("copy", "reverse"):
        return None
    checkpoint, weights = training.checkpoint("small"), []
    for source, target in training.held_out[:MEASURED]:
        trace = analyse(checkpoint, Request(source, target=target)).trace
        maps = np.concatenate([trace.patterns[site] for site in trace.sites("cross")])  # [N,T,S]
        places = np.arange(len(source))
        keys = places if task == "copy" else places[::-1]
        weights.append(maps[:, places, keys].mean(axis=1))
    return float(np.max(np.mean(weights, axis=0)))


def carry_share(training: SmallTraining) -> float:
    """Returns the share of sums in which the first row of cross-attention has most of its weight on digits."""
    checkpoint, most = training.checkpoint("small"), []
    for source, target in training.held_out[:MEASURED]:
        trace = analyse(checkpoint, Request(source, target=target)).trace
        first = np.concatenate([trace.patterns[site][:, 0] for site in trace.sites("cross")]).mean(axis=0)  # [S]
        most.append(first[[place for place, char in enumerate(source) if char.isdigit()]].sum() > 0.5)
    return float(np.mean(most))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=110.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="recipes whose name contains this")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print("| recipe | seed | steps | seconds | loss | held-out right | weight or share |")
    print("|---|---|---|---|---|---|---|")
    for name, options in RECIPES.items():
        for seed in range(1, args.seeds + 1) if args.only in name else ():
            training = SmallTraining(SmallConfig(**options, seed=seed))
            *_, last = training.run(args.seconds)
            is_sum = options["task"] == "add"
            weight = carry_share(training) if is_sum else aligned_weight(training, str(options["task"]))
            shown = "" if weight is None else f"{weight:.2f}"
            figures = f"{last.step:,} | {last.seconds:.0f} | {last.loss:.3f} | {last.accuracy:.0%}"
            print(f"| {name} | {seed} | {figures} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
