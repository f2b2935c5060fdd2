"""A model's weights prepared for decoding: each step reads them once, in as few bytes as hold them exactly.

Layers with the same input share one product. Published weights are float16: such a matrix stays float16, which halves the
bytes of each step, and is multiplied in float32. Any other matrix is stored as [in, out].
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..network.attention import MultiHeadAttention
from ..network.layers import DecoderLayer, EncoderLayer, FeedForward
from ..network.positions import position_scheme
from ..network.transformer import Encodes, Transformer

Function = Callable[[Tensor], Tensor]


def product(*layers: nn.Linear) -> Function:
    """Returns the function x [N,in] to x W + b [N,out] of linear layers with the same input, outputs concatenated."""
    weight = torch.cat([layer.weight.detach() for layer in layers])  # [out,in]
    bias = None if layers[0].bias is None else torch.cat([layer.bias.detach() for layer in layers])
    if is_half(weight) and _multiplies_halves():
        packed, multiply = torch.fbgemm_pack_gemm_matrix_fp16(weight), torch.fbgemm_linear_fp16_weight_fp32_activation
        return lambda x: multiply(x, packed, bias)
    weight = weight.t().contiguous()  # [in,out]
    return (lambda x: x @ weight) if bias is None else (lambda x: torch.addmm(bias, x, weight))


def is_half(weight: Tensor) -> bool:
    """True for a float32 matrix on the CPU whose values are all exact in float16."""
    return weight.dtype == torch.float32 and weight.device.type == "cpu" and weight.equal(weight.half().float())


@functools.cache
def _multiplies_halves() -> bool:
    """True if this build of torch multiplies float32 by float16 weights in float32; tried once."""
    x, weight = torch.linspace(-1, 1, 96).view(3, 32), torch.linspace(-2, 3, 256).half().float().view(8, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch may remove the function: then weights stay float32
        try:
            packed = torch.fbgemm_pack_gemm_matrix_fp16(weight)
            output = torch.fbgemm_linear_fp16_weight_fp32_activation(x, packed, torch.ones(8))
        except (AttributeError, RuntimeError):
            return False
    return bool(torch.allclose(output, F.linear(x, weight, torch.ones(8)), atol=1e-5))


def _norm(norm: nn.Module) -> Function:
    if isinstance(norm, nn.LayerNorm):
        shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    return norm  # RMSNorm or identity


def _feed_forward(layer: FeedForward) -> Function:
    outer, activation = product(layer.outer), layer.activation
    if layer.gate is None:
        inner = product(layer.inner)
        return lambda x: outer(activation(inner(x)))
    both = product(layer.gate, layer.inner)

    def gated(x: Tensor) -> Tensor:
        gate, inner = both(x).chunk(2, dim=-1)  # [N,F] twice
        return outer(activation(gate) * inner)

    return gated


@dataclass(frozen=True)
class Layer:
    """A layer prepared for decoding; the last three fields are None without cross-attention."""

    norms: tuple[Function, ...]
    qkv: Function
    output: Function
    feed_forward: Function
    cross_query: Function | None = None
    cross_output: Function | None = None
    cross_key_value: Function | None = None


def _layer(layer: DecoderLayer | EncoderLayer) -> Layer:
    own: MultiHeadAttention = layer.self_attention
    norms = tuple(_norm(residual.norm) for residual in layer.residuals)
    common = (norms, product(own.query, own.key, own.value), product(own.output), _feed_forward(layer.feed_forward))
    if not isinstance(layer, DecoderLayer):
        return Layer(*common)
    cross = layer.cross_attention
    return Layer(*common, product(cross.query), product(cross.output), product(cross.key, cross.value))


class Prepared:
    """A model with its weights prepared for decoding."""

    @torch.inference_mode()
    def __init__(self, model: Transformer) -> None:
        self.config, self.embedding, self.like = model.config, model.target_embedding, model.projection.weight
        self.encoder = [_layer(layer) for layer in model.encoder] if isinstance(model, Encodes) else []
        self.encoder_final = _norm(model.encoder_norm) if isinstance(model, Encodes) else None
        self.decoder = [_layer(layer) for layer in model.decoder]
        self.final = _norm(model.decoder_norm)
        self.projection = product(model.projection)
        self.scheme = position_scheme(model.config.positions)
        self.parameters = list(model.parameters())
        self.stamp = _stamp(self.parameters)
        positions = self.embedding.positional
        rows = self.config.max_positions
        nothing = self.like.new_zeros(1, rows, self.config.d_model)
        self.positions = positions(nothing, torch.arange(rows, device=nothing.device))[0]  # [R,D]

    def embed(self, newest: Tensor, at: int) -> Tensor:
        """Returns embeddings with positions, [N,D], of decoder inputs [N] at a position.

        Raises ValueError for a position outside a learned table.
        """
        if at >= len(self.positions):
            return self.embedding(newest[:, None], torch.tensor([at], device=newest.device))[:, 0]
        return torch.add(self.positions[at], F.embedding(newest, self.embedding.table.weight), alpha=self.embedding.scale)


def _stamp(parameters: list[nn.Parameter]) -> list[tuple[int, int]]:
    """Returns the address and the version of each parameter; either changes with the weights."""
    return [(p.data_ptr(), p._version) for p in parameters]


_prepared: weakref.WeakKeyDictionary[Transformer, Prepared] = weakref.WeakKeyDictionary()


def prepare(model: Transformer) -> Prepared:
    """Returns the model prepared for decoding, cached while its weights stay the same.

    A model in training is prepared every time, since fused optimisers do not change the version of a parameter.
    """
    if any(parameter.requires_grad for parameter in model.parameters()):
        return Prepared(model)
    known = _prepared.get(model)
    if known is None or known.stamp != _stamp(known.parameters):
        known = _prepared[model] = Prepared(model)
    return known
