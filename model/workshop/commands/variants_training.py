"""python -m model variants: every run that is not there yet, one after another, and the record after each.

python -m model variants: what the runs that are left will cost, told before they begin."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from model.io.numbers import Parser
from model.variants.designs import SEEDS, VARIANTS, Plan
from model.variants.record import FILE, Variants
from model.workshop.commands import evaluate, options, train

if TYPE_CHECKING:
    from model.variants.record import Variants
    from model.workshop.reports.variant_runs import Cost, VariantRun

FEW = 3  # rounds of an estimate


def cost(
    args: argparse.Namespace, plan: Plan, left: Sequence[VariantRun], data: dict[str, str], found: Variants | None
) -> Cost:
    """What the runs that are left will take. Counts the work of a run, and keeps it for the record; where no run has ended
    yet, measures a few steps of each variant."""
    from model.checkpoint import write_json
    from model.config import TrainConfig
    from model.workshop.reports import variant_runs
    from model.workshop.reports.training_speed import Prepared, tokens_per_second
    from model.workshop.reports.variant_runs import WORK, work_key, work_of

    device, work = options.machine(args), work_of(args.out, plan, data)
    if work is not None and found is not None:
        return variant_runs.from_runs(left, found)
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
        return variant_runs.from_runs(left, found)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in left}
    speeds = tokens_per_second(chosen, prepared, FEW, device)
    print("Target tokens a second: " + ", ".join(f"{name} {each:,.0f}" for name, each in speeds.items()) + ".")
    return variant_runs.from_speed(left, counted.target_tokens, speeds)


BEAM = 4
Commands = Callable[["VariantRun"], dict[str, list[str]]]  # the options of `train` and of `evaluate` for a run


def data_of(args: argparse.Namespace) -> dict[str, str]:
    """SHA-256 of the three files."""
    from model.workshop.corpus.corpus import file_hash

    return {"train": file_hash(args.data), "dev": file_hash(args.dev), "test": file_hash(args.test)}


def collected(args: argparse.Namespace, plan: Plan, data: dict[str, str]) -> Variants | None:
    """The record of what is there of the usual seeds, and of others that are asked for; written, where there is any. Raises
    ValueError where a run was made with other settings."""
    from model.checkpoint import write_json
    from model.decoding.strategy import Decoding
    from model.workshop.reports.variant_runs import collect, runs_of

    seeds = sorted({*SEEDS, *(args.seed or ())})
    decoding = {"beam": BEAM, "alpha": Decoding.alpha}
    found = collect(runs_of(args.out, VARIANTS, seeds), args.out, plan, data, decoding)
    if found is not None:
        Variants.from_dict(json.loads(json.dumps(found.to_dict())))  # what could not be read again is not written
        write_json(args.out / FILE, found.to_dict())
    return found


def left_of(runs: Sequence[VariantRun], found: Variants | None) -> list[VariantRun]:
    """Those without scores."""
    scored = {(each.name, run.seed) for each in found.variants for run in each.runs} if found else set()
    return [run for run in runs if (run.variant.name, run.seed) not in scored]


def train_all(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun], commands: Commands) -> None:
    """Trains and scores. A run that fails is told of and kept in the record, and the next one begins; two in a row end it.
    Raises ValueError with what failed."""
    data, began = data_of(args), time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    found = collected(args, plan, data)
    left, failed, in_a_row = left_of(runs, found), [], 0
    if len(left) < len(runs):
        print(f"{len(runs) - len(left)} of {len(runs)} runs are trained and scored already", flush=True)
    if left and args.max_minutes != 0:
        print(cost(args, plan, left, data, found).told(), flush=True)
    for number, each in enumerate(left, 1):
        minutes = None if args.max_minutes is None else args.max_minutes - (time.monotonic() - began) / 60
        if minutes is not None and minutes <= 0:
            print(f"the time is up with {len(left) - number + 1} of {len(runs)} runs to go: the same command goes on")
            break
        if each.is_taken or not left_of([each], collected(args, plan, data)):
            print(f"{each.variant.title}, seed {each.seed}: another process is at it, or has done it", flush=True)
            continue
        print(f"{each.variant.title}, seed {each.seed}: run {number} of the {len(left)} that were left", flush=True)
        each.begin()
        try:
            is_done = _one(each, commands(each), minutes)
        except train.Unsaved as fault:
            print(f"{each.variant.title}, seed {each.seed}: {_line(fault)}", flush=True)
            raise KeyboardInterrupt from fault
        except (ValueError, OSError, RuntimeError, MemoryError) as fault:
            failed.append(f"{each.folder.name}: {_line(fault)}")
            in_a_row += 1
            each.fail(_line(fault))
            print(f"{each.variant.title}, seed {each.seed}, failed: {_line(fault)}", flush=True)
            found = collected(args, plan, data)
            if in_a_row == 2:
                break
            continue
        if not is_done:
            if minutes is None or time.monotonic() - began < 60 * args.max_minutes:
                raise KeyboardInterrupt  # the run was asked to stop, and has saved itself
            print(f"the time is up with {len(left) - number + 1} of {len(runs)} runs to go: the same command goes on")
            break
        in_a_row, found = 0, collected(args, plan, data)
        print(_progress(found, each, len(left) - number), flush=True)
    found = collected(args, plan, data)
    print(told(found) if found else "no run has come to its end")
    if failed:
        raise ValueError(f"{len(failed)} of {len(runs)} runs failed ({'; '.join(failed)}); the same command tries again")


def _one(run: VariantRun, commands: dict[str, list[str]], minutes: float | None) -> bool:
    """Trains where that is not done yet, and scores; False where the training was stopped before its end."""
    if not run.is_trained:
        _called(train, "train", commands["train"] + ([] if minutes is None else ["--max-minutes", str(minutes)]))
    if not run.is_trained:
        return False
    _called(evaluate, "evaluate", commands["evaluate"])
    return True


def _called(command: ModuleType, name: str, words: list[str]) -> None:
    parser = Parser(prog=f"python -m model {name}")
    command.add(parser)
    command.run(parser.parse_args(words))


def _line(fault: BaseException) -> str:
    return " ".join(str(fault).split())[:400] or type(fault).__name__


def _progress(found: Variants | None, run: VariantRun, left: int) -> str:
    """What came of a run, and how much there is to go."""
    own = found and found.find(run.variant.name)
    scored = next((each for each in own.runs if each.seed == run.seed), None) if own else None
    if scored is None:
        return f"{run.folder} is trained and has no scores yet"
    return (
        f"{run.variant.title}, seed {run.seed}: BLEU {scored.bleu:.2f}, chrF {scored.chrf:.2f}, dev loss "
        f"{scored.dev_loss:.4f} after {scored.steps:,} steps in {scored.minutes} min; {left} to go"
    )


def told(found: Variants) -> str:
    """The table, for reading."""
    lines = [f"{'':<20}{'parameters':>11}{'BLEU':>8}{'range':>16}{'chrF':>8}{'range':>16}{'dev loss':>10}{'seeds':>7}"]
    for each in found.variants:
        bleu, chrf, loss = (each.spread(score) for score in ("bleu", "chrf", "dev_loss"))
        ranges = [f"{f'{s.low:.2f} to {s.high:.2f}':>16}" for s in (bleu, chrf)]
        lines.append(
            f"{each.title:<20}{each.parameters:>11,}{bleu.mean:>8.2f}{ranges[0]}{chrf.mean:>8.2f}{ranges[1]}"
            f"{loss.mean:>10.4f}{bleu.seeds:>7}"
        )
    lacking = [f"{len(found.missing)} of {len(found.missing) + found.runs} runs are not there yet."] if found.missing else []
    return "\n".join([*lines, found.told, *lacking])
