"""python -m model evaluate: BLEU and chrF of a model that translates, bits a character of one that goes on with a text, what
is right of one that fills in or judges."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from model.commands import evaluate_reading, evaluate_text, options
from model.decoding.strategy import Decoding, strategy
from model.files import shown
from model.folders import is_name

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint

WRITTEN = ("parameters", "training", "validations", "warnings", "alignment")  # keys of metrics.json that are no scores
HELP = "BLEU and chrF on a file of pairs, bits a character on a text, or how many blanks or labels are right"
OF_PAIRS = ("limit", "references", "warnings", "strategy", "beam", *options.CONTROLS)  # options that a text has no use for


def add(parser: argparse.ArgumentParser) -> None:
    options.add_checkpoint(parser)
    hint = "to translate: .tsv, .tsv.gz or .zip, source TAB target; to go on with: .txt or .txt.gz, one paragraph a line"
    hint += "; to fill in: the same, also several; to judge: label TAB text"
    parser.add_argument("--data", type=Path, nargs="+", required=True, metavar="FILE", help=hint)
    pairs = parser.add_argument_group("of a model that translates")
    pairs.add_argument("--limit", type=int, metavar="N", help="only the first N distinct sentences (default: all)")
    hint = "which targets of a sentence that occurs several times count (default: first)"
    pairs.add_argument("--references", choices=("first", "all"), help=hint)
    options.add_decoding(parser)
    hint = "also count how often the lab's warnings are right (--record writes them for the lab to tell)"
    pairs.add_argument("--warnings", action="store_true", default=None, help=hint)
    evaluate_text.add(parser.add_argument_group("of a model that goes on with a text"))
    evaluate_reading.add(parser.add_argument_group("of a model that fills in or judges"))
    hint = "also write the scores into the checkpoint's metrics.json, under KEY"
    parser.add_argument("--record", metavar="KEY", help=hint)
    parser.add_argument("--json", action="store_true", help="print one JSON object and no progress")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints

    if args.limit is not None and args.limit < 1:
        raise ValueError(f"--limit is {args.limit}; expected at least 1")
    if args.record is not None and (not is_name(args.record) or args.record in WRITTEN):
        raise ValueError(f"--record is {shown(args.record)}; expected a key such as test, and none of {', '.join(WRITTEN)}")
    asked = options.decoding(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    known = {
        "encoder-decoder": (_pairs, (*evaluate_text.OPTIONS, *evaluate_reading.OPTIONS)),
        "decoder-only": (evaluate_text.run, (*OF_PAIRS, *evaluate_reading.OPTIONS)),
        "encoder-only": (evaluate_reading.run, (*OF_PAIRS, *(o for o in evaluate_text.OPTIONS if o != "dev"))),
    }
    measure, others = known[loaded.config.family]
    if unread := list(options.given(args, others)):
        raise ValueError(f"--{unread[0].replace('_', '-')} says nothing to {loaded.name}, which is {loaded.config.family}")
    if loaded.config.family != "encoder-only":
        if len(args.data) > 1:
            raise ValueError(
                f"--data names {len(args.data)} files; expected one, for {loaded.name} is {loaded.config.family}"
            )
        (args.data,) = args.data
    measure(args, loaded, asked)


def _pairs(args: argparse.Namespace, loaded: Checkpoint, asked: Decoding) -> None:
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.evaluation import card, scoring
    from model.experiments import warnings
    from model.text.corpus import by_source, file_hash, read_pairs

    pairs, references = read_pairs(args.data), args.references or "first"
    total = min(len(by_source(pairs)), args.limit or len(pairs))
    with tqdm(total=total, unit="sentence", disable=args.json) as bar:
        scores = scoring.evaluate(
            loaded.model,
            loaded.source_tokenizer,
            loaded.target_tokenizer,
            pairs,
            references == "all",
            args.limit,
            bar.update,
            asked,
        )
    scores |= {"references": references} | _how(asked)
    counted = {"warnings": warnings.measure(loaded, pairs, args.limit, decoding=asked)} if args.warnings else {}
    if args.record:
        folder, data = checkpoints.find(args.checkpoint), {"data_sha256": file_hash(args.data)}
        entries = {args.record: scores} | {name: found | _how(asked) for name, found in counted.items()}
        metrics = loaded.metrics | {name: entry | data for name, entry in entries.items()}
        checkpoints.write_json(folder / "metrics.json", metrics)
        if counted:
            card.write(folder / "README.md", metrics["warnings"])
    scores |= counted
    if args.json:
        print(json.dumps(scores))
    else:
        print(f"BLEU {scores['bleu']}  chrF {scores['chrf']}  ({scores['sentences']} sentences, {scores['seconds']} s)")
        print(scores["sacrebleu_signature"])
        if counted:
            print(f"{card.table(counted['warnings'])}\n\n{card.signs_table(counted['warnings'])}")


def _how(asked: Decoding) -> dict[str, Any]:
    """The controls of decoding that the scores depend on; greedy decoding is a beam of one."""
    reads = strategy(asked.strategy).controls
    if not reads or "width" in reads:
        width = asked.width if reads else 1
        return {"beam": width} | ({"alpha": asked.alpha} if width > 1 else {})
    return {"strategy": asked.strategy} | {name: getattr(asked, name) for name in reads}
