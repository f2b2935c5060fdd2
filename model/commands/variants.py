"""python -m model variants: trains several designs in the same way, with several seeds each."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from model.commands import options, variants_measure, variants_training
from model.commands.variants_training import BEAM
from model.files import shown
from model.text.languages import PAIR
from model.variants.declared import PLAN, SEEDS, SHIPPED, VARIANTS, Plan
from model.variants.record import FILE

if TYPE_CHECKING:
    from model.experiments.variant_runs import VariantRun

HELP = "train several designs in the same way and compare them"
ROUNDS, SENTENCES = 20, 200
ABOUT = (
    "Trains each variant with each seed, scores it on the test pairs, and writes the results to "
    f"{FILE} in --out. It first prints the estimated hours; --epochs shortens all runs. The same command continues after a "
    "stop. Two commands with one --out and different --only share the work. Variants: "
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = ABOUT + "; ".join(f"{each.name}: {each.says}" for each in VARIANTS.values()) + "."
    hint = "training pairs: .tsv, .tsv.gz or .zip, source TAB target"
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help=hint)
    parser.add_argument("--dev", type=Path, required=True, metavar="FILE", help="dev pairs in the same format")
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="test pairs in the same format")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder of all runs")
    hint = "only these variants, separated by commas"
    parser.add_argument("--only", action="extend", type=_names, metavar="NAMES", help=hint)
    hint = f"only these seeds, separated by commas (default: {','.join(map(str, SEEDS))})"
    parser.add_argument("--seed", action="extend", type=_seeds, metavar="NS", help=hint)
    parser.add_argument("--languages", default=",".join(PAIR), help="two names, for display (default: %(default)s)")
    parser.add_argument("--max-minutes", type=float, metavar="N", help="stop after N minutes; the same command continues")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--commands", action="store_true", help="print the commands of all runs without training")
    other.add_argument("--estimate", action="store_true", help="print the estimated hours of all runs without training")
    hint = f"measure the training speed of each variant over N rounds (default: {ROUNDS}), without training"
    other.add_argument("--speed", type=int, nargs="?", const=ROUNDS, metavar="N", help=hint)
    hint = f"measure the match of heads between seeds on N dev sentences (default: {SENTENCES})"
    other.add_argument("--same-heads", type=int, nargs="?", const=SENTENCES, metavar="N", help=hint)
    hint = f"copy the record and one seed's weights of {', '.join(SHIPPED)} (or of --only) to a folder for the lab"
    other.add_argument("--ship", type=Path, metavar="FOLDER", help=hint)
    options.add_machine(parser)
    group = parser.add_argument_group("settings of all variants")
    for name, default in {**PLAN.size, **PLAN.training}.items():
        if name != "heads":  # variants differ in it
            hint = f"{options.HELP[name]} (default: {default})"
            group.add_argument(_option(name), type=type(default), metavar="N", help=hint)


def run(args: argparse.Namespace) -> None:
    from model.experiments.variant_runs import runs_of

    plan = PLAN.changed(**options.given(args, [*PLAN.size, *PLAN.training]))
    runs = runs_of(args.out, args.only or VARIANTS, args.seed or SEEDS)
    for each in runs:
        plan.train_options(each.seed)
    if args.commands:
        for each in runs:
            for name, words in _commands(args, plan, each).items():
                print(shlex.join(["python", "-m", "model", name, *words]))
    elif args.speed is not None:
        variants_measure.speed(args, plan, runs)
    elif args.same_heads is not None:
        variants_measure.heads(args, plan, runs)
    elif args.ship is not None:
        variants_measure.ship(args, plan)
    elif args.estimate:
        variants_measure.estimate(args, plan, runs)
    else:
        variants_training.train_all(args, plan, runs, lambda each: _commands(args, plan, each))


def _names(text: str) -> list[str]:
    """Names of variants with commas between."""
    names = text.split(",")
    if unknown := [name for name in names if name not in VARIANTS]:
        raise argparse.ArgumentTypeError(f"there is no variant {shown(unknown[0])}: choose from {', '.join(VARIANTS)}")
    return names


def _seeds(text: str) -> list[int]:
    """Numbers with commas between."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"the seeds are {shown(text)}; expected whole numbers with commas between"
        ) from None


def _commands(args: argparse.Namespace, plan: Plan, run: VariantRun) -> dict[str, list[str]]:
    """The options of the two commands that a run is made of, by their names."""
    from model.experiments.variant_runs import KEY

    machine = ["--device", args.device] + (["--threads", str(args.threads)] if args.threads is not None else [])
    words = ["--data", str(args.data), "--dev", str(args.dev), "--out", str(run.folder), "--languages", args.languages]
    for name, value in {**plan.model_options(run.variant), **plan.train_options(run.seed)}.items():
        option = _option(name)
        words += [option if value else f"--no-{option[2:]}"] if isinstance(value, bool) else [option, str(value)]
    scored = ["--checkpoint", str(run.checkpoint), "--data", str(args.test), "--beam", str(BEAM), "--record", KEY]
    return {"train": words + machine, "evaluate": scored + machine}


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
