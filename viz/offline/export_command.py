"""Command `python -m model export`: writes a page about a sentence as one HTML file that needs no server.

`model.__main__` loads this module by name, because `model` must not import `viz`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from model.inference.request import Request
from model.io.files import check_new, short_repr, write_new
from model.trace import SITE_KINDS
from model.workshop.commands import options, text_input

HELP = "write a page of the lab about a sentence as one HTML file that needs no server"
VIEW = {"site": "kind", "layer": "layer", "head": "head", "step": "step"}  # option: field of the view


def add(parser: argparse.ArgumentParser) -> None:
    text_input.add(parser)
    hint = "output file; for several sentences {n} in the name is the number of the line"
    parser.add_argument("--html", type=Path, required=True, metavar="FILE", help=hint)
    hint = "translate, heads, inside, what-if, why, compare, training or variants (default: %(default)s)"
    parser.add_argument("--page", default="translate", metavar="NAME", help=hint)
    options.add_checkpoint(parser)
    options.add_request(parser)
    view = parser.add_argument_group("selection (default: the view of a first visitor)")
    view.add_argument("--site", type=_site, metavar="KIND", help="encoder, decoder or cross")
    view.add_argument("--layer", type=_number("layer"), metavar="N", help="layer, from 1")
    view.add_argument("--head", type=_head, default=argparse.SUPPRESS, metavar="N", help="head, from 1, or mean")
    view.add_argument("--step", type=_number("step"), metavar="N", help="step, from 1")
    hint = "further parameters of a link: differs=checkpoint&other_checkpoint=en-fr-learned"
    view.add_argument("--view", default="", metavar="QUERY", help=hint)
    options.add_machine(parser)


def _site(text: str) -> str:
    """Returns a kind of attention by name or code, as in `maps`."""
    from model.export.csv_tables import KINDS

    if text not in KINDS:
        raise argparse.ArgumentTypeError(f"the attention is {short_repr(text)}; expected one of {', '.join(SITE_KINDS)}")
    return KINDS[text]


def _number(what: str, also: str = "") -> Callable[[str], int]:
    """Returns a parser of numbers from 1, which returns them from 0; the checkpoint sets the maximum."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
            raise argparse.ArgumentTypeError(f"the {what} is {short_repr(text)}; expected a number from 1{also}")
        return int(text) - 1

    return read


def _head(text: str) -> int | None:
    return None if text == "mean" else _number("head", ", or mean")(text)


def run(args: argparse.Namespace) -> None:
    from model import checkpoint as checkpoints
    from model.inference.analyse import analyse
    from viz.offline import html_export

    text_input.check_output(args, "--html", args.html)
    check_new(args.html)  # before anything is computed
    html_export.page_of(args.page)
    fields = options.request_fields(args)
    selection = {field: getattr(args, name) for name, field in VIEW.items() if getattr(args, name, None) is not None}
    if getattr(args, "head", 0) is None:
        selection["head"] = None
    loaded = checkpoints.load(args.checkpoint, options.machine(args))

    def answer(text: str, line: int) -> None:
        request, path = Request(text, **fields), text_input.output_path(args.html, line)
        view = html_export.make_view(request, loaded.name, args.view, **selection)
        analysis = analyse(loaded, request)
        write_new(path, html_export.file_of(args.page, html_export.make_context(loaded, analysis, view)))
        print(analysis.translation or path, flush=True)

    text_input.for_each(args, answer)
