"""python -m model variants: trains and scores all remaining runs, and updates the record after each.

It prints the estimated cost first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from ...io.numbers import Parser
from ...io.package_names import COMMAND
from ...variants.designs import SEEDS, VARIANTS, Plan
from ...variants.record import FILE, Variants
from . import evaluate, options, train

if TYPE_CHECKING:
    from ..reports.variant_runs import CostEstimate, VariantRun

ESTIMATE_ROUNDS = 3  # rounds of training for an estimate


def estimate_cost(
    args: argparse.Namespace, plan: Plan, remaining: Sequence[VariantRun], data: dict[str, str], record: Variants | None
) -> CostEstimate:
    """Estimates the cost of the remaining runs.

    Counts the work of a run and stores it for the record. Without a finished run, measures a few steps of each variant.
    """
    from ...checkpoint import write_json
    from ...config import TrainConfig
    from ..reports import variant_runs
    from ..reports.training_speed import PreparedRun, tokens_per_second
    from ..reports.variant_runs import WORK, work_key, work_of

    device, work = options.machine(args), work_of(args.out, plan, data)
    if work is not None and record is not None:
        return variant_runs.estimate_from_runs(remaining, record)
    print("Counting the steps of a run, and measuring the speed of each variant.", flush=True)
    prepared = PreparedRun.from_files(args.data, args.dev, TrainConfig(**plan.train_options(SEEDS[0])))
    counted = prepared.work
    args.out.mkdir(parents=True, exist_ok=True)
    write_json(args.out / WORK, counted._asdict() | {"of": work_key(plan, data)})
    print(
        f"A run is {counted.steps:,} steps over {counted.target_tokens:,} target tokens of {counted.pairs:,} pairs "
        f"({plan.training['epochs']} epochs)."
    )
    if record is not None:
        return variant_runs.estimate_from_runs(remaining, record)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in remaining}
    speeds = tokens_per_second(chosen, prepared, ESTIMATE_ROUNDS, device)
    print("Target tokens a second: " + ", ".join(f"{name} {each:,.0f}" for name, each in speeds.items()) + ".")
    return variant_runs.estimate_from_speed(remaining, counted.target_tokens, speeds)


BEAM = 4
Commands = Callable[["VariantRun"], dict[str, list[str]]]  # the options of `train` and of `evaluate` for a run


def data_hashes(args: argparse.Namespace) -> dict[str, str]:
    """Returns the SHA-256 of the three files."""
    from ..corpus.corpus import file_hash

    return {"train": file_hash(args.data), "dev": file_hash(args.dev), "test": file_hash(args.test)}


def update_record(args: argparse.Namespace, plan: Plan, data: dict[str, str]) -> Variants | None:
    """Returns and writes the record of the usual and requested seeds; None where no run is scored.

    Raises ValueError where a run has other settings.
    """
    from ...checkpoint import write_json
    from ...decoding.strategy import Decoding
    from ..reports.variant_runs import collect, runs_of

    seeds = sorted({*SEEDS, *(args.seed or ())})
    decoding = {"beam": BEAM, "alpha": Decoding.alpha}
    record = collect(runs_of(args.out, VARIANTS, seeds), args.out, plan, data, decoding)
    if record is not None:
        Variants.from_dict(json.loads(json.dumps(record.to_dict())))  # unreadable records are not written
        write_json(args.out / FILE, record.to_dict())
    return record


def remaining_runs(runs: Sequence[VariantRun], record: Variants | None) -> list[VariantRun]:
    """Returns the runs without scores."""
    done = {(each.name, run.seed) for each in record.variants for run in each.runs} if record else set()
    return [run for run in runs if (run.variant.name, run.seed) not in done]


def train_all(args: argparse.Namespace, plan: Plan, runs: Sequence[VariantRun], commands: Commands) -> None:
    """Trains and scores all remaining runs. A failed run is recorded and skipped; two failures in a row stop the command.

    Raises ValueError with the failures.
    """
    data, began = data_hashes(args), time.monotonic()
    args.out.mkdir(parents=True, exist_ok=True)
    record = update_record(args, plan, data)
    remaining, failed, failures_in_a_row = remaining_runs(runs, record), [], 0
    if len(remaining) < len(runs):
        print(f"{len(runs) - len(remaining)} of {len(runs)} runs are trained and scored already", flush=True)
    if remaining and args.max_minutes != 0:
        print(estimate_cost(args, plan, remaining, data, record).describe(), flush=True)
    for number, each in enumerate(remaining, 1):
        minutes = None if args.max_minutes is None else args.max_minutes - (time.monotonic() - began) / 60
        if minutes is not None and minutes <= 0:
            print(f"the time is up with {len(remaining) - number + 1} of {len(runs)} runs left; the same command continues")
            break
        if each.is_locked or not remaining_runs([each], update_record(args, plan, data)):
            print(f"{each.variant.title}, seed {each.seed}: another process trains it or has finished it", flush=True)
            continue
        print(f"{each.variant.title}, seed {each.seed}: run {number} of {len(remaining)} remaining runs", flush=True)
        each.clear_failure()
        try:
            is_done = _run_one(each, commands(each), minutes)
        except train.UnsavedRunError as fault:
            print(f"{each.variant.title}, seed {each.seed}: {_one_line(fault)}", flush=True)
            raise KeyboardInterrupt from fault
        except (ValueError, OSError, RuntimeError, MemoryError) as fault:
            failed.append(f"{each.folder.name}: {_one_line(fault)}")
            failures_in_a_row += 1
            each.record_failure(_one_line(fault))
            print(f"{each.variant.title}, seed {each.seed}, failed: {_one_line(fault)}", flush=True)
            record = update_record(args, plan, data)
            if failures_in_a_row == 2:
                break
            continue
        if not is_done:
            if minutes is None or time.monotonic() - began < 60 * args.max_minutes:
                raise KeyboardInterrupt  # a signal stopped the run, which is saved
            print(f"the time is up with {len(remaining) - number + 1} of {len(runs)} runs left; the same command continues")
            break
        failures_in_a_row, record = 0, update_record(args, plan, data)
        print(_progress_line(record, each, len(remaining) - number), flush=True)
    record = update_record(args, plan, data)
    print(format_table(record) if record else "no run is finished")
    if failed:
        raise ValueError(f"{len(failed)} of {len(runs)} runs failed ({'; '.join(failed)}); the same command tries again")


def _run_one(run: VariantRun, commands: dict[str, list[str]], minutes: float | None) -> bool:
    """Trains a run where necessary, and scores it; returns False where the training stopped early."""
    if not run.is_trained:
        _call_command(train, "train", commands["train"] + ([] if minutes is None else ["--max-minutes", str(minutes)]))
    if not run.is_trained:
        return False
    _call_command(evaluate, "evaluate", commands["evaluate"])
    return True


def _call_command(command: ModuleType, name: str, words: list[str]) -> None:
    parser = Parser(prog=f"{COMMAND} {name}")
    command.add(parser)
    options.add_quiet(parser)
    command.run(parser.parse_args(words))


def _one_line(fault: BaseException) -> str:
    return " ".join(str(fault).split())[:400] or type(fault).__name__


def _progress_line(record: Variants | None, run: VariantRun, remaining: int) -> str:
    """Describes the scores of a run, and the number of remaining runs."""
    own = record and record.find(run.variant.name)
    scored = next((each for each in own.runs if each.seed == run.seed), None) if own else None
    if scored is None:
        return f"{run.folder} is trained, but not scored yet"
    return (
        f"{run.variant.title}, seed {run.seed}: BLEU {scored.bleu:.2f}, chrF {scored.chrf:.2f}, dev loss "
        f"{scored.dev_loss:.4f} after {scored.steps:,} steps in {scored.minutes} min; {remaining} left"
    )


def format_table(record: Variants) -> str:
    """Formats the record as a table."""
    lines = [f"{'':<20}{'parameters':>11}{'BLEU':>8}{'range':>16}{'chrF':>8}{'range':>16}{'dev loss':>10}{'seeds':>7}"]
    for each in record.variants:
        bleu, chrf, loss = (each.spread(score) for score in ("bleu", "chrf", "dev_loss"))
        ranges = [f"{f'{s.low:.2f} to {s.high:.2f}':>16}" for s in (bleu, chrf)]
        lines.append(
            f"{each.title:<20}{each.parameters:>11,}{bleu.mean:>8.2f}{ranges[0]}{chrf.mean:>8.2f}{ranges[1]}"
            f"{loss.mean:>10.4f}{bleu.seeds:>7}"
        )
    lacking = [f"{len(record.missing)} of {len(record.missing) + record.runs} runs are missing."] if record.missing else []
    return "\n".join([*lines, record.explanation, *lacking])
