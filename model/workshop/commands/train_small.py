"""python -m model train-small: trains a small model on a small task in a minute or two."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING

from ...io.files import check_new, read_text
from ..small.small_tasks import SIZES, TASKS, read_pairs
from . import options

if TYPE_CHECKING:
    from ..small.small_training import SmallProgress, SmallTraining

HELP = "train a small model in a minute: copy, reverse, sort, add, dates, or own pairs"
MAX_PAIRS_BYTES = 1_000_000


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Trains an encoder-decoder on texts of a few characters, each a token. It ends when two reports in a row have at "
        "least 99.5% of the held-out answers exactly right, or when the time is up. The result opens on every page."
    )
    parser.add_argument("task", nargs="?", choices=tuple(TASKS), default="reverse", help="(default: %(default)s)")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="own pairs, a line each: two texts with a tab between")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="new folder of the checkpoint")
    parser.add_argument("--layers", type=int, choices=SIZES["layers"], default=1, help="(default: %(default)s)")
    parser.add_argument("--heads", type=int, choices=SIZES["heads"], default=2, help="(default: %(default)s)")
    parser.add_argument("--d-model", type=int, choices=SIZES["d_model"], default=32, help="(default: %(default)s)")
    parser.add_argument("--no-positions", action="store_true", help="attention sees no word order")
    parser.add_argument("--no-causal-mask", action="store_true", help="the decoder sees the characters that it must predict")
    parser.add_argument("--no-cross-attention", action="store_true", help="the decoder reads nothing of the source")
    parser.add_argument("--no-scaling", action="store_true", help="scores are not divided by sqrt(d_k)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=110.0, metavar="N", help="longest time (default: %(default)g)")
    parser.add_argument("--json", action="store_true", help="print each report as one JSON object")
    options.add_machine(parser)


def run(args: argparse.Namespace) -> None:
    from ..small.small_training import SmallConfig, SmallTraining

    check_new(args.out)
    if args.device not in ("auto", "cpu"):
        raise ValueError(f"the device is {args.device!r}; expected cpu, for small models train on the CPU")
    args.threads = args.threads or 1  # more threads make so small a model slower
    options.machine(args)
    if not 1 <= args.seconds <= 3600:
        raise ValueError(f"--seconds is {args.seconds:g}; expected 1 to 3,600")
    pairs = tuple(read_pairs(read_text(args.pairs, MAX_PAIRS_BYTES))) if args.pairs else ()
    size = {name: getattr(args, name) for name in SIZES}
    parts = {"positions": not args.no_positions, "causal": not args.no_causal_mask}
    parts |= {"cross_attention": not args.no_cross_attention, "scaling": not args.no_scaling}
    training = SmallTraining(SmallConfig(args.task, **size, **parts, seed=args.seed, pairs=pairs))
    report = None
    try:
        for report in training.run(args.seconds):
            _print(args, report)
    finally:
        if report is not None:  # also after Ctrl+C
            training.save(args.out)
    if not args.json:
        print(_examples(training))


def _print(args: argparse.Namespace, report: SmallProgress) -> None:
    if args.json:
        print(json.dumps(dataclasses.asdict(report)), flush=True)
    elif report.is_done or not args.quiet:
        print(
            f"step {report.step:,}, {report.seconds:.0f} s: loss {report.loss:.3f}, "
            f"{report.accuracy:.0%} of the held-out answers exactly right",
            flush=True,
        )


def _examples(training: SmallTraining) -> str:
    """Returns three held-out texts with what the model writes."""
    pairs = training.held_out[:3]
    written = training.answers([source for source, _ in pairs])
    return "\n".join(
        f"{source} → {answer}" + ("" if answer == target else f" (right: {target})")
        for (source, target), answer in zip(pairs, written, strict=True)
    )
