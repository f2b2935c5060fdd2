"""Comparison of two traces: aligned tokens and the distance between their attention rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...inference.predictions import changed_words
from ...trace import MapView, Site, Trace


@dataclass(frozen=True)
class Alignment:
    """Two aligned lists of tokens, in reading order.

    A column has a position in each list, or None where that list has no partner. `same` is True for a column with two equal
    tokens.
    """

    columns: tuple[tuple[int | None, int | None], ...]
    same: tuple[bool, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns with a position in both lists."""
        return tuple((i, j) for i, j in self.columns if i is not None and j is not None)

    @cached_property
    def common(self) -> tuple[tuple[int, int], ...]:
        """The pairs whose tokens are equal."""
        return tuple(
            (i, j) for (i, j), same in zip(self.columns, self.same, strict=True) if same and i is not None and j is not None
        )

    @cached_property
    def is_equal(self) -> bool:
        """True where both lists are equal."""
        return all(self.same)

    @cached_property
    def unpaired(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions without a partner, in the first and in the second list."""
        first = tuple(i for i, j in self.columns if i is not None and j is None)
        return first, tuple(j for i, j in self.columns if j is not None and i is None)

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Positions of both lists that belong together.

        A group is a pair of partners, or all positions without a partner between two pairs, such as the pieces of two words
        that are split differently.
        """
        groups: list[tuple[list[int], list[int]]] = []
        was_pair = True
        for i, j in self.columns:
            is_pair = i is not None and j is not None
            if is_pair or was_pair:
                groups.append(([], []))
            for into, position in zip(groups[-1], (i, j), strict=True):
                if position is not None:
                    into.append(position)
            was_pair = is_pair
        return tuple((tuple(one), tuple(other)) for one, other in groups)


def align(one: Sequence[str], other: Sequence[str]) -> Alignment:
    """Aligns two lists by their longest common subsequence.

    Tokens between two common ones are paired where both lists have equally many, so a substituted word has a partner. Else
    they have none.
    """
    changed, new = changed_words(one, other)
    anchors = [*zip(_unchanged(changed), _unchanged(new), strict=True), (len(one), len(other))]
    columns: list[tuple[int | None, int | None]] = []
    same: list[bool] = []
    i = j = 0
    for next_i, next_j in anchors:
        removed, added = range(i, next_i), range(j, next_j)
        between = (
            [*zip(removed, added, strict=True)]
            if len(removed) == len(added)
            else [*((each, None) for each in removed), *((None, each) for each in added)]
        )
        columns += between
        same += [False] * len(between)
        if next_i < len(one):
            columns.append((next_i, next_j))
            same.append(True)
        i, j = next_i + 1, next_j + 1
    return Alignment(tuple(columns), tuple(same))


def _unchanged(changed: Sequence[bool]) -> list[int]:
    return [n for n, is_changed in enumerate(changed) if not is_changed]


def row_distances(one: np.ndarray, other: np.ndarray, rows: Alignment, keys: Alignment) -> np.ndarray:
    """Returns the total variation distance between paired rows of two patterns [H,T,S] and [H,U,V], [H,pairs].

    The distance is half the sum of absolute differences, from 0 (equal rows) to 1 (no common key). The weights of a group of
    keys (`Alignment.groups`) are summed. A key without a partner counts in full. NaN where one of the rows sees no key.
    """
    first, second = _both(rows.pairs)
    a, b = one[:, first].astype(np.float64), other[:, second].astype(np.float64)  # [H,pairs,S], [H,pairs,V]
    ours, theirs = (_members(keys, side, each.shape[-1]) for side, each in enumerate((one, other)))
    apart = np.abs(a @ ours - b @ theirs).sum(axis=-1) / 2  # [H,pairs]
    return np.where((a.sum(axis=-1) > 0) & (b.sum(axis=-1) > 0), apart, np.nan)


def _members(keys: Alignment, side: int, count: int) -> np.ndarray:
    """Returns 1 where a key belongs to a group, else 0, [keys,groups]."""
    members = np.zeros((count, len(keys.groups)))
    for number, group in enumerate(keys.groups):
        members[list(group[side]), number] = 1
    return members


def mean(distances: np.ndarray) -> np.ndarray:
    """Returns the mean over the last axis without NaN, NaN where no number is left."""
    counts = (~np.isnan(distances)).sum(axis=-1)
    return np.where(counts > 0, np.nansum(distances, axis=-1) / np.maximum(counts, 1), np.nan)


def _both(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [i for i, _ in pairs], [j for _, j in pairs]


@dataclass(frozen=True)
class AlignedTraces:
    """Two traces with alignments of their source, decoder input and predicted tokens."""

    first: Trace
    second: Trace
    source: Alignment | None  # None where one of them has no source
    inputs: Alignment | None
    predicted: Alignment

    def queries(self, site: Site) -> Alignment | None:
        """Returns the alignment of a site's rows. Decoder rows are aligned by the tokens that they predict."""
        return self.source if site.spec.query_side == "source" else self.inputs and self.predicted

    def keys(self, site: Site) -> Alignment | None:
        """Returns the alignment of a site's columns."""
        return self.source if site.spec.key_side == "source" else self.inputs

    def distances(self, site: Site, other: Site | None = None) -> np.ndarray | None:
        """Returns the mean row distance of each head of a site to the head of the second trace, [H].

        The mean covers paired rows without padding. `other` is the site in the second trace. None without a common row.
        """
        other = other or site
        rows, keys = self.queries(site), self.keys(site)
        if rows is None or keys is None or site not in self.first.patterns or other not in self.second.patterns:
            return None
        labels = self.first.axis(site.spec.query_side).labels
        real = [pair for pair in rows.pairs if labels[pair[0]] != "<pad>"]
        one, two = self.first.patterns[site], self.second.patterns[other]
        heads = min(len(one), len(two))
        return mean(row_distances(one[:heads], two[:heads], Alignment(tuple(real), (False,) * len(real)), keys))


def align_traces(first: Trace, second: Trace) -> AlignedTraces:
    """Aligns the tokens of two traces."""

    def both(name: str) -> Alignment | None:
        one, two = getattr(first, name), getattr(second, name)
        return None if one is None or two is None else align(one.labels, two.labels)

    return AlignedTraces(
        first, second, both("source"), both("inputs"), align(first.predicted_axis.labels, second.predicted_axis.labels)
    )


def common_difference(one: MapView, two: MapView) -> MapView | None:
    """Returns the second map minus the first over their common tokens, on the axes of the first.

    No other cell is allowed. None where no cell is common.
    """
    rows, keys = align(one.queries, two.queries).common, align(one.keys, two.keys).common
    if not rows or not keys:
        return None
    (first, second), (ours, theirs) = _both(rows), _both(keys)
    part = _part(two, second, theirs) - _part(one, first, ours)
    values, allowed = np.zeros_like(one.values), np.zeros_like(one.allowed)
    values[np.ix_(first, ours)] = part.values
    allowed[np.ix_(first, ours)] = one.allowed[np.ix_(first, ours)] | two.allowed[np.ix_(second, theirs)]
    return MapView(values, allowed, one.queries, one.keys) if allowed.any() else None


def _part(view: MapView, rows: list[int], columns: list[int]) -> MapView:
    where = np.ix_(rows, columns)
    labels = (tuple(view.queries[i] for i in rows), tuple(view.keys[j] for j in columns))
    return MapView(view.values[where], view.allowed[where], *labels)
