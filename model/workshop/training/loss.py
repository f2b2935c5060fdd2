"""The loss that training minimises, and the schedule of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn

from ...config import PAD, TrainConfig
from ...network.context import forced
from ...network.transformer import Transformer
from ..corpus.corpus import Batch

ROWS_PER_PIECE = 64  # of logits in one piece: 8,000 columns in float32 are 2 MB
Loss = Callable[[Transformer, Batch, float], tuple[Tensor, int]]  # model, batch, smoothing: summed nats, number of terms


class _SmoothedLoss(torch.autograd.Function):
    """`smoothed_loss` in pieces that fit the processor's cache, with the gradient computed in the forward pass.

    On one core it takes 16 ms where `F.cross_entropy` takes 28 (1,800 rows of 8,000 logits). A training step is 1.03 times
    as fast (benchmarks/training_tricks.py).
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
        size, slope = logits.size(-1), torch.empty_like(logits)  # [N,V]
        nats = torch.zeros((), device=logits.device)
        for start in range(0, len(logits), ROWS_PER_PIECE):
            x, right = (
                logits[start : start + ROWS_PER_PIECE].float(),
                target[start : start + ROWS_PER_PIECE, None],
            )  # [n,V], [n,1]
            probabilities = x.softmax(-1)  # [n,V]
            logsumexp = x.amax(-1) - probabilities.amax(-1).log()  # [n]; stable, because the largest is at least 1/V
            wanted = (1 - smoothing) * x.gather(-1, right)[:, 0] + smoothing * x.mean(-1)  # [n]
            nats += (logsumexp - wanted).sum()
            probabilities -= smoothing / size
            probabilities.scatter_add_(-1, right, probabilities.new_full(right.shape, smoothing - 1))
            slope[start : start + ROWS_PER_PIECE] = probabilities
        ctx.save_for_backward(slope)
        return nats

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, None, None]:
        return ctx.saved_tensors[0] * above[0], None, None


def smoothed_loss(logits: Tensor, target: Tensor, smoothing: float) -> Tensor:
    """Returns the label-smoothed cross-entropy, summed over tokens, in nats (Szegedy et al. 2016, section 7).

    logits [N,V], target [N]; computed in float32. The smoothed target gives eps / V to every token, including the right one.
    The 2017 code of tensor2tensor gives eps / (V - 1) to the other tokens only.
    """
    return cast(Tensor, _SmoothedLoss.apply(logits, target, smoothing))


def batch_loss(model: Transformer, batch: Batch, smoothing: float) -> tuple[Tensor, int]:
    """Returns the summed loss of a batch and its number of target tokens without padding."""
    hidden = forced(model, batch.source, batch.outputs)  # [B,T,D]
    real = batch.outputs != PAD  # [B,T]
    return smoothed_loss(model.project(hidden[real]), batch.outputs[real], smoothing), int(real.sum())


class Objective(nn.Module):
    """The model and its loss as one module, because gradients are shared only through the wrapped module."""

    def __init__(self, model: Transformer, smoothing: float, loss: Loss = batch_loss) -> None:
        super().__init__()
        self.model, self.smoothing, self.loss = model, smoothing, loss

    def forward(self, batch: Batch) -> Tensor:
        """Returns the summed loss of a batch, in nats."""
        return self.loss(self.model, batch, self.smoothing)[0]


def learning_rate(config: TrainConfig, step: int, total: int) -> float:
    """Returns the rate at a step, from 1: linear warm-up to the peak, then cosine to zero, or 1/sqrt(step).

    `noam` is section 5.3 of Vaswani et al. 2017 with the peak as a parameter instead of a factor.
    """
    if step <= config.warmup:
        return config.learning_rate * step / config.warmup
    if config.schedule == "noam":
        return config.learning_rate * math.sqrt(config.warmup / step)
    done = min(1.0, (step - config.warmup) / max(1, total - config.warmup))
    return config.learning_rate * 0.5 * (1 + math.cos(math.pi * done))
