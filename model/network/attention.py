"""The explicit computation of attention weights: training, uncached decoding and every reading call it.

The order is: scores, mask, softmax, zero rows that may attend to nothing, record, dropout, mix. `model.edits.apply` says
where edits act. `model.decoding.fast` is a second, faster implementation for decoding. It calls the functions of this file,
except for its products and its softmax without edits. Tests require both to agree within 1e-5.
"""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from ..config import ModelConfig
from ..edits.apply import UNEDITED, SiteEdits
from ..trace import Site
from .context import EMPTY_PASS, Pass
from .positions import NO_POSITIONS, position_scheme

_POOL_SIZE = 1 << 22  # entries; a slice starts at a random one


class Dropout(nn.Module):
    """Zeroes a share p of the entries while training and scales the rest by 1 / (1 - p) (Srivastava et al. 2014).

    On a CPU the masks are slices of one random pool, which makes a training step 1.2 times as fast
    (benchmarks/training_tricks.py). On a GPU torch's own dropout runs. The pool is no part of the checkpoint.
    """

    _pools: ClassVar[dict[tuple[float, torch.dtype], Tensor]] = {}

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Returns a tensor of the shape of x."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or x.numel() > _POOL_SIZE // 2:
            return nn.functional.dropout(x, self.p)
        start = int(torch.randint(_POOL_SIZE - x.numel(), ()))
        return x * self._pool(x.dtype)[start : start + x.numel()].view(x.shape)

    def _pool(self, dtype: torch.dtype) -> Tensor:
        if (self.p, dtype) not in self._pools:
            generator = torch.Generator().manual_seed(0)  # fixed: slices start at random places instead
            with torch.inference_mode(False):  # a pool made in inference mode would not serve training
                keep_mask = torch.rand(_POOL_SIZE, generator=generator) >= self.p
                self._pools[self.p, dtype] = (keep_mask / (1 - self.p)).to(dtype)
        return self._pools[self.p, dtype]


def attention_scores(query: Tensor, key: Tensor, edits: SiteEdits = UNEDITED, position_bias: Tensor | None = None) -> Tensor:
    """Returns Q K^T / sqrt(d_k) plus the position bias: scores [B,H,T,S] before the mask.

    query [B,H,T,K], key [B,H,S,K], position_bias broadcastable to [B,H,T,S].
    """
    products = query @ key.transpose(-2, -1)  # [B,H,T,S]
    scores = products / math.sqrt(query.size(-1))  # [B,H,T,S]
    return finish_scores(scores, query.size(-1), edits, position_bias)  # [B,H,T,S]


def finish_scores(scaled: Tensor, width: int, edits: SiteEdits, position_bias: Tensor | None = None) -> Tensor:
    """Returns the scores [B,H,T,S] of products divided by sqrt(`width`): applies the scaling edit, then adds the bias."""
    edited = edits.scale(scaled, width)  # [B,H,T,S]
    scores = edited if position_bias is None else edited + position_bias.to(edited.dtype)  # [B,H,T,S]
    return edits.transform("scores", scores)


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Returns the softmax of scores [B,H,T,S] over the keys that the mask allows; rows without such a key are zeros."""
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # [B,H,T,S]
    pattern = masked.softmax(dim=-1).masked_fill(~mask, 0.0)  # [B,H,T,S]
    return pattern


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor, edits: SiteEdits = UNEDITED, position_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the pattern [B,H,T,S] before dropout and the scores [B,H,T,S] before the mask.

    Arguments as in `attention`. Every pattern comes from here, or from `attention_scores`, `finish_scores` and
    `masked_softmax`.
    """
    scores = attention_scores(query, key, edits, position_bias)  # [B,H,T,S]
    pattern = edits.transform("pattern", edits.overwrite(masked_softmax(scores, mask), mask))  # [B,H,T,S]
    return pattern, scores


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    dropout: nn.Module | None = None,
    edits: SiteEdits = UNEDITED,
    position_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns z = softmax(Q K^T / sqrt(d_k)) V, with pattern and scores (Vaswani et al. 2017, equation 1).

    query [B,H,T,K], key and value [B,H,S,K], already rotated where the position scheme rotates; mask bool broadcastable to
    [B,H,T,S], True = may attend; position_bias from `PositionScheme.score_bias`. Returns z [B,H,T,K], pattern [B,H,T,S]
    before dropout, scores [B,H,T,S] before the mask. A query that may attend to nothing has a pattern and a z of zeros.
    """
    pattern, scores = attention_weights(query, key, mask, edits, position_bias)  # [B,H,T,S] twice
    weights = pattern if dropout is None else dropout(pattern)  # [B,H,T,S]
    z = weights @ value  # [B,H,T,K]
    z = edits.transform("z", edits.ablate(z))  # [B,H,T,K]
    return z, pattern, scores


class MultiHeadAttention(nn.Module):
    """Projects to H heads, attends in each, concatenates and projects back (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, config: ModelConfig, site: Site) -> None:
        super().__init__()
        self.site = site
        self.heads = config.heads
        self.scheme = position_scheme(config.positions) if site.spec.is_self else NO_POSITIONS
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)
        self.dropout = Dropout(config.attention_dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, positions: Tensor, context: Pass = EMPTY_PASS) -> Tensor:
        """Returns [B,T,D] for queries from x [B,T,D] and keys from memory [B,S,D], which is x in self-attention.

        mask as in `attention`; `positions` are those of x. With a cache, self-attention appends to it, and cross-attention
        fills it once.
        """
        q = self.split(self.query(x))  # [B,H,T,K]
        q = self.scheme.rotate(q, positions)  # [B,H,T,K]
        k, v, key_positions = self._keys_and_values(memory, positions, context)  # [B,H,S,K] twice
        mask = context.site_mask(self.site, mask, q)  # [B,1|H,1|T,S]
        position_bias = self.scheme.score_bias(positions, key_positions, self.heads)  # [1|B,1|H,T,S]
        edits = context.site_edits(self.site)
        q, k, v = (edits.transform(name, each) for name, each in (("q", q), ("k", k), ("v", v)))
        z, pattern, scores = attention(q, k, v, mask, self.dropout, edits, position_bias)
        context.record(self.site, mask, position_bias, scores=scores, pattern=pattern, q=q, k=k, v=v, z=z)
        concatenated = z.transpose(1, 2).flatten(2)  # [B,T,H*K], which is [B,T,D]
        output = self.output(concatenated)  # [B,T,D]
        return output

    def _keys_and_values(self, memory: Tensor, positions: Tensor, context: Pass) -> tuple[Tensor, Tensor, Tensor]:
        """Returns keys and values [B,H,S,K], and the positions of the keys, [S] or [B,S]."""
        cached = context.key_values(self.site)
        if cached is not None and cached.key is not None and not self.site.spec.is_self:
            return cached.key, cached.value, cached.positions
        k, v = self.split(self.key(memory)), self.split(self.value(memory))  # [B,H,S,K]
        k = self.scheme.rotate(k, positions)  # [B,H,S,K]
        return (k, v, positions) if cached is None else cached.append(k, v, positions)

    def split(self, x: Tensor) -> Tensor:
        """Splits vectors [B,T,D] into one vector a head, [B,H,T,K]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B,H,T,K]
