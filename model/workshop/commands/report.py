"""python -m model report: measures a checkpoint over a corpus.

alignment and faithfulness write metrics.json and faithfulness.json for the lab. heads writes a table of every head as CSV,
with --html a page, and with --store heads.json for the lab.
seeds prints the match of heads between training seeds as JSON. routes prints the heads that carry choices, see
`model.workshop.reports.routes_report`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...io.files import check_new, short_repr, write_new
from ...io.numbers import head_name
from .. import sharding
from . import options
from .report_findings import run_findings
from .report_heads import add_heads, run_heads
from .report_strongest import add_strongest, run_strongest

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...text.measurements import AlignmentRates, FaithfulnessShares, Rate

ROUTE_SENTENCES, ROUTE_SEED = 200, 1


MIN_CHECKPOINTS = 2  # checkpoints


def add_seeds(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("for seeds")
    hint = "at least two checkpoints of the same shape and vocabulary"
    group.add_argument("--checkpoints", nargs="+", metavar="NAME", help=hint)


def run_seeds(args: argparse.Namespace) -> None:
    """Reads the sentences, matches the heads, prints the result."""
    from ... import checkpoint as checkpoints
    from ...variants.same_heads import SameHeads
    from ..corpus.corpus import file_hash
    from ..reports.heads_report import read_distinct_lines
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
    lines = read_distinct_lines(args.data, args.limit, with_targets)
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
    hint = "also measure an earlier checkpoint of the same training, whose log has its step; repeat it for several"
    group.add_argument("--earlier", action="append", metavar="FOLDER", help=hint)


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
    names = (args.checkpoint, *(args.earlier or ()))
    loaded = [checkpoints.load(name, options.machine(args)) for name in names]
    steps = _training_steps(names) if args.earlier else [None]
    results = []
    with options.progress(args, total=len(loaded) * min(count, len(rows)), unit="sentence") as bar:
        for each, step in zip(loaded, steps, strict=True):
            measured = measure_routes(each, rows, file_hash(args.contrast), count, seed, bar.update)
            results.append(dataclasses.replace(measured, step=step))
    result = dataclasses.replace(results[0], earlier=tuple(results[1:]))
    sharding.leave_to_first()
    if args.out:
        write_new(args.out, (json.dumps(result.to_dict(), indent=1) + "\n").encode())
    print(json.dumps(result.to_dict()) if args.json else "\n".join(result.lines(loaded[0].name)))


def _training_steps(names: Sequence[str]) -> list[int]:
    """Returns the last logged step of a checkpoint and of earlier ones, which must rise to it, else ValueError."""
    from ... import checkpoint as checkpoints
    from ..training.saved_state import read_log

    logs = [read_log(checkpoints.find_folder(name) / "log.jsonl") for name in names]
    if missing := [name for name, log in zip(names, logs, strict=True) if not log]:
        raise ValueError(f"{missing[0]} has no log.jsonl, which has its step")
    last, *earlier = (int(log[-1]["step"]) for log in logs)
    if sorted({*earlier, last}) != [*earlier, last]:
        raise ValueError(f"the steps of --earlier are {short_repr(earlier)}; expected rising steps before {last:,}")
    return [last, *earlier]


HELP = "measure over many sentences: alignment, faithfulness, findings (stored), heads, strongest, seeds, routes"

WHAT = (
    "alignment: error rate of each head against hand-made word links; faithfulness: test of the readings of source "
    "words; heads: metrics of each head and the effect of switching it off; seeds: match of heads between seeds; "
    "routes: heads that carry the choice of a right token against a wrong one; findings: published claims about heads; "
    "strongest: the sentences in which a head has the largest numbers"
)
DATA = (
    "alignment: a folder with *.src-tgt (words ||| words, one pair per line) and *.gold (3-4 sure, 3p4 possible); "
    "others: .tsv, .tsv.gz or .zip, source TAB target; strongest, and heads without --of reference: also .txt, "
    "one sentence per line"
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
    add_strongest(parser)
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
    "strongest": run_strongest,
    "routes": run_routes,
}
ONLY_FOR = {  # option: the reports that read it
    "out": ("heads", "routes"),
    "alignments": ("heads", "findings"),
    **dict.fromkeys(("html", "of", "texts", "store", "corpus"), ("heads",)),
    **dict.fromkeys(("head", "by"), ("strongest",)),
    **dict.fromkeys(("contrast", "sentences", "seed", "earlier"), ("routes",)),
    **dict.fromkeys(("data", "limit"), tuple(name for name in REPORTS if name != "routes")),
}
