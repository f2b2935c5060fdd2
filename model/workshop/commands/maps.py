"""python -m model maps: writes every number of a sentence's analysis to a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ...io.files import check_new, shown, write_new
from . import options

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...inference.analysis import Analysis
    from ...trace import Site

HELP = "write all attention maps, scores and probabilities of a sentence to a file"
ENDS = (".npz", ".json", ".csv")
OUT = (
    ".npz or .json: the full analysis in the format of docs/export.md, for model.export.read; "
    ".csv: one row per cell of the maps"
)
TABLE_OPTIONS = ("site", "layer", "head")  # options that narrow a table


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="sentence (does not read standard input)")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=OUT)
    options.add_checkpoint(parser)
    options.add_request(parser)
    narrow = parser.add_argument_group("maps for .csv (default: all)")
    narrow.add_argument("--site", metavar="KIND", help="encoder, decoder or cross")
    narrow.add_argument("--layer", type=int, metavar="N", help="layer, from 1")
    narrow.add_argument("--head", type=int, metavar="N", help="head, from 1")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints
    from ...inference.analyse import analyse

    if args.out.suffix not in ENDS:
        raise ValueError(f"--out ends in {shown(args.out.suffix)}; expected one of {', '.join(ENDS)}")
    if args.out.suffix != ".csv" and (narrowing := [name for name in TABLE_OPTIONS if getattr(args, name) is not None]):
        raise ValueError(f"--{narrowing[0]} narrows a table; give --out a name that ends in .csv, or leave it out")
    check_new(args.out)  # before anything is computed
    request = options.request(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    analysis = analyse(loaded, request)
    write_new(args.out, _content(args, loaded, analysis))
    print(analysis.translation or args.out)


def _content(args: argparse.Namespace, loaded: Checkpoint, analysis: Analysis) -> bytes:
    from ...export import Exported, analysis_files, csv_tables

    if args.out.suffix == ".csv":
        return csv_tables.cells_table(analysis.trace, _selected_heads(args, analysis)).csv()
    return analysis_files.FORMATS[args.out.suffix](Exported.of(loaded, analysis))


def _selected_heads(args: argparse.Namespace, analysis: Analysis) -> dict[Site, range]:
    """Returns the selected heads of each site; raises ValueError where the checkpoint lacks them."""
    from ...export.csv_tables import KINDS

    trace = analysis.trace
    if args.site is not None and KINDS.get(args.site) not in trace.kinds:
        raise ValueError(f"--site is {shown(args.site)}; expected one of {', '.join(trace.kinds)}")
    sites = [site for kind in trace.kinds for site in trace.sites(kind) if args.site is None or kind == KINDS[args.site]]
    layers = max(site.layer + 1 for site in sites)
    if args.layer is not None and not 1 <= args.layer <= layers:
        raise ValueError(f"--layer is {shown(args.layer)}; expected 1 to {layers}")
    heads = len(trace.patterns[sites[0]])
    if args.head is not None and not 1 <= args.head <= heads:
        raise ValueError(f"--head is {shown(args.head)}; expected 1 to {heads}")
    wanted = range(heads) if args.head is None else range(args.head - 1, args.head)
    return {site: wanted for site in sites if args.layer in (None, site.layer + 1)}
