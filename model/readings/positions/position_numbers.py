"""What can be measured of a scheme of positions: its table, how alike two positions are, and what a shift does.

Vaswani et al. 2017, section 3.5, chose sines because PE(p + k) is then a linear function of PE(p): the rotation of every
pair of dimensions by an angle that depends on k alone. Su et al. 2021 (RoFormer) turn queries and keys by the same angles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from model.network.attention import attention_scores
from model.network.positions import PositionScheme, position_scheme

SEED = 1  # of the random vectors that rotary positions turn
UNLIKELY = 5.0  # standard deviations: a row further than this from what a random row would be was moved by training


@dataclass(frozen=True)
class PositionNumbers:
    """One scheme at N positions of width D, read-only; M of the positions have one that lies the shift further on.

    Rotary positions add nothing: there `values` is a vector of ones, turned, and `similarity` are its scores.
    """

    values: np.ndarray  # [N,D]
    similarity: np.ndarray  # dot products, or scores q.k/sqrt(K): [N,N], row p asks, column q answers
    mean: np.ndarray  # of the similarity over all pairs that lie d = p - q apart, for each d from 0
    least: np.ndarray
    most: np.ndarray
    rotated: np.ndarray  # R PE(p), [M,D]: what the map makes of each position
    reached: np.ndarray  # PE(p + k), [M,D]: what it should make
    residual: np.ndarray  # the largest fault at each p; for rotary the largest change of a score, [M]
    wavelengths: np.ndarray | None = None  # of every pair of dimensions, in positions, [D/2]; None for learned ones
    random_mean: np.ndarray | None = None  # rotary: scores of a random query and key by distance
    seen: int | None = None  # learned: from here on no row stands out alone from those that were drawn at random
    trained: int | None = None  # learned: sentences reached the rows before this one; None where that is not known
    together: tuple[float, float] = (
        0.0,
        0.0,
    )  # learned: how far rows `seen` to `trained`, and all beyond, stand out together
    rows: int | None = None  # learned: of the whole table
    used: int | None = None  # learned: the first rows that likeness by distance and the map are measured on, at most N

    @property
    def spread(self) -> float:
        """How much pairs that lie equally far apart differ at most: 0 where the distance alone decides."""
        return float((self.most - self.least).max(initial=0.0))

    @property
    def worst(self) -> float:
        """The largest residual; nan where no two positions lie the shift apart."""
        return float(self.residual.max()) if len(self.residual) else math.nan

    @property
    def relative(self) -> float:
        """Length of what the map misses over the length of what it should make, over all positions together."""
        missed, whole = np.linalg.norm(self.rotated - self.reached), np.linalg.norm(self.reached)
        return float(missed / whole) if whole else 0.0


def by_distance(similarity: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, least and largest similarity [N,N] of all pairs (p, p - d), for each distance d from 0: [N] each."""
    lines = [np.diagonal(similarity, -d) for d in range(len(similarity))]
    return tuple(np.array([fold(line) for line in lines]) for fold in (np.mean, np.min, np.max))  # type: ignore[return-value]


def scheme_numbers(scheme: str, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Positions 0 to count - 1 of a scheme that has a formula, measured; ValueError for one that has none."""
    found = position_scheme(scheme)
    measure = _added_numbers if found.has_encoding else _relative_numbers
    return measure(found, count, width, base, shift)


def _added_numbers(scheme: PositionScheme, count: int, width: int, base: float, shift: int) -> PositionNumbers:
    """Of vectors that are added. R is the map that the formula promises, found without looking at the table; where it
    promises none, the best orthogonal one."""
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
    """Of queries, keys and scores at a head's width: scores of two equal vectors (ones), and of two random ones.

    The residual is how far a score moves at most when query and key both stand `shift` positions further on.
    """
    ones = torch.ones(count, width)
    drawn = torch.randn(2, 1, width, generator=torch.Generator().manual_seed(SEED)).expand(2, count, width)
    turned, further = (_rotated(scheme, ones, first, base) for first in (0, shift))  # [N,K]
    scores, moved = (_scores(scheme, each, each, first) for each, first in ((turned, 0), (further, shift)))  # [N,N]
    random, random_moved = (
        _scores(scheme, *(_rotated(scheme, x, first, base) for x in drawn), first) for first in (0, shift)
    )  # [N,N]
    residual = torch.maximum((moved - scores).abs(), (random_moved - random).abs()).amax(-1)  # [N]
    rotated = scheme.rotate(turned[None, None], torch.full((count,), shift), base)[0, 0]  # [N,K]
    random_mean = by_distance(random.double().numpy())[0]
    more = {"wavelengths": scheme.wavelengths(width, base), "random_mean": random_mean}
    return _numbers(turned, scores.double().numpy(), rotated, further, residual, **more)


def _rotated(scheme: PositionScheme, x: torch.Tensor, first: int, base: float) -> torch.Tensor:
    """Vectors [N,K], each rotated to its position; the first stands at `first`."""
    return scheme.rotate(x[None, None], torch.arange(len(x)) + first, base)[0, 0]  # [N,K]


def _scores(scheme: PositionScheme, query: torch.Tensor, key: torch.Tensor, first: int) -> torch.Tensor:
    """Scores [N,N] of rotated queries and keys [N,K] of one head; the first stands at `first`."""
    positions = torch.arange(len(query)) + first  # [N]
    bias = scheme.score_bias(positions, positions, 1)  # [1,N,N]
    return attention_scores(query, key, position_bias=None if bias is None else bias[0])  # [N,N]


def learned_numbers(table: np.ndarray, count: int, shift: int, trained: int | None = None) -> PositionNumbers:
    """The first rows of a learned table [R,D], of which training reached the first `trained`, where that is known. R is the
    best orthogonal map of the rows that training has plainly moved, by least squares on those very rows (orthogonal
    Procrustes, Schoenemann 1966): nothing forces it to be exact. Where no row can be told from one that was drawn, these are
    the rows that training reached, or all where that is not known."""
    values = table[:count].astype(np.float64)  # [N,D]
    seen = moved_rows(table)
    known = values[: seen if seen > 1 else trained or len(table)]
    similarity = values @ values.T  # [N,N]
    start, reached = known[: max(0, len(known) - shift)], known[shift:]  # [M,D] each
    rotated = start @ orthogonal_map(start, reached).T  # [M,D]
    residual = np.abs(rotated - reached).max(axis=1, initial=0.0)  # [M]
    trained = None if trained is None else min(trained, len(table))
    end = seen if trained is None else max(seen, trained)
    told = {"seen": seen, "trained": trained, "rows": len(table), "used": len(known)}
    told["together"] = together(table[seen:end], drawn_length(table)), together(table[end:], drawn_length(table))
    found = _numbers(values, similarity, rotated, reached, residual, **told)
    mean, least, most = by_distance(similarity[: len(known), : len(known)])
    return PositionNumbers(**{**vars(found), "mean": mean, "least": least, "most": most})


def orthogonal_map(start: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """The orthogonal R [D,D] with the least sum of |R x - y|^2 over rows x of start and y of reached, [M,D] each."""
    left, _, right = np.linalg.svd(reached.T @ start)
    return left @ right


def drawn_length(table: np.ndarray) -> float:
    """The mean squared length of the rows that a learned table [R,D] was drawn with: D beside scaled embeddings, 1 beside
    others and in older checkpoints (`Transformer`). Told by the last quarter, the rows that sentences reach least: whichever
    their median is nearer to, as a ratio.
    """
    rows, width = table.shape
    last = (table[-max(1, rows // 4) :].astype(np.float64) ** 2).sum(1)
    return float(width) if np.median(last) > math.sqrt(width) else 1.0


def moved_rows(table: np.ndarray) -> int:
    """How many first rows of a learned table [R,D] training has plainly moved: after them, every row alone is what a row
    drawn from a normal distribution (`drawn_length`) would be, in its length and in its likeness to the row before it. At
    least 1.

    A row that no sentence reached gets no gradient, and stays what it was at the beginning (`Transformer`).
    """
    width = table.shape[1]
    squares = (table.astype(np.float64) ** 2).sum(1)  # [R]
    freed = squares / drawn_length(table) * width  # at the beginning a chi-squared of D degrees
    length = np.abs(freed - width) / math.sqrt(2 * width)  # in its standard deviations
    unit = table / np.maximum(1e-12, np.sqrt(squares))[:, None]
    alike = np.abs((unit[1:] * unit[:-1]).sum(1)) * math.sqrt(width)
    moved = length > UNLIKELY
    moved[1:] |= alike > UNLIKELY
    return int(np.flatnonzero(moved).max(initial=0)) + 1


def together(rows: np.ndarray, drawn: float) -> float:
    """By how many standard deviations the squares of rows [M,D], summed, differ from those of rows as they were `drawn`
    (`drawn_length`): what hardly moved any row may have moved all of them. 0 for no rows.
    """
    freedom = rows.size
    total = float((rows.astype(np.float64) ** 2).sum()) / drawn * rows.shape[1]  # a chi-squared with that many degrees
    return (total - freedom) / math.sqrt(2 * freedom) if freedom else 0.0


def _numbers(
    values: torch.Tensor | np.ndarray,
    similarity: np.ndarray,
    rotated: torch.Tensor | np.ndarray,
    reached: torch.Tensor | np.ndarray,
    residual: torch.Tensor | np.ndarray,
    **more: object,
) -> PositionNumbers:
    """The record, its spread taken over all positions, and every array read-only."""
    mean, least, most = by_distance(similarity)
    values, similarity, rotated, reached = (np.asarray(x, dtype=np.float32) for x in (values, similarity, rotated, reached))
    residual = np.asarray(residual, dtype=np.float64)
    for array in (values, similarity, rotated, reached, residual, mean, least, most):
        array.flags.writeable = False
    return PositionNumbers(values, similarity, mean, least, most, rotated, reached, residual, **more)  # type: ignore[arg-type]
