"""Norms, feed-forward networks, and the encoder and decoder layers made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.nn import functional as F

from model.config import ModelConfig
from model.edits.apply import NO_EDITS, Edits
from model.network.attention import KeyValues, MultiHeadAttention
from model.network.dropout import Dropout
from model.trace import Probe, Site


def make_norm(config: ModelConfig) -> nn.Module:
    """LayerNorm (Ba et al. 2016) or RMSNorm (Zhang and Sennrich 2019); eps stands inside the root in both."""
    kinds = {"layernorm": nn.LayerNorm, "rmsnorm": nn.RMSNorm}
    return kinds[config.norm](config.d_model, eps=config.norm_eps)


class FeedForward(nn.Module):
    """W2 f(W1 x) with f = ReLU or GELU (exact), or W2 (silu(Wg x) * W1 x), SwiGLU without further biases (Shazeer 2020)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        gated = config.activation == "swiglu"
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.gate = nn.Linear(config.d_model, config.d_ff) if gated else None
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.activation = {"relu": F.relu, "gelu": F.gelu, "swiglu": F.silu}[config.activation]

    def forward(self, x: Tensor) -> Tensor:
        """[B,T,D] to [B,T,D]."""
        inner = self.inner(x)  # [B,T,F]
        active = self.activation(inner) if self.gate is None else self.activation(self.gate(x)) * inner  # [B,T,F]
        output = self.outer(active)  # [B,T,D]
        return output


class Residual(nn.Module):
    """x + f(norm(x)) in pre-norm, norm(x + f(x)) in post-norm, with dropout on what f returns."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.norm_first = config.norm_first
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], keep: Tensor | None = None) -> Tensor:
        """[B,T,D] to [B,T,D]; `keep` [B,1,1] is 0 for rows that skip the sub-layer."""
        read = self.norm(x) if self.norm_first else x  # [B,T,D]
        added = self.dropout(sublayer(read))  # [B,T,D]
        if keep is not None:
            added = added * keep
        total = x + added  # [B,T,D]
        output = total if self.norm_first else self.norm(total)  # [B,T,D]
        return output


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each in a residual connection."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.site = Site("encoder", layer)
        self.self_attention = MultiHeadAttention(config, self.site)
        self.feed_forward = FeedForward(config)
        self.residuals = nn.ModuleList(Residual(config) for _ in range(2))

    def forward(
        self, x: Tensor, mask: Tensor, positions: Tensor, probe: Probe | None = None, edits: Edits = NO_EDITS
    ) -> Tensor:
        """x [B,S,D], mask [B,1,1|S,S], positions [S] or [B,S]; returns [B,S,D]."""
        keep = [edits.keep("encoder", self.site.layer, sublayer, x) for sublayer in ("self", "ff")]
        attended = self.residuals[0](
            x, lambda y: self.self_attention(y, y, mask, positions, probe=probe, edits=edits), keep[0]
        )
        output = self.residuals[1](attended, self.feed_forward, keep[1])  # [B,S,D]
        if probe is not None:
            probe.record(self.site, residual_in=x, residual_mid=attended, residual_out=output)
        return output


@dataclass
class LayerCache:
    """What one decoder layer keeps between the steps of decoding."""

    self_attention: KeyValues = field(default_factory=KeyValues)
    cross_attention: KeyValues = field(default_factory=KeyValues)

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        self.self_attention.select(rows)
        self.cross_attention.select(rows)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's output, then a feed-forward network."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, Site("decoder", layer))
        self.cross_attention = MultiHeadAttention(config, Site("cross", layer))
        self.feed_forward = FeedForward(config)
        self.residuals = nn.ModuleList(Residual(config) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor,
        cross_mask: Tensor,
        positions: Tensor,
        cache: LayerCache | None = None,
        probe: Probe | None = None,
        edits: Edits = NO_EDITS,
        start: int = 0,
    ) -> Tensor:
        """x [B,T,D], memory [B,S,D], self_mask [B,1,T,T or what is cached], cross_mask [B,1,1,S]; returns [B,T,D]."""
        own = cache.self_attention if cache else None
        other = cache.cross_attention if cache else None
        layer = self.self_attention.site.layer
        keep = [edits.keep("decoder", layer, sublayer, x) for sublayer in ("self", "cross", "ff")]
        attended = self.residuals[0](
            x, lambda y: self.self_attention(y, y, self_mask, positions, own, probe, edits, start), keep[0]
        )
        crossed = self.residuals[1](
            attended,
            lambda y: self.cross_attention(y, memory, cross_mask, positions, other, probe, edits, start),
            keep[1],
        )
        output = self.residuals[2](crossed, self.feed_forward, keep[2])  # [B,T,D]
        if probe is not None:
            probe.record(self.self_attention.site, residual_in=x, residual_out=attended)
            probe.record(self.cross_attention.site, residual_in=attended, residual_mid=crossed, residual_out=output)
        return output
