"""What other ways to compute attention would look at, on the queries and keys that a head has: linear attention's pattern,
which its fast form never holds, and that of a sliding window. And how far each is from the head's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from model.checkpoint import Checkpoint
from model.config import PAD
from model.inference.analysis import Analysis
from model.network import masks
from model.network.attention import attention
from model.network.lengths import linear_pattern
from model.readings.activations import activations
from model.trace import Site


@dataclass(frozen=True)
class OtherPattern:
    """A pattern [H,T,S] of every head of a site, and its distance from the softmax pattern, see `distance`: [H,T]."""

    values: np.ndarray
    distance: np.ndarray

    def of_head(self, head: int) -> float:
        """The mean distance of a head's rows (head from 0); nan where there is none."""
        rows = self.distance[head][np.isfinite(self.distance[head])]
        return float(rows.mean()) if len(rows) else float("nan")

    @property
    def heads(self) -> list[float]:
        """The same of every head."""
        return [self.of_head(head) for head in range(len(self.distance))]


@dataclass(frozen=True)
class OtherPatterns:
    """The patterns of a site [H,T,S]: the softmax of this very run, with its edits, what its mask allows, and the others."""

    softmax: np.ndarray
    allowed: np.ndarray  # bool
    linear: OtherPattern
    window: OtherPattern | None  # None in cross-attention: two sentences have no distance


def distance(one: np.ndarray, other: np.ndarray, asks: np.ndarray) -> np.ndarray:
    """What the rows of two patterns [...,T,S] do not share, [...,T]: total variation, half the sum of absolute differences.
    It is 0 where both are the same, 1 where they have no key in common, or one sees none; nan where `asks` [...,T] is False.
    """
    return np.where(asks, 1 - np.minimum(one, other).sum(-1), np.nan)


@torch.inference_mode()
def other_patterns(checkpoint: Checkpoint, analysis: Analysis, site: Site, width: int) -> OtherPatterns:
    """Of all heads of a site, from one pass over the analysis' whole target under its edits: its q and k through linear
    attention's feature map, and through the explicit path under a sliding window of `width` beside its mask.

    Raises ValueError for a site that the checkpoint does not have, and for a width below 1.
    """
    if site not in analysis.whole.patterns:
        raise ValueError(f"This checkpoint has no layer {site.layer + 1} here; choose a lower one.")
    record = activations(checkpoint, analysis).records[site]
    query, key, softmax = (record[name].double() for name in ("q", "k", "pattern"))  # [1,H,T,K], [1,H,S,K], [1,H,T,S]
    mask = record["mask"]  # [1,(H,)T,S]
    mask = (mask if mask.ndim == 4 else mask[:, None]).expand_as(softmax)  # [1,H,T,S]
    own, allowed = softmax[0].cpu().numpy(), mask[0].cpu().numpy()
    axis = analysis.whole.axis(site.of.queries)
    asks = allowed.any(-1) & np.array([token != PAD for token in axis.ids])  # [H,T]

    def against(pattern: torch.Tensor) -> OtherPattern:
        values = pattern[0].cpu().numpy()
        return OtherPattern(values.astype(np.float32), distance(values, own, asks))

    near = None
    if site.of.is_self:
        window = masks.ordered(mask.size(-1), False, width, mask.device)  # [1,1,T,T]
        near = against(attention(query, key, key, mask & window)[1])
    return OtherPatterns(own.astype(np.float32), allowed, against(linear_pattern(query, key, mask)), near)
