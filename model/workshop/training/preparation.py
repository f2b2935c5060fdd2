"""The data of a task, prepared for the training loop: vocabularies, examples, loss, validation and optimizer."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import nn

from ...checkpoint import Checkpoint
from ...config import MAX_TOKENS, SCHEMES, ModelConfig, TrainConfig
from ...device import has_bfloat16
from ...text.corpus_stats import CorpusStats
from ...text.tokenizer import Tokenizer
from ..corpus.corpus import Batch
from .loss_and_validation import Loss, Validator
from .recording import ProbeSentence
from .run_folder import RunFiles, TrainingError
from .snapshots import SampleWriter
from .tasks import TrainingTask

DROPOUTS = ("dropout", "attention_dropout")  # model options that can change with --init


class Examples(Protocol):
    """The training examples of an epoch."""

    def __len__(self) -> int:
        """Returns the number of examples."""

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of tokens that are predicted in some examples."""

    def batch(self, indices: Sequence[int]) -> Batch:
        """Returns some of the examples, padded to one length."""


class Epochs(Protocol):
    """The examples of every epoch and the order of their batches. Both depend on the settings only."""

    def corpus(self, epoch: int) -> Examples:
        """Returns the training examples of an epoch."""

    def batches(self, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch."""


@dataclass(frozen=True)
class TrainingSetup:
    """The input of a task's `prepare`: files, settings, and the checkpoint that a run starts from, if any."""

    task: TrainingTask
    files: RunFiles
    options: dict[str, Any]  # fields of ModelConfig that the user sets
    config: TrainConfig
    start: Checkpoint | None = None
    languages: tuple[str, str] | None = None

    def vocabulary(self, learn: Callable[[], tuple[Tokenizer, Tokenizer]]) -> tuple[Tokenizer, Tokenizer]:
        """Returns the source and target vocabularies, from the initial checkpoint or learned."""
        return learn() if self.start is None else (self.start.source_tokenizer, self.start.target_tokenizer)

    def model(self, source: Tokenizer, target: Tokenizer) -> ModelConfig:
        """Returns the config of the model. Raises TrainingError if the initial checkpoint has another family."""
        if self.start is None:
            sizes = {"source_vocab": source.size, "target_vocab": target.size}
            return ModelConfig(**(sizes | {"family": self.task.family} | dict(self.task.model) | self.options))
        if self.start.config.family != self.task.family:
            raise TrainingError(
                f"--init {self.start.name} is {self.start.config.family}; expected {self.task.family} for "
                f"--task {self.task.name}."
            )
        return replace(self.start.config, **self.options)  # `check_options` allows dropout only


@dataclass(frozen=True)
class TrainingData:
    """The files of a task, read and encoded."""

    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    model: ModelConfig
    epochs: Epochs
    dev: Validator
    loss: Loss
    size: dict[str, int]  # size of the training data, for metrics.json
    description: str  # the size as text
    counts: dict[str, tuple[int, ...]]  # of each token, by side
    seen: Callable[[int], CorpusStats | None] = lambda epoch: None  # statistics of an epoch
    watched: list[ProbeSentence] = field(default_factory=list)  # recorded during training
    write_samples: SampleWriter | None = None  # computes the model's outputs for these
    card: Callable[[Checkpoint], str] | None = None  # writes the model card


def prepare(setup: TrainingSetup) -> TrainingData:
    """Returns the data of a task. Raises DataError for a bad file and ValueError for settings that do not fit."""
    return importlib.import_module(setup.task.module, __package__).prepare(setup)


def check_options(options: dict[str, Any], init: str | None) -> None:
    """Raises TrainingError for model options that no run can have: too few positions, or with `init` any but dropout."""
    has_table = SCHEMES[options.get("positions", ModelConfig.positions)].has_table
    if has_table and options.get("max_positions", ModelConfig.max_positions) < MAX_TOKENS:
        raise TrainingError(
            f"max_positions is {options['max_positions']}; expected at least {MAX_TOKENS} for learned positions, "
            "the longest text that is translated."
        )
    if init and (wrong := [name for name in options if name not in DROPOUTS]):
        raise TrainingError(f"--init uses the model of {init}, of which only dropout can change; remove {', '.join(wrong)}.")


def learn_vocabularies(pairs: list[tuple[str, str]], size: int, joint: bool) -> tuple[Tokenizer, Tokenizer]:
    """Returns the vocabularies of both sides, at most `size` tokens each. A joint vocabulary is returned twice.

    Raises ValueError if the size is too small.
    """
    if joint:
        both = Tokenizer.train((text for pair in pairs for text in pair), size)
        return both, both
    return Tokenizer.train((s for s, _ in pairs), size), Tokenizer.train((t for _, t in pairs), size)


def copy_parameters(model: nn.Module, start: nn.Module) -> None:
    """Copies parameters by name from another module. Parameters without a counterpart stay as initialised."""
    own = {name for name, _ in model.named_parameters()}  # the first of tied parameters
    model.load_state_dict({name: each for name, each in start.state_dict().items() if name in own}, strict=False)


def build_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Adam:
    """Returns the optimizer of Vaswani et al. 2017, section 5.3. The loop sets the rate at every step."""
    return torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, weight_decay=config.weight_decay, fused=True)


def autocast_context(config: TrainConfig, device: torch.device) -> torch.autocast:
    """Returns the autocast context of a step: bfloat16 if it is requested, or with `auto` if the device supports it."""
    half = config.precision == "bfloat16" or (config.precision == "auto" and has_bfloat16(device))
    return torch.autocast(device.type, torch.bfloat16, enabled=half)
