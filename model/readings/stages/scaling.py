"""Effect of dividing scores by sqrt(d_k) on their variance, on the softmax and on its gradient.

For q and k with independent components of mean 0 and variance 1, q.k has variance d_k (Vaswani et al. 2017, section 3.2.1,
footnote 4). This module measures it on random vectors and on the queries and keys of a checkpoint.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ...checkpoint import Checkpoint
from ...config import PAD
from ...edits.apply import BatchEdits, SiteEdits
from ...edits.intervention import BASELINE
from ...inference.analysis import Analysis
from ...inference.source_reading import build_edits
from ...network.attention import attention_weights
from ...trace import Site
from .layer_inputs import rows_of

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)  # of d_k
SETS, QUERIES = 64, 8  # random sets of keys for each width, and queries for each set
STEPS = 30  # of a bisection, which leaves 2^-30 of the interval


@dataclass(frozen=True)
class SoftmaxStatistics:
    """Means over the queries that see at least two keys, nan without any. All arrays have one shape.

    Attributes:
        variance: Of a query's scores over its keys.
        largest: Largest weight of the query's row of the pattern.
        entropy: Of that row, in nats.
        gradient: Frobenius norm of the softmax's Jacobian diag(p) - p p^T.
        spectral: Spectral norm of the Jacobian, its largest eigenvalue.
    """

    variance: np.ndarray
    largest: np.ndarray
    entropy: np.ndarray
    gradient: np.ndarray
    spectral: np.ndarray


@dataclass(frozen=True)
class Scaling:
    """Statistics of the same queries and keys with and without the division by sqrt(d_k)."""

    widths: tuple[int, ...]  # d_k of each entry: a random width or a head
    keys: int  # keys that a query sees at most
    queries: int  # queries in the mean
    divided: SoftmaxStatistics
    undivided: SoftmaxStatistics

    @property
    def even_gradient(self) -> float:
        """The gradient's norm for equal weights on all keys, sqrt(S - 1) / S."""
        return math.sqrt(self.keys - 1) / self.keys


def jacobian_norm(pattern: np.ndarray) -> np.ndarray:
    """Returns the Frobenius norm of diag(p) - p p^T for each row p of a pattern [...,S], [...].

    It is 0 for all weight on one key, sqrt(S - 1) / S for equal weights. Its square is the sum of p_i^2 (1 - p_i)^2 on the
    diagonal and of p_i^2 p_j^2 off it.
    """
    squares = (pattern**2).sum(-1)
    return np.sqrt(np.maximum(0.0, squares - 2 * (pattern**3).sum(-1) + squares**2))


def spectral_norm(pattern: np.ndarray) -> np.ndarray:
    """Returns the largest eigenvalue of diag(p) - p p^T for each row p of a pattern [...,S], S at least 2, [...].

    It is 0 for all weight on one key, 1 / S for equal weights, and 0.5 at most. Bisection finds it as the root of
    1 = sum_i p_i^2 / (p_i - x) between the second largest p and the largest one.
    """
    ordered = np.sort(pattern.astype(np.float64), axis=-1)
    low, high = ordered[..., -2].copy(), ordered[..., -1].copy()
    squares = pattern.astype(np.float64) ** 2
    for _ in range(STEPS):
        middle = (low + high) / 2
        apart = pattern - middle[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):
            below = np.where(squares > 0, squares / apart, 0.0).sum(-1) < 1
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def softmax_statistics(scores: np.ndarray, pattern: np.ndarray, allowed: np.ndarray) -> SoftmaxStatistics:
    """Returns means over the queries of scores and patterns [N,T,S] whose keys are `allowed` (bool [N,T,S]), each [N]."""
    weights = np.where(allowed, pattern, 0.0).astype(np.float64)
    count = allowed.sum(-1)  # [N,T]
    seen = count > 1
    values = np.where(allowed, scores, 0.0).astype(np.float64)
    mean = values.sum(-1, keepdims=True) / np.maximum(1, count)[..., None]
    spread = (np.where(allowed, values - mean, 0.0) ** 2).sum(-1) / np.maximum(1, count - 1)  # [N,T]
    logs = np.log(np.where(weights > 0, weights, 1.0))

    def averaged(values: np.ndarray) -> np.ndarray:
        rows = seen.sum(-1)
        return np.where(rows > 0, np.where(seen, values, 0.0).sum(-1) / np.maximum(1, rows), np.nan)

    return SoftmaxStatistics(
        variance=averaged(spread),
        largest=averaged(weights.max(-1)),
        entropy=averaged(-(weights * logs).sum(-1)),
        gradient=averaged(jacobian_norm(weights)),
        spectral=averaged(spectral_norm(weights)) if weights.shape[-1] > 1 else np.full(len(weights), np.nan),
    )


@torch.inference_mode()
def simulate_scaling(keys: int, seed: int = 0, widths: tuple[int, ...] = WIDTHS) -> Scaling:
    """Returns statistics of random queries over `keys` keys for each width d_k, with components from N(0, 1).

    Raises:
        ValueError: There are fewer than two keys.
    """
    if keys < 2:
        raise ValueError(f"a softmax over {keys} key is always 1; expected at least 2 keys")
    generator = torch.Generator().manual_seed(seed)
    pairs = []
    for width in widths:
        query = torch.randn(1, SETS, QUERIES, width, generator=generator)  # [B,H,T,K], with sets as heads
        key = torch.randn(1, SETS, keys, width, generator=generator)  # [B,H,S,K]
        allowed = torch.ones(1, 1, QUERIES, keys, dtype=torch.bool)
        pairs.append([_pooled(each) for each in _both(query, key, allowed)])
    divided, undivided = (_joined([pair[i] for pair in pairs]) for i in range(2))
    return Scaling(tuple(widths), keys, SETS * QUERIES, divided, undivided)


@torch.inference_mode()
def site_scaling(checkpoint: Checkpoint, analysis: Analysis, site: Site) -> Scaling:
    """Returns statistics of each head's own queries and keys at a site, with and without the division.

    They come from the passes behind the site's rows, under the intervention, without padding queries. Only this site omits
    the division. A row that an edit overwrites has equal weights in both.

    Raises:
        ValueError: The checkpoint has no such site.
    """
    if site not in analysis.trace.patterns:
        raise ValueError(f"This checkpoint has no layer {site.layer + 1} here; choose a lower one.")
    trace, intervention = analysis.trace, analysis.request.intervention
    source, shape = trace.source and trace.source.ids, trace.patterns[site].shape
    edits = {
        scaling: build_edits(checkpoint, source, [dataclasses.replace(intervention, scaling=scaling)])
        for scaling in (True, False)
    }
    allowed, width = np.zeros(shape, dtype=bool), checkpoint.config.head_dim
    maps = {scaling: (np.zeros(shape), np.zeros(shape)) for scaling in (True, False)}  # scores and pattern [H,T,S]
    for rows, record in rows_of(checkpoint, analysis, site):
        query, key, mask = record["q"].double(), record["k"].double(), record["mask"]  # [1,H,R,K], [1,H,S,K], [1,H,R,S]
        place = (slice(None), rows, slice(mask.size(-1)))
        allowed[place] = mask[0].cpu().numpy()
        for scaling, values in maps.items():
            here = SiteEdits(edits[scaling], site, rows.start)
            pattern, scores = attention_weights(query, key, mask, here, record.get("position_bias"))  # [1,H,R,S] twice
            for all_rows, own in zip(values, (scores, pattern), strict=True):
                all_rows[place] = own[0].cpu().numpy()
    if site.spec.query_side == "source":
        allowed &= np.array([token != PAD for token in trace.source.ids])[:, None]
    divided, undivided = (softmax_statistics(*each, allowed) for each in maps.values())
    counts = allowed.sum(-1)  # [H,T]
    return Scaling((width,) * shape[0], int(counts.max()), int((counts > 1).any(0).sum()), divided, undivided)


def _both(query: Tensor, key: Tensor, mask: Tensor) -> tuple[SoftmaxStatistics, SoftmaxStatistics]:
    """Returns statistics of random vectors with and without the division, each [H]. The batch is one."""
    results = []
    for scaling in (True, False):
        edits = SiteEdits(BatchEdits([dataclasses.replace(BASELINE, scaling=scaling)]))
        pattern, scores = attention_weights(query.double(), key.double(), mask, edits)  # [1,H,T,S] twice
        results.append(softmax_statistics(*(t[0].numpy() for t in (scores, pattern, mask.expand_as(pattern)))))
    return results[0], results[1]


def _pooled(each: SoftmaxStatistics) -> SoftmaxStatistics:
    """Returns the mean over sets, as arrays of one entry."""
    return SoftmaxStatistics(*(values.mean(keepdims=True) for values in _fields(each)))


def _joined(parts: list[SoftmaxStatistics]) -> SoftmaxStatistics:
    return SoftmaxStatistics(*(np.concatenate(arrays) for arrays in zip(*map(_fields, parts), strict=True)))


def _fields(each: SoftmaxStatistics) -> tuple[np.ndarray, ...]:
    return each.variance, each.largest, each.entropy, each.gradient, each.spectral
