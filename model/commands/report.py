"""python -m model report: what takes a corpus to find out about a checkpoint, kept in its folder for the lab to show."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from model.commands import options, report_alignment

HELP = "measure over many sentences, and keep it beside the checkpoint: alignment"


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures a checkpoint over many sentences, and writes what it finds into its folder."
    parser.add_argument("what", choices=tuple(REPORTS), help="alignment: which head links words as people do")
    options.add_checkpoint(parser)
    hint = "for alignment a folder with *.src-tgt (words ||| words, a pair a line) and *.gold (3-4 sure, 3p4 possible)"
    parser.add_argument("--data", type=Path, required=True, metavar="PATH", help=hint)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences (default: all)")
    parser.add_argument("--json", action="store_true", help="print what is written as one JSON object, and no progress")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    REPORTS[args.what](args)


REPORTS: dict[str, Callable[[argparse.Namespace], None]] = {"alignment": report_alignment.run}
