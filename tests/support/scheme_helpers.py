"""A scheme of positions that only tests register: a bias of the scores, as ALiBi has it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from model.config import SCHEMES, Scheme
from model.network.positions import POSITION_SCHEMES, PositionScheme, register

NAME = "toy-alibi"


class ToyAlibi(PositionScheme):
    """Each score loses slope * distance, with a slope of 2^-h for head h from 1 (Press et al. 2022)."""

    def score_bias(self, queries: Tensor, keys: Tensor, heads: int) -> Tensor:
        slopes = 2.0 ** -torch.arange(1, heads + 1, device=queries.device)  # [H]
        distances = (queries[..., :, None] - keys[..., None, :]).abs()  # [T,S] or [B,T,S]
        return -slopes[:, None, None] * distances[..., None, :, :]  # [H,T,S] or [B,H,T,S]


@contextlib.contextmanager
def registered() -> Iterator[str]:
    """Registers the scheme for as long as the block lasts."""
    register(Scheme(NAME, "q·k / √d − slope |i − j|", attention_effect="Each score loses its distance."), ToyAlibi())
    try:
        yield NAME
    finally:
        del SCHEMES[NAME], POSITION_SCHEMES[NAME]


def pattern_by_hand(q: np.ndarray, k: np.ndarray, mask: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The pattern [H,T,S] of queries [H,T,K] and keys [H,S,K] that stand at positions [T] and [S], cell by cell;
    mask [T,S] or [H,T,S]."""
    heads, width = len(q), q.shape[-1]
    mask = np.broadcast_to(mask, (heads, len(rows), len(columns)))
    pattern = np.zeros((heads, len(rows), len(columns)))
    for h in range(heads):
        for t, row in enumerate(rows):
            seen = [s for s in range(len(columns)) if mask[h, t, s]]
            scores = [q[h, t] @ k[h, s] / np.sqrt(width) - abs(row - columns[s]) / 2 ** (h + 1) for s in seen]
            weights = np.exp(np.array(scores) - max(scores, default=0.0))
            pattern[h, t, seen] = weights / weights.sum() if seen else 0.0
    return pattern
