"""A model's weights prepared for decoding: each step reads them once, in as few bytes as hold them exactly.

Layers with the same input share one product. Published weights are float16: such a matrix stays float16, which halves the
bytes of each step, and is multiplied in float32. Any other matrix is stored as [in, out].
"""

from __future__ import annotations

import functools
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..network.attention import MultiHeadAttention
from ..network.layers import DecoderLayer, EncoderLayer, FeedForward
from ..network.positions import position_scheme
from ..network.transformer import EncoderMixin, Transformer

TensorFunction = Callable[[Tensor], Tensor]


def combined_linear(*layers: nn.Linear) -> TensorFunction:
    """Returns the function x [N,in] to x W + b [N,out] of linear layers with the same input, outputs concatenated."""
    weight = torch.cat([layer.weight.detach() for layer in layers])  # [out,in]
    bias = None if layers[0].bias is None else torch.cat([layer.bias.detach() for layer in layers])
    if is_half(weight) and _can_multiply_halves():
        packed, multiply = torch.fbgemm_pack_gemm_matrix_fp16(weight), torch.fbgemm_linear_fp16_weight_fp32_activation
        return lambda x: multiply(x, packed, bias)
    weight = weight.t().contiguous()  # [in,out]
    return (lambda x: x @ weight) if bias is None else (lambda x: torch.addmm(bias, x, weight))


def is_half(weight: Tensor) -> bool:
    """True for a float32 matrix on the CPU whose values are all exact in float16."""
    return weight.dtype == torch.float32 and weight.device.type == "cpu" and weight.equal(weight.half().float())


@functools.cache
def _can_multiply_halves() -> bool:
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


def _norm(norm: nn.Module) -> TensorFunction:
    if isinstance(norm, nn.LayerNorm):
        shape, weight, bias, eps = norm.normalized_shape, norm.weight, norm.bias, norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
    return norm  # RMSNorm or identity


def _feed_forward(layer: FeedForward) -> TensorFunction:
    outer, activation = combined_linear(layer.outer), layer.activation
    if layer.gate is None:
        inner = combined_linear(layer.inner)
        return lambda x: outer(activation(inner(x)))
    both = combined_linear(layer.gate, layer.inner)

    def gated(x: Tensor) -> Tensor:
        gate, inner = both(x).chunk(2, dim=-1)  # [N,F] twice
        return outer(activation(gate) * inner)

    return gated


def add_residual(x: Tensor, output: Tensor, norm: TensorFunction, norm_first: bool, factors: Tensor | None) -> Tensor:
    """Returns the residual stream [N,D] after a sub-layer, pre-norm if `first`; `factors` [N,1] are 0 for skipped rows."""
    total = x + (output if factors is None else output * factors)
    return total if norm_first else norm(total)


@dataclass(frozen=True)
class PreparedLayer:
    """A layer prepared for decoding; the last three fields are None without cross-attention."""

    norms: tuple[TensorFunction, ...]
    qkv: TensorFunction
    output: TensorFunction
    feed_forward: TensorFunction
    cross_query: TensorFunction | None = None
    cross_output: TensorFunction | None = None
    cross_key_value: TensorFunction | None = None


def _prepare_layer(layer: DecoderLayer | EncoderLayer) -> PreparedLayer:
    self_attention: MultiHeadAttention = layer.self_attention
    norms = tuple(_norm(residual.norm) for residual in layer.residuals)
    common = (
        norms,
        combined_linear(self_attention.query, self_attention.key, self_attention.value),
        combined_linear(self_attention.output),
        _feed_forward(layer.feed_forward),
    )
    if not isinstance(layer, DecoderLayer):
        return PreparedLayer(*common)
    cross = layer.cross_attention
    return PreparedLayer(
        *common, combined_linear(cross.query), combined_linear(cross.output), combined_linear(cross.key, cross.value)
    )


class PreparedModel:
    """A model with its weights prepared for decoding."""

    @torch.inference_mode()
    def __init__(self, model: Transformer) -> None:
        self.config, self.embedding, self.output_weight = model.config, model.target_embedding, model.projection.weight
        self.encoder = [_prepare_layer(layer) for layer in model.encoder] if isinstance(model, EncoderMixin) else []
        self.encoder_norm = _norm(model.encoder_norm) if isinstance(model, EncoderMixin) else None
        self.decoder = [_prepare_layer(layer) for layer in model.decoder]
        self.decoder_norm = _norm(model.decoder_norm)
        self.projection = combined_linear(model.projection)
        self.scheme = position_scheme(model.config.positions)
        self.parameters = list(model.parameters())
        self.weight_versions = _weight_versions(self.parameters)
        positions = self.embedding.positional
        rows = self.config.max_positions
        nothing = self.output_weight.new_zeros(1, rows, self.config.d_model)
        self.position_table = positions(nothing, torch.arange(rows, device=nothing.device))[0]  # [R,D]

    def embed(self, newest: Tensor, position: int) -> Tensor:
        """Returns embeddings with positions, [N,D], of decoder inputs [N] at a position.

        Raises ValueError for a position outside a learned table.
        """
        if position >= len(self.position_table):
            return self.embedding(newest[:, None], torch.tensor([position], device=newest.device))[:, 0]
        return torch.add(
            self.position_table[position], F.embedding(newest, self.embedding.table.weight), alpha=self.embedding.scale
        )


def _weight_versions(parameters: list[nn.Parameter]) -> list[tuple[int, int]]:
    """Returns the address and the version of each parameter; either changes with the weights."""
    return [(p.data_ptr(), p._version) for p in parameters]


_prepared_models: weakref.WeakKeyDictionary[Transformer, PreparedModel] = weakref.WeakKeyDictionary()


def prepare(model: Transformer) -> PreparedModel:
    """Returns the model prepared for decoding, cached while its weights stay the same.

    A model in training is prepared every time, since fused optimisers do not change the version of a parameter.
    """
    if any(parameter.requires_grad for parameter in _parameters(model)):
        return PreparedModel(model)
    known = _prepared_models.get(model)
    if known is None or known.weight_versions != _weight_versions(known.parameters):
        known = _prepared_models[model] = PreparedModel(model)
    return known


def _parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yields all parameters, shared ones once for each module: each decoding asks twice, and `parameters` builds names."""
    modules: list[nn.Module | None] = [model]
    while modules:
        if (module := modules.pop()) is not None:
            modules.extend(module._modules.values())
            yield from filter(lambda each: each is not None, module._parameters.values())


@dataclass
class Step:
    """The tensors of one step.

    own: queries, keys and values of self-attention in each layer [N,3D]; cross: queries of cross-attention in each layer
    [N,D]; hidden: final states [N,D].
    """

    parent_rows: list[int] | None  # each row's row in the previous step; None: the same rows
    self_qkv: list[Tensor] = field(default_factory=list)
    cross_queries: list[Tensor] = field(default_factory=list)
    hidden: Tensor | None = None
