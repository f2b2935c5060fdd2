"""python -m model variants: designs of one model, trained alike with several seeds, one run after another."""

from __future__ import annotations

import argparse
import json
import shlex
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from model.arguments import Parser
from model.commands import evaluate, options, train
from model.variants.declared import PLAN, SEEDS, VARIANTS, Plan
from model.variants.record import FILE, Variants

if TYPE_CHECKING:
    from model.experiments.variant_runs import VariantRun

HELP = "train the designs of 2017, of today and others alike, and compare them"
BEAM = 4
ROUNDS = 20
ABOUT = (
    "Trains each variant with each seed, one after another, scores it on the test pairs, and writes what came out into "
    f"{FILE} in --out. Stopped or killed, the same command goes on where it was. Variants: "
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.description = ABOUT + "; ".join(f"{each.name}: {each.says}" for each in VARIANTS.values()) + "."
    hint = "training pairs: .tsv, .tsv.gz or .zip, source TAB target"
    parser.add_argument("--data", type=Path, required=True, metavar="FILE", help=hint)
    parser.add_argument("--dev", type=Path, required=True, metavar="FILE", help="dev pairs, in the same form")
    parser.add_argument("--test", type=Path, required=True, metavar="FILE", help="test pairs, in the same form")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of all runs, each in one of its own"
    )
    hint = "only this variant (may be given several times)"
    parser.add_argument("--only", action="append", choices=tuple(VARIANTS), metavar="NAME", help=hint)
    hint = f"only this seed (may be given several times; default: {', '.join(map(str, SEEDS))})"
    parser.add_argument("--seed", action="append", type=int, metavar="N", help=hint)
    parser.add_argument("--languages", default="English,French", help="two names, for display (default: %(default)s)")
    parser.add_argument("--max-minutes", type=float, metavar="N", help="stop, resumably, after so many minutes")
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--commands", action="store_true", help="print the commands of all runs, and train nothing")
    hint = f"measure how fast each variant trains, all in turn over N rounds (default: {ROUNDS}), and train nothing"
    other.add_argument("--speed", type=int, nargs="?", const=ROUNDS, metavar="N", help=hint)
    options.add_machine(parser)
    group = parser.add_argument_group("what all variants have in common")
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
        _measure_speed(args, plan, runs)
    else:
        _train(args, plan, runs)


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


def _called(command: ModuleType, name: str, words: list[str]) -> None:
    parser = Parser(prog=f"python -m model {name}")
    command.add(parser)
    command.run(parser.parse_args(words))


def _train(args: argparse.Namespace, plan: Plan, runs: list[VariantRun]) -> None:
    """Every run that is not there yet; the record after each."""
    from model.decoding.strategy import Decoding
    from model.experiments.variant_runs import collect, runs_of
    from model.text.corpus import file_hash

    data = {"train": file_hash(args.data), "dev": file_hash(args.dev), "test": file_hash(args.test)}
    decoding = {"beam": BEAM, "alpha": Decoding.alpha}
    args.out.mkdir(parents=True, exist_ok=True)
    every, began, found = runs_of(args.out, VARIANTS, _seeds(args)), time.monotonic(), None
    for number, each in enumerate(runs, 1):
        if each.scores(plan, data, decoding) is not None:
            continue
        commands = _commands(args, plan, each)
        left = None if args.max_minutes is None else args.max_minutes - (time.monotonic() - began) / 60
        if left is not None and left <= 0:
            print("the time is up: the same command goes on")
            break
        print(f"{each.variant.title}, seed {each.seed}: run {number} of {len(runs)}", flush=True)
        if not each.is_trained:
            _called(train, "train", commands["train"] + ([] if left is None else ["--max-minutes", str(left)]))
        if not each.is_trained:
            if left is None or time.monotonic() - began < 60 * args.max_minutes:
                raise KeyboardInterrupt  # the run was asked to stop, and has saved itself
            break
        _called(evaluate, "evaluate", commands["evaluate"])
        _write(args.out, collect(every, args.out, plan, data, decoding))
    found = collect(every, args.out, plan, data, decoding)
    _write(args.out, found)
    print(_told(found) if found else "no run has come to its end")


def _seeds(args: argparse.Namespace) -> list[int]:
    """Those whose runs belong to the record: the usual ones, and others that are asked for."""
    return sorted({*SEEDS, *(args.seed or ())})


def _write(out: Path, found: Variants | None) -> None:
    from model.checkpoint import write_json

    if found is not None:
        Variants.from_dict(json.loads(json.dumps(found.to_dict())))  # what could not be read again is not written
        write_json(out / FILE, found.to_dict())


def _measure_speed(args: argparse.Namespace, plan: Plan, runs: list[VariantRun]) -> None:
    import torch
    from tqdm import tqdm

    from model.checkpoint import write_json
    from model.config import TrainConfig
    from model.experiments.training_speed import WARM, tokens_per_second
    from model.experiments.variant_runs import SPEED
    from model.text.corpus import read_pairs

    if args.speed < 1:
        raise ValueError(f"--speed is {args.speed}; expected at least 1 round")
    device = options.machine(args)
    chosen = {each.variant.name: plan.model_options(each.variant) for each in runs}
    config = TrainConfig(**plan.train_options(SEEDS[0]))
    with tqdm(total=WARM + args.speed, unit="round") as bar:
        found = tokens_per_second(chosen, read_pairs(args.data), config, args.speed, device, bar.update)
    args.out.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {"rounds": args.speed, "threads": torch.get_num_threads(), "device": device.type}
    write_json(args.out / SPEED, told | {"tokens_per_second": found})
    for name, speed in found.items():
        print(f"{name:<12}{speed:10,.0f} target tokens a second")


def _told(found: Variants) -> str:
    """The table, for reading."""
    lines = [f"{'':<20}{'parameters':>11}{'BLEU':>8}{'range':>16}{'chrF':>8}{'range':>16}{'dev loss':>10}{'seeds':>7}"]
    for each in found.variants:
        bleu, chrf, loss = (each.spread(score) for score in ("bleu", "chrf", "dev_loss"))
        ranges = [f"{f'{s.low:.2f} to {s.high:.2f}':>16}" for s in (bleu, chrf)]
        lines.append(
            f"{each.title:<20}{each.parameters:>11,}{bleu.mean:>8.2f}{ranges[0]}{chrf.mean:>8.2f}{ranges[1]}"
            f"{loss.mean:>10.4f}{bleu.seeds:>7}"
        )
    return "\n".join([*lines, found.told])
