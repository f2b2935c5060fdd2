"""python -m model report: measures a checkpoint over a corpus.

alignment and faithfulness write metrics.json and faithfulness.json for the lab. heads writes a table of every head as CSV,
with --html a page, and with --store heads.json for the lab.
seeds prints the match of heads between training seeds as JSON. routes prints the heads that carry choices, see
`model.workshop.reports.routes_report`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ...io.files import check_new, check_writable, write_new
from ...io.numbers import head_name
from .. import sharding
from . import options
from .report_findings import run_findings

if TYPE_CHECKING:
    import numpy as np

    from ...checkpoint import Checkpoint
    from ...text.measurements import AlignmentRates, FaithfulnessShares, Rate
    from ..reports.heads_report import CorpusLine
    from ..reports.heads_summary import Finding

SCORED_TARGETS = ("own", "reference", "text")
ROUTE_SENTENCES, ROUTE_SEED = 200, 1


def add_heads(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for heads")
    hint = "file of the table (default: heads-NAME.csv); FILE.part lets the same command continue after Ctrl+C. routes: JSON"
    group.add_argument("--out", type=Path, metavar="FILE", help=hint)
    group.add_argument(
        "--alignments", type=Path, metavar="FOLDER", help="measure the alignment error rate on this folder; see --data"
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
    from ..corpus.corpus import file_hash, read_pairs
    from ..reports import alignment_report, heads_report, heads_summary

    is_reference = args.of == "reference"
    pairs = read_pairs(args.data, with_targets=is_reference)
    lines = heads_report.distinct_lines(pairs, args.limit)
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


MIN_CHECKPOINTS = 2  # checkpoints


def add_seeds(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for seeds")
    hint = "at least two checkpoints of the same shape and vocabulary"
    group.add_argument("--checkpoints", nargs="+", metavar="NAME", help=hint)


def run_seeds(args: argparse.Namespace) -> None:
    """Reads the sentences, matches the heads, prints the result."""
    from ... import checkpoint as checkpoints
    from ...variants.same_heads import SameHeads
    from ..corpus.corpus import file_hash, read_pairs
    from ..reports.heads_report import distinct_lines
    from ..reports.seed_matching import check_shapes, match_seeds

    requested = args.checkpoints or []
    if len(requested) < MIN_CHECKPOINTS:
        raise ValueError(
            f"--checkpoints names {len(requested)}; expected at least {MIN_CHECKPOINTS}, such as runs/a/checkpoint"
        )
    device = options.machine(args)
    labs = [checkpoints.load(name, device) for name in requested]
    labels = [lab.name for lab in labs]
    names = labels if len(set(labels)) == len(labels) else requested
    check_shapes(labs, names)
    with_targets = len(labs[0].config.kinds) > 1
    lines = distinct_lines(read_pairs(args.data, with_targets=with_targets), args.limit)
    with options.progress(args, total=len(lines), unit="sentence") as bar:
        result = match_seeds(labs, lines, file_hash(args.data), names, bar.update)
    sharding.leave_to_first()
    values = result.to_dict()
    SameHeads.from_dict(json.loads(json.dumps(values)))  # unreadable results are not printed
    print(json.dumps(values, indent=None if args.json else 1, ensure_ascii=False))


def run_faithfulness(args: argparse.Namespace) -> None:
    """Reads the pairs, measures, writes faithfulness.json, prints the shares."""
    from ... import checkpoint as checkpoints
    from ...text.measurements import FaithfulnessShares
    from ..corpus.corpus import file_hash, read_pairs, targets_by_source
    from ..reports.reliability_report import measure_faithfulness

    pairs = read_pairs(args.data)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    with options.progress(args, total=min(len(targets_by_source(pairs)), args.limit or len(pairs)), unit="sentence") as bar:
        result = measure_faithfulness(loaded, pairs, file_hash(args.data), args.limit, bar.update)
    sharding.leave_to_first()
    FaithfulnessShares.from_dict(result.to_dict())  # unreadable results are not written
    checkpoints.write_json(checkpoints.find_folder(args.checkpoint) / "faithfulness.json", result.to_dict())
    print(json.dumps(result.to_dict()) if args.json else _faithfulness_table(loaded, result))


def _faithfulness_table(loaded: Checkpoint, result: FaithfulnessShares) -> str:
    """Formats the shares of both scopes."""
    from ...readings.tokens.word_readings import READINGS

    labels: Mapping[str, str] = {name: reading.label for name, reading in READINGS.items()} | {"random": "Random orders"}
    lines = [f"{loaded.name}: {result.sentences:,} sentences, {result.tokens:,} tokens"]
    for scope, what in (("step", "each token"), ("whole", "the whole translation")):
        lines.append(f"{what}: area between the curves, 95% interval over the sentences")
        ranked = sorted(result.shares[scope].items(), key=lambda pair: -pair[1].share)
        lines += [f"  {labels[name]:<22}{s.share:7.3f}  [{s.low:.3f}, {s.high:.3f}]" for name, s in ranked]
    return "\n".join(lines)


def run_alignment(args: argparse.Namespace) -> None:
    """Reads the pairs, measures, writes metrics.json, prints the best heads and the diagonal."""
    from ... import checkpoint as checkpoints
    from ...text.measurements import KEY
    from ..reports.alignment_report import measure_alignment, read_gold

    if not args.data.is_dir():
        raise ValueError(f"--data is {str(args.data)[:200]!r}; expected a folder with *.src-tgt and *.gold")
    pairs = read_gold(args.data)[: args.limit]
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    with options.progress(args, total=len(pairs), unit="sentence") as bar:
        result = measure_alignment(loaded, pairs, bar.update)
    sharding.leave_to_first()
    path = checkpoints.find_folder(args.checkpoint) / "metrics.json"
    checkpoints.write_json(path, loaded.metrics | {KEY: result.to_dict()})
    print(json.dumps(result.to_dict()) if args.json else _alignment_table(result))


def _alignment_table(result: AlignmentRates) -> str:
    """Formats the five best heads of each row of links, and the diagonal."""
    lines = [f"{result.sentences:,} sentence pairs, {result.sure:,} sure links; alignment error rate, 95% interval"]
    for name, rows in result.rates.items():
        each = [(rate, head_name("cross", layer, head)) for layer, row in enumerate(rows) for head, rate in enumerate(row)]
        lines.append(f"off the row that {name} the word")
        lines += [_alignment_line(label, rate) for rate, label in sorted(each)[:5]]
    return "\n".join([*lines, _alignment_line("the diagonal", result.diagonal)])


def _alignment_line(label: str, rate: Rate) -> str:
    return (
        f"  {label:<16}{rate.error:7.3f}  [{rate.low:.3f}, {rate.high:.3f}]  "
        f"precision {rate.precision:.3f}, recall {rate.recall:.3f}"
    )


def add_routes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for routes")
    hint = "file with a right and a wrong translation of each sentence, as of evaluate --contrast"
    group.add_argument("--contrast", type=Path, metavar="FILE", help=hint)
    hint = f"sentences to measure, drawn from the file (default: {ROUTE_SENTENCES})"
    group.add_argument("--sentences", type=int, metavar="N", help=hint)
    group.add_argument("--seed", type=int, metavar="N", help=f"seed of the draw (default: {ROUTE_SEED})")


def run_routes(args: argparse.Namespace) -> None:
    """Reads the contrasts, measures, prints the heads that carry the routes, and writes them if --out is given."""
    from ... import checkpoint as checkpoints
    from ..corpus.corpus import file_hash
    from ..evaluation.contrast import read_contrast
    from ..reports.routes_report import measure_routes

    if args.contrast is None:
        raise ValueError("routes needs --contrast FILE")
    count = ROUTE_SENTENCES if args.sentences is None else args.sentences
    seed = ROUTE_SEED if args.seed is None else args.seed
    if count < 1:
        raise ValueError(f"--sentences is {count}; expected at least 1")
    if seed < 0:
        raise ValueError(f"--seed is {seed}; expected at least 0")
    if args.out:
        check_new(args.out)  # before anything is computed
    rows = read_contrast(args.contrast)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    with options.progress(args, total=min(count, len(rows)), unit="sentence") as bar:
        result = measure_routes(loaded, rows, file_hash(args.contrast), count, seed, bar.update)
    sharding.leave_to_first()
    if args.out:
        write_new(args.out, (json.dumps(result.to_dict(), indent=1) + "\n").encode())
    print(json.dumps(result.to_dict()) if args.json else "\n".join(result.lines(loaded.name)))


HELP = "measure over many sentences: alignment, faithfulness, findings (stored with the checkpoint), heads, seeds, routes"

WHAT = (
    "alignment: error rate of each head against hand-made word links; faithfulness: test of the readings of source "
    "words; heads: metrics of each head and the effect of switching it off; seeds: match of heads between seeds; "
    "routes: heads that carry the choice of a right token against a wrong one; findings: published claims about heads"
)
DATA = (
    "alignment: a folder with *.src-tgt (words ||| words, one pair per line) and *.gold (3-4 sure, 3p4 possible); "
    "others: .tsv, .tsv.gz or .zip, source TAB target (heads without --of reference: also sources alone)"
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures a checkpoint over many sentences. Alignment and faithfulness go to its folder."
    parser.add_argument("what", choices=tuple(REPORTS), help=WHAT)
    options.add_checkpoint(parser)
    parser.add_argument("--data", type=Path, metavar="PATH", help=DATA)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences (default: all)")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object, without progress")
    options.add_machine(parser)
    add_heads(parser)
    add_seeds(parser)
    add_routes(parser)


def run(args: argparse.Namespace) -> None:
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    if args.data is None and args.what != "routes":
        raise ValueError(f"{args.what} needs --data PATH")
    for name, reports in ONLY_FOR.items():
        if args.what not in reports and getattr(args, name) is not None:
            raise ValueError(f"--{name} does not apply to {args.what}; leave it out, or use {' or '.join(reports)}")
    if (args.what == "seeds") != (args.checkpoints is not None):
        needs = "needs --checkpoints" if args.what == "seeds" else "reads one --checkpoint; leave out --checkpoints"
        raise ValueError(f"{args.what} {needs}")
    REPORTS[args.what](args)


REPORTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "alignment": run_alignment,
    "faithfulness": run_faithfulness,
    "findings": run_findings,
    "heads": run_heads,
    "seeds": run_seeds,
    "routes": run_routes,
}
ONLY_FOR = {  # option: the reports that read it
    "out": ("heads", "routes"),
    **dict.fromkeys(("alignments", "html", "of", "texts", "store", "corpus"), ("heads",)),
    **dict.fromkeys(("contrast", "sentences", "seed"), ("routes",)),
    **dict.fromkeys(("data", "limit"), tuple(name for name in REPORTS if name != "routes")),
}
