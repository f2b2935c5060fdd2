"""Candidates, divergences and differences of predictions, with numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..decoding.sampling import top_ids


@dataclass(frozen=True)
class Candidate:
    """One possible next token with its probability."""

    id: int
    probability: float


def candidates(log_probs: np.ndarray, count: int = 5) -> tuple[tuple[Candidate, ...], ...]:
    """Returns the top `count` next tokens of every step, sorted; log_probs [T,V] in nats."""
    top = (top_ids(row, count) for row in log_probs)
    return tuple(
        tuple(Candidate(int(i), float(np.exp(row[i]))) for i in order) for order, row in zip(top, log_probs, strict=True)
    )


def better_candidates(log_probs: np.ndarray, ids: Sequence[int]) -> tuple[Candidate | None, ...]:
    """Returns the top token of each step where it differs from `ids`, else None; log_probs [T,V] in nats."""
    first = (row[0] for row in candidates(log_probs, 1))
    return tuple(None if best.id == token else best for best, token in zip(first, ids, strict=True))


def kl_divergence(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Returns KL(before || after) of each step in nats, [T]; log-probabilities [T,V]."""
    if before.shape != after.shape:
        raise ValueError(f"the shapes are {before.shape} and {after.shape}; expected equal ones")
    before, after = before.astype(np.float64), after.astype(np.float64)
    return np.maximum(0.0, (np.exp(before) * (before - after)).sum(axis=-1))


@dataclass(frozen=True)
class ProbabilityShift:
    """The probability of a candidate before and after."""

    id: int
    before: float
    after: float


def largest_shifts(
    before: np.ndarray, after: np.ndarray, count: int = 3
) -> tuple[tuple[ProbabilityShift, ...], tuple[ProbabilityShift, ...]]:
    """Returns the tokens that gain and lose the most probability at a step, sorted; log-probabilities [V]."""
    p, q = np.exp(before.astype(np.float64)), np.exp(after.astype(np.float64))
    order = np.argsort(q - p, kind="stable")
    gains = [ProbabilityShift(int(i), float(p[i]), float(q[i])) for i in order[::-1][:count] if q[i] > p[i]]
    losses = [ProbabilityShift(int(i), float(p[i]), float(q[i])) for i in order[:count] if q[i] < p[i]]
    return tuple(gains), tuple(losses)


def first_difference(first: Sequence[int], second: Sequence[int]) -> int | None:
    """Returns the first position where two token sequences differ; None for equal ones."""
    for i, (a, b) in enumerate(zip(first, second, strict=False)):
        if a != b:
            return i
    return None if len(first) == len(second) else min(len(first), len(second))


def changed_words(words: Sequence[str], other_words: Sequence[str]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """Returns, for each of two word lists, True for words outside a longest common subsequence."""
    n, m = len(words), len(other_words)
    length = np.zeros((n + 1, m + 1), dtype=int)
    for i in range(n - 1, -1, -1):
        for j in range(m - 1, -1, -1):
            same = words[i] == other_words[j]
            length[i, j] = 1 + length[i + 1, j + 1] if same else max(length[i + 1, j], length[i, j + 1])
    first, second = [True] * n, [True] * m
    i = j = 0
    while i < n and j < m:
        if words[i] == other_words[j]:
            first[i] = second[j] = False
            i, j = i + 1, j + 1
        elif length[i + 1, j] >= length[i, j + 1]:
            i += 1
        else:
            j += 1
    return tuple(first), tuple(second)
