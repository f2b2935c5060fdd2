"""python -m model report: measures a checkpoint over a corpus and stores the result for the lab."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from model.commands import options, report_alignment, report_faithfulness, report_heads, report_seeds

HELP = "measure over many sentences: alignment, faithfulness (stored with the checkpoint), heads, seeds (tables)"

WHAT = (
    "alignment: error rate of each head against hand-made word links; faithfulness: test of the readings of source "
    "words; heads: metrics of each head and the effect of switching it off; seeds: match of heads between seeds"
)
DATA = (
    "alignment: a folder with *.src-tgt (words ||| words, one pair per line) and *.gold (3-4 sure, 3p4 possible); "
    "faithfulness, heads, seeds: .tsv, .tsv.gz or .zip, source TAB target (heads without --of reference: also sources alone)"
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures a checkpoint over many sentences. Alignment and faithfulness go to its folder."
    parser.add_argument("what", choices=tuple(REPORTS), help=WHAT)
    options.add_checkpoint(parser)
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help=DATA)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences (default: all)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object, without progress")
    options.add_machine(parser)
    report_heads.add_heads(parser)
    report_seeds.add_seeds(parser)


def run(args: argparse.Namespace) -> None:
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    for name in ("out", "alignments", "of", "texts"):
        if args.what != "heads" and getattr(args, name) is not None:
            raise ValueError(f"--{name} says nothing to {args.what}; leave it out, or ask for heads")
    if (args.what == "seeds") != (args.checkpoints is not None):
        needs = "needs --checkpoints" if args.what == "seeds" else "reads one --checkpoint; leave out --checkpoints"
        raise ValueError(f"{args.what} {needs}")
    REPORTS[args.what](args)


REPORTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "alignment": report_alignment.run_alignment,
    "faithfulness": report_faithfulness.run_faithfulness,
    "heads": report_heads.run_heads,
    "seeds": report_seeds.run_seeds,
}
