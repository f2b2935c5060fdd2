"""python -m model variants: what is measured beside the runs (their cost, speed and heads), and what is shipped."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from model.commands import options
from model.commands.variants_cost import cost
from model.commands.variants_training import collected, data_of, left_of
from model.folders import FILES
from model.variants.declared import SEEDS, SHIPPED, Plan
from model.variants.record import FILE, Variants

if TYPE_CHECKING:
    from model.experiments.variant_runs import VariantRun

LEAST = 2  # seeds whose heads are paired
PREFIX = "variant-"  # of the names of shipped checkpoints


def estimate(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """How many hours the runs will take that are not there yet."""
    data = data_of(args)
    found = collected(args, plan, data)
    left = left_of(runs, found)
    print(cost(args, plan, left, data, found).told() if left else f"All {len(runs)} runs are trained and scored.")


def speed(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """How fast each variant trains; joins the record, where there is one."""
    import torch
    from tqdm import tqdm

    from model.checkpoint import write_json
    from model.config import TrainConfig
    from model.experiments.training_speed import WARM, Prepared, tokens_per_second
    from model.experiments.variant_runs import SPEED

    if args.speed < 1:
        raise ValueError(f"--speed is {args.speed}; expected at least 1 round")
    device = options.machine(args)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in runs}
    prepared = Prepared.of(args.data, args.dev, TrainConfig(**plan.train_options(SEEDS[0])))
    with tqdm(total=WARM + args.speed, unit="round") as bar:
        found = tokens_per_second(chosen, prepared, args.speed, device, bar.update)
    args.out.mkdir(parents=True, exist_ok=True)
    made: dict[str, Any] = {"rounds": args.speed, "threads": torch.get_num_threads(), "device": device.type}
    write_json(args.out / SPEED, made | {"tokens_per_second": found})
    for name, each in found.items():
        print(f"{name:<12}{each:10,.0f} target tokens a second")
    collected(args, plan, data_of(args))


def heads(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun]) -> None:
    """Whether the same heads come back, of each variant with two trained seeds or more; joins the record."""
    from tqdm import tqdm

    from model import checkpoint as checkpoints
    from model.checkpoint import write_json
    from model.experiments.heads_report import lines_of
    from model.experiments.same_head import measure
    from model.experiments.variant_runs import HEADS, heads_of
    from model.text.corpus import file_hash, read_pairs

    if args.same_heads < 1:
        raise ValueError(f"--same-heads is {args.same_heads}; expected at least 1 sentence")
    device, trained = options.machine(args), {}
    for run in runs:
        if run.is_trained:
            trained.setdefault(run.variant.name, []).append(run)
    paired = {name: own for name, own in trained.items() if len(own) >= LEAST}
    if not paired:
        raise ValueError(f"no variant in {args.out} has {LEAST} trained seeds; train them first")
    lines, found = lines_of(read_pairs(args.dev), args.same_heads), heads_of(args.out)
    for name, own in paired.items():
        labs = [checkpoints.load(str(run.checkpoint), device) for run in own]
        with tqdm(total=len(lines), unit="sentence", desc=name) as bar:
            found[name] = measure(labs, lines, file_hash(args.dev), [f"seed {run.seed}" for run in own], bar.update)
        write_json(args.out / HEADS, {each: made.to_dict() for each, made in found.items()})
        print(f"{name}: heads of {len(own)} seeds paired over {found[name].sentences} sentences")
    collected(args, plan, data_of(args))


def ship(args: argparse.Namespace, plan: Plan) -> None:
    """The record and the checkpoints of one seed each, as the lab finds them in `checkpoints/`."""
    from model.checkpoint import write_json
    from model.evaluation import card
    from model.experiments.variant_runs import runs_of

    found = collected(args, plan, data_of(args))
    if found is None:
        raise ValueError(f"{args.out} holds no run that is trained and scored; train some first")
    shipped, total = {}, 0
    for each in found.variants:
        if each.name in (args.only or SHIPPED):
            (run,) = runs_of(args.out, [each.name], [each.runs[0].seed])
            folder = args.ship / f"{PREFIX}{each.name}"
            folder.mkdir(parents=True, exist_ok=True)
            for file in filter(lambda file: (run.checkpoint / file).is_file(), FILES):
                shutil.copyfile(run.checkpoint / file, folder / file)
                total += (folder / file).stat().st_size
            if (readme := folder / "README.md").is_file():
                card.rename(readme, folder.name)  # a run's card has the name of the run
            shipped[each.name] = folder.name
    args.ship.mkdir(parents=True, exist_ok=True)
    made = dataclasses.replace(found, shipped=shipped)
    Variants.from_dict(json.loads(json.dumps(made.to_dict())))
    write_json(args.ship / FILE, made.to_dict())
    total += (args.ship / FILE).stat().st_size
    print(f"{args.ship}: the record of {found.runs} runs, and {len(shipped)} checkpoints; {total / 1e6:.1f} MB")
