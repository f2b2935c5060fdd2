"""python -m model judge: labels a text, or each line of standard input."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from ...inference.request import Request
from . import options
from .translate import each_line

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint

HELP = "label a text with one of the checkpoint's labels"
DEFAULT_CHECKPOINT = "sentiment"
MAX_LABELS = 5  # labels that are printed
EMPTY_ROW = {  # output for an empty line, with the fields of every other line
    "checkpoint": "",
    "source": "",
    "label": "",
    "probability": 0.0,
    "labels": {},
    "source_tokens": [],
    "notes": [],
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="text; - reads standard input, one text per line, and writes one line for each")
    options.add_checkpoint(parser, DEFAULT_CHECKPOINT)
    hint = "print one JSON object per text: its label, and the probability and logit of each label"
    parser.add_argument("--json", action="store_true", help=hint)
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints

    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if not loaded.config.classes:
        known = f"expected one that has, as {DEFAULT_CHECKPOINT}, or one that was trained with --task classify"
        raise ValueError(f"{loaded.name} has no labels; {known}")

    def make_request(text: str) -> Request:
        return Request(text, args.checkpoint)

    def answer(request: Request, _: str) -> None:
        _answer(loaded, request, args.json)

    each_line(args.text, make_request, answer, EMPTY_ROW | {"checkpoint": loaded.name} if args.json else None, "text")


def _answer(loaded: Checkpoint, request: Request, as_json: bool) -> None:
    """Prints the most probable labels with their probabilities in one line, or all as JSON."""
    from ...inference.analyse import analyse

    result = analyse(loaded, request).to_dict()
    if as_json:
        print(json.dumps(result, ensure_ascii=False), flush=True)
        return
    named = list(result["labels"].items())[:MAX_LABELS]
    print("\t".join(f"{label}\t{odds['probability']:.4f}" for label, odds in named), flush=True)
