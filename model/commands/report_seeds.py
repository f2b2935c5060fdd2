"""python -m model report seeds: match of heads between training seeds, as JSON."""

from __future__ import annotations

import argparse
import json

from model.commands import options

LEAST = 2  # checkpoints


def add_seeds(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for seeds")
    hint = "at least two checkpoints of the same shape and vocabulary"
    group.add_argument("--checkpoints", nargs="+", metavar="NAME", help=hint)


def run_seeds(args: argparse.Namespace) -> None:
    """Reads the sentences, measures, prints."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.experiments.heads_report import lines_of
    from model.experiments.same_head import check_shapes, measure
    from model.text.corpus import file_hash, read_pairs
    from model.variants.same_heads import SameHeads

    asked = args.checkpoints or []
    if len(asked) < LEAST:
        raise ValueError(f"--checkpoints names {len(asked)}; expected at least {LEAST}, such as runs/a/checkpoint")
    device = options.machine(args)
    labs = [checkpoints.load(name, device) for name in asked]
    labels = [lab.name for lab in labs]
    names = labels if len(set(labels)) == len(labels) else asked
    check_shapes(labs, names)
    with_targets = len(labs[0].config.kinds) > 1
    lines = lines_of(read_pairs(args.data, with_targets=with_targets), args.limit)
    with tqdm(total=len(lines), unit="sentence", disable=args.json) as bar:
        found = measure(labs, lines, file_hash(args.data), names, bar.update)
    values = found.to_dict()
    SameHeads.from_dict(json.loads(json.dumps(values)))  # what could not be read again is not told
    print(json.dumps(values, indent=None if args.json else 1, ensure_ascii=False))
