"""Training speed of several models.

Each trains on the same batch before the next batch, so all share other load equally.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

from ...config import ModelConfig, TrainConfig
from ...device import keep_freed_memory
from ...network.transformer import build
from ..training.loss_and_validation import Objective, learning_rate
from ..training.preparation import Examples, TrainingData, TrainingSetup, autocast_context, build_optimizer, prepare
from ..training.run_folder import RunFiles
from ..training.tasks import get_task

WARMUP_ROUNDS = 2  # rounds that do not count, for allocation and choice of kernels


class TrainingWork(NamedTuple):
    """Size of one full run."""

    pairs: int
    steps: int
    target_tokens: int


@dataclass(frozen=True)
class PreparedRun:
    """Data and settings of a run."""

    material: TrainingData
    config: TrainConfig

    @classmethod
    def from_files(cls, train: Path, dev: Path, config: TrainConfig) -> PreparedRun:
        """Reads the files and learns the vocabulary; raises DataError where a file is invalid or has no pair within the
        text limit."""
        task = get_task("translate")
        order = TrainingSetup(task, RunFiles.single(train, dev), {}, config, languages=task.languages)
        return cls(prepare(order), config)

    @property
    def work(self) -> TrainingWork:
        """Steps and target tokens of all epochs."""
        epochs = self.material.epochs
        every = [(epoch, batch) for epoch in range(self.config.epochs) for batch in epochs.batches(epoch)]
        tokens = sum(epochs.corpus(epoch).tokens(batch) for epoch, batch in every)
        return TrainingWork(self.material.size["pairs"], len(every), tokens)


def tokens_per_second(
    options: Mapping[str, Mapping[str, object]],
    prepared: PreparedRun,
    rounds: int,
    device: torch.device,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, float]:
    """Returns the target tokens per second of a full training step, the median over rounds, by name.

    `options` has fields of `ModelConfig` without the vocabulary.
    """
    keep_freed_memory()
    material, config = prepared.material, prepared.config
    corpus, batches = material.epochs.corpus(0), material.epochs.batches(0)
    sizes = {"source_vocab": material.source_tokenizer.size, "target_vocab": material.target_tokenizer.size}
    steps = {}
    for name, fields in options.items():
        torch.manual_seed(config.seed)
        steps[name] = _build_step(build(ModelConfig(**sizes, **fields)).to(device), corpus, config, device)
    speeds_by_name = {name: [] for name in options}
    for number in range(WARMUP_ROUNDS + rounds):
        indices = batches[number % len(batches)]
        names = (
            list(options)[number % len(options) :] + list(options)[: number % len(options)]
        )  # rotates, so each is first equally often
        for name in names:
            began = time.perf_counter()
            tokens = steps[name](indices)
            speeds_by_name[name].append(tokens / (time.perf_counter() - began))
        progress(1)
    return {name: round(statistics.median(speeds[WARMUP_ROUNDS:]), 1) for name, speeds in speeds_by_name.items()}


def _build_step(
    model: nn.Module, corpus: Examples, config: TrainConfig, device: torch.device
) -> Callable[[Sequence[int]], int]:
    """Returns a training step as in the trainer.

    The step returns the batch's target tokens after the device has finished.
    """
    objective, optimizer, precision = (
        Objective(model, config.label_smoothing),
        build_optimizer(model, config),
        autocast_context(config, device),
    )
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(config, 1, 1 + config.warmup)

    def step(indices: Sequence[int]) -> int:
        batch, tokens = corpus.batch(indices).to(device), corpus.tokens(indices)
        with precision:
            loss = objective(batch)
        (loss / tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()  # waits for the device
        return tokens

    return step
