"""python -m model variants: trains several designs in the same way, with several seeds each.

It also measures their cost, speed and heads, and copies the shipped files.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...io.files import short_repr
from ...io.folders import FILES
from ...io.package_names import COMMAND
from ...text.languages import PAIR
from ...variants.designs import PLAN, SEEDS, SHIPPED, VARIANTS, Plan
from ...variants.record import FILE, Variants
from . import options, variants_training
from .variants_training import BEAM, data_hashes, estimate_cost, remaining_runs, update_record

if TYPE_CHECKING:
    from ..reports.variant_runs import VariantRun

MIN_SEEDS = 2  # trained seeds that a match of heads needs
PREFIX = "variant-"  # of the names of shipped checkpoints


def estimate(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """Prints the estimated hours of the remaining runs."""
    data = data_hashes(args)
    record = update_record(args, plan, data)
    remaining = remaining_runs(runs, record)
    print(
        estimate_cost(args, plan, remaining, data, record).describe()
        if remaining
        else f"All {len(runs)} runs are trained and scored."
    )


def speed(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """Measures the training speed of each variant, and adds it to the record."""
    import torch

    from ...checkpoint import write_json
    from ...config import TrainConfig
    from ..reports.training_speed import WARMUP_ROUNDS, PreparedRun, tokens_per_second
    from ..reports.variant_runs import SPEED

    if args.speed < 1:
        raise ValueError(f"--speed is {args.speed}; expected at least 1 round")
    device = options.machine(args)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in runs}
    prepared = PreparedRun.from_files(args.data, args.dev, TrainConfig(**plan.train_options(SEEDS[0])))
    with options.progress(args, total=WARMUP_ROUNDS + args.speed, unit="round") as bar:
        speeds = tokens_per_second(chosen, prepared, args.speed, device, bar.update)
    args.out.mkdir(parents=True, exist_ok=True)
    settings: dict[str, Any] = {"rounds": args.speed, "threads": torch.get_num_threads(), "device": device.type}
    write_json(args.out / SPEED, settings | {"tokens_per_second": speeds})
    for name, each in speeds.items():
        print(f"{name:<12}{each:10,.0f} target tokens a second")
    update_record(args, plan, data_hashes(args))


def heads(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """Matches the heads between seeds of each variant with two trained seeds or more, and adds the result to the record."""

    from ... import checkpoint as checkpoints
    from ...checkpoint import write_json
    from ..corpus.corpus import file_hash, read_pairs
    from ..reports.heads_report import distinct_lines
    from ..reports.seed_matching import match_seeds
    from ..reports.variant_runs import HEADS, heads_of

    if args.same_heads < 1:
        raise ValueError(f"--same-heads is {args.same_heads}; expected at least 1 sentence")
    device, trained = options.machine(args), {}
    for run in runs:
        if run.is_trained:
            trained.setdefault(run.variant.name, []).append(run)
    paired = {name: own for name, own in trained.items() if len(own) >= MIN_SEEDS}
    if not paired:
        raise ValueError(f"no variant in {args.out} has {MIN_SEEDS} trained seeds; train them first")
    lines, matches = distinct_lines(read_pairs(args.dev), args.same_heads), heads_of(args.out)
    for name, own in paired.items():
        labs = [checkpoints.load(str(run.checkpoint), device) for run in own]
        with options.progress(args, total=len(lines), unit="sentence", desc=name) as bar:
            matches[name] = match_seeds(labs, lines, file_hash(args.dev), [f"seed {run.seed}" for run in own], bar.update)
        write_json(args.out / HEADS, {each: match.to_dict() for each, match in matches.items()})
        print(f"{name}: heads of {len(own)} seeds paired over {matches[name].sentences} sentences")
    update_record(args, plan, data_hashes(args))


def ship(args: argparse.Namespace, plan: Plan) -> None:
    """Copies the record, and one seed's checkpoint per variant, to `checkpoints/`."""
    from ...checkpoint import write_json
    from ..evaluation import model_card
    from ..reports.variant_runs import runs_of

    record = update_record(args, plan, data_hashes(args))
    if record is None:
        raise ValueError(f"{args.out} has no scored run; train some first")
    shipped, total = {}, 0
    for each in record.variants:
        if each.name in (args.only or SHIPPED):
            (run,) = runs_of(args.out, [each.name], [each.runs[0].seed])
            folder = args.ship / f"{PREFIX}{each.name}"
            folder.mkdir(parents=True, exist_ok=True)
            for file in filter(lambda file: (run.checkpoint / file).is_file(), FILES):
                shutil.copyfile(run.checkpoint / file, folder / file)
                total += (folder / file).stat().st_size
            if (readme := folder / "README.md").is_file():
                model_card.rename(readme, folder.name)  # a run's card has the name of the run
            shipped[each.name] = folder.name
    args.ship.mkdir(parents=True, exist_ok=True)
    shipped_record = dataclasses.replace(record, shipped=shipped)
    Variants.from_dict(json.loads(json.dumps(shipped_record.to_dict())))
    write_json(args.ship / FILE, shipped_record.to_dict())
    total += (args.ship / FILE).stat().st_size
    print(f"{args.ship}: the record of {record.runs} runs, and {len(shipped)} checkpoints; {total / 1e6:.1f} MB")


HELP = "train several designs in the same way and compare them"
ROUNDS, SENTENCES = 20, 200
DESCRIPTION = (
    "Trains each variant with each seed, scores it on the test pairs, and writes the results to "
    f"{FILE} in --out. It first prints the estimated hours; --epochs shortens all runs. The same command continues after a "
    "stop. Two commands with one --out and different --only share the work. Variants: "
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION + "; ".join(f"{each.name}: {each.says}" for each in VARIANTS.values()) + "."
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
    from ..reports.variant_runs import runs_of

    plan = PLAN.with_fields(**options.explicit_options(args, [*PLAN.size, *PLAN.training]))
    runs = runs_of(args.out, args.only or VARIANTS, args.seed or SEEDS)
    for each in runs:
        plan.train_options(each.seed)
    if args.commands:
        for each in runs:
            for name, words in _commands(args, plan, each).items():
                print(shlex.join([*COMMAND.split(), name, *words]))
    elif args.speed is not None:
        speed(args, plan, runs)
    elif args.same_heads is not None:
        heads(args, plan, runs)
    elif args.ship is not None:
        ship(args, plan)
    elif args.estimate:
        estimate(args, plan, runs)
    else:
        variants_training.train_all(args, plan, runs, lambda each: _commands(args, plan, each))


def _names(text: str) -> list[str]:
    """Parses names of variants, separated by commas."""
    names = text.split(",")
    if unknown := [name for name in names if name not in VARIANTS]:
        raise argparse.ArgumentTypeError(f"there is no variant {short_repr(unknown[0])}: choose from {', '.join(VARIANTS)}")
    return names


def _seeds(text: str) -> list[int]:
    """Parses seeds, separated by commas."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"the seeds are {short_repr(text)}; expected whole numbers with commas between"
        ) from None


def _commands(args: argparse.Namespace, plan: Plan, run: VariantRun) -> dict[str, list[str]]:
    """Returns the options of the two commands of a run, by command."""
    from ..reports.variant_runs import TEST_KEY

    machine = ["--device", args.device] + (["--threads", str(args.threads)] if args.threads is not None else [])
    words = ["--data", str(args.data), "--dev", str(args.dev), "--out", str(run.folder), "--languages", args.languages]
    for name, value in {**plan.model_options(run.variant), **plan.train_options(run.seed)}.items():
        option = _option(name)
        words += [option if value else f"--no-{option[2:]}"] if isinstance(value, bool) else [option, str(value)]
    scored = ["--checkpoint", str(run.checkpoint), "--data", str(args.test), "--beam", str(BEAM), "--record", TEST_KEY]
    return {"train": words + machine, "evaluate": scored + machine}


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
