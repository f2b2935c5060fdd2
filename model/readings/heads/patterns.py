"""Operations on attention maps: merging pieces into words, rollout, rank correlation and the heaviest cells.

Queries are rows. The module uses numpy only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np


@lru_cache(1 << 16)
def is_punctuation(label: str) -> bool:
    """Returns True for a token of punctuation only. Control tokens such as `</s>` are not punctuation."""
    return bool(label) and all(unicodedata.category(char)[0] == "P" for char in label)


def is_special(label: str) -> bool:
    """Returns True for a control token."""
    return label in ("<s>", "</s>", "<pad>")


def merge_words(pattern: np.ndarray, query_words: Sequence[int], key_words: Sequence[int]) -> np.ndarray:
    """Merges pieces into words, [...,T,S] to [...,words of T,words of S]. Rows still sum to one.

    The weight to a word is the sum over its pieces, from a word the mean over its rows (Clark et al. 2019, section 3).
    """
    summed = np.stack([pattern[..., np.asarray(key_words) == word].sum(-1) for word in dict.fromkeys(key_words)], axis=-1)
    rows = [summed[..., np.asarray(query_words) == word, :].mean(-2) for word in dict.fromkeys(query_words)]
    return np.stack(rows, axis=-2)


def rollout(patterns: np.ndarray) -> np.ndarray:
    """Returns the attention rollout of patterns [L,H,T,T] after each layer, [L,T,T] (Abnar and Zuidema 2020).

    Each layer's A = (mean over heads + I) / 2 multiplies those before it. An entry is the share of an input position in a
    position after the layer. Rows sum to one.
    """
    mean = patterns.astype(np.float64).mean(1)  # [L,T,T]
    identity = np.eye(mean.shape[-1])
    products = [identity]
    for layer in mean:
        mixed = layer + identity
        products.append(mixed / mixed.sum(-1, keepdims=True) @ products[-1])
    return np.stack(products[1:])


def rank_correlation(one: np.ndarray, two: np.ndarray, allowed: np.ndarray) -> float:
    """Returns Spearman's rank correlation of two maps over the allowed cells. Equal values share their mean rank.

    The result is nan where one of the maps does not vary.
    """
    a, b = (_ranks(values[allowed]) for values in (one, two))
    if len(a) < 2 or not (spread := np.sqrt((a @ a) * (b @ b))):
        return float("nan")
    return float(a @ b / spread)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Returns the rank of each value minus the mean rank. Equal values share their mean rank."""
    places = np.argsort(values)
    risen = np.append(True, np.diff(values[places]) > 0)[: len(values)]
    starts = np.append(np.flatnonzero(risen), len(values))
    ranks = np.empty(len(values))
    ranks[places] = ((starts[:-1] + starts[1:] - len(values)) / 2)[np.cumsum(risen) - 1]
    return ranks


def heaviest(rows: np.ndarray, mass: float) -> np.ndarray:
    """Returns the fewest cells of each row whose weights reach a share `mass` of its sum, bool [...,S].

    For a share of 1 these are all cells with a weight.
    """
    if mass >= 1:
        return rows > 0
    places = np.argsort(-rows, axis=-1, kind="stable")
    sorted_ = np.take_along_axis(rows, places, axis=-1)
    before = np.cumsum(sorted_, axis=-1) - sorted_
    selected = (before < mass * rows.sum(-1, keepdims=True)) & (sorted_ > 0)
    cells = np.zeros(rows.shape, dtype=bool)
    np.put_along_axis(cells, places, selected, axis=-1)
    return cells
