"""python -m model check: measures a file of findings on a checkpoint."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from . import options

HELP = "measure a file of checks on a checkpoint"
FAILED = 1  # exit status if a check fails


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures each line of a file of checks. The exit status is 0 if all hold, and 1 if one fails."
    parser.add_argument("file", type=Path, metavar="FILE", help="checks, one per line; docs/checks.md lists the forms")
    options.add_checkpoint(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object with each check and its measured value")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> int:
    from ... import checkpoint as checkpoints
    from ...export import checks
    from ...export.exported import fingerprint
    from ...io.files import FileError, read_text

    try:
        content = read_text(args.file, checks.MAX_BYTES)
    except FileNotFoundError:
        raise FileError(f"there is no file {args.file}; expected one of checks") from None
    parsed = checks.parse(content, str(args.file))
    lab = checks.Lab(checkpoints.load(args.checkpoint, options.machine(args)))
    measured = [(check, check.measure(lab)) for check in parsed]
    hold = sum(each.holds for _, each in measured)
    if args.json:
        rows = [
            {
                "line": check.number,
                "check": check.text,
                "kind": check.kind.name,
                "holds": each.holds,
                "measured": each.description,
            }
            for check, each in measured
        ]
        name = {"checkpoint": lab.checkpoint.name, "fingerprint": fingerprint(lab.checkpoint)}
        print(json.dumps(name | {"hold": hold, "checks": rows}, ensure_ascii=False))
    else:
        for check, each in measured:
            print(
                f"{'holds' if each.holds else 'FAILS'}  line {check.number}: "
                f"{check.text}\n       measured: {each.description}"
            )
        print(f"{hold} of {len(measured)} hold on {lab.checkpoint.name}")
    return 0 if hold == len(measured) else FAILED
