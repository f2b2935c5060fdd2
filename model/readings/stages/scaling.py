"""Why scores are divided by sqrt(d_k): what the division does to their variance, to the softmax and to its gradient.

For q and k with independent components of mean 0 and variance 1, q.k has variance d_k (Vaswani et al. 2017, section 3.2.1,
footnote 4). Here that is measured, on random vectors and on the queries and keys of a checkpoint.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.checkpoint import Checkpoint
from model.config import PAD
from model.edits.apply import Edits, SiteEdits
from model.edits.intervention import BASELINE
from model.inference.analysis import Analysis
from model.inference.source_reading import edits_of
from model.network.attention import attention_weights
from model.readings.stages.layer_inputs import rows_of
from model.trace import Site

WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)  # of d_k
SETS, QUERIES = 64, 8  # so many sets of keys are drawn for each width, and so many queries for each set
STEPS = 30  # of a bisection: 2^-30 is left of the interval


@dataclass(frozen=True)
class Numbers:
    """Means over queries that see at least two keys; nan where there is none. All arrays have one shape.

    `variance` of a query's scores over its keys; `largest` weight of its row of the pattern; `entropy` of that row in nats;
    `gradient`: the Frobenius norm of the softmax's Jacobian diag(p) - p p^T; `spectral`: its spectral norm, the largest
    eigenvalue. The two need not change alike.
    """

    variance: np.ndarray
    largest: np.ndarray
    entropy: np.ndarray
    gradient: np.ndarray
    spectral: np.ndarray


@dataclass(frozen=True)
class Scaling:
    """The same queries and keys with their products divided by sqrt(d_k), and not divided."""

    widths: tuple[int, ...]  # d_k of each entry: one a width that was drawn, or one a head
    keys: int  # how many keys a query sees, at most
    queries: int  # how many queries were averaged over
    divided: Numbers
    undivided: Numbers

    @property
    def even_gradient(self) -> float:
        """The gradient's norm where the weight is even over all keys: sqrt(S - 1) / S."""
        return math.sqrt(self.keys - 1) / self.keys


def jacobian_norm(pattern: np.ndarray) -> np.ndarray:
    """Frobenius norm of diag(p) - p p^T for each row p of a pattern [...,S]: [...]. It is 0 where all weight is on one key,
    sqrt(S - 1) / S where it is even.

    Its square is the sum of p_i^2 (1 - p_i)^2 on the diagonal and of p_i^2 p_j^2 beside it."""
    squares = (pattern**2).sum(-1)
    return np.sqrt(np.maximum(0.0, squares - 2 * (pattern**3).sum(-1) + squares**2))


def spectral_norm(pattern: np.ndarray) -> np.ndarray:
    """Largest eigenvalue of diag(p) - p p^T for each row p of a pattern [...,S], S at least 2: [...]. It is 0 where all
    weight is on one key, 1 / S where it is even, and 0.5 at most.

    It is the root of 1 = sum_i p_i^2 / (p_i - x) between the second largest p and the largest one, found by bisection.
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


def numbers(scores: np.ndarray, pattern: np.ndarray, allowed: np.ndarray) -> Numbers:
    """Means over the queries of scores and patterns [N,T,S] whose keys are `allowed` (bool, the same shape): each [N]."""
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

    return Numbers(
        variance=averaged(spread),
        largest=averaged(weights.max(-1)),
        entropy=averaged(-(weights * logs).sum(-1)),
        gradient=averaged(jacobian_norm(weights)),
        spectral=averaged(spectral_norm(weights)) if weights.shape[-1] > 1 else np.full(len(weights), np.nan),
    )


@torch.inference_mode()
def drawn(keys: int, seed: int = 0, widths: tuple[int, ...] = WIDTHS) -> Scaling:
    """Random queries and keys with components from N(0, 1), seeded: the numbers of rows over `keys` keys for each width d_k.

    Raises ValueError for fewer than two keys.
    """
    if keys < 2:
        raise ValueError(f"a softmax over {keys} key is always 1; expected at least 2 keys")
    generator = torch.Generator().manual_seed(seed)
    found = []
    for width in widths:
        query = torch.randn(1, SETS, QUERIES, width, generator=generator)  # [B,H,T,K], sets in the place of heads
        key = torch.randn(1, SETS, keys, width, generator=generator)  # [B,H,S,K]
        allowed = torch.ones(1, 1, QUERIES, keys, dtype=torch.bool)
        found.append([_pooled(each) for each in _both(query, key, allowed)])
    divided, undivided = (_joined([pair[i] for pair in found]) for i in range(2))
    return Scaling(tuple(widths), keys, SETS * QUERIES, divided, undivided)


@torch.inference_mode()
def of_site(checkpoint: Checkpoint, analysis: Analysis, site: Site) -> Scaling:
    """A checkpoint's own queries and keys at a site: the numbers of each head, with the division and without.

    Read from the passes that the rows of the maps come from, under the intervention; padding asks nothing. The division is
    left out here alone: what came before is as it was. A row that an edit writes over has the same weights in both. Raises
    ValueError for a site that the checkpoint does not have.
    """
    if site not in analysis.trace.patterns:
        raise ValueError(f"This checkpoint has no layer {site.layer + 1} here; choose a lower one.")
    trace, asked = analysis.trace, analysis.request.intervention
    source, shape = trace.source and trace.source.ids, trace.patterns[site].shape
    edits = {
        scaling: edits_of(checkpoint, source, [dataclasses.replace(asked, scaling=scaling)]) for scaling in (True, False)
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
    if site.of.queries == "source":
        allowed &= np.array([token != PAD for token in trace.source.ids])[:, None]
    divided, undivided = (numbers(*each, allowed) for each in maps.values())
    counts = allowed.sum(-1)  # [H,T]
    return Scaling((width,) * shape[0], int(counts.max()), int((counts > 1).any(0).sum()), divided, undivided)


def _both(query: Tensor, key: Tensor, mask: Tensor) -> tuple[Numbers, Numbers]:
    """With the division and without it, each [H], of random vectors; the batch is one."""
    found = []
    for scaling in (True, False):
        edits = SiteEdits(Edits([dataclasses.replace(BASELINE, scaling=scaling)]))
        pattern, scores = attention_weights(query.double(), key.double(), mask, edits)  # [1,H,T,S] twice
        found.append(numbers(*(t[0].numpy() for t in (scores, pattern, mask.expand_as(pattern)))))
    return found[0], found[1]


def _pooled(each: Numbers) -> Numbers:
    """The mean over sets, as arrays of one entry."""
    return Numbers(*(values.mean(keepdims=True) for values in _fields(each)))


def _joined(parts: list[Numbers]) -> Numbers:
    return Numbers(*(np.concatenate(arrays) for arrays in zip(*map(_fields, parts), strict=True)))


def _fields(each: Numbers) -> tuple[np.ndarray, ...]:
    return each.variance, each.largest, each.entropy, each.gradient, each.spectral
