"""Patterns of linear attention and of a sliding window on a head's own queries and keys, and their distance from softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ...checkpoint import Checkpoint
from ...config import PAD
from ...edits.apply import SiteEdits
from ...inference.analysis import Analysis
from ...inference.source_reading import edits_of
from ...network import masks
from ...network.attention import attention_scores, masked_softmax
from ...network.extrapolation import linear_pattern
from ...trace import Site
from .layer_inputs import rows_of


@dataclass(frozen=True)
class OtherPattern:
    """A pattern [H,T,S] of every head of a site, and its `distance` from the softmax pattern, [H,T]."""

    values: np.ndarray
    distance: np.ndarray

    def head_distance(self, head: int) -> float:
        """Returns the mean distance of a head's rows (head from 0), nan without rows."""
        rows = self.distance[head][np.isfinite(self.distance[head])]
        return float(rows.mean()) if len(rows) else float("nan")

    @property
    def head_distances(self) -> list[float]:
        """The mean distance of each head."""
        return [self.head_distance(head) for head in range(len(self.distance))]


@dataclass(frozen=True)
class OtherPatterns:
    """The patterns of a site, [H,T,S]: the recorded softmax with its edits, the mask and the other patterns."""

    softmax: np.ndarray
    allowed: np.ndarray  # bool
    linear: OtherPattern
    window: OtherPattern | None  # None in cross-attention: tokens of two sentences have no distance


def distance(one: np.ndarray, other: np.ndarray, attends: np.ndarray) -> np.ndarray:
    """Returns the total variation distance between the rows of two patterns [...,T,S], [...,T].

    It is 0 for equal rows, 1 without a common key, or where one row sees none, and nan where `attends` [...,T] is False.
    """
    return np.where(attends, 1 - np.minimum(one, other).sum(-1), np.nan)


@torch.inference_mode()
def other_patterns(checkpoint: Checkpoint, analysis: Analysis, site: Site, width: int) -> OtherPatterns:
    """Returns the patterns of linear attention and of a sliding window of `width` for all heads of a site.

    They use q and k of the passes behind the site's rows, and all edits: a window as wide as the sentence gives the recorded
    pattern. A row that an edit overwrites is equal in all patterns.

    Raises:
        ValueError: The checkpoint has no such site, or the width is below 1.
    """
    if site not in analysis.trace.patterns:
        raise ValueError(f"This checkpoint has no layer {site.layer + 1} here; choose a lower one.")
    trace = analysis.trace
    own, linear, near = (np.zeros(trace.patterns[site].shape) for _ in range(3))  # [H,T,S] each
    allowed = np.zeros(own.shape, dtype=bool)
    edits = edits_of(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    for rows, record in rows_of(checkpoint, analysis, site):
        query, key, softmax = (record[name].double() for name in ("q", "k", "pattern"))  # [1,H,R,K], [1,H,S,K], [1,H,R,S]
        mask, site_edits = record["mask"], SiteEdits(edits, site, rows.start)  # [1,H,R,S]
        place = (slice(None), rows, slice(mask.size(-1)))
        own[place], allowed[place] = softmax[0].cpu().numpy(), mask[0].cpu().numpy()
        linear[place] = site_edits.overwrite(linear_pattern(query, key, mask), mask)[0].cpu().numpy()
        if site.of.is_self:
            window = masks.ordered(mask.size(-1), False, width, mask.device)[:, :, -mask.size(-2) :]  # [1,1,R,S]
            scores = attention_scores(query, key, site_edits, record.get("position_bias"))  # [1,H,R,S]
            pattern = site_edits.overwrite(masked_softmax(scores, mask & window), mask)  # [1,H,R,S]
            near[place] = pattern[0].cpu().numpy()
    axis = trace.axis(site.of.queries)
    attends = allowed.any(-1) & np.array([token != PAD for token in axis.ids])  # [H,T]

    def against(values: np.ndarray) -> OtherPattern:
        return OtherPattern(values.astype(np.float32), distance(values, own, attends))

    return OtherPatterns(own.astype(np.float32), allowed, against(linear), against(near) if site.of.is_self else None)
