"""python -m model evaluate: scores a checkpoint.

BLEU and chrF for translation, bits per character for a language model, accuracy for blanks and labels.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from model.commands import evaluate_pairs, evaluate_reading, evaluate_text, options
from model.files import shown
from model.folders import is_name

# Keys of metrics.json that are not scores.
WRITTEN = ("parameters", "training", "dev", "validations", "warnings", "alignment", "probes")
HELP = "BLEU and chrF on pairs, bits per character on a text, or accuracy on blanks or labels"
OF_PAIRS = (*evaluate_pairs.OPTIONS, "strategy", "beam", *options.CONTROLS)  # options for pairs only


def add(parser: argparse.ArgumentParser) -> None:
    options.add_checkpoint(parser)
    hint = "translate: .tsv, .tsv.gz or .zip, source TAB target; continue: .txt or .txt.gz, one paragraph per line"
    hint += "; fill in: the same, one or several files; judge: label TAB text"
    parser.add_argument("--data", type=Path, nargs="+", metavar="FILE", help=hint)
    evaluate_pairs.add(parser.add_argument_group("for translation"))
    options.add_decoding(parser)
    evaluate_text.add_text(parser.add_argument_group("for a language model"))
    evaluate_reading.add_reading(parser.add_argument_group("for a model that fills blanks or judges"))
    hint = "write the scores to KEY in the checkpoint's metrics.json"
    parser.add_argument("--record", metavar="KEY", help=hint)
    parser.add_argument("--json", action="store_true", help="print one JSON object and no progress")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints

    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    if args.data is None and (args.probes is None or args.measures):
        raise ValueError("the following arguments are required: --data")
    is_taken = args.record in WRITTEN and not (args.record == "probes" and args.data is None)
    if args.record is not None and (not is_name(args.record) or is_taken):
        raise ValueError(f"--record is {shown(args.record)}; expected a key such as test, and none of {', '.join(WRITTEN)}")
    evaluate_pairs.inputs(args)  # reports faults before any work
    asked = evaluate_pairs.asked(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    known = {
        "encoder-decoder": (evaluate_pairs.run, (*evaluate_text.OPTIONS, *evaluate_reading.READING_OPTIONS)),
        "decoder-only": (evaluate_text.run_text, (*OF_PAIRS, *evaluate_reading.READING_OPTIONS)),
        "encoder-only": (evaluate_reading.run_reading, (*OF_PAIRS, *(o for o in evaluate_text.OPTIONS if o != "dev"))),
    }
    measure, others = known[loaded.config.family]
    if unread := list(options.given(args, others)):
        raise ValueError(f"--{unread[0].replace('_', '-')} says nothing to {loaded.name}, which is {loaded.config.family}")
    if loaded.config.family != "encoder-only" and args.data is not None:
        if len(args.data) > 1:
            raise ValueError(
                f"--data names {len(args.data)} files; expected one, for {loaded.name} is {loaded.config.family}"
            )
        (args.data,) = args.data
    measure(args, loaded, asked)
