"""Commands of training: train starts or continues a run, split makes the files of the shipped models."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from ...config import ModelConfig, TrainConfig, is_language
from ...io.files import short_repr
from ...text.languages import PAIR
from ..training.tasks import TRAINING_TASKS, get_task
from . import options
from .options import Command

if TYPE_CHECKING:
    from ..training.run import TrainingRun

HELP = "train a checkpoint, or continue a run"
DATA_HINT = (
    "Pairs of many languages: https://www.manythings.org/anki/ (sentences of tatoeba.org; the command reads the .zip). "
    "Reserve some lines as a dev file, which chooses the best weights."
)
SIGNAL_STATUS = 128  # plus the signal's number: exit status of a run that a signal stopped and that is saved
MAX_MINUTES = 1_000_000  # nearly two years
# These follow from the task and its data.
DERIVED_FIELDS = ("source_vocab", "target_vocab", "family", "embedding_norm", "output_transform", "source_start")
DERIVED_FIELDS += ("segments", "pooler", "classes")


def add(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = f"Trains a checkpoint. {DATA_HINT}", DATA_HINT
    hint = "; ".join(f"{task.name}: {task.summary}" for task in TRAINING_TASKS.values())
    parser.add_argument("--task", choices=tuple(TRAINING_TASKS), default="translate", help=f"{hint} (default: %(default)s)")
    hint = "; ".join(f"{task.name}: {task.examples}" for task in TRAINING_TASKS.values())
    files: dict[str, Any] = {"type": Path, "nargs": "+", "required": True, "metavar": "FILE"}
    parser.add_argument("--data", help=f"one or several training files. {hint}", **files)
    hint = "dev files in the same format, which choose the best weights; one file for translate"
    parser.add_argument("--dev", help=hint, **files)
    hint = "folder of the run; the same command continues it"
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help=hint)
    hint = "sentences to record during training (default: the project's own): name TAB source TAB target; "
    hint += "lm and classify: name TAB text; mlm: the same with a word in [brackets]"
    parser.add_argument("--probes", type=Path, metavar="FILE", help=hint)
    hint = "contrasts of evaluate --contrast, whose share of likelier right translations each validation logs; for translate"
    parser.add_argument("--contrast", type=Path, metavar="FILE", help=hint)
    hint = "start from these weights and this vocabulary; of the model options only dropout can change"
    parser.add_argument("--init", metavar="CHECKPOINT", help=hint)
    hint = "learn the mean of the probabilities of these checkpoints too, which share the vocabulary; for translate"
    parser.add_argument("--teachers", nargs="+", default=[], metavar="CHECKPOINT", help=hint)
    names = ",".join(TRAINING_TASKS["translate"].languages)
    parser.add_argument("--languages", help=f"two displayed names (default for translate: {names})")
    parser.add_argument("--max-minutes", type=float, metavar="N", help="stop after N minutes; the same command continues")
    options.add_machine(parser)
    options.add_fields(parser.add_argument_group("model"), ModelConfig, skip=DERIVED_FIELDS)
    options.add_fields(parser.add_argument_group("training"), TrainConfig)


def run(args: argparse.Namespace) -> int:
    from ..training.run import RunFiles, TrainingRun

    task = get_task(args.task)
    languages = tuple(args.languages.split(",")) if args.languages is not None else task.languages
    usual = ",".join(PAIR)
    if len(languages) != 2 or not all(map(is_language, languages)):
        raise ValueError(
            f"--languages is {short_repr(args.languages)}; expected two names with a comma between, such as {usual}"
        )
    if args.max_minutes is not None and not 0 <= args.max_minutes <= MAX_MINUTES:
        raise ValueError(f"--max-minutes is {args.max_minutes}; expected 0 to {MAX_MINUTES:,}")
    fields = [name for name in ModelConfig.__dataclass_fields__ if name not in DERIVED_FIELDS]
    chosen, learned = (
        options.explicit_options(args, fields),
        options.explicit_options(args, TrainConfig.__dataclass_fields__),
    )
    task.check(chosen | learned, {"data": len(args.data), "dev": len(args.dev)})
    if args.contrast and args.task != "translate":
        raise ValueError(f"--contrast compares translations, and --task is {args.task}; leave --contrast out")
    if args.teachers and args.task != "translate":
        raise ValueError(f"--teachers works for translation, and --task is {args.task}; leave --teachers out")
    for option, paths in (("--data", args.data), ("--dev", args.dev)):
        if twice := next((path for n, path in enumerate(paths) if path.resolve() in {p.resolve() for p in paths[:n]}), None):
            raise ValueError(f"{option} names {short_repr(str(twice))} twice; name each file once")
    config = TrainConfig(**(dict(task.training) | learned))
    sizes = {"source_vocab": 260, "target_vocab": 260, "family": task.family}
    ModelConfig(**(sizes | dict(task.model) | chosen))  # reports faults before the data is read
    device = options.machine(args)
    files = RunFiles(tuple(args.data), tuple(args.dev), args.probes, args.contrast)
    training_run = TrainingRun(args.out, files, chosen, config, device, languages, args.init, task.name, args.teachers)
    if training_run.group.is_first:
        _introduce(training_run)
    with _stop_on_signals(training_run) as signals:
        try:
            ended = training_run.train(args.max_minutes, args.quiet)
        except (OSError, ValueError, RuntimeError) as fault:
            if training_run.stop_requested:
                raise UnsavedRunError(f"the stopped run could not be saved: {fault}") from fault
            raise
    if training_run.group.is_first:
        checkpoint = args.out / "checkpoint"
        if ended:
            print(f"finished: the best weights are in {checkpoint}")
        else:
            so_far = f"; the best weights so far are in {checkpoint}" if checkpoint.exists() else ""
            step = training_run.progress.step
            print(f"saved at step {step} of {training_run.total}; the same command continues the run{so_far}")
    training_run.leave()
    return SIGNAL_STATUS + signals[0] if signals and not ended else 0


class UnsavedRunError(ValueError):
    """A stopped run failed before it was saved."""


def _introduce(run: TrainingRun) -> None:
    """Prints the size of the training in a line, and a warning where the warm-up is too long."""
    where = f"{run.device}" + (f", {run.group.size} processes" if run.group.size > 1 else "")
    print(f"{run.material.description}; {run.model.parameter_count:,} parameters; on {where}; {run.total} steps")
    if run.progress.step:
        print(f"continues at step {run.progress.step}")
    if run.total <= run.config.warmup:
        print(
            f"the run has {run.total} steps, and its warm-up {run.config.warmup}, so the learning rate never falls; give "
            f"--warmup {max(1, run.total // 10)}, or more --epochs or data",
            file=sys.stderr,
        )


@contextlib.contextmanager
def _stop_on_signals(run: TrainingRun) -> Iterator[list[int]]:
    """Makes Ctrl+C and SIGTERM stop the run after its current step; yields the list of received signals."""
    numbers, received = (signal.SIGINT, signal.SIGTERM), list[int]()

    def stop(number: int, _: FrameType | None) -> None:
        run.stop_requested = True
        received.append(number)

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield received
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


SPLIT_HELP = "make the train, dev and test files of the shipped translation models from fra-eng.zip"


def add_split(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Writes train.tsv.gz, dev.tsv.gz and test.tsv.gz from fra-eng.zip of 2019-04-07 (https://www.manythings.org/anki/). "
        "Each English sentence, without case and punctuation, belongs to one split by the SHA-256 lists of the lab. "
        "Sentences in no list are dropped. Rows are sorted. The scores in the model cards refer to these files."
    )
    parser.add_argument("zip", type=Path, metavar="fra-eng.zip", help="the publisher's file of 2019-04-07")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder for the three new files")


def run_split(args: argparse.Namespace) -> None:
    from ..corpus.tatoeba_split import SplitLists, split_zip

    for path, rows, is_equal in split_zip(args.zip, args.out, SplitLists.load()).values():
        content = "the rows of the model cards" if is_equal else "not the rows of the model cards: scores will differ"
        print(f"{path}: {rows:,} rows, {content}")


SPLIT = Command(SPLIT_HELP, add_split, run_split)
