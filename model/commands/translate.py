"""python -m model translate: one sentence, or standard input line by line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from model.commands import options
from model.inference.request import Request

if TYPE_CHECKING:
    from model.checkpoint import Checkpoint
    from model.decoding.strategy import Decoding

HELP = "translate a sentence"
MAX_LINE = 1_000_000  # characters
EMPTY = {  # what an empty line reads as: the fields of every other line, so that a table of all lines has no holes
    "checkpoint": "",
    "source": "",
    "translation": "",
    "log_prob": 0.0,
    "finished": True,
    "source_tokens": [],
    "tokens": [],
    "notes": [],
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the sentence; - reads standard input, a sentence a line, and writes a line for each")
    options.add_checkpoint(parser)
    options.add_decoding(parser)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object a sentence: its tokens, each with its log-probability in nats",
    )
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints

    asked = options.decoding(args)
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    each_line(args, loaded, asked, _answer, EMPTY, "sentence")


def each_line(
    args: argparse.Namespace,
    loaded: Checkpoint,
    asked: Decoding,
    answer: Callable[[Checkpoint, Request, bool, str], None],
    empty: dict[str, Any],
    what: str,
) -> None:
    """Has the text of a command answered, or each line of standard input; `empty` is what an empty line reads as, as JSON.
    ValueError that names the line, and where there is none."""
    if args.text != "-":
        answer(loaded, Request(args.text, args.checkpoint, decoding=asked), args.json, "")
        return
    written = 0
    for number, text in _lines():
        if not text.strip():  # so that line n of what is written belongs to line n of what is read
            print(json.dumps(empty | {"checkpoint": loaded.name}) if args.json else "", flush=True)
            continue
        try:
            answer(loaded, Request(text, args.checkpoint, decoding=asked), args.json, f"line {number}: ")
        except ValueError as fault:
            raise ValueError(f"line {number}: {fault}") from None
        written += 1
    if not written:
        raise ValueError(f"there is no {what} on standard input; write one on each line")


def _lines() -> Iterator[tuple[int, str]]:
    number = 0
    while line := _read_line():
        number += 1
        if len(line) > MAX_LINE:
            raise ValueError(f"line {number} has more than {MAX_LINE:,} characters; write a sentence on each line")
        yield number, line.removeprefix("\ufeff").rstrip("\r\n")


def _read_line() -> str:
    try:
        return sys.stdin.readline(MAX_LINE + 1)
    except UnicodeDecodeError as fault:
        raise ValueError(f"the byte 0x{fault.object[fault.start]:02x} on standard input is no UTF-8") from None


def _answer(loaded: Checkpoint, request: Request, as_json: bool, where: str) -> None:
    from model.inference.analyse import analyse

    analysis = analyse(loaded, request)
    if as_json:
        print(json.dumps(analysis.to_dict(), ensure_ascii=False), flush=True)
        return
    print(analysis.translation, flush=True)
    for note in analysis.notes:
        print(where + note, file=sys.stderr)
