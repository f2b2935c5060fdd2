"""Attention weights are computed here, and nowhere else.

There is one explicit path, for training and for viewing alike. What is read, in this order: scores, mask, softmax, zero
rows that may attend to nothing, record, dropout, mix. Edits are applied where `edits.py` says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from model.config import ModelConfig
from model.edits.apply import NO_EDITS, UNEDITED, Edits, SiteEdits
from model.network import masks
from model.network.dropout import Dropout
from model.network.positions import rotary
from model.trace import Probe, Site


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


@dataclass
class KeyValues:
    """Keys and values [B,H,S,K] that one attention layer has seen; empty at first."""

    key: Tensor | None = None
    value: Tensor | None = None

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        if self.key is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)  # [B,H,S,K]
        self.key, self.value = key, value
        return key, value

    def select(self, rows: Tensor) -> None:
        """Keeps some rows of the batch, in the order given; a row may come twice."""
        if self.key is not None:
            self.key, self.value = self.key[rows], self.value[rows]


class MultiHeadAttention(nn.Module):
    """Projects to H heads, attends in each, concatenates and projects back (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, config: ModelConfig, site: Site) -> None:
        super().__init__()
        self.site = site
        self.heads = config.heads
        self.rotary = config.positions == "rotary" and site.kind != "cross"
        self.query = nn.Linear(config.d_model, config.d_model)
        self.key = nn.Linear(config.d_model, config.d_model)
        self.value = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, config.d_model)
        self.dropout = Dropout(config.attention_dropout)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor,
        positions: Tensor,
        cache: KeyValues | None = None,
        probe: Probe | None = None,
        edits: Edits = NO_EDITS,
        start: int = 0,
    ) -> Tensor:
        """x [B,T,D] asks, memory [B,S,D] answers (x itself in self-attention); returns [B,T,D].

        `positions` belong to x, whose first row is number `start`. With a cache, self-attention appends to it;
        cross-attention fills it once.
        """
        q = self._split(self.query(x))  # [B,H,T,K]
        if self.rotary:
            q = rotary(q, positions)  # [B,H,T,K]
        k, v = self._keys_and_values(memory, positions, cache)  # [B,H,S,K]
        mask = masks.at_site(mask, edits.blocked(self.site), (x.size(0), self.heads, x.size(1)), start)  # [B,1|H,T,S]
        own = SiteEdits(edits, self.site, start)
        z, pattern, scores = attention(q, k, v, mask, self.dropout, own)  # [B,H,T,K], [B,H,T,S] twice
        if probe is not None:
            full_mask = mask.expand(x.size(0), -1, x.size(1), k.size(2))  # [B,1|H,T,S]
            full_mask = full_mask[:, 0] if full_mask.size(1) == 1 else full_mask  # [B,T,S], or [B,H,T,S] where heads differ
            probe.record(self.site, scores=scores, pattern=pattern, mask=full_mask, q=q, k=k, v=v, z=z)
        concatenated = z.transpose(1, 2).flatten(2)  # [B,T,H*K], which is [B,T,D]
        output = self.output(concatenated)  # [B,T,D]
        return output

    def _keys_and_values(self, memory: Tensor, positions: Tensor, cache: KeyValues | None) -> tuple[Tensor, Tensor]:
        if self.site.kind == "cross" and cache is not None and cache.key is not None:
            return cache.key, cache.value
        k, v = self._split(self.key(memory)), self._split(self.value(memory))  # [B,H,S,K]
        if self.rotary:
            k = rotary(k, positions)  # [B,H,S,K]
        return (k, v) if cache is None else cache.append(k, v)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # [B,T,D] to [B,H,T,K]
