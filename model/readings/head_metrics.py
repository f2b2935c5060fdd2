"""What a head does on one sentence, in numbers: entropy, distances, shares; orders, merged words, rollout, ranks.

With numpy alone. Queries are rows; a row that may attend to nothing is left out of every mean.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

NUMBERS = ("entropy", "largest", "distance", "previous", "same", "next", "end", "punctuation")
ORDERS = ("position", "entropy", "distance", "diagonal", "similarity")


def head_metrics(pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int] | None = None) -> dict[str, np.ndarray]:
    """Means over the rows (or those named) of patterns [H,T,S]; each value is [H].

    `entropy` in nats; `largest` weight of a row; `distance` sum_j w_ij |i - j| in positions; the shares of a row's weight on
    the `previous`, `same` and `next` position, on `</s>` and on punctuation. For cross-attention positions are compared
    across the two sentences: row t with source position t.
    """
    queries, length = pattern.shape[1:]
    wanted = np.arange(queries) if rows is None else np.asarray(rows, dtype=int)
    weights = pattern[:, wanted].astype(np.float64)  # [H,R,S]
    seen = weights.sum(-1) > 0  # [H,R]
    count = np.maximum(1, seen.sum(1))

    def mean(values: np.ndarray) -> np.ndarray:
        return np.where(seen, values, 0.0).sum(1) / count

    def at(offset: int) -> np.ndarray:
        places = wanted + offset
        inside = (places >= 0) & (places < length)
        picked = weights[:, np.arange(len(wanted)), places.clip(0, length - 1)]
        return mean(np.where(inside, picked, 0.0))

    logs = np.log(np.where(weights > 0, weights, 1.0))
    distance = np.abs(wanted[:, None] - np.arange(length)[None])  # [R,S]
    ends = np.array([label == "</s>" for label in keys])
    marks = np.array([is_punctuation(label) for label in keys])
    return {
        "entropy": mean(-(weights * logs).sum(-1)),
        "largest": mean(weights.max(-1)),
        "distance": mean((weights * distance).sum(-1)),
        "previous": at(-1),
        "same": at(0),
        "next": at(1),
        "end": mean(weights[..., ends].sum(-1)),
        "punctuation": mean(weights[..., marks].sum(-1)),
    }


def is_punctuation(label: str) -> bool:
    """True for a token of punctuation alone; `</s>` and its like are none."""
    return bool(label) and all(unicodedata.category(char)[0] == "P" for char in label)


def is_special(label: str) -> bool:
    """True for the control tokens."""
    return label in ("<s>", "</s>", "<pad>")


def diagonal(pattern: np.ndarray) -> np.ndarray:
    """Share of the weight within one position of the line from the first to the last corner: [H,T,S] to [H]."""
    _, queries, length = pattern.shape
    line = np.linspace(0, length - 1, queries)[:, None] if queries > 1 else np.zeros((1, 1))
    near = np.abs(np.arange(length)[None] - line) <= 1.0  # [T,S]
    return (pattern * near).sum((1, 2)) / np.maximum(1e-12, pattern.sum((1, 2)))


def order(patterns: np.ndarray, by: str) -> list[int]:
    """The heads [N,T,S] of a site in an order of `ORDERS`, as their numbers: entropy and distance from the least, the
    diagonal from the most; by similarity each is followed by the most alike (cosine) of those that are left.

    Raises ValueError for an order that does not exist.
    """
    count = len(patterns)
    if by == "position":
        return list(range(count))
    if by in ("entropy", "distance"):
        values = head_metrics(patterns, [""] * patterns.shape[-1])[by]
    elif by == "diagonal":
        values = -diagonal(patterns)
    elif by == "similarity":
        return _chain(patterns.reshape(count, -1).astype(np.float64))
    else:
        raise ValueError(f"There is no order {by!r}; expected one of {', '.join(ORDERS)}.")
    return np.argsort(values, kind="stable").tolist()


def _chain(rows: np.ndarray) -> list[int]:
    unit = rows / np.maximum(1e-12, np.linalg.norm(rows, axis=1, keepdims=True))
    alike = unit @ unit.T
    found, left = [0], set(range(1, len(rows)))
    while left:
        best = max(sorted(left), key=lambda n: alike[found[-1], n])
        found.append(best)
        left.remove(best)
    return found


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
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def heaviest(row: np.ndarray, mass: float) -> np.ndarray:
    """The fewest cells of a row whose weights reach a share of its sum: bool [S]. All of them for a share of 1."""
    if mass >= 1:
        return row > 0
    places = np.argsort(-row, kind="stable")
    before = np.cumsum(row[places]) - row[places]
    kept = np.zeros(len(row), dtype=bool)
    kept[places[(before < mass * row.sum()) & (row[places] > 0)]] = True
    return kept
