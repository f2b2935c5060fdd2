"""python -m model report heads: effect, metrics and alignment of every head over many sentences, as CSV."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from model.commands import options
from model.files import check_new, write_new

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.export.tables import Cell

OF = ("own", "reference")


def add_heads(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for heads")
    hint = "file of the table (default: heads-NAME.csv); FILE.part lets the same command continue after Ctrl+C"
    group.add_argument("--out", type=Path, metavar="FILE", help=hint)
    group.add_argument(
        "--alignments", type=Path, metavar="FOLDER", help="measure the alignment error rate on this folder; see --data"
    )
    hint = "scored translation: the model's own or the file's (default: own)"
    group.add_argument("--of", choices=OF, help=hint)
    hint = "write the sentences with the largest effects, not only their line numbers; mind their licence"
    group.add_argument("--texts", action="store_true", default=None, help=hint)


def run_heads(args: argparse.Namespace) -> None:
    """Reads the pairs, measures what is not known yet, writes the table; prints the heads that matter most."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.experiments import alignment_report, heads_report
    from model.export.tables import Table
    from model.text.corpus import file_hash, read_pairs

    is_reference = args.of == "reference"
    pairs = read_pairs(args.data, with_targets=is_reference)
    lines = heads_report.lines_of(pairs, args.limit)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if is_reference and "decoder" not in loaded.config.kinds:
        raise ValueError(f"{loaded.name} is {loaded.config.family}: it writes no text; leave out --of reference")
    out = args.out or Path(f"heads-{loaded.name}.csv")
    check_new(out)  # before anything is computed
    gold = alignment_report.read_gold(args.alignments) if args.alignments else []
    aligned = None
    if gold:
        with tqdm(total=len(gold), unit="pair", disable=args.json) as bar:
            aligned = alignment_report.measure(loaded, gold, bar.update)
    header = heads_report.names(loaded) | {
        "data": file_hash(args.data),
        "checkpoint": _identity(checkpoints.find(args.checkpoint)),
        "of": args.of or OF[0],
    }
    part = out.with_name(out.name + ".part")
    with heads_report.SideFile(part, header) as side:
        done = min(len(side.rows), len(lines))
        with tqdm(total=len(lines), initial=done, unit="sentence", disable=args.json) as bar:
            rows = heads_report.measure(loaded, lines, is_reference, side, bar.update)
    names, cells = heads_report.table(loaded, lines, rows, aligned, bool(args.texts))
    write_new(out, Table("heads", tuple(names), tuple(map(tuple, cells))).csv())
    if len(side.rows) <= len(lines):  # what is known beyond the limit took long to measure
        part.unlink()
    print(json.dumps({"columns": names, "rows": cells}) if args.json else _told(loaded, out, names, cells))


def _identity(folder: Path) -> str:
    """What tells the weights and the shape of a checkpoint from all others."""
    from model.text.corpus import file_hash

    files = sorted({*folder.glob("*.safetensors"), *folder.glob("tokenizer*.json"), folder / "config.json"})
    return hashlib.sha256(" ".join(map(file_hash, files)).encode()).hexdigest()


def _told(loaded: Checkpoint, out: Path, names: list[str], cells: list[list[Cell]]) -> str:
    """The heads whose absence costs most, for reading."""
    rows = [dict(zip(names, row, strict=True)) for row in cells]
    count = int(rows[0]["sentences"])
    lines = [
        f"{loaded.name}: {len(rows)} heads over {count:,} sentence{'' if count == 1 else 's'}, "
        f"{int(rows[0]['tokens']):,} tokens; written to {out}",
        f"largest losses with one head off: change of the log-probability ({rows[0]['scored_tokens']}) in nats a sentence,",
        "its 95% interval over several sentences, and the share of sentences whose output changes",
    ]
    for row in sorted(rows, key=lambda row: float(row["change_nats"]))[:5]:
        low, high = row["change_nats_low"], row["change_nats_high"]
        interval = "" if low is None or high is None else f"  [{low:.3f}, {high:.3f}]"
        label = f"{row['site']} {row['layer']}.{row['head']}"
        lines.append(f"  {label:<16}{row['change_nats']:8.3f}{interval}  {float(row['translations_changed']):.3f}")
    return "\n".join(lines)
