"""Which heads have similar patterns: points in two dimensions, groups, and the most similar heads.

The module uses numpy only. All functions take mean Jensen-Shannon divergences between E heads, [E,E], in bits from 0 to 1
(Clark et al. 2019 compare heads in this way).
"""

from __future__ import annotations

import numpy as np


def classical_scaling(distances: np.ndarray) -> tuple[np.ndarray, float]:
    """Returns points [E,2] whose distances are near the square roots of `distances` [E,E], and how much of them they keep.

    Classical multidimensional scaling (Torgerson 1952); the share is that of the positive eigenvalues. The square root of
    the Jensen-Shannon divergence is a metric (Endres and Schindelin 2003).
    """
    count = len(distances)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-centre @ distances @ centre / 2)  # of squared distances
    order = np.argsort(-values)[:2]
    largest = np.maximum(values[order], 0)
    points = np.zeros((count, 2))
    points[:, : len(order)] = vectors[:, order] * np.sqrt(largest)
    signs = np.sign(points[np.abs(points).argmax(0), range(2)])
    total = values[values > 0].sum()
    return points * np.where(signs == 0, 1, signs), float(largest.sum() / total) if total > 0 else 0.0


def groups(distances: np.ndarray, bound: float) -> list[list[int]]:
    """Returns the groups of heads whose mean divergence from each other is below `bound`, the largest group first.

    Average linkage: the two groups with the least mean divergence join until no two are nearer than the bound.
    """
    members = [[n] for n in range(len(distances))]
    while len(members) > 1:
        pairs = [
            (float(distances[np.ix_(a, b)].mean()), i, i + 1 + j)
            for i, a in enumerate(members)
            for j, b in enumerate(members[i + 1 :])
        ]
        nearest, first, second = min(pairs)
        if nearest >= bound:
            break
        members[first] += members.pop(second)
    return sorted((sorted(each) for each in members), key=lambda each: (-len(each), each))


def nearest(distances: np.ndarray, number: int, count: int) -> list[tuple[int, float]]:
    """Returns the `count` heads that are most similar to one of [E,E], the most similar first, with their divergences."""
    order = [n for n in np.argsort(distances[number], kind="stable").tolist() if n != number][:count]
    return [(n, float(distances[number, n])) for n in order]


def divergences(patterns: np.ndarray) -> np.ndarray:
    """Returns the Jensen-Shannon divergence of the rows of any two heads, summed over rows: patterns [E,T,S] to [E,E].

    In bits: 0 for equal rows, 1 for rows without a common key.
    """
    patterns = patterns.astype(np.float64)
    own, matrix = _entropy(patterns), np.zeros((len(patterns),) * 2)
    for head, pattern in enumerate(patterns[:-1]):
        others = patterns[head + 1 :]
        rows = _entropy((others + pattern) / 2) - (own[head + 1 :] + own[head]) / 2  # [E-head-1,T]
        matrix[head, head + 1 :] = np.maximum(rows, 0).sum(-1)
    return matrix + matrix.T


def _entropy(patterns: np.ndarray) -> np.ndarray:
    """Returns the entropy of each row in bits."""
    return -np.einsum("...s,...s->...", patterns, np.log2(np.where(patterns > 0, patterns, 1)))
