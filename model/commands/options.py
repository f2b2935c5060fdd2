"""Options shared by several commands."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from model.arguments import device_name
from model.commands.field_help import HELP
from model.config import CHOICES, ModelConfig
from model.decoding.strategy import LENGTH_PENALTY, STRATEGIES, Decoding, strategy_with
from model.files import shown

if TYPE_CHECKING:
    import torch

MAX_THREADS = 1024
CONTROLS = {  # option: type, help
    "temperature": (float, "divides the log-probabilities; 0 takes the most probable token"),
    "top_k": (int, "sample from the N most probable tokens; 0: from all"),
    "top_p": (float, "sample from the most probable tokens that together reach this probability"),
    "seed": (int, "seed of the sampling"),
}


def add_checkpoint(parser: argparse.ArgumentParser, default: str = "en-fr") -> None:
    hint = "name in checkpoints/ or in a folder of the variable CHECKPOINTS, or a path (default: %(default)s)"
    parser.add_argument("--checkpoint", default=default, metavar="NAME", help=hint)


def add_second(parser: argparse.ArgumentParser) -> None:
    hint = "second sentence, for a checkpoint that says whether it follows the first"
    parser.add_argument("--second", default="", metavar="TEXT", help=hint)


def add_machine(parser: argparse.ArgumentParser) -> None:
    hint = "auto (the best device), cpu, mps, cuda, or cuda:1 for the second GPU (default: %(default)s)"
    parser.add_argument("--device", default="auto", type=_device, metavar="NAME", help=hint)
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads (default: that of torch)")


def _device(text: str) -> str:
    try:
        return device_name(text)
    except ValueError as expected:
        raise argparse.ArgumentTypeError(f"the device is {text!r}; expected {expected}") from None


def machine(args: argparse.Namespace) -> torch.device:
    """Returns the device of the options, and sets the number of threads.

    Raises ValueError for an invalid option.
    """
    import torch

    from model import device

    if args.threads is not None:
        if not 1 <= args.threads <= MAX_THREADS:
            least = "at least 1" if args.threads < 1 else f"at most {MAX_THREADS:,}"
            raise ValueError(f"--threads is {shown(args.threads)}; expected {least}")
        torch.set_num_threads(args.threads)
    return device.choose(args.device)


def add_decoding(parser: argparse.ArgumentParser) -> None:
    hint = "decoding strategy (default: greedy, or beam if --beam is more than 1)"
    parser.add_argument("--strategy", choices=tuple(STRATEGIES), help=hint)
    hint = f"width of the beam, in paths; 1 is greedy (default: 1, with --strategy beam {Decoding.width})"
    parser.add_argument("--beam", type=int, metavar="N", help=hint)
    hint = "exponent of the length penalty (default: %(default)s)"
    parser.add_argument("--alpha", type=float, default=LENGTH_PENALTY, metavar="A", help=hint)
    drawn = parser.add_argument_group("for --strategy sample, or another that samples")
    for name, (kind, does) in CONTROLS.items():
        default = getattr(Decoding, name)
        drawn.add_argument(_option(name), type=kind, metavar="N", help=f"{does} (default: {default})")


def decoding(args: argparse.Namespace) -> Decoding:
    """Returns the decoding of the options.

    Raises RequestError for values out of range, ValueError for options that exclude each other.
    """
    strategy = args.strategy or (Decoding.strategy if args.beam in (None, 1) else strategy_with("width"))
    reads, drawn = STRATEGIES[strategy].controls, given(args, CONTROLS)
    if unread := [name for name in drawn if name not in reads]:
        other = strategy_with(unread[0])
        raise ValueError(f"{_option(unread[0])} says nothing to the strategy {strategy}; give --strategy {other}")
    has_width = STRATEGIES[strategy].has_width
    if not has_width and args.beam is not None and (strategy, args.beam) != (Decoding.strategy, 1):
        other = strategy_with("width")
        raise ValueError(
            f"--beam is {args.beam}, and the strategy is {strategy}; give --strategy {other}, or leave out --beam"
        )
    width = {"width": args.beam} if has_width and args.beam is not None else {}
    return Decoding(strategy, alpha=args.alpha, **width, **drawn)


def add_fields(group: argparse._ArgumentGroup, record: type, skip: tuple[str, ...] = ()) -> None:
    """Adds one option for each field of a config record, named after it. The record has the defaults."""
    kinds: dict[str, Any] = {"int": int, "float": float, "int | None": int}
    for field in dataclasses.fields(record):
        if field.name in skip:
            continue
        default = {"None": "none", "True": "yes", "False": "no"}.get(str(field.default), field.default)
        hint = f"{HELP[field.name]} (default: {default})"
        if field.type == "bool":
            group.add_argument(_option(field.name), action=argparse.BooleanOptionalAction, default=None, help=hint)
        elif field.type in kinds:
            group.add_argument(_option(field.name), type=kinds[field.type], help=hint, metavar="N")
        else:
            group.add_argument(_option(field.name), choices=tuple(CHOICES[field.name]), help=hint)


def add_choices(group: argparse._ArgumentGroup, names: tuple[str, ...]) -> None:
    """Adds options without defaults for some fields of a model's config."""
    for field in dataclasses.fields(ModelConfig):
        if field.name not in names:
            continue
        hint: dict[str, Any] = {"default": None, "help": HELP[field.name]}
        if field.type == "bool":
            group.add_argument(_option(field.name), action=argparse.BooleanOptionalAction, **hint)
        elif field.name in CHOICES:
            group.add_argument(_option(field.name), choices=tuple(CHOICES[field.name]), **hint)
        else:
            group.add_argument(_option(field.name), type={"int": int, "float": float}[field.type], metavar="N", **hint)


def given(args: argparse.Namespace, names: Any) -> dict[str, Any]:
    """Returns the options of these names that the command line sets."""
    return {name: value for name in names if (value := getattr(args, name, None)) is not None}


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
