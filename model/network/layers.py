"""Norms, feed-forward networks, and the encoder and decoder layers."""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from ..config import ACTIVATIONS, ModelConfig
from ..trace import Site, Stack, Sublayer, SublayerKind
from .attention import Dropout, MultiHeadAttention
from .context import EMPTY_PASS, Pass


def make_norm(config: ModelConfig) -> nn.Module:
    """Returns a LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019); both add eps inside the root."""
    kinds = {"layernorm": nn.LayerNorm, "rmsnorm": nn.RMSNorm}
    return kinds[config.norm](config.d_model, eps=config.norm_eps)


def final_norm(config: ModelConfig) -> nn.Module:
    """Returns the norm after a stack's last layer; the identity if the config has none."""
    return make_norm(config) if config.final_norm else nn.Identity()


ACTIVATION_FUNCTIONS: dict[
    str, Callable[[Tensor], Tensor]
] = {  # one for each of `ACTIVATIONS`; for gated ones that of the gate
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": functools.partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "swiglu": F.silu,
}


class OutputTransform(nn.Module):
    """norm(f(W x)), between the last layer and the output projection of BERT (Devlin et al. 2019)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.norm = make_norm(config)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Maps [...,D] to [...,D]."""
        return self.norm(self.activation(self.dense(x)))


class Pooler(nn.Module):
    """tanh(W x), one vector for a text: x is the state of the first token (Devlin et al. 2019) or the mean of all states."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.is_mean = config.pooling == "mean"
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, is_token: Tensor) -> Tensor:
        """Maps states [B,S,D] to [B,D]; `is_token`, bool [B,S], is False for padding."""
        return self.dropout(self.dense(self._pool(x, is_token.to(x.dtype))).tanh())

    def _pool(self, x: Tensor, is_token: Tensor) -> Tensor:
        if not self.is_mean:
            return x[:, 0]  # [B,D]
        return (is_token[..., None] * x).sum(1) / is_token.sum(1, keepdim=True).clamp(min=1)  # [B,D]


class FeedForward(nn.Module):
    """W2 f(W1 x), or W2 (silu(Wg x) * W1 x) for SwiGLU (Shazeer 2020).

    f is ReLU, GELU (exact, or by its tanh formula; Hendrycks and Gimpel 2016) or SiLU (x sigmoid(x)). Each product has a
    bias, as in Vaswani et al. 2017; Shazeer leaves them out.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        gated = ACTIVATIONS[config.activation].is_gated
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.gate = nn.Linear(config.d_model, config.d_ff) if gated else None
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATION_FUNCTIONS[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """Maps [B,T,D] to [B,T,D]."""
        inner = self.inner(x)  # [B,T,F]
        active = self.activation(inner) if self.gate is None else self.activation(self.gate(x)) * inner  # [B,T,F]
        output = self.outer(active)  # [B,T,D]
        return output


class Residual(nn.Module):
    """x + f(norm(x)) in pre-norm, norm(x + f(x)) in post-norm, with dropout on the output of f."""

    def __init__(self, config: ModelConfig, place: Sublayer) -> None:
        super().__init__()
        self.place = place
        self.norm = make_norm(config)
        self.norm_first = config.norm_first
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], context: Pass = EMPTY_PASS) -> Tensor:
        """Maps [B,T,D] to [B,T,D]; rows that skip the sub-layer add nothing."""
        read = self.norm(x) if self.norm_first else x  # [B,T,D]
        added = self.dropout(sublayer(read)).to(x.dtype)  # [B,T,D]; the stream stays float32 if products are bfloat16
        factors = context.sublayer_factors(self.place, x)
        if factors is not None:
            added = added * factors
        total = x + added  # [B,T,D]
        output = total if self.norm_first else self.norm(total)  # [B,T,D]
        if self.place.part == "ff":  # the last of a layer
            output = context.patch_stream(self.place.stack, self.place.layer + 1, output)  # [B,T,D]
        output = context.edits.transform(self.place, "stream", output)  # [B,T,D]
        context.record_stream(self.place, x, output)
        return output


def _residuals(config: ModelConfig, stack: Stack, layer: int, parts: tuple[SublayerKind, ...]) -> nn.ModuleList:
    return nn.ModuleList(Residual(config, Sublayer(stack, layer, part)) for part in parts)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each in a residual connection.

    With a causal mask it is also the layer of a decoder-only model (Radford et al. 2018).
    """

    def __init__(self, config: ModelConfig, layer: int, stack: Stack = "encoder") -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, Site(stack, layer))
        self.feed_forward = FeedForward(config)
        self.residuals = _residuals(config, stack, layer, ("self", "ff"))

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns [B,S,D] for x [B,S,D], mask [B,1,1|S,S] and positions [S] or [B,S]."""
        attended = self.residuals[0](x, lambda y: self.self_attention(y, y, mask, positions, context), context)
        return self.residuals[1](attended, self.feed_forward, context)  # [B,S,D]


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's output, then a feed-forward network."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, Site("decoder", layer))
        self.cross_attention = MultiHeadAttention(config, Site("cross", layer))
        self.feed_forward = FeedForward(config)
        self.residuals = _residuals(config, "decoder", layer, ("self", "cross", "ff"))

    def forward(
        self, x: Tensor, memory: Tensor, mask: Tensor, memory_mask: Tensor, positions: Tensor, context: Pass = EMPTY_PASS
    ) -> Tensor:
        """Returns [B,T,D] for x [B,T,D], memory [B,S,D], mask [B,1,T,T or cached keys], memory_mask [B,1,1,S]."""
        attended = self.residuals[0](x, lambda y: self.self_attention(y, y, mask, positions, context), context)
        crossed = self.residuals[1](
            attended, lambda y: self.cross_attention(y, memory, memory_mask, positions, context), context
        )
        return self.residuals[2](crossed, self.feed_forward, context)  # [B,T,D]
