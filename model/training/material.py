"""What a task makes of its files: all that the loop of training needs to know of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from model.checkpoint import Checkpoint
from model.config import ModelConfig, TrainConfig
from model.text.corpus import Batch
from model.text.seen import Seen
from model.text.tokenizer import Tokenizer
from model.training.loss import Loss
from model.training.recording import Sentence
from model.training.run_folder import Files, TrainingError
from model.training.snapshots import Writes
from model.training.tasks import TrainingTask
from model.training.validation import Validator


class Examples(Protocol):
    """What an epoch is trained on."""

    def __len__(self) -> int:
        """How many examples there are."""

    def tokens(self, rows: Sequence[int]) -> int:
        """How many tokens are predicted in some examples."""

    def batch(self, indices: Sequence[int]) -> Batch:
        """Some of the examples, padded to one length."""


class Epochs(Protocol):
    """The examples of every epoch and the order of their batches, which follow from the settings alone."""

    def corpus(self, epoch: int) -> Examples:
        """What an epoch is trained on."""

    def batches(self, epoch: int) -> list[list[int]]:
        """Its examples, batch by batch."""


@dataclass(frozen=True)
class Order:
    """What a task prepares its material from: the files, the settings, and the checkpoint that a run begins with, if any."""

    task: TrainingTask
    files: Files
    options: dict[str, Any]  # fields of the model's config that were given
    config: TrainConfig
    start: Checkpoint | None = None
    languages: tuple[str, str] | None = None

    def vocabulary(self, learn: Callable[[], tuple[Tokenizer, Tokenizer]]) -> tuple[Tokenizer, Tokenizer]:
        """The vocabularies of source and target: those of the checkpoint that the run begins with, else learned ones."""
        return learn() if self.start is None else (self.start.source_tokenizer, self.start.target_tokenizer)

    def model(self, source: Tokenizer, target: Tokenizer) -> ModelConfig:
        """The config of the model. TrainingError where the run begins with one of another family."""
        if self.start is None:
            sizes = {"source_vocab": source.size, "target_vocab": target.size}
            return ModelConfig(**(sizes | {"family": self.task.family} | dict(self.task.model) | self.options))
        if self.start.config.family != self.task.family:
            raise TrainingError(
                f"--init {self.start.name} is {self.start.config.family}; --task {self.task.name} trains a model that is "
                f"{self.task.family}."
            )
        return self.start.config


@dataclass(frozen=True)
class Material:
    """A task's files, read and encoded."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    model: ModelConfig
    epochs: Epochs
    dev: Validator
    loss: Loss
    size: dict[str, int]  # how much is trained on, for metrics.json
    told: str  # the same in words
    counts: dict[str, tuple[int, ...]]  # how often each token of each side stands in it
    seen: Callable[[int], Seen | None] = lambda epoch: None  # the examples of an epoch, counted, where that tells anything
    watched: list[Sentence] = field(default_factory=list)  # what is recorded through the training
    writes: Writes | None = None  # what the model makes of these
    card: Callable[[Checkpoint], str] | None = None  # the model card, where one is written


def prepare(order: Order) -> Material:
    """What the task of an order makes of its files; DataError for a bad file, ValueError for settings that do not fit."""
    return importlib.import_module(f"model.training.{order.task.module}").prepare(order)
