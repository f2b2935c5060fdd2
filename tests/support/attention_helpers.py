"""Attention weights drawn at random."""

from __future__ import annotations

import numpy as np


def patterns(layers: int, heads: int, rows: int, columns: int, causal: bool = False, seed: int = 0) -> np.ndarray:
    """Returns float32 weights [L,H,T,S] whose rows add up to 1; with `causal`, none is on a later token."""
    scores = 2 * np.random.default_rng(seed).normal(size=(layers, heads, rows, columns))
    if causal:
        scores[..., np.arange(rows)[:, None] < np.arange(columns)] = -np.inf
    weights = np.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)
