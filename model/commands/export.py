"""python -m model export: a view of a sentence as one HTML file that needs no server.

The file is drawn by the lab's components, which stand above the model: `viz.offline` is looked up when the command runs, so
that nothing of the model depends on it."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

from model.commands import asked, options
from model.files import check_new, shown, write_new
from model.trace import KINDS

HELP = "write a page of the lab about a sentence into one HTML file, which needs no server"
VIEW = {"site": "kind", "layer": "layer", "head": "head", "step": "step"}  # option: field of the view


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the sentence")
    parser.add_argument("--html", type=Path, required=True, metavar="FILE", help="the file that is written")
    hint = "translate, heads, inside, what-if, why or compare (default: %(default)s)"
    parser.add_argument("--page", default="translate", metavar="NAME", help=hint)
    options.add_checkpoint(parser)
    asked.add(parser)
    view = parser.add_argument_group("what is looked at (default: what a first visitor sees)")
    view.add_argument("--site", choices=KINDS, help="which attention")
    view.add_argument("--layer", type=int, metavar="N", help="of this layer, from 1")
    view.add_argument("--head", type=_head, default=argparse.SUPPRESS, metavar="N", help="from 1, or mean")
    view.add_argument("--step", type=int, metavar="N", help="at this step, from 1")
    hint = "what else the link of a view says, as a lab shows it: differs=checkpoint&other_checkpoint=en-fr-learned"
    view.add_argument("--view", default="", metavar="QUERY", help=hint)
    options.add_machine(parser)


def _head(text: str) -> int | None:
    if text == "mean":
        return None
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"the head is {shown(text)}; expected a number from 1, or mean")
    return int(text)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints
    from model.inference.analyse import analyse

    check_new(args.html)  # before anything is computed
    take: Any = import_module("viz.offline.take")
    take.page_of(args.page)
    request = asked.request(args)
    given = {field: getattr(args, name) for name, field in VIEW.items() if getattr(args, name, None) is not None}
    if getattr(args, "head", 0) is None:
        given["head"] = None
    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    view = take.view_of(request, loaded.name, args.view, **given)
    analysis = analyse(loaded, request)
    write_new(args.html, take.file_of(args.page, take.page_data_of(loaded, analysis, view)))
    print(analysis.translation)
