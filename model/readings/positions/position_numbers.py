"""Measurements of a scheme of positions: its table, the similarity of two positions, and the effect of a shift.

Vaswani et al. 2017, section 3.5, chose sines because PE(p + k) is then a linear function of PE(p): a rotation of every pair
of dimensions by an angle that depends only on k. Su et al. 2021 (RoFormer) rotate queries and keys by the same angles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from ...network.attention import attention_scores
from ...network.positions import PositionScheme, position_scheme

SEED = 1  # of the random vectors for rotary positions
UNLIKELY = 5.0  # standard deviations: training moved a row further than this from a random one


@dataclass(frozen=True)
class PositionNumbers:
    """One scheme at N positions of width D, read-only. M positions have another one at the shift's distance.

    For rotary positions, `values` is a rotated vector of ones and `similarity` has its scores.
    """

    values: np.ndarray  # [N,D]
    similarity: np.ndarray  # dot products, or scores q.k/sqrt(K): [N,N], queries by keys
    mean: np.ndarray  # of the similarity over all pairs at distance d = p - q, for each d from 0
    minimum: np.ndarray
    maximum: np.ndarray
    rotated: np.ndarray  # R PE(p), [M,D]: the map of each position
    reached: np.ndarray  # PE(p + k), [M,D]: the target of the map
    residual: np.ndarray  # the largest error at each p; for rotary the largest change of a score, [M]
    wavelengths: np.ndarray | None = None  # of every pair of dimensions, in positions, [D/2]; None for learned positions
    random_mean: np.ndarray | None = None  # rotary: scores of a random query and key by distance
    seen: int | None = None  # learned: from this row on, every single row looks random
    trained: int | None = None  # learned: training reached the rows before this one; None if unknown
    # Learned: deviation of rows `seen` to `trained` together, and of all later rows, in standard deviations.
    together: tuple[float, float] = (0.0, 0.0)
    rows: int | None = None  # learned: of the full table
    used: int | None = None  # learned: number of first rows behind the map and the means by distance, at most N

    @property
    def spread(self) -> float:
        """The largest difference between pairs at equal distance, 0 where only the distance matters."""
        return float((self.maximum - self.minimum).max(initial=0.0))

    @property
    def worst(self) -> float:
        """The largest residual, nan where no two positions are the shift apart."""
        return float(self.residual.max()) if len(self.residual) else math.nan

    @property
    def relative(self) -> float:
        """The norm of the map's error relative to the norm of its target, over all positions."""
        error, target = np.linalg.norm(self.rotated - self.reached), np.linalg.norm(self.reached)
        return float(error / target) if target else 0.0


def by_distance(similarity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns mean, minimum and maximum similarity [N,N] of all pairs (p, p - d), for each distance d from 0, [N] each."""
    lines = [np.diagonal(similarity, -d) for d in range(len(similarity))]
    return tuple(np.array([fold(line) for line in lines]) for fold in (np.mean, np.min, np.max))  # type: ignore[return-value]


def scheme_numbers(scheme: str, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Measures positions 0 to count - 1 of a scheme with a formula. Raises ValueError for a scheme without one."""
    instance = position_scheme(scheme)
    measure = _added_numbers if instance.has_encoding else _relative_numbers
    return measure(instance, count, width, base, shift)


def _added_numbers(scheme: PositionScheme, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Measures vectors that are added. R comes from the formula, without the table, else it is the best orthogonal map."""
    values = scheme.encode(torch.arange(count), width, base)  # [N,D]
    reached = scheme.encode(torch.arange(count) + shift, width, base)  # [N,D]
    exact = values.double()
    rotated = scheme.shift(exact, shift, base)  # [N,D]
    if rotated is None:
        fitted = orthogonal_map(exact.numpy(), reached.double().numpy())
        rotated = exact @ torch.from_numpy(fitted).T  # [N,D]
    similarity = (exact @ exact.T).numpy()  # [N,N]
    residual = (rotated - reached).abs().amax(-1)  # [N]
    return _numbers(values, similarity, rotated, reached, residual, wavelengths=scheme.wavelengths(width, base))


def _relative_numbers(scheme: PositionScheme, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Measures scores at a head's width, of two equal vectors (ones) and of two random ones.

    The residual is the largest change of a score when query and key both move by `shift` positions.
    """
    ones = torch.ones(count, width)
    vectors = torch.randn(2, 1, width, generator=torch.Generator().manual_seed(SEED)).expand(2, count, width)
    turned, further = (_rotated(scheme, ones, first, base) for first in (0, shift))  # [N,K]
    scores, moved = (_scores(scheme, each, each, first) for each, first in ((turned, 0), (further, shift)))  # [N,N]
    random, random_moved = (
        _scores(scheme, *(_rotated(scheme, x, first, base) for x in vectors), first) for first in (0, shift)
    )  # [N,N]
    residual = torch.maximum((moved - scores).abs(), (random_moved - random).abs()).amax(-1)  # [N]
    rotated = scheme.rotate(turned[None, None], torch.full((count,), shift), base)[0, 0]  # [N,K]
    random_mean = by_distance(random.double().numpy())[0]
    more = {"wavelengths": scheme.wavelengths(width, base), "random_mean": random_mean}
    return _numbers(turned, scores.double().numpy(), rotated, further, residual, **more)


def _rotated(scheme: PositionScheme, x: torch.Tensor, first: int, base: float) -> torch.Tensor:
    """Rotates vectors [N,K] to positions from `first` on."""
    return scheme.rotate(x[None, None], torch.arange(len(x)) + first, base)[0, 0]  # [N,K]


def _scores(scheme: PositionScheme, query: torch.Tensor, key: torch.Tensor, first: int) -> torch.Tensor:
    """Returns the scores [N,N] of rotated queries and keys [N,K] of one head, at positions from `first` on."""
    positions = torch.arange(len(query)) + first  # [N]
    bias = scheme.score_bias(positions, positions, 1)  # [1,N,N]
    return attention_scores(query, key, position_bias=None if bias is None else bias[0])  # [N,N]


def learned_numbers(table: np.ndarray, count: int, shift: int, trained: int | None = None) -> PositionNumbers:
    """Measures the first rows of a learned table [R,D], of which training reached the first `trained`, if known.

    R is the best orthogonal map of the rows that training moved, by least squares on these rows (orthogonal Procrustes,
    Schoenemann 1966), so it need not be exact. Where no row differs from a random one, it covers the rows that training
    reached, or all if unknown.
    """
    values = table[:count].astype(np.float64)  # [N,D]
    seen = moved_rows(table)
    known = values[: seen if seen > 1 else trained or len(table)]
    similarity = values @ values.T  # [N,N]
    start, reached = known[: max(0, len(known) - shift)], known[shift:]  # [M,D] each
    rotated = start @ orthogonal_map(start, reached).T  # [M,D]
    residual = np.abs(rotated - reached).max(axis=1, initial=0.0)  # [M]
    trained = None if trained is None else min(trained, len(table))
    end = seen if trained is None else max(seen, trained)
    initial = initial_length(table)
    return _numbers(
        values,
        similarity,
        rotated,
        reached,
        residual,
        compared=len(known),
        seen=seen,
        trained=trained,
        rows=len(table),
        used=len(known),
        together=(joint_deviation(table[seen:end], initial), joint_deviation(table[end:], initial)),
    )


def orthogonal_map(start: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Returns the orthogonal R [D,D] that minimizes the sum of |R x - y|^2 over rows x of start and y of reached, [M,D]."""
    left, _, right = np.linalg.svd(reached.T @ start)
    return left @ right


def initial_length(table: np.ndarray) -> float:
    """Returns the mean squared length of the initial rows of a learned table [R,D].

    It is D next to scaled embeddings, and 1 next to others and in older checkpoints (`Transformer`). The median of the last
    quarter, the rows that few sentences reach, decides by the nearer ratio.
    """
    rows, width = table.shape
    last = (table[-max(1, rows // 4) :].astype(np.float64) ** 2).sum(1)
    return float(width) if np.median(last) > math.sqrt(width) else 1.0


def moved_rows(table: np.ndarray) -> int:
    """Returns the number of first rows of a learned table [R,D] up to the last one that training moved, at least 1.

    Each later row is plausible as an initial normal one (`initial_length`), by its length and its cosine with the row
    before. A row that no sentence reached has no gradient and keeps its initial value (`Transformer`).
    """
    width = table.shape[1]
    squares = (table.astype(np.float64) ** 2).sum(1)  # [R]
    freed = squares / initial_length(table) * width  # initially chi-squared with D degrees of freedom
    length = np.abs(freed - width) / math.sqrt(2 * width)  # in standard deviations
    unit = table / np.maximum(1e-12, np.sqrt(squares))[:, None]
    alike = np.abs((unit[1:] * unit[:-1]).sum(1)) * math.sqrt(width)
    moved = length > UNLIKELY
    moved[1:] |= alike > UNLIKELY
    return int(np.flatnonzero(moved).max(initial=0)) + 1


def joint_deviation(rows: np.ndarray, initial: float) -> float:
    """Returns the deviation of the summed squares of rows [M,D] from `initial` rows, in standard deviations.

    Small moves of single rows can add up to a large joint one. The result is 0 without rows.
    """
    freedom = rows.size
    total = float((rows.astype(np.float64) ** 2).sum()) / initial * rows.shape[1]  # chi-squared with `freedom` degrees
    return (total - freedom) / math.sqrt(2 * freedom) if freedom else 0.0


def _numbers(
    values: torch.Tensor | np.ndarray,
    similarity: np.ndarray,
    rotated: torch.Tensor | np.ndarray,
    reached: torch.Tensor | np.ndarray,
    residual: torch.Tensor | np.ndarray,
    compared: int | None = None,
    **more: object,
) -> PositionNumbers:
    """Returns the record with read-only arrays. The numbers by distance cover the first `compared` positions, or all."""
    mean, minimum, maximum = by_distance(similarity[:compared, :compared])
    values, similarity, rotated, reached = (np.asarray(x, dtype=np.float32) for x in (values, similarity, rotated, reached))
    residual = np.asarray(residual, dtype=np.float64)
    for array in (values, similarity, rotated, reached, residual, mean, minimum, maximum):
        array.flags.writeable = False
    return PositionNumbers(values, similarity, mean, minimum, maximum, rotated, reached, residual, **more)  # type: ignore[arg-type]
