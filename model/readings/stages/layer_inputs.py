"""Recorded activations of the passes behind an analysis, and other patterns of the same queries and keys.

The other patterns are those of linear attention and of a sliding window, with their distance from softmax.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...config import PAD
from ...edits.apply import SiteEdits
from ...inference.analysis import Analysis
from ...inference.source_reading import build_edits
from ...network import masks
from ...network.attention import attention_scores, masked_softmax
from ...network.attention_methods import linear_pattern
from ...network.context import Pass, shift_right, teacher_forced_states
from ...trace import Axis, Probe, Site, Streams, Sublayer


class Activations(NamedTuple):
    """Activations of one pass, with a batch of one.

    These are queries, keys, values, z and patterns of every site, the residual stream around every sub-layer, and the
    encoder's output.
    """

    records: dict[Site, dict[str, Tensor]]
    streams: dict[Sublayer, Streams]
    memory: Tensor | None  # [1,S,D]; None without an encoder
    hidden: Tensor  # [1,T,D], the input of the projection; without a decoder [1,S,D]
    unedited: masks.Masks  # the masks without edits


@torch.inference_mode()
def activations(checkpoint: Checkpoint, analysis: Analysis, site: Site | None = None, query: int = -1) -> Activations:
    """Runs the analysis' source and target through the model once, under its intervention, and records everything.

    Where each step has its own pass and the queries of `site` are target tokens, the pass is the one that chose the token of
    `query` (from 0). That query is then the last one. Else the pass reads the full target.
    """
    trace, probe = analysis.trace, Probe("full")
    source, outputs = (_ids(axis, checkpoint.device) for axis in (trace.source, trace.outputs))
    if site is not None and is_stepwise(analysis, site):
        outputs = outputs[:, : query + 1]  # [1,T]
    edits = build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    hidden = teacher_forced_states(checkpoint.model, source, outputs, Pass(edits, probe))
    unedited = masks.build(checkpoint.config, source, None if outputs is None else shift_right(outputs))
    return Activations(probe.records, probe.streams, probe.memory, hidden, unedited)


def is_stepwise(analysis: Analysis, site: Site) -> bool:
    """Returns True where each row of a site's maps comes from its own pass, over the prefix that chose its token."""
    return analysis.final_pass is not None and site.spec.query_side == "target"


def rows_of(checkpoint: Checkpoint, analysis: Analysis, site: Site) -> Iterator[tuple[slice, dict[str, Tensor]]]:
    """Yields, for each pass behind a site's maps, its rows of the trace and its record of these queries only.

    One pass gives all rows, or each row has its own pass, whose keys end at the query in decoder self-attention. The record
    has `q` [1,H,R,K], `k` and `v` [1,H,S,K], `z` [1,H,R,K], `pattern` and `scores` [1,H,R,S], `mask` [1,H,R,S], and
    `position_bias` [1,H,R,S] where the scheme of positions adds one to the scores.
    """
    has_own_passes = is_stepwise(analysis, site)
    queries = range(len(analysis.trace.queries(site))) if has_own_passes else (-1,)
    for query in queries:
        record = dict(activations(checkpoint, analysis, site, query).records[site])
        mask = record["mask"]  # [1,(H,)T,S]
        record["mask"] = (mask if mask.ndim == 4 else mask[:, None]).expand_as(record["pattern"])  # [1,H,T,S]
        if has_own_passes:
            by_query = ("q", "z", "pattern", "scores", "mask", "position_bias")
            record |= {name: record[name][:, :, -1:] for name in by_query if name in record}
        yield slice(query, query + 1) if has_own_passes else slice(0, None), record


def _ids(axis: Axis | None, device: torch.device) -> Tensor | None:
    return None if axis is None else torch.tensor([axis.ids], device=device)  # [1,S] or [1,T]


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
    edits = build_edits(checkpoint, trace.source and trace.source.ids, [analysis.request.intervention])
    for rows, record in rows_of(checkpoint, analysis, site):
        query, key, softmax = (record[name].double() for name in ("q", "k", "pattern"))  # [1,H,R,K], [1,H,S,K], [1,H,R,S]
        mask, site_edits = record["mask"], SiteEdits(edits, site, rows.start)  # [1,H,R,S]
        place = (slice(None), rows, slice(mask.size(-1)))
        own[place], allowed[place] = softmax[0].cpu().numpy(), mask[0].cpu().numpy()
        linear[place] = site_edits.overwrite(linear_pattern(query, key, mask), mask)[0].cpu().numpy()
        if site.spec.is_self:
            window = masks.unpadded_mask(mask.size(-1), False, width, mask.device)[:, :, -mask.size(-2) :]  # [1,1,R,S]
            scores = attention_scores(query, key, site_edits, record.get("position_bias"))  # [1,H,R,S]
            pattern = site_edits.overwrite(masked_softmax(scores, mask & window), mask)  # [1,H,R,S]
            near[place] = pattern[0].cpu().numpy()
    axis = trace.axis(site.spec.query_side)
    attends = allowed.any(-1) & np.array([token != PAD for token in axis.ids])  # [H,T]

    def against(values: np.ndarray) -> OtherPattern:
        return OtherPattern(values.astype(np.float32), distance(values, own, attends))

    return OtherPatterns(own.astype(np.float32), allowed, against(linear), against(near) if site.spec.is_self else None)
