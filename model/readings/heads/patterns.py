"""What is made of maps of attention: pieces merged into words, rollout, ranks, the heaviest cells; and which of their tokens
are punctuation or control tokens.

With numpy alone. Queries are rows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np


@lru_cache(1 << 16)
def is_punctuation(label: str) -> bool:
    """True for a token of punctuation alone; `</s>` and its like are none."""
    return bool(label) and all(unicodedata.category(char)[0] == "P" for char in label)


def is_special(label: str) -> bool:
    """True for the control tokens."""
    return label in ("<s>", "</s>", "<pad>")


def merged(pattern: np.ndarray, query_words: Sequence[int], key_words: Sequence[int]) -> np.ndarray:
    """Pieces joined into words: the weight *to* a word is the sum over its pieces, *from* a word the mean over its rows
    (Clark et al. 2019, section 3): [...,T,S] to [...,words of T,words of S]. Rows still sum to one."""
    summed = np.stack([pattern[..., np.asarray(key_words) == word].sum(-1) for word in dict.fromkeys(key_words)], axis=-1)
    rows = [summed[..., np.asarray(query_words) == word, :].mean(-2) for word in dict.fromkeys(query_words)]
    return np.stack(rows, axis=-2)


def rollout(patterns: np.ndarray) -> np.ndarray:
    """Attention rollout (Abnar and Zuidema 2020): A = (mean over heads + I) / 2, multiplied from the first layer on.

    patterns [L,H,T,T] to [L,T,T]: how much of each input position is in each position after each layer. Rows sum to one.
    """
    mean = patterns.astype(np.float64).mean(1)  # [L,T,T]
    identity = np.eye(mean.shape[-1])
    found = [identity]
    for layer in mean:
        mixed = layer + identity
        found.append(mixed / mixed.sum(-1, keepdims=True) @ found[-1])
    return np.stack(found[1:])


def rank_correlation(one: np.ndarray, two: np.ndarray, allowed: np.ndarray) -> float:
    """Spearman's rank correlation of two maps over the allowed cells, equal values sharing their mean rank; nan where one
    of them does not vary."""
    a, b = (_ranks(values[allowed]) for values in (one, two))
    if len(a) < 2 or not (spread := np.sqrt((a @ a) * (b @ b))):
        return float("nan")
    return float(a @ b / spread)


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value less the mean of all ranks; equal ones share the mean of theirs."""
    places = np.argsort(values)
    risen = np.append(True, np.diff(values[places]) > 0)[: len(values)]
    starts = np.append(np.flatnonzero(risen), len(values))
    ranks = np.empty(len(values))
    ranks[places] = ((starts[:-1] + starts[1:] - len(values)) / 2)[np.cumsum(risen) - 1]
    return ranks


def heaviest(rows: np.ndarray, mass: float) -> np.ndarray:
    """The fewest cells of each row whose weights reach a share of its sum: bool [...,S]. All of them for a share of 1."""
    if mass >= 1:
        return rows > 0
    places = np.argsort(-rows, axis=-1, kind="stable")
    sorted_ = np.take_along_axis(rows, places, axis=-1)
    before = np.cumsum(sorted_, axis=-1) - sorted_
    wanted = (before < mass * rows.sum(-1, keepdims=True)) & (sorted_ > 0)
    kept = np.zeros(rows.shape, dtype=bool)
    np.put_along_axis(kept, places, wanted, axis=-1)
    return kept
