"""What training minimises, and at which rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from model.config import PAD, TrainConfig
from model.network.context import forced
from model.network.transformer import Transformer
from model.workshop.corpus.corpus import Batch

ROWS = 64  # of logits at once: 8,000 of them in float32 are 2 MB
Loss = Callable[[Transformer, Batch, float], tuple[Tensor, int]]  # model, batch, smoothing: summed nats, and of how many


class _SmoothedLoss(torch.autograd.Function):
    """`smoothed_loss` in pieces that stay in the processor's cache, with its gradient made on the way: on one core it takes
    16 ms where `F.cross_entropy` takes 28 for 1,800 rows of 8,000 logits, and a training step is 1.03 times as fast
    (benchmarks/training_tricks.py)."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
        size, slope = logits.size(-1), torch.empty_like(logits)  # [N,V]
        nats = torch.zeros((), device=logits.device)
        for start in range(0, len(logits), ROWS):
            x, right = logits[start : start + ROWS].float(), target[start : start + ROWS, None]  # [n,V], [n,1]
            probabilities = x.softmax(-1)  # [n,V]
            logsumexp = x.amax(-1) - probabilities.amax(-1).log()  # [n]: the likeliest has 1/V or more
            wanted = (1 - smoothing) * x.gather(-1, right)[:, 0] + smoothing * x.mean(-1)  # [n]
            nats += (logsumexp - wanted).sum()
            probabilities -= smoothing / size
            probabilities.scatter_add_(-1, right, probabilities.new_full(right.shape, smoothing - 1))
            slope[start : start + ROWS] = probabilities
        ctx.save_for_backward(slope)
        return nats

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, None, None]:
        return ctx.saved_tensors[0] * above[0], None, None


def smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Label-smoothed cross-entropy, summed over tokens, in nats (Szegedy et al. 2016, section 7).

    logits [N,V], target [N]; computed in float32. The smoothed target gives eps / V to every token, the right one included;
    the 2017 code of tensor2tensor gives eps / (V - 1) to the others alone.
    """
    return cast(Tensor, _SmoothedLoss.apply(logits, target, smoothing))


def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
    """Summed loss of a batch and the number of target tokens that are not padding."""
    hidden = forced(model, batch.source, batch.outputs)  # [B,T,D]
    real = batch.outputs != PAD  # [B,T]
    return smoothed_loss(model.project(hidden[real]), batch.outputs[real], smoothing), int(real.sum())


class Objective(nn.Module):
    """The model with its loss, as one module: what several processes must call to share their gradients."""

    def __init__(self, model: Transformer, smoothing: float, loss: Loss = batch_loss) -> None:
        super().__init__()
        self.model, self.smoothing, self.loss = model, smoothing, loss

    def forward(self, batch: Batch) -> Tensor:
        """Summed loss of a batch, in nats."""
        return self.loss(self.model, batch, self.smoothing)[0]


def learning_rate(config: TrainConfig, step: int, total: int) -> float:
    """The rate at a step from 1: linear warm-up to the peak, then cosine to zero, or 1/sqrt(step).

    `noam` is section 5.3 of Vaswani et al. 2017 with the peak named instead of a factor.
    """
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    if config.schedule == "noam":
        return config.learning_rate * math.sqrt(config.warmup / step)
    done = min(1.0, (step - config.warmup) / max(1, total - config.warmup))
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
