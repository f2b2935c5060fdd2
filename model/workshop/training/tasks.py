"""The training tasks, one entry each. Imports no torch, so that the command line starts fast.

A task names the family of its model, the content of its files and its default settings. The `prepare` of its module reads
the files for the training loop (`preparation.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...io.files import short_repr
from ...text.languages import PAIR


@dataclass(frozen=True)
class TrainingTask:
    """A training task. `module` defines its `prepare`."""

    name: str  # for --task
    module: str
    family: str  # of the trained model
    summary: str  # for the command line
    examples: str  # content of its files
    languages: tuple[str, str]  # for display, by default
    repeatable: tuple[str, ...] = ()  # --data or --dev, if it may name several files
    model: Mapping[str, Any] = field(default_factory=dict)  # defaults of ModelConfig fields
    training: Mapping[str, Any] = field(default_factory=dict)  # defaults of TrainConfig fields
    unused_options: tuple[str, ...] = ()  # fields of either that it ignores

    def check(self, options: Mapping[str, Any], files: Mapping[str, int]) -> None:
        """Raises ValueError for an option that the task does not use, and for more files than it reads."""
        if unread := [name for name in options if name in self.unused_options]:
            raise ValueError(f"--{unread[0].replace('_', '-')} has no effect on --task {self.name}; remove it")
        for name, count in files.items():
            if count > 1 and name not in self.repeatable:
                raise ValueError(f"--{name} names {count} files; --task {self.name} reads one: {self.examples}")


PAIR_OPTIONS = (
    "joined_share",
    "renamed_share",
    "renumbered_share",
    "phrase_share",
    "typed_copies",
    "bpe_dropout",
    "first_target_epochs",
)  # settings for pairs of two languages
BLANK_OPTIONS = ("masked", "whole_words")  # settings for blanks
READER_MODEL = {"decoder_layers": 0, "source_start": True, "segments": 2, "pooler": True}  # a model that reads two sentences

TRAINING_TASKS: dict[str, TrainingTask] = {
    task.name: task
    for task in (
        TrainingTask(
            "translate",
            "..tasks.translation",
            "encoder-decoder",
            "translation, encoder-decoder",
            "pairs: .tsv, .tsv.gz or .zip, source TAB target",
            PAIR,
            repeatable=("data",),
            unused_options=(*BLANK_OPTIONS, "follows", "pooling"),
        ),
        TrainingTask(
            "lm",
            "..tasks.language_model",
            "decoder-only",
            "language model, like GPT",
            "text: .txt or .txt.gz, one paragraph per line",
            ("Text", "Continuation"),
            repeatable=("data", "dev"),
            model={"encoder_layers": 0, "decoder_layers": 6},
            training={"label_smoothing": 0.0},
            unused_options=("encoder_layers", "joint_vocab", *PAIR_OPTIONS, *BLANK_OPTIONS, "follows", "pooling"),
        ),
        TrainingTask(
            "mlm",
            "..tasks.filling",
            "encoder-only",
            "fills blanks and predicts if one sentence follows another, like BERT",
            "text: .txt or .txt.gz, one paragraph per line",
            ("Text", "Text"),
            repeatable=("data", "dev"),
            model={"encoder_layers": 6, "activation": "gelu", "output_transform": True, "output_bias": True, "follows": True}
            | READER_MODEL,
            training={"label_smoothing": 0.0},
            unused_options=("decoder_layers", "joint_vocab", "causal", *PAIR_OPTIONS),
        ),
        TrainingTask(
            "classify",
            "..tasks.judging",
            "encoder-only",
            "classifier of texts",
            "labelled texts: .tsv, .tsv.gz or .zip, label TAB text",
            ("Text", "Text"),
            model={"d_model": 128, "heads": 4, "encoder_layers": 2, "d_ff": 256, "dropout": 0.3, "activation": "gelu"}
            | {"decoder_layers": 0, "source_start": True, "pooler": True},
            unused_options=("decoder_layers", "joint_vocab", "causal", "follows", *PAIR_OPTIONS, *BLANK_OPTIONS),
        ),
    )
}


def get_task(name: str) -> TrainingTask:
    """Returns a task by name. Raises ValueError for an unknown name."""
    if name not in TRAINING_TASKS:
        raise ValueError(f"the task is {short_repr(name)}; expected one of {', '.join(TRAINING_TASKS)}")
    return TRAINING_TASKS[name]
