"""python -m model variants: what the runs that are left will cost, told before they begin."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from model.commands import options
from model.variants.declared import SEEDS, Plan

if TYPE_CHECKING:
    from model.experiments.variant_cost import Cost
    from model.experiments.variant_runs import VariantRun
    from model.variants.record import Variants

FEW = 3  # rounds of an estimate


def cost(
    args: argparse.Namespace, plan: Plan, left: Sequence[VariantRun], data: dict[str, str], found: Variants | None
) -> Cost:
    """What the runs that are left will take. Counts the work of a run, and keeps it for the record; where no run has ended
    yet, measures a few steps of each variant."""
    from model.checkpoint import write_json
    from model.config import TrainConfig
    from model.experiments import variant_cost
    from model.experiments.training_speed import Prepared, tokens_per_second
    from model.experiments.variant_runs import WORK, work_key, work_of

    device, work = options.machine(args), work_of(args.out, plan, data)
    if work is not None and found is not None:
        return variant_cost.from_runs(left, found)
    print("Counting what a run is trained on, and measuring a few steps of each variant.", flush=True)
    prepared = Prepared.of(args.data, args.dev, TrainConfig(**plan.train_options(SEEDS[0])))
    counted = prepared.work
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / WORK, counted._asdict() | {"of": work_key(plan, data)})
    print(
        f"A run is {counted.steps:,} steps over {counted.target_tokens:,} target tokens of {counted.pairs:,} pairs "
        f"({plan.training['epochs']} epochs)."
    )
    if found is not None:
        return variant_cost.from_runs(left, found)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in left}
    speeds = tokens_per_second(chosen, prepared, FEW, device)
    print("Target tokens a second: " + ", ".join(f"{name} {each:,.0f}" for name, each in speeds.items()) + ".")
    return variant_cost.from_speed(left, counted.target_tokens, speeds)
