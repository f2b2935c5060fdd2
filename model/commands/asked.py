"""Options of a request, for the commands that write a file about a sentence."""

from __future__ import annotations

import argparse

from model.commands import options
from model.edits.kinds import EditError
from model.inference.request import Request


def add(parser: argparse.ArgumentParser) -> None:
    options.add_second(parser)
    options.add_decoding(parser)
    asked = parser.add_argument_group("request")
    asked.add_argument("--target", metavar="TEXT", help="translation to read instead of the model’s own")
    asked.add_argument("--prefix", default="", metavar="TEXT", help="forced prefix of the translation")
    hint = "edit codes, joined as in a link: off_cross.3.5~causal-off"
    asked.add_argument("--edits", default="", metavar="CODES", help=hint)
    asked.add_argument("--again", action="store_true", help="decode again under the edits (default: keep the target)")


def request(args: argparse.Namespace) -> Request:
    """Returns the request of the options.

    Raises ValueError, one sentence, for invalid options.
    """
    from model.export import requests

    if args.text == "-":
        raise ValueError("the sentence is '-', and standard input is not read here; give the sentence itself")
    try:
        edits = requests.intervention(filter(None, args.edits.split(requests.BETWEEN)))
    except EditError as fault:
        raise ValueError(f"--edits: {fault}") from None
    return Request(
        args.text,
        args.checkpoint,
        target=args.target,
        prefix=args.prefix,
        second=args.second,
        mode="again" if args.again else "given",
        decoding=options.decoding(args),
        intervention=edits,
    )
