"""Commands that write or check files about a checkpoint: convert, maps and check."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ...inference.request import Request
from ...io.files import check_new, short_repr, write_new
from ...io.foreign_checkpoints import FOREIGN
from . import options, text_input
from .options import Command

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint
    from ...inference.analysis import Analysis
    from ...trace import Site

CONVERT_HELP = "convert another program's model to a checkpoint"
# A state dict does not hold these.
CONVERT_FIELDS = ("heads", "norm_first", "activation", "embedding_scale", "positions", "norm_eps")
CONTROLS = {"pad": "pads a batch", "start": "starts a target", "end": "ends a sentence"}
TABLES = ("source_embedding", "target_embedding", "output", "positions")


def add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="folder or file of the model")
    hint = "folder of the new checkpoint; with --name, its parent folder"
    parser.add_argument("--to", type=Path, required=True, metavar="FOLDER", help=hint)
    parser.add_argument("--name", help="name of the checkpoint (default: name of the folder)")
    kinds = "; ".join(f"{each.name}: {each.title}" for each in FOREIGN.values())
    parser.add_argument("--kind", choices=tuple(FOREIGN), help=f"format of the model (default: detected). {kinds}")
    parser.add_argument(
        "--languages", nargs=2, metavar=("SOURCE", "TARGET"), help="languages of the model (default: from its files)"
    )
    vocabulary = parser.add_argument_group("vocabulary, if the model has none")
    hint = "tokenizer.json of the tokenizers library, or a list of words, one per line, ordered by id"
    vocabulary.add_argument("--tokenizer", type=Path, metavar="FILE", help=hint)
    vocabulary.add_argument("--target-tokenizer", type=Path, metavar="FILE", help="vocabulary of the target, if it differs")
    for role, does in CONTROLS.items():
        hint = f"token that {does} (default: detected by usual names)"
        vocabulary.add_argument(f"--{role}-token", metavar="TOKEN", help=hint)
    settings = parser.add_argument_group("settings that a state dict lacks")
    settings.add_argument("--config", type=Path, metavar="FILE", help="JSON file with these settings")
    options.add_choices(settings, CONVERT_FIELDS)
    for part in TABLES:
        name = "position-table" if part == "positions" else part.replace("_", "-")
        settings.add_argument(
            f"--{name}",
            dest=f"{part}_name",
            metavar="TENSOR",
            help="name of the tensor (default: detected by shape and name)",
        )


def run_convert(args: argparse.Namespace) -> None:
    from ..convert.conversion import ConversionOptions
    from ..convert.registry import convert

    settings = ConversionOptions(
        tokenizer=args.tokenizer,
        target_tokenizer=args.target_tokenizer,
        config=args.config,
        fields=options.explicit_options(args, CONVERT_FIELDS),
        names={part: name for part in TABLES if (name := getattr(args, f"{part}_name"))},
        controls={role: name for role in CONTROLS if (name := getattr(args, f"{role}_token"))},
        languages=None if args.languages is None else tuple(args.languages),
    )
    folder = convert(args.source, args.to / args.name if args.name else args.to, args.kind, settings)
    print(folder)


CONVERT = Command(CONVERT_HELP, add_convert, run_convert)


MAPS_HELP = "write all attention maps, scores and probabilities of a sentence to a file"
MAPS_ENDS = (".npz", ".json", ".csv")
MAPS_OUT = (
    ".npz or .json: the full analysis in the format of docs/export.md, for model.export.read; "
    ".csv: one row per cell of the maps; for several sentences {n} in the name is the number of the line"
)
MAPS_NAMES = ("lab", "transformer-lens")  # of the arrays
TABLE_OPTIONS = ("site", "layer", "head")  # options that narrow a table


def add_maps(parser: argparse.ArgumentParser) -> None:
    text_input.add(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help=MAPS_OUT)
    hint = "names of the arrays of .npz; transformer-lens: those of its hooks, for model.export.hook_names.read_hooks"
    parser.add_argument("--names", choices=MAPS_NAMES, default=MAPS_NAMES[0], help=f"{hint} (default: %(default)s)")
    options.add_checkpoint(parser)
    options.add_request(parser)
    narrow = parser.add_argument_group("maps for .csv (default: all)")
    narrow.add_argument("--site", metavar="KIND", help="encoder, decoder or cross")
    narrow.add_argument("--layer", type=int, metavar="N", help="layer, from 1")
    narrow.add_argument("--head", type=int, metavar="N", help="head, from 1")
    options.add_machine(parser)


def run_maps(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints
    from ...inference.analyse import analyse

    if args.out.suffix not in MAPS_ENDS:
        raise ValueError(f"--out ends in {short_repr(args.out.suffix)}; expected one of {', '.join(MAPS_ENDS)}")
    if args.out.suffix != ".csv" and (narrowing := [name for name in TABLE_OPTIONS if getattr(args, name) is not None]):
        raise ValueError(f"--{narrowing[0]} narrows a table; give --out a name that ends in .csv, or leave it out")
    if args.names != MAPS_NAMES[0] and args.out.suffix != ".npz":
        raise ValueError(f"--names {args.names} names arrays of .npz; --out ends in {short_repr(args.out.suffix)}")
    text_input.check_output(args, "--out", args.out)
    check_new(args.out)  # before anything is computed
    fields = options.request_fields(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))

    def answer(text: str, line: int) -> None:
        analysis, path = analyse(loaded, Request(text, **fields)), text_input.output_path(args.out, line)
        write_new(path, _maps_content(args, loaded, analysis))
        print(analysis.translation or path, flush=True)

    text_input.for_each(args, answer)


def _maps_content(args: argparse.Namespace, loaded: Checkpoint, analysis: Analysis) -> bytes:
    from ...export import Exported, analysis_files, csv_tables, hook_names

    if args.out.suffix == ".csv":
        return csv_tables.cells_table(analysis.trace, _selected_heads(args, analysis)).csv()
    if args.names != MAPS_NAMES[0]:
        return hook_names.npz(Exported.of(loaded, analysis))
    return analysis_files.FORMATS[args.out.suffix](Exported.of(loaded, analysis))


def _selected_heads(args: argparse.Namespace, analysis: Analysis) -> dict[Site, range]:
    """Returns the selected heads of each site; raises ValueError where the checkpoint lacks them."""
    from ...export.csv_tables import KINDS

    trace = analysis.trace
    if args.site is not None and KINDS.get(args.site) not in trace.kinds:
        raise ValueError(f"--site is {short_repr(args.site)}; expected one of {', '.join(trace.kinds)}")
    sites = [site for kind in trace.kinds for site in trace.sites(kind) if args.site is None or kind == KINDS[args.site]]
    layers = max(site.layer + 1 for site in sites)
    if args.layer is not None and not 1 <= args.layer <= layers:
        raise ValueError(f"--layer is {short_repr(args.layer)}; expected 1 to {layers}")
    heads = len(trace.patterns[sites[0]])
    if args.head is not None and not 1 <= args.head <= heads:
        raise ValueError(f"--head is {short_repr(args.head)}; expected 1 to {heads}")
    wanted = range(heads) if args.head is None else range(args.head - 1, args.head)
    return {site: wanted for site in sites if args.layer in (None, site.layer + 1)}


MAPS = Command(MAPS_HELP, add_maps, run_maps)


CHECK_HELP = "measure a file of checks on a checkpoint"
CHECK_FAILED = 1  # exit status if a check fails


def add_check(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measures each line of a file of checks. The exit status is 0 if all hold, and 1 if one fails."
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="checks, one per line; docs/checks.md lists the forms; - is standard input"
    )
    options.add_checkpoint(parser)
    hint = "sentences of the checks of a corpus, one per line or source TAB target; - reads standard input"
    parser.add_argument("--data", metavar="PATH", help=hint)
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N sentences (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object with each check and its measured value")
    options.add_machine(parser)


def run_check(args: argparse.Namespace) -> int:
    from ... import checkpoint as checkpoints
    from ...export import checks
    from ...export.schema import fingerprint
    from ...io.files import FileError, read_text

    if str(args.file) == text_input.STANDARD_INPUT:
        if args.data == text_input.STANDARD_INPUT:
            raise ValueError("the checks and --data are both -; expected a file for one of them")
        content = "\n".join(text for _, text in text_input.input_lines())
    else:
        try:
            content = read_text(args.file, checks.MAX_BYTES)
        except FileNotFoundError:
            raise FileError(f"there is no file {args.file}; expected one of checks") from None
    parsed = checks.parse(content, str(args.file))
    lab = checks.Lab(checkpoints.load(args.checkpoint, options.machine(args)), _sentences(args))
    measured = [(check, check.measure(lab)) for check in parsed]
    hold = sum(each.holds for _, each in measured)
    if args.json:
        rows = [
            {
                "line": check.number,
                "check": check.text,
                "kind": check.kind.name,
                "negated": check.is_negated,
                "holds": each.holds,
                "measured": each.description,
                "value": each.value,
                "sentences": each.sentences,
                "interval": each.interval,
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
    return 0 if hold == len(measured) else CHECK_FAILED


def _sentences(args: argparse.Namespace) -> list[str]:
    """Returns the different sentences of --data; none without it."""
    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    if args.data is None:
        return []
    return list(dict.fromkeys(text for _, text in text_input.lines(args) if text))[: args.limit]


CHECK = Command(CHECK_HELP, add_check, run_check)
