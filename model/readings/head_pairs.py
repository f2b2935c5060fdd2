"""Which heads link two tokens: the weight that every head of a kind of site gives from the one to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from model.readings.patterns import merged
from model.trace import Trace, site_kind


@dataclass(frozen=True)
class Pair:
    """A token that asks, as a row of a kind of site, and one that answers, as a column; from 0."""

    kind: str
    query: int
    key: int


def linking(trace: Trace, pair: Pair, merge: bool = False) -> np.ndarray:
    """The weight from the pair's query to its key with every head, layer by layer [N]; with `merge` from word to word, as
    `merged` defines it.

    Raises ValueError for a site or a token that there is not.
    """
    sites = trace.sites(pair.kind)
    if not sites:
        raise ValueError(f"This checkpoint has no {site_kind(pair.kind).name}.")
    of = site_kind(pair.kind)
    sides = (trace.axis(of.queries), trace.axis(of.keys))
    for at, side, name in ((pair.query, sides[0], of.queries), (pair.key, sides[1], of.keys)):
        if at >= len(side):
            raise ValueError(f"The link asks for {name} token {at + 1}; there are {len(side)}.")
    patterns = np.concatenate([trace.patterns[site] for site in sites])  # [N,T,S]
    if not merge:
        return patterns[:, pair.query, pair.key]
    query, key = pair_of_words(trace, pair)
    return merged(patterns, sides[0].words, sides[1].words)[:, query, key]


def strongest(trace: Trace, pair: Pair, merge: bool = False) -> tuple[int, int]:
    """Layer and head, from 0, that give the most weight from the pair's query to its key; the first of equals. Raises as
    `linking`."""
    best = int(linking(trace, pair, merge).argmax())
    heads = len(trace.patterns[trace.sites(pair.kind)[0]])
    return divmod(best, heads)


def pair_of_words(trace: Trace, pair: Pair) -> tuple[int, int]:
    """The words that a pair's tokens belong to, as row and column of a map of words."""
    of = site_kind(pair.kind)
    places = [
        list(dict.fromkeys(axis.words)).index(axis.words[at])
        for axis, at in ((trace.axis(of.queries), pair.query), (trace.axis(of.keys), pair.key))
    ]
    return places[0], places[1]
