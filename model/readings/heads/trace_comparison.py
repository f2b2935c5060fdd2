"""Two passes beside each other: which tokens are partners, and how far the rows of attention of both are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from model.inference.predictions import changed_words
from model.trace import Site, Trace, View


@dataclass(frozen=True)
class Alignment:
    """Two lists of tokens beside each other, in reading order. A column has a position in each, or None where that list has
    no partner; `same` says for each column whether it holds the same token twice."""

    columns: tuple[tuple[int | None, int | None], ...]
    same: tuple[bool, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns that have both."""
        return tuple((i, j) for i, j in self.columns if i is not None and j is not None)

    @cached_property
    def common(self) -> tuple[tuple[int, int], ...]:
        """Those of them whose tokens are the same."""
        return tuple(
            (i, j) for (i, j), same in zip(self.columns, self.same, strict=True) if same and i is not None and j is not None
        )

    @cached_property
    def is_equal(self) -> bool:
        """Whether both lists are the same."""
        return all(self.same)

    @cached_property
    def alone(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions that have no partner, in the first and in the second."""
        first = tuple(i for i, j in self.columns if i is not None and j is None)
        return first, tuple(j for i, j in self.columns if j is not None and i is None)

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Positions of both that belong together: partners, and all without one that stand between the same two partners, as
        the tokens of two words that are cut differently."""
        found: list[tuple[list[int], list[int]]] = []
        was_pair = True
        for i, j in self.columns:
            is_pair = i is not None and j is not None
            if is_pair or was_pair:
                found.append(([], []))
            for into, position in zip(found[-1], (i, j), strict=True):
                if position is not None:
                    into.append(position)
            was_pair = is_pair
        return tuple((tuple(one), tuple(other)) for one, other in found)


def align(one: Sequence[str], other: Sequence[str]) -> Alignment:
    """Both lists by their longest common subsequence. What stands between two common tokens is paired token by token where
    it is equally long in both, so that a word that is put in another's place is its partner; else it has none."""
    changed, new = changed_words(one, other)
    kept = [*zip(_kept(changed), _kept(new), strict=True), (len(one), len(other))]
    columns: list[tuple[int | None, int | None]] = []
    same: list[bool] = []
    i = j = 0
    for next_i, next_j in kept:
        gone, come = range(i, next_i), range(j, next_j)
        between = (
            [*zip(gone, come, strict=True)]
            if len(gone) == len(come)
            else [*((each, None) for each in gone), *((None, each) for each in come)]
        )
        columns += between
        same += [False] * len(between)
        if next_i < len(one):
            columns.append((next_i, next_j))
            same.append(True)
        i, j = next_i + 1, next_j + 1
    return Alignment(tuple(columns), tuple(same))


def _kept(changed: Sequence[bool]) -> list[int]:
    return [n for n, off in enumerate(changed) if not off]


def row_distances(one: np.ndarray, other: np.ndarray, rows: Alignment, keys: Alignment) -> np.ndarray:
    """Total variation distance between the rows of two patterns [H,T,S] and [H,U,V] that are partners, [H,pairs]: half the
    sum of what their weights differ by, 0 where they are the same and 1 where they have nothing in common.

    The weights of keys that belong together (`groups`) are summed; those of a key that the other side lacks count whole. NaN
    where one of the two rows sees nothing.
    """
    first, second = _both(rows.pairs)
    a, b = one[:, first].astype(np.float64), other[:, second].astype(np.float64)  # [H,pairs,S], [H,pairs,V]
    ours, theirs = (_members(keys, side, each.shape[-1]) for side, each in enumerate((one, other)))
    apart = np.abs(a @ ours - b @ theirs).sum(axis=-1) / 2  # [H,pairs]
    return np.where((a.sum(axis=-1) > 0) & (b.sum(axis=-1) > 0), apart, np.nan)


def _members(keys: Alignment, side: int, count: int) -> np.ndarray:
    """1 where a key belongs to a group, [keys,groups]."""
    found = np.zeros((count, len(keys.groups)))
    for number, group in enumerate(keys.groups):
        found[list(group[side]), number] = 1
    return found


def mean(distances: np.ndarray) -> np.ndarray:
    """The mean over the last axis of what is a number; NaN where nothing is."""
    counts = (~np.isnan(distances)).sum(axis=-1)
    return np.where(counts > 0, np.nansum(distances, axis=-1) / np.maximum(counts, 1), np.nan)


def _both(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [i for i, _ in pairs], [j for _, j in pairs]


@dataclass(frozen=True)
class Aligned:
    """Two traces with the partners among their tokens: of the source, of what the decoder reads, of what it predicts."""

    first: Trace
    second: Trace
    source: Alignment | None  # None where one of them has no source
    inputs: Alignment | None
    predicted: Alignment

    def queries(self, site: Site) -> Alignment | None:
        """The partners among a site's rows; those of a decoder go by what they predict."""
        return self.source if site.of.queries == "source" else self.inputs and self.predicted

    def keys(self, site: Site) -> Alignment | None:
        """The partners among a site's columns."""
        return self.source if site.of.keys == "source" else self.inputs

    def distances(self, site: Site, other: Site | None = None) -> np.ndarray | None:
        """How far each head of a site is from the same head of the other trace (there at `other`), as the mean over the rows
        that are partners, padding left out, [H]; None where there is nothing to compare."""
        other = other or site
        rows, keys = self.queries(site), self.keys(site)
        if rows is None or keys is None or site not in self.first.patterns or other not in self.second.patterns:
            return None
        labels = self.first.axis(site.of.queries).labels
        real = [pair for pair in rows.pairs if labels[pair[0]] != "<pad>"]
        one, two = self.first.patterns[site], self.second.patterns[other]
        heads = min(len(one), len(two))
        return mean(row_distances(one[:heads], two[:heads], Alignment(tuple(real), (False,) * len(real)), keys))


def aligned(first: Trace, second: Trace) -> Aligned:
    """Two traces with the partners among their tokens."""

    def both(name: str) -> Alignment | None:
        one, two = getattr(first, name), getattr(second, name)
        return None if one is None or two is None else align(one.labels, two.labels)

    return Aligned(first, second, both("source"), both("inputs"), align(first.predicted.labels, second.predicted.labels))


def common_difference(one: View, two: View) -> View | None:
    """The second map less the first over the rows and columns whose tokens stand in both, on the axes of the first; no other
    cell is allowed. None where no cell is common."""
    rows, keys = align(one.queries, two.queries).common, align(one.keys, two.keys).common
    if not rows or not keys:
        return None
    (first, second), (ours, theirs) = _both(rows), _both(keys)
    part = _part(two, second, theirs) - _part(one, first, ours)
    values, allowed = np.zeros_like(one.values), np.zeros_like(one.allowed)
    values[np.ix_(first, ours)] = part.values
    allowed[np.ix_(first, ours)] = one.allowed[np.ix_(first, ours)] | two.allowed[np.ix_(second, theirs)]
    return View(values, allowed, one.queries, one.keys) if allowed.any() else None


def _part(view: View, rows: list[int], columns: list[int]) -> View:
    where = np.ix_(rows, columns)
    labels = (tuple(view.queries[i] for i in rows), tuple(view.keys[j] for j in columns))
    return View(view.values[where], view.allowed[where], *labels)
