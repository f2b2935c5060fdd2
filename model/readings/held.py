"""What is not linear on the way from the residual stream to a logit, held as it was in this pass: then the rest is a sum.

Of a norm the statistics are held (Elhage et al. 2021); of a function f that acts on each unit alone its factor f(u) / u.
A direction of what comes out is so made a direction of what went in.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.network.layers import OutputTransform

TINY = 1e-12  # below it f(u) / u is its limit
AT_ZERO = 0.5  # the limit of GELU and SiLU; that of ReLU, 0 or 1, hangs on the side: at 0 any factor gives 0


def held_norms(config: ModelConfig, transformed: bool = False) -> str:
    """Names the norms between the residual stream and the logits, whose scales a sum holds; empty where there is none.

    `transformed`: an output layer with a norm of its own follows the stack.
    """
    if not config.norm_first or config.embedding_norm or (transformed and config.final_norm):
        return "the scales of the norms"
    if transformed:
        return "the scale of the norm"
    return "the scale of the final norm" if config.final_norm else ""


def before_norm(norm: nn.Module, x: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """Directions [R,D] of what a norm gives, float64, as directions of what it reads, x [D]; and what its bias adds, [R]."""
    nothing = directions.new_zeros(len(directions))  # [R]
    if isinstance(norm, nn.Identity):
        return directions, nothing
    x = x.double()
    if isinstance(norm, nn.LayerNorm):
        scaled = directions * norm.weight.double() / (x.var(unbiased=False) + norm.eps).sqrt()  # [R,D]
        return scaled - scaled.mean(-1, keepdim=True), directions @ norm.bias.double()
    return directions * norm.weight.double() / (x.square().mean() + norm.eps).sqrt(), nothing


def factor(function: Callable[[Tensor], Tensor], inner: Tensor, at_zero: float) -> Tensor:
    """f(u) / u of each unit; where u is 0, its limit there."""
    near = inner.abs() < TINY
    safe = inner.masked_fill(near, 1.0)
    return (function(safe) / safe).masked_fill(near, at_zero)


def before_transform(transform: OutputTransform, hidden: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """A direction [D] of what an output transform gives, float64, as a direction of what it reads, hidden [D]; and what its
    biases add."""
    weight, bias = transform.dense.weight.double(), transform.dense.bias.double()
    inner = weight @ hidden.double() + bias  # u: [D]
    directions, added = before_norm(transform.norm, transform.activation(inner), toward[None])
    gated = directions[0] * factor(transform.activation, inner, AT_ZERO)
    return gated @ weight, float(added[0] + gated @ bias)


def before_tanh(dense: nn.Linear, pooled: Tensor, toward: Tensor) -> tuple[Tensor, float]:
    """A direction [D] of what tanh(W x) gives, float64, as a direction of x, pooled [D]; and what the bias adds."""
    weight, bias = dense.weight.double(), dense.bias.double()
    held = toward * factor(torch.tanh, weight @ pooled.double() + bias, 1.0)
    return held @ weight, float(held @ bias)
