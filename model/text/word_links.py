"""Which word of a sentence translates which of its translation, learned from the pairs alone.

IBM Model 2 with the prior of Dyer et al. 2013 ("A simple, fast, and effective reparameterization of IBM Model 2"): a word's
link falls off with the distance from the diagonal. Both directions are learned, and a link counts where both draw it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TENSION = 4.0  # how steeply the prior falls off: exp(-TENSION * |i/m - j/n|)
ROUNDS = 5  # of expectation and maximisation
EMPTY = 0.08  # prior that a word translates none

Ids = NDArray[np.int64]


class Cells(NamedTuple):
    """Every word of a target against every word of its source, all pairs behind one another: [cells] each."""

    source: Ids  # which word of all sources, counted through
    target: Ids
    distance: NDArray[np.float64]  # from the diagonal, 0 to 1
    places: tuple[Ids, Ids, Ids]  # which pair, which word of its source, and which of its target


def _cells(sources: Sequence[int], targets: Sequence[int]) -> Cells:
    """The cells of pairs with so many words on each side."""
    m, n = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    size = m * n
    begin = np.concatenate(([0], np.cumsum(size)[:-1]))
    pair = np.repeat(np.arange(len(m)), size)
    within = np.arange(int(size.sum())) - begin[pair]
    i, j = within % m[pair], within // m[pair]
    first_source, first_target = (np.concatenate(([0], np.cumsum(side)[:-1])) for side in (m, n))
    distance = np.abs((i + 0.5) / m[pair] - (j + 0.5) / n[pair])
    return Cells(i + first_source[pair], j + first_target[pair], distance, (pair, i, j))


def _likeliest(given: Ids, made: Ids, words: Ids, cells: Cells, kinds: int) -> NDArray[np.bool_]:
    """For each cell whether `given` is the likeliest origin of the word `made`; `words` numbers the cell's pair of words.

    given, made: which word of all texts each cell has on either side; [cells] bool comes back.
    """
    prior = np.exp(-TENSION * cells.distance)
    total = np.bincount(made, prior)
    prior *= (1 - EMPTY) / total[made]
    types = int(words.max()) + 1 if len(words) else 0
    origin = np.zeros(types, np.int64)
    origin[words] = given  # the type that a pair of words begins with
    share = np.full(types, 1.0 / max(1, kinds))
    for _ in range(ROUNDS):
        weight = prior * share[words]
        weight /= (np.bincount(made, weight) + EMPTY / max(1, kinds))[made]
        counts = np.bincount(words, weight, types)
        share = counts / np.maximum(np.bincount(origin, counts)[origin], 1e-12)
    weight = prior * share[words]
    best = np.zeros(int(made.max()) + 1 if len(made) else 0)
    np.maximum.at(best, made, weight)
    return (weight == best[made]) & (weight > EMPTY / max(1, kinds))


def links(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
    """For each pair of texts, as words, its links: (word of the source, word of the target), from 0, in order."""
    cells = _cells([len(words) for words in sources], [len(words) for words in targets])
    one, many = _numbered(sources), _numbered(targets)
    if not len(cells.source):
        return [[] for _ in sources]
    source_types, target_types = one[cells.source], many[cells.target]
    _, words = np.unique(source_types * (int(many.max()) + 1) + target_types, return_inverse=True)
    kinds = int(one.max()) + 1, int(many.max()) + 1
    forward = _likeliest(source_types, cells.target, words, cells, kinds[1])
    backward = _likeliest(target_types, cells.source, words, cells, kinds[0])
    found: list[list[tuple[int, int]]] = [[] for _ in sources]
    drawn = np.flatnonzero(forward & backward)
    for pair, i, j in zip(*(place[drawn].tolist() for place in cells.places), strict=True):
        found[pair].append((i, j))
    return found


def _numbered(texts: Sequence[Sequence[str]]) -> Ids:
    """All words of all texts behind one another, equal ones with one number."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(word, len(numbers)) for words in texts for word in words], np.int64)
