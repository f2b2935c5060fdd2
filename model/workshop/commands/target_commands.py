"""Commands that prepare the targets of pairs for training: choose one of several, or replace them by translations."""

from __future__ import annotations

import argparse
import gzip
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import options
from .options import Command

if TYPE_CHECKING:
    from ...checkpoint import Checkpoint

CHOOSE_HELP = "keep the most probable target of each source under a checkpoint"
CHOOSE_REASON = (
    "A small model that learns several translations of one sentence mixes them. A model that learned all of them chooses "
    "more consistently than the order of the file. Continue the training on the result with --init and that checkpoint."
)
DISTILL_HELP = "replace targets by near translations of a checkpoint"
DISTILL_REASON = (
    "This is distillation by interpolation (Kim and Rush 2016). Of a beam, the hypothesis nearest to the target replaces "
    "it, if its runs of three words occur in the data and its words go with those of the source. Continue the training on "
    "the result with --init and that checkpoint."
)


def write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Writes pairs as a .tsv or .tsv.gz file, which appears only when it is complete."""
    temporary = path.with_name(path.name + ".new")
    packed = path.suffix == ".gz"
    with gzip.open(temporary, "wt", encoding="utf-8") if packed else temporary.open("w", encoding="utf-8") as raw:
        raw.writelines(f"{source}\t{target}\n" for source, target in pairs)
    os.replace(temporary, path)


def check_outputs(outputs: dict[str, Path | None], inputs: dict[str, Iterable[Path]]) -> None:
    """Raises ValueError, by option, for an output of another form, without a folder, or that another option names too."""
    taken = {path.resolve(): option for option, paths in inputs.items() for path in paths}
    for option, path in outputs.items():
        if path is None:
            continue
        if not path.name.endswith((".tsv", ".tsv.gz")):
            raise ValueError(f"{option} is {path.name!r}; expected a name that ends in .tsv or .tsv.gz")
        if other := taken.get(path.resolve()):
            raise ValueError(f"{option} is the file of {other}, which would be lost; give another name")
        if not path.parent.is_dir():
            raise ValueError(f"{option}: there is no folder {str(path.parent)!r}; create it first")
        taken[path.resolve()] = option


def load_translator(args: argparse.Namespace) -> Checkpoint:
    """Returns the checkpoint of the options. Raises ValueError for one that translates nothing."""
    from ... import checkpoint as checkpoints

    loaded = checkpoints.load(args.checkpoint, options.machine(args))
    if loaded.config.family != "encoder-decoder":
        raise ValueError(f"{loaded.name} translates nothing; expected a checkpoint of an encoder-decoder, such as en-fr")
    return loaded


def add_choose(parser: argparse.ArgumentParser) -> None:
    parser.description = f"Writes each source once, with its most probable target. {CHOOSE_REASON}"
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help="pairs: .tsv, .tsv.gz or .zip")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="output file: .tsv or .tsv.gz")
    parser.add_argument(
        "--as-addressed",
        action="store_true",
        help="for sources with targets in tu and in vous, preserve the share of vous among all targets",
    )
    options.add_checkpoint(parser)
    options.add_machine(parser)


def run_choose(args: argparse.Namespace) -> None:
    from tqdm import tqdm

    from ..corpus.corpus import read_pairs
    from ..evaluation.measures import LANGUAGE, choose_targets

    check_outputs({"--out": args.out}, {"--data": [args.data]})
    loaded = load_translator(args)
    if args.as_addressed and loaded.languages[1] != LANGUAGE:
        raise ValueError(f"--as-addressed is about {LANGUAGE}; {loaded.name} writes {loaded.languages[1]}. Leave it out")
    pairs = read_pairs(args.data)
    with tqdm(unit="pair", disable=args.quiet or None, leave=False) as bar:
        chosen = choose_targets(loaded, pairs, bar.update, args.as_addressed)
    write_pairs(args.out, chosen)
    print(f"{len(chosen):,} of {len(pairs):,} pairs are in {args.out}")


CHOOSE = Command(CHOOSE_HELP, add_choose, run_choose)


def add_distill(parser: argparse.ArgumentParser) -> None:
    parser.description = f"Replaces targets by near translations of a checkpoint. {DISTILL_REASON}"
    file = {"type": Path, "metavar": "FILE"}
    parser.add_argument(
        "--data", required=True, help="pairs: .tsv, .tsv.gz or .zip; the first target of a source counts", **file
    )
    parser.add_argument("--targets", help="pairs with all targets of the sources (default: --data)", **file)
    parser.add_argument(
        "--texts", nargs="*", default=[], help="further pairs, whose words and runs of words count as known", **file
    )
    parser.add_argument("--out", required=True, help="output file: .tsv or .tsv.gz", **file)
    parser.add_argument("--in-beam", help="output file for the pairs whose target is in the beam, to train on twice", **file)
    options.add_checkpoint(parser)
    options.add_machine(parser)


def run_distill(args: argparse.Namespace) -> None:
    from tqdm import tqdm

    from ..corpus.corpus import read_pairs, targets_by_source
    from ..evaluation.distillation import SeenWords, distill, is_translated

    inputs = {"--data": [args.data], "--targets": [args.targets] if args.targets else [], "--texts": args.texts}
    check_outputs({"--out": args.out, "--in-beam": args.in_beam}, inputs)
    loaded = load_translator(args)
    pairs = [(source, targets[0]) for source, targets in targets_by_source(read_pairs(args.data)).items()]
    more = read_pairs(args.targets or args.data)
    seen = SeenWords.of([*more, *(pair for path in args.texts for pair in read_pairs(path))])
    total = sum(is_translated(source) for source, _ in pairs)
    with tqdm(total=total, unit="sentence", disable=args.quiet or None, leave=False) as bar:
        result = distill(loaded, pairs, targets_by_source(more), seen, bar.update)
    write_pairs(args.out, [(each.source, each.target) for each in result])
    changed = sum(each.target != target for each, (_, target) in zip(result, pairs, strict=True))
    print(f"{changed:,} of {len(result):,} targets are new in {args.out}")
    if args.in_beam:
        kept = [(each.source, each.target) for each in result if each.is_in_beam]
        write_pairs(args.in_beam, kept)
        print(f"{len(kept):,} pairs have a target of the beam and are in {args.in_beam}")


DISTILL = Command(DISTILL_HELP, add_distill, run_distill)
