"""python -m model choose: keeps one target for each source of a file of pairs."""

from __future__ import annotations

import argparse
import gzip
import os
from pathlib import Path

from . import options

HELP = "keep the most probable target of each source under a checkpoint"
WHY = (
    "A small model that learns several translations of one sentence mixes them. A model that learned all of them chooses "
    "more consistently than the order of the file. Continue the training on the result with --init and that checkpoint."
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = f"Writes each source once, with its most probable target. {WHY}"
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="pairs: .tsv, .tsv.gz or .zip")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file: .tsv or .tsv.gz")
    parser.add_argument(
        "--as-addressed",
        action="store_true",
        help="for sources with targets in tu and in vous, preserve the share of vous among all targets",
    )
    options.add_checkpoint(parser)
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from tqdm import tqdm

    from ... import checkpoint as checkpoints
    from ..corpus.corpus import read_pairs
    from ..evaluation.measures import LANGUAGE, choose_targets

    if not args.out.name.endswith((".tsv", ".tsv.gz")):
        raise ValueError(f"--out is {args.out.name!r}; expected a name that ends in .tsv or .tsv.gz")
    if args.out.resolve() == args.data.resolve():
        raise ValueError("--out is the file of --data, which would be lost; give another name")
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if loaded.config.family != "encoder-decoder":
        raise ValueError(f"{loaded.name} translates nothing; expected a checkpoint of an encoder-decoder, such as en-fr")
    if args.as_addressed and loaded.languages[1] != LANGUAGE:
        raise ValueError(f"--as-addressed is about {LANGUAGE}; {loaded.name} writes {loaded.languages[1]}. Leave it out")
    pairs = read_pairs(args.data)
    with tqdm(unit="pair", disable=None, leave=False) as bar:
        chosen = choose_targets(loaded, pairs, bar.update, args.as_addressed)
    temporary = args.out.with_name(args.out.name + ".new")
    packed = args.out.suffix == ".gz"
    with gzip.open(temporary, "wt", encoding="utf-8") if packed else temporary.open("w", encoding="utf-8") as raw:
        raw.writelines(f"{source}\t{target}\n" for source, target in chosen)
    os.replace(temporary, args.out)
    print(f"{len(chosen):,} of {len(pairs):,} pairs are in {args.out}")
