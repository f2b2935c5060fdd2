"""How fast several models train, in turn: each makes a step on the same batch before the next batch comes, so that whatever
else the machine does meets all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import nn

from model.config import ModelConfig, TrainConfig
from model.device import keep_freed_memory
from model.network.transformer import build
from model.text.corpus import Corpus
from model.training.loss import Objective, learning_rate
from model.training.prepare import adam, products, vocabularies

WARM = 2  # rounds that do not count: memory is taken for the first time, kernels are chosen


def tokens_per_second(
    options: Mapping[str, Mapping[str, object]],
    pairs: Sequence[tuple[str, str]],
    config: TrainConfig,
    rounds: int,
    device: torch.device,
    progress: Callable[[int], None] = lambda done: None,
) -> dict[str, float]:
    """Target tokens a second of a whole training step, the median over rounds, for each model by its name.

    `options` are fields of a `ModelConfig`, without the vocabulary, which is learned on the pairs. Raises ValueError where
    no pair is within the text limit.
    """
    keep_freed_memory()
    tokenizer, _ = vocabularies(list(pairs), config.vocab_size, joint=True)
    corpus = Corpus.encode(pairs, tokenizer, tokenizer)
    if not len(corpus):
        raise ValueError("every pair is longer than the text limit; expected at least one that is not")
    sizes = {"source_vocab": tokenizer.size, "target_vocab": tokenizer.size}
    steps = {}
    for name, fields in options.items():
        torch.manual_seed(config.seed)
        steps[name] = _step(build(ModelConfig(**sizes, **fields)).to(device), corpus, config, device)
    batches, found = corpus.batches(config.batch_tokens, config.seed, 0), {name: [] for name in options}
    for number in range(WARM + rounds):
        indices = batches[number % len(batches)]
        names = list(options)[number % len(options) :] + list(options)[: number % len(options)]  # each is first in turn
        for name in names:
            began = time.perf_counter()
            tokens = steps[name](indices)
            found[name].append(tokens / (time.perf_counter() - began))
        progress(1)
    return {name: round(statistics.median(speeds[WARM:]), 1) for name, speeds in found.items()}


def _step(model: nn.Module, corpus: Corpus, config: TrainConfig, device: torch.device) -> Callable[[Sequence[int]], int]:
    """A step of training as the trainer makes it; returns the target tokens of the batch, once all is computed."""
    objective, optimizer, precision = Objective(model, config.label_smoothing), adam(model, config), products(config, device)
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(config, 1, 1 + config.warmup)

    def step(indices: Sequence[int]) -> int:
        batch, tokens = corpus.batch(indices).to(device), sum(len(corpus.targets[i]) for i in indices)
        with precision:
            loss = objective(batch)
        (loss / tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()  # waits for the device
        return tokens

    return step
