"""What a classifier's pooler reads: the state of the first token, or the mean of all. With numpy alone.

A head's output, pooled as the states are, is the pooled row of its pattern times the values: the row of the first token, or
the mean of the rows of all tokens that are no padding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.config import PAD, ModelConfig
from model.trace import Site, Trace

POOLED = {  # what is pooled, and whose attention that makes the classifier's, by the way of pooling
    "first": ("the state of the first token, {first}, alone", "the row of {first}, the token that is read"),
    "mean": ("the mean of the states of all {count} tokens, each with a weight of {weight}", "the mean of all rows"),
}


def pooling_weights(config: ModelConfig, ids: Sequence[int]) -> np.ndarray:
    """The share that each token's state has in what is pooled, [S]: they add up to 1."""
    weights = np.array([token != PAD for token in ids], dtype=np.float64)
    if config.pooling == "first":
        weights[1:] = 0
    return weights / weights.sum()


def pooled_row(trace: Trace, weights: np.ndarray, site: Site, head: int | None = None) -> np.ndarray:
    """How the pooled vector looks at each token by way of a head, or of the mean over heads where none is named: [S]."""
    return weights @ trace.view(site, head).values


def pooling_told(config: ModelConfig, labels: Sequence[str], ids: Sequence[int]) -> tuple[str, str]:
    """What is pooled, and whose attention is shown for it: in words, of this very text."""
    count = sum(token != PAD for token in ids)
    given = {"first": labels[0], "count": count, "weight": f"1/{count}"}
    what, whose = POOLED[config.pooling]
    return what.format(**given), whose.format(**given)
