"""R-Drop (Liang et al. 2021, "R-Drop: Regularized dropout for neural networks"): two passes through dropout should agree."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from model.config import PAD
from model.network.context import forced
from model.network.transformer import Transformer
from model.text.corpus import Batch
from model.training.loss import ROWS, smoothed_loss


class _Divergence(torch.autograd.Function):
    """`divergence` in pieces that stay in the processor's cache, with its gradients made on the way."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, two: Tensor) -> Tensor:
        slopes = torch.empty_like(one), torch.empty_like(two)  # [N,V] each
        nats = torch.zeros((), device=one.device)
        for start in range(0, len(one), ROWS):
            rows = slice(start, start + ROWS)
            p, q = (side[rows].float().log_softmax(-1) for side in (one, two))  # [n,V]
            apart, (a, b) = p - q, (p.exp(), q.exp())
            forward, backward = (a * apart).sum(-1, keepdim=True), -(b * apart).sum(-1, keepdim=True)  # KL(a,b), KL(b,a)
            nats += (forward + backward).sum()
            slopes[0][rows] = a * (apart - forward) + a - b
            slopes[1][rows] = b * (-apart - backward) + b - a
        ctx.save_for_backward(*slopes)
        return nats

    @staticmethod
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor, Tensor]:
        one, two = ctx.saved_tensors
        return one * above[0], two * above[0]


def divergence(one: Tensor, two: Tensor) -> Tensor:
    """KL(p, q) + KL(q, p) of the distributions that two tensors of logits [N,V] stand for, summed over N, in nats; computed
    in float32."""
    return cast(Tensor, _Divergence.apply(one, two))


def twice_loss(model: Transformer, batch: Batch, smoothing: float, weight: float) -> tuple[Tensor, int]:
    """Summed loss of a batch that passes twice, and the number of its target tokens that are not padding: the mean of the
    smoothed losses of both passes, and `weight` / 2 times the mean of both divergences."""
    assert batch.source is not None
    hidden = forced(model, batch.source.repeat(2, 1), batch.outputs.repeat(2, 1))  # [2B,T,D]
    real = batch.outputs != PAD  # [B,T]
    one, two = (model.project(half[real]) for half in hidden.chunk(2))  # [N,V] each
    loss = smoothed_loss(one, batch.outputs[real], smoothing) + smoothed_loss(two, batch.outputs[real], smoothing)
    return loss / 2 + weight / 4 * divergence(one, two), int(real.sum())
