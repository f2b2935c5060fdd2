"""python -m model report findings: tests published claims about heads, and stores the results as findings.json."""

from __future__ import annotations

import argparse
import json

from ...io.package_names import COMMAND
from .. import sharding
from . import options


def run_findings(args: argparse.Namespace) -> None:
    """Reads the pairs, tests the claims, writes findings.json and prints the results."""
    from ... import checkpoint as checkpoints
    from ...text.findings import Findings
    from ..corpus.corpus import file_hash, read_pairs, targets_by_source
    from ..reports.alignment_report import read_gold
    from ..reports.findings_report import measure_findings
    from ..reports.norm_alignment import compare_norms

    groups = targets_by_source(read_pairs(args.data))
    chosen = dict(list(groups.items())[: args.limit])
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    gold = read_gold(args.alignments) if args.alignments else []
    limit = f" --limit {args.limit}" if args.limit else ""
    folder = f" --alignments {args.alignments.name}" if gold else ""
    command = f"{COMMAND} report findings --checkpoint {loaded.name} --data {args.data.name}{limit}{folder}"
    norms = None
    if gold:
        with options.progress(args, total=len(gold), unit="pair") as bar:
            norms = compare_norms(loaded, gold, bar.update)
    with options.progress(args, total=len(chosen), unit="sentence") as bar:
        result = measure_findings(loaded, chosen, file_hash(args.data), command, args.data.name, bar.update, norms)
    sharding.leave_to_first()
    values = result.to_dict()
    Findings.from_dict(json.loads(json.dumps(values)))  # unreadable results are not written
    checkpoints.write_json(checkpoints.find_folder(args.checkpoint) / "findings.json", values)
    print(json.dumps(values) if args.json else "\n".join(result.lines()))
