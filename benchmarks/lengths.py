"""Growth of the ways to compute attention with the length of the text:  python -m benchmarks.lengths [--json FILE]

Random q, k and v of one layer (d_model 256, 8 heads), causal, one sentence, on one core, in a separate process. The output
has the fastest of some turns, the peak bytes of tensors beside q, k and v, the relative difference of the result from the
explicit one, and the exponents over the upper half of the lengths. The page Inside, part Length, shows the file
(`model/experiments/lengths.json`).
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from pathlib import Path

from model.experiments.length_runs import LENGTHS, Curve, Limits, fit, measure
from model.network.attention_methods import METHODS


def cell(curve: Curve, length: int) -> str:
    for point in curve.points:
        if point.length == length:
            off = "" if point.off is None else f", off by {point.off:.2g}"
            return f"{point.seconds * 1e3:,.2f} ms, {point.bytes / 1e6:,.1f} MB{off}"
    return {"time": "(would take too long)", "memory": "(would not fit)"}.get(curve.stopped, "(no time left)")


def exponents(curve: Curve) -> str:
    parts = []
    for what, unit in (("seconds", "time"), ("bytes", "memory")):
        if law := fit(curve, what):
            parts.append(f"{unit} {law.power:.2f} (within {law.departs:.0%})")
    return ", ".join(parts) or "–"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="where the run is written")
    parser.add_argument("--seconds", type=float, default=10.0, help="a point may take (default: %(default)s)")
    parser.add_argument("--gigabytes", type=float, default=3.0, help="a point may take (default: %(default)s)")
    args = parser.parse_args()
    run = deque(measure(Limits(args.seconds, int(args.gigabytes * 1e9), 600.0)), maxlen=1).pop()  # the last one is complete
    print(f"{run.cores} cores, one of them used; torch {run.torch}\n")
    lines = [["tokens", *(way.title for way in METHODS.values())], ["---"] * (1 + len(METHODS))]
    lines += [[f"{length:,}", *(cell(run.curves[name], length) for name in METHODS)] for length in LENGTHS]
    lines.append(["**exponents**", *(exponents(run.curves[name]) for name in METHODS)])
    print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    if args.json:
        args.json.write_text(json.dumps(run.to_dict(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
