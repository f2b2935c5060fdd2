"""python -m model continue: continues a text, or each line of standard input, with a language model."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Any

from ...decoding.strategy import strategy_with
from ...inference.request import Request
from . import options, translate

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint

HELP = "continue a text"
DEFAULT_CHECKPOINT, DEFAULT_MORE = "gpt-mini", 40
EMPTY_ROW: dict[str, Any] = {
    "checkpoint": "",
    "text": "",
    "continuation": "",
    "log_prob": 0.0,
    "scored_tokens": "continuation",
    "finished": True,
    "text_tokens": [],
    "tokens": [],
    "notes": [],
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="text; - reads standard input, one text per line, and writes one line for each")
    options.add_checkpoint(parser, DEFAULT_CHECKPOINT)
    hint = "maximum number of new tokens; 0: to the end of the window (default: %(default)s)"
    parser.add_argument("--more", type=int, default=DEFAULT_MORE, metavar="N", help=hint)
    options.add_decoding(parser)
    hint = "print one JSON object per text: the new tokens with their log-probabilities in nats"
    parser.add_argument("--json", action="store_true", help=hint)
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ... import checkpoint as checkpoints
    from ...task import task_of

    sampling = options.explicit_options(args, options.CONTROLS)
    if args.strategy is None and args.beam is None and sampling:
        args.strategy = strategy_with(next(iter(sampling)))  # a temperature implies sampling
    decoding = dataclasses.replace(options.decoding(args), more=args.more)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    task = task_of(loaded.config.kinds, loaded.config.classes)
    if task.reads or not task.writes:
        raise ValueError(f"the checkpoint {loaded.name} is {task.family}; expected one that is decoder-only")

    def make_request(text: str) -> Request:
        return Request(text, args.checkpoint, decoding=decoding)

    def answer(request: Request, where: str) -> None:
        _answer(loaded, request, args.json, where)

    translate.each_line(
        args.text, make_request, answer, EMPTY_ROW | {"checkpoint": loaded.name} if args.json else None, "text"
    )


def _answer(loaded: Checkpoint, request: Request, as_json: bool, where: str) -> None:
    from ...inference.analyse import analyse

    analysis = analyse(loaded, request)
    stop_notes = () if analysis.hypothesis.finished or not analysis.has_as_many_as_asked else (analysis.stopped,)
    if not as_json:
        print(analysis.translation, flush=True)
        for note in (*stop_notes, *analysis.notes):
            if note not in analysis.cautions:  # sampled tokens are improbable by nature
                print(where + note, file=sys.stderr)
        return
    result, ids = analysis.to_dict(), analysis.trace.outputs.ids
    prompt, added = result["tokens"][: analysis.begun], result["tokens"][analysis.begun :]
    before = loaded.target_tokenizer.decode(ids[: analysis.begun])
    fields = {
        "text": request.source,
        "continuation": analysis.translation.removeprefix(before),
        "log_prob": round(sum(each["log_prob"] for each in added), 6),
        "text_tokens": [each["token"] for each in prompt],
        "tokens": added,
        "notes": [*stop_notes, *analysis.notes],
    }
    row = EMPTY_ROW | {name: result[name] for name in ("checkpoint", "finished")} | fields
    print(json.dumps(row, ensure_ascii=False), flush=True)
