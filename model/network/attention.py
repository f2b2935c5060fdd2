"""The explicit computation of attention weights, for training and for viewing.

The order is: scores, mask, softmax, zero rows that may attend to nothing, record, dropout, mix. `model.edits.apply` says
where edits act. `model.decoding.fast` is a second, faster implementation that decoding uses: tests hold both equal within
1e-5.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.edits.apply import UNEDITED, SiteEdits
from model.network.context import PLAIN, Pass
from model.network.dropout import Dropout
from model.network.positions import BASE, formulas_of
from model.trace import Site


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    dropout: nn.Module | None = None,
    edits: SiteEdits = UNEDITED,
):
    """softmax(Q K^T / sqrt(d_k)) V, with what led to it (Vaswani et al. 2017, equation 1).

    query [B,H,T,K], key and value [B,H,S,K], mask bool broadcastable to [B,H,T,S], True = may attend.
    Returns z [B,H,T,K], pattern [B,H,T,S] before dropout, scores [B,H,T,S] before the mask. A query that may attend to
    nothing has a pattern and a z of zeros.
    """
    products = query @ key.transpose(-2, -1)  # [B,H,T,S]
    scores = products / math.sqrt(query.size(-1))  # [B,H,T,S]
    scores = edits.scale(scores, query.size(-1))  # [B,H,T,S]
    masked = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)  # [B,H,T,S]
    pattern = masked.softmax(dim=-1).masked_fill(~mask, 0.0)  # [B,H,T,S]
    pattern = edits.overwrite(pattern, mask)  # [B,H,T,S]
    weights = pattern if dropout is None else dropout(pattern)
    z = weights @ value  # [B,H,T,K]
    z = edits.ablate(z)  # [B,H,T,K]
    return z, pattern, scores


class MultiHeadAttention(nn.Module):
    """Projects to H heads, attends in each, concatenates and projects back (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, config: ModelConfig, site: Site) -> None:
        super().__init__()
        self.site = site
        self.heads = config.heads
        self.turn = formulas_of(config.positions).turn if site.of.is_self else None  # no order between two sentences
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)
        self.dropout = Dropout(config.attention_dropout)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor, positions: Tensor, at: Pass = PLAIN) -> Tensor:
        """x [B,T,D] asks, memory [B,S,D] answers (x itself in self-attention); mask as in `attention`; returns [B,T,D].

        `positions` belong to x. With a cache, self-attention appends to it; cross-attention fills it once.
        """
        q = self._split(self.query(x))  # [B,H,T,K]
        if self.turn is not None:
            q = self.turn(q, positions, BASE)  # [B,H,T,K]
        k, v = self._keys_and_values(memory, positions, at)  # [B,H,S,K]
        mask = at.mask(self.site, mask, q)  # [B,1|H,1|T,S]
        z, pattern, scores = attention(q, k, v, mask, self.dropout, at.at(self.site))  # [B,H,T,K], [B,H,T,S] twice
        at.record(self.site, mask, scores=scores, pattern=pattern, q=q, k=k, v=v, z=z)
        concatenated = z.transpose(1, 2).flatten(2)  # [B,T,H*K], which is [B,T,D]
        output = self.output(concatenated)  # [B,T,D]
        return output

    def _keys_and_values(self, memory: Tensor, positions: Tensor, at: Pass) -> tuple[Tensor, Tensor]:
        kept = at.key_values(self.site)
        if kept is not None and kept.key is not None and not self.site.of.is_self:
            return kept.key, kept.value
        k, v = self._split(self.key(memory)), self._split(self.value(memory))  # [B,H,S,K]
        if self.turn is not None:
            k = self.turn(k, positions, BASE)  # [B,H,S,K]
        return (k, v) if kept is None else kept.append(k, v)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B,T,D] to [B,H,T,K]
