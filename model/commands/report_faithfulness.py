"""python -m model report faithfulness: tests the readings of source words and writes faithfulness.json."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from model.commands import options

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.text.trust import Trust


def run_faithfulness(args: argparse.Namespace) -> None:
    """Reads the pairs, measures, writes; prints the shares."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.experiments.faithfulness_report import measure
    from model.text.corpus import by_source, file_hash, read_pairs
    from model.text.trust import Trust

    pairs = read_pairs(args.data)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    with tqdm(total=min(len(by_source(pairs)), args.limit or len(pairs)), unit="sentence", disable=args.json) as bar:
        found = measure(loaded, pairs, file_hash(args.data), args.limit, bar.update)
    Trust.from_dict(found.to_dict())  # what could not be read again is not written
    checkpoints.write_json(checkpoints.find(args.checkpoint) / "faithfulness.json", found.to_dict())
    print(json.dumps(found.to_dict()) if args.json else _faithfulness_table(loaded, found))


def _faithfulness_table(loaded: Checkpoint, found: Trust) -> str:
    """The shares of both scopes, for reading."""
    from model.readings.word_readings import READINGS

    labels: Mapping[str, str] = {name: reading.label for name, reading in READINGS.items()} | {"random": "Random orders"}
    lines = [f"{loaded.name}: {found.sentences:,} sentences, {found.tokens:,} tokens"]
    for scope, what in (("step", "each token"), ("whole", "the whole translation")):
        lines.append(f"{what}: area between the curves, 95% interval over the sentences")
        ranked = sorted(found.shares[scope].items(), key=lambda pair: -pair[1].share)
        lines += [f"  {labels[name]:<22}{s.share:7.3f}  [{s.low:.3f}, {s.high:.3f}]" for name, s in ranked]
    return "\n".join(lines)
