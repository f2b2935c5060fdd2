"""python -m model report alignment: writes the alignment error rate of every cross-attention head to metrics.json."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from model.commands import options

if TYPE_CHECKING:
    from model.text.aligned import Aligned, Rate


def run_alignment(args: argparse.Namespace) -> None:
    """Reads the pairs, measures and writes; prints the best heads and the diagonal."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.experiments.alignment_report import measure, read_gold
    from model.text.aligned import KEY

    if not args.data.is_dir():
        raise ValueError(f"--data is {str(args.data)[:200]!r}; expected a folder with *.src-tgt and *.gold")
    pairs = read_gold(args.data)[: args.limit]
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    with tqdm(total=len(pairs), unit="sentence", disable=args.json) as bar:
        found = measure(loaded, pairs, bar.update)
    path = checkpoints.find(args.checkpoint) / "metrics.json"
    checkpoints.write_json(path, loaded.metrics | {KEY: found.to_dict()})
    print(json.dumps(found.to_dict()) if args.json else _table(found))


def _table(found: Aligned) -> str:
    """The five best heads of each way to read a link, and the diagonal."""
    lines = [f"{found.sentences:,} sentence pairs, {found.sure:,} sure links; alignment error rate, 95% interval"]
    for name, rows in found.rates.items():
        each = [
            (rate, f"layer {layer} head {head}") for layer, row in enumerate(rows, 1) for head, rate in enumerate(row, 1)
        ]
        lines.append(f"off the row that {name} the word")
        lines += [_line(label, rate) for rate, label in sorted(each)[:5]]
    return "\n".join([*lines, _line("the diagonal", found.diagonal)])


def _line(label: str, rate: Rate) -> str:
    return (
        f"  {label:<16}{rate.error:7.3f}  [{rate.low:.3f}, {rate.high:.3f}]  "
        f"precision {rate.precision:.3f}, recall {rate.recall:.3f}"
    )
