"""What a task makes of its files: all that the loop of training needs to know of them.

What a run is made of before its first step: its options are checked, its vocabularies learned."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import nn

from model.checkpoint import Checkpoint
from model.config import MAX_TOKENS, SCHEMES, ModelConfig, TrainConfig
from model.device import has_bfloat16
from model.text.corpus_stats import Seen
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import Batch
from model.workshop.training.loss import Loss
from model.workshop.training.recording import Sentence
from model.workshop.training.run_folder import Files, TrainingError
from model.workshop.training.snapshots import Writes
from model.workshop.training.tasks import TrainingTask
from model.workshop.training.validation import Validator


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
    return importlib.import_module(order.task.module).prepare(order)


def check_options(options: dict[str, Any], init: str | None) -> None:
    """TrainingError for options of a model that no run can have: too few positions, or any beside `init`."""
    has_table = SCHEMES[options.get("positions", ModelConfig.positions)].has_table
    if has_table and options.get("max_positions", ModelConfig.max_positions) < MAX_TOKENS:
        raise TrainingError(
            f"max_positions is {options['max_positions']}; expected at least {MAX_TOKENS} for learned positions, "
            "the longest text that is translated."
        )
    if init and options:
        raise TrainingError(f"--init takes the model of {init} as it is; leave out {', '.join(options)}.")


def vocabularies(pairs: list[tuple[str, str]], size: int, joint: bool) -> tuple[Tokenizer, Tokenizer]:
    """The vocabularies of both sides, of at most `size` tokens each; a joint one twice.

    Raises ValueError for a size that is too small.
    """
    if joint:
        both = Tokenizer.train((text for pair in pairs for text in pair), size)
        return both, both
    return Tokenizer.train((s for s, _ in pairs), size), Tokenizer.train((t for _, t in pairs), size)


def begin_with(model: nn.Module, start: nn.Module) -> None:
    """Gives a model those of its parameters that another has by the same name; the others stay as they were drawn."""
    own = {name for name, _ in model.named_parameters()}  # of tied ones the first alone
    model.load_state_dict({name: each for name, each in start.state_dict().items() if name in own}, strict=False)


def adam(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """The optimiser of Vaswani et al. 2017, section 5.3; the rate is set at every step."""
    return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay, fused=True)


def products(config: TrainConfig, device: torch.device) -> torch.autocast:
    """The precision of a step's products: bfloat16 where it is asked for, or fast and not refused."""
    half = config.precision == "bfloat16" or (config.precision == "auto" and has_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=half)
