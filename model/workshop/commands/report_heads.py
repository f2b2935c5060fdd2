"""python -m model report heads: a table of every head over a corpus, as CSV, as a page, and stored with the checkpoint."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ...io.files import check_new, check_writable, write_new
from .. import sharding
from . import options

if TYPE_CHECKING:
    import numpy as np

    from ...checkpoint import Checkpoint
    from ..reports.heads_report import CorpusLine
    from ..reports.heads_summary import Finding

SCORED_TARGETS = ("own", "reference", "text")


def add_heads(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for heads")
    hint = "file of the table (default: heads-NAME.csv); FILE.part lets the same command continue after Ctrl+C. routes: JSON"
    group.add_argument("--out", type=Path, metavar="FILE", help=hint)
    group.add_argument(
        "--alignments",
        type=Path,
        metavar="FOLDER",
        help="hand-made word links, see --data: error rate of each head; for findings, of norms",
    )
    hint = "what is scored: the model's own output, the file's translation, or a language model's given text (default: own)"
    group.add_argument("--of", choices=SCORED_TARGETS, help=hint)
    hint = "also write the report as one HTML page that opens without a server"
    group.add_argument("--html", type=Path, metavar="FILE", help=hint)
    hint = "write the sentences with the largest effects, not only their line numbers; mind their licence"
    group.add_argument("--texts", action="store_true", default=None, help=hint)
    hint = "also store the statistics of every head with the checkpoint, for the page Heads: heads.json, without sentences"
    group.add_argument("--store", action="store_true", default=None, help=hint)
    group.add_argument(
        "--corpus", metavar="NAME", help="with --store: what the page calls the data (default: its file name)"
    )


def run_heads(args: argparse.Namespace) -> None:
    """Measures the sentences that the side file lacks, writes the table, and prints the heads with the largest effects."""
    from ... import checkpoint as checkpoints
    from ...export.csv_tables import Table
    from ..corpus.corpus import file_hash
    from ..reports import alignment_report, heads_report, heads_summary

    is_reference = args.of == "reference"
    lines = heads_report.read_distinct_lines(args.data, args.limit, is_reference)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if is_reference and "decoder" not in loaded.config.kinds:
        raise ValueError(f"{loaded.name} is {loaded.config.family}: it writes no text; leave out --of reference")
    if args.of == "text":
        if "encoder" in loaded.config.kinds:
            raise ValueError(f"{loaded.name} is {loaded.config.family}, no language model; leave out --of text")
        lines, is_reference = heads_report.as_given_texts(lines), True
    out = args.out or Path(f"heads-{loaded.name}.csv")
    check_new(out)  # before anything is computed
    page = _page_module(args, out) if args.html else None
    gold = alignment_report.read_gold(args.alignments) if args.alignments else []
    aligned = None
    if gold:
        with options.progress(args, total=len(gold), unit="pair") as bar:
            aligned = alignment_report.measure_alignment(loaded, gold, bar.update)
    header = heads_report.header_of(loaded) | {
        "data": file_hash(args.data),
        "checkpoint": _checkpoint_hash(checkpoints.find_folder(args.checkpoint)),
        "of": args.of or SCORED_TARGETS[0],
    }
    part = out.with_name(out.name + ".part")
    with heads_report.SideFile(part, header) as side:
        done = min(len(side.rows), len(lines))
        with options.progress(args, total=len(lines), initial=done, unit="sentence") as bar:
            rows = heads_report.measure_lines(loaded, lines, is_reference, side, bar.update)
    sharding.leave_to_first()
    hashes = {name: str(header[name]) for name in ("checkpoint", "data")}
    if args.store:
        _store(args, loaded, lines, rows, is_reference, hashes)
    names, cells = heads_report.table(loaded, lines, rows, aligned, bool(args.texts), hashes)
    write_new(out, Table("heads", tuple(names), tuple(map(tuple, cells))).csv())
    if len(side.rows) <= len(lines):  # the part file may hold more sentences than the limit
        part.unlink()
    dicts = heads_summary.table_rows(names, cells)
    findings = heads_summary.summarize(loaded.name, dicts)
    if page is not None:
        example = heads_summary.measure_example(loaded, lines, rows, is_reference, bool(args.texts))
        write_new(args.html, page.page_of_heads(heads_summary.HeadsReport(loaded.name, dicts, findings, example)))
    print(json.dumps({"columns": names, "rows": cells}) if args.json else _heads_text(findings, out, args.html))


def _store(
    args: argparse.Namespace,
    lab: Checkpoint,
    lines: Sequence[CorpusLine],
    rows: np.ndarray,
    is_reference: bool,
    hashes: dict[str, str],
) -> None:
    """Writes heads.json to the folder of the checkpoint."""
    from ... import checkpoint as checkpoints
    from ...text.head_statistics import HeadsOverCorpus
    from ..reports.heads_report import heads_over_corpus

    names = hashes | {"corpus": args.corpus or args.data.name}
    with options.progress(args, total=len(lines), unit="sentence") as bar:
        values = heads_over_corpus(lab, lines, rows, is_reference, names, bar.update).to_dict()
    HeadsOverCorpus.from_dict(json.loads(json.dumps(values)))  # unreadable results are not written
    checkpoints.write_json(checkpoints.find_folder(args.checkpoint) / "heads.json", values, indent=None)


def _page_module(args: argparse.Namespace, out: Path) -> ModuleType:
    """Returns the module of the HTML page. Raises ValueError for a file that cannot be written, before the measurement."""
    if args.html.absolute() == out.absolute():
        raise ValueError(f"--html and --out name the same file {out}; name two files")
    check_writable(args.html)
    return args.load_page()


def _checkpoint_hash(folder: Path) -> str:
    """Returns a hash of the weights, tokenizers and config of a checkpoint."""
    from ..corpus.corpus import file_hash

    files = sorted({*folder.glob("*.safetensors"), *folder.glob("tokenizer*.json"), folder / "config.json"})
    return hashlib.sha256(" ".join(map(file_hash, files)).encode()).hexdigest()


def _heads_text(findings: Sequence[Finding], out: Path, page: Path | None) -> str:
    """Formats the findings as lines, the first one with the names of the written files."""
    first, *others = findings
    lines = [f"{first.sentence}; written to {' and '.join(str(each) for each in (out, page) if each)}"]
    for finding in others:
        if finding.is_list:
            lines += [f"{finding.sentence}:", *(f"  {each}" for each in finding.heads)]
        else:
            lines.append(f"{finding.sentence}: {', '.join(finding.heads)}" if finding.heads else finding.sentence)
    return "\n".join(lines)
