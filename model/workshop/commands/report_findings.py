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
    from ...text.measurements import read_alignment
    from ..corpus.corpus import file_hash, read_pairs, targets_by_source
    from ..reports.findings_report import measure_findings

    groups = targets_by_source(read_pairs(args.data))
    chosen = dict(list(groups.items())[: args.limit])
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    limit = f" --limit {args.limit}" if args.limit else ""
    command = f"{COMMAND} report findings --checkpoint {loaded.name} --data {args.data.name}{limit}"
    with options.progress(args, total=len(chosen), unit="sentence") as bar:
        aligned = read_alignment(loaded.metrics)
        result = measure_findings(loaded, chosen, file_hash(args.data), aligned, command, bar.update)
    sharding.leave_to_first()
    values = result.to_dict()
    Findings.from_dict(json.loads(json.dumps(values)))  # unreadable results are not written
    checkpoints.write_json(checkpoints.find_folder(args.checkpoint) / "findings.json", values)
    print(json.dumps(values) if args.json else "\n".join(result.lines()))
