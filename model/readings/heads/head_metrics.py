"""Metrics of an attention head on one sentence, such as entropy and prefix matching, and orders of heads.

Queries are rows. No mean includes a row whose keys are all masked. To add a metric, add an entry at the end of this file:
the page, the orders and the link read it from there. The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .head_maps import is_punctuation

CONTROL = ("<s>", "</s>", "<pad>")


def followers(places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns True for each key after an earlier copy of the row's own token, [R,S]. Control tokens have no copies."""
    tokens, count = np.array(keys, dtype=object), len(keys)
    own = [tokens[place] if place < count and tokens[place] not in CONTROL else None for place in places]
    followed = np.zeros((len(places), count), dtype=bool)  # [R,S]
    followed[:, 1:] = np.array(own, dtype=object)[:, None] == tokens[None, :-1]
    return followed & (np.arange(count) < places[:, None])


def came_after(weights: np.ndarray, places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns the weight of rows [H,R,S] on their `followers`, [H,R], nan where a row has none (Olsson et al. 2022)."""
    followed = followers(places, keys)
    sums = np.einsum("hrs,rs->hr", weights, followed.astype(weights.dtype))
    return np.where(followed.any(-1), sums, np.nan)


@dataclass(frozen=True)
class Rows:
    """Measured rows of some heads: their weights [H,R,S], their positions [R] and the tokens of the S keys."""

    weights: np.ndarray
    places: np.ndarray
    keys: tuple[str, ...]
    _mask: np.ndarray | None = None  # bool [R,S]
    _cache: dict[int, np.ndarray] = field(default_factory=dict, repr=False)  # results of `weight_at`, by offset

    @classmethod
    def of(
        cls, pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int] | None = None, mask: np.ndarray | None = None
    ) -> Rows:
        """Selects rows of patterns [H,T,S], by default all. `mask` [T,S]: see `allowed`."""
        if rows is None:
            return cls(pattern, np.arange(pattern.shape[1]), tuple(keys), mask)
        places = np.asarray(rows, dtype=int)
        return cls(pattern[:, places], places, tuple(keys), None if mask is None else mask[places])

    @cached_property
    def allowed(self) -> np.ndarray:
        """The cells that the mask allows, bool [R,S]. Without a mask, the cells where some head has a weight."""
        return (self.weights > 0).any(0) if self._mask is None else self._mask.astype(bool)

    @cached_property
    def seen(self) -> np.ndarray:
        """The rows with a weight on any key, bool [H,R]."""
        return self._summed([True] * len(self.keys)) > 0

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest weight of each row, [H,R]."""
        return self.weights.max(-1)

    def _summed(self, selected: Iterable[bool]) -> np.ndarray:
        return self.weights @ np.fromiter(selected, self.weights.dtype, len(self.keys))  # [H,R]

    def weight_at(self, offset: int) -> np.ndarray:
        """Returns the weight on the token at an offset from each row's own, [H,R], nan where it is absent or padding."""
        if offset not in self._cache:
            places, exists = self._shifted(offset)
            self._cache[offset] = np.where(exists, self.weights[:, np.arange(len(places)), places], np.nan)
        return self._cache[offset]

    def _shifted(self, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the key at an offset from each row [R], and True where it exists and is no padding [R]."""
        length = len(self.keys)
        places = self.places + offset
        exists = (places >= 0) & (places < length)
        places = np.minimum(np.maximum(places, 0), length - 1)
        return places, exists & np.array([key != "<pad>" for key in self.keys], dtype=bool)[places]

    def cells_at(self, offset: int) -> np.ndarray:
        """Returns the cells that `weight_at` reads, bool [R,S]."""
        places, exists = self._shifted(offset)
        return exists[:, None] & (np.arange(len(self.keys)) == places[:, None])

    def weight_on(self, selects: Callable[[str], bool]) -> np.ndarray:
        """Returns the weight on the tokens that a predicate selects, [H,R], nan where it selects none."""
        selected = [selects(key) for key in self.keys]
        return self._summed(selected) if any(selected) else np.full(self.weights.shape[:2], np.nan)

    def cells_on(self, selects: Callable[[str], bool]) -> np.ndarray:
        """Returns the cells that `weight_on` reads, bool [R,S]."""
        return np.broadcast_to([selects(key) for key in self.keys], self.weights.shape[1:])

    def across(self, from_second: bool) -> np.ndarray:
        """Returns the weight of rows of one sentence on the tokens of the other, [H,R], nan for all other rows."""
        own, answering = self._crossing(from_second)
        return np.where(own, self.weights @ answering.astype(self.weights.dtype), np.nan)

    def _crossing(self, from_second: bool) -> tuple[np.ndarray, np.ndarray]:
        """Returns the rows of one sentence [R] and the keys of the other [S], bool. All are False for a single sentence."""
        length, ends = len(self.keys), [n for n, key in enumerate(self.keys) if key == "</s>"]
        if len(ends) != 2:
            return np.zeros(len(self.places), dtype=bool), np.zeros(length, dtype=bool)
        numbers = np.arange(length)
        first, second = numbers <= ends[0], (numbers > ends[0]) & (numbers <= ends[1])
        asking, answering = (second, first) if from_second else (first, second)
        return np.array([place < length and asking[place] for place in self.places]), answering

    def cells_across(self, from_second: bool) -> np.ndarray:
        """Returns the cells that `across` reads, bool [R,S]."""
        own, answering = self._crossing(from_second)
        return own[:, None] & answering

    def entropy(self) -> np.ndarray:
        """Returns -sum_j w_ij ln w_ij in nats, [H,R]."""
        logs = np.log(np.where(self.weights > 0, self.weights, self.weights.dtype.type(1)))
        return -np.einsum("hrs,hrs->hr", self.weights, logs)

    def distance(self) -> np.ndarray:
        """Returns sum_j w_ij |i - j| in positions, [H,R]."""
        apart = np.abs(self.places[:, None] - np.arange(len(self.keys))[None]).astype(self.weights.dtype)
        return np.einsum("hrs,rs->hr", self.weights, apart)

    def sums(self, measures: Iterable[Callable[[Rows], np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the sum of each measure over rows, without nan and fully masked rows, and the row counts, both [M,H]."""
        values = np.array([measure(self) for measure in measures], dtype=np.float64).reshape(-1, *self.seen.shape)  # [M,H,R]
        counted = self.seen & ~np.isnan(values)
        return np.where(counted, values, 0.0).sum(-1), counted.sum(-1)

    def means(self, measures: Iterable[Callable[[Rows], np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the mean of each measure over the rows of `sums`, nan without rows, and the row counts, both [M,H]."""
        sums, counts = self.sums(measures)
        return np.where(counts > 0, sums / np.maximum(1, counts), np.nan), counts


@dataclass(frozen=True)
class Metric:
    """One number of a head: the mean of `measure` ([H,R], nan for a row that does not count) over its rows.

    The interface shows `label`, `unit`, `meaning` and the value with `digits` after the point. `order` names the heads that
    come first, None for no order. With `self_only` the metric does not apply to cross-attention. `cells` returns the cells
    [R,S] whose weight moves the number: the metric applies where the mask allows any of them.
    """

    name: str
    label: str
    meaning: str
    measure: Callable[[Rows], np.ndarray]
    unit: str = ""
    digits: int = 2
    order: str | None = None
    self_only: bool = False
    of_two: bool = False  # the metric compares two sentences
    cells: Callable[[Rows], np.ndarray] | None = None

    def applies(self, rows: Rows) -> bool:
        """Returns True where the mask and the tokens do not fix the number."""
        return bool((rows.allowed if self.cells is None else rows.allowed & self.cells(rows)).any())

    def __post_init__(self) -> None:
        if self.order not in (None, "least", "most"):
            raise ValueError(f"The order of {self.name!r} is {self.order!r}; expected 'least', 'most' or None.")


METRICS: dict[str, Metric] = {}  # by name, in the order of the page


def register(metric: Metric) -> None:
    """Adds a metric to the page, the orders and the link."""
    if metric.name in orders() or metric.name in METRICS:
        raise ValueError(f"There is a metric or an order {metric.name!r} already; choose another name.")
    METRICS[metric.name] = metric


def head_metrics(
    pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int] | None = None, mask: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Returns every metric of patterns [H,T,S], each [H]: the mean over all rows or those in `rows`. `mask`: see `Rows.of`.

    A row without the token in question (the first row has none before it) does not count. The mean is nan without rows.
    """
    return metrics_of(Rows.of(pattern, keys, rows, mask), tuple(METRICS))


def metrics_of(rows: Rows, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Returns some metrics of selected rows, each [H]."""
    means, _ = rows.means(METRICS[name].measure for name in names)
    return dict(zip(names, means, strict=True))


def applicable_metrics(
    allowed: np.ndarray, keys: Sequence[str], is_self: bool, rows: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Returns the metrics that can differ between the heads of a site.

    The mask [T,S] and the tokens fix the others: under a causal mask no weight is on the next token.
    """
    selected = Rows.of(allowed[None], keys, rows, allowed)
    return tuple(name for name, metric in METRICS.items() if (is_self or not metric.self_only) and metric.applies(selected))


def one_sentence_metrics() -> dict[str, Metric]:
    """Returns the metrics that need one sentence, by name."""
    return {name: metric for name, metric in METRICS.items() if not metric.of_two}


def orders(two: bool = True) -> tuple[str, ...]:
    """Returns the orders of the heads of a site. Without `two`, only those that apply to one sentence."""
    by_metric = (metric.name for metric in METRICS.values() if metric.order and (two or not metric.of_two))
    return ("position", *by_metric, "similarity")


def order_label(by: str) -> str:
    """Returns the name of an order in the interface."""
    metric = METRICS.get(by)
    return f"{metric.label}, {metric.order} first" if metric else {"position": "Layer and head"}.get(by, by.capitalize())


def order(
    patterns: np.ndarray,
    by: str,
    keys: Sequence[str] | None = None,
    rows: Sequence[int] | None = None,
    mask: np.ndarray | None = None,
) -> list[int]:
    """Returns the numbers of the heads [N,T,S] of a site in one of the `orders`.

    `keys`, `rows` and `mask` are as in `head_metrics`. By similarity, each head precedes the most similar remaining one
    (cosine). Raises ValueError for an unknown order.
    """
    metric = METRICS.get(by)
    if metric and metric.order:
        ((values,), _) = Rows.of(patterns, keys or [""] * patterns.shape[-1], rows, mask).means([metric.measure])
        return ordered(metric, values)
    if by == "position":
        return list(range(len(patterns)))
    if by == "similarity":
        return _chain(patterns.reshape(len(patterns), -1))
    raise ValueError(f"There is no order {by!r}; expected one of {', '.join(orders())}.")


def ordered(metric: Metric, values: np.ndarray) -> list[int]:
    """Returns the heads sorted by the values [H] of a metric, in its order."""
    return np.argsort(values if metric.order == "least" else -values, kind="stable").tolist()


def _chain(rows: np.ndarray) -> list[int]:
    similarity = rows @ rows.T
    similarity /= np.maximum(1e-12, np.sqrt(np.diagonal(similarity)))  # the cosine up to one factor per row
    chain = [0]
    for _ in rows[1:]:
        similarity[:, chain[-1]] = -np.inf  # each head occurs once
        chain.append(int(similarity[chain[-1]].argmax()))
    return chain


for _metric in (
    Metric(
        "entropy",
        "Entropy",
        "Spread of a row’s weight, mean over rows: 0 for one token, ln n for n equal tokens",
        Rows.entropy,
        unit="nats",
        order="least",
        cells=lambda rows: rows.allowed.sum(-1, keepdims=True) > 1,  # a single key has all the weight
    ),
    Metric(
        "largest",
        "Largest weight of a row, mean",
        "The largest weight of each row, mean over rows",
        lambda rows: rows.largest,
    ),
    Metric(
        "distance",
        "Mean distance",
        "Weighted mean distance, in tokens, from a row to the tokens it looks at",
        Rows.distance,
        order="least",
        self_only=True,
        cells=lambda rows: np.arange(len(rows.keys)) != rows.places[:, None],
    ),
    *(
        Metric(
            name,
            f"On {name} token",
            f"Share of a row’s weight on {where}, mean over the rows that have one (Clark et al. 2019)",
            lambda rows, offset=offset: rows.weight_at(offset),
            order="most",
            self_only=True,
            cells=lambda rows, offset=offset: rows.cells_at(offset),
        )
        for name, where, offset in (
            ("previous", "the token before its own", -1),
            ("same", "its own token", 0),
            ("next", "the token after its own", 1),
        )
    ),
    Metric(
        "induction",
        "On what came after",
        "Share of a row’s weight on tokens that followed the same token earlier, mean over rows with a repeated token "
        "(prefix matching of induction heads; Olsson et al. 2022)",
        lambda rows: came_after(rows.weights, rows.places, rows.keys),
        order="most",
        self_only=True,
        cells=lambda rows: followers(rows.places, rows.keys),
    ),
    *(
        Metric(
            name,
            f"On {token}",
            f"Share of a row’s weight on {token}, {what} (Clark et al. 2019, of [SEP])",
            lambda rows, token=token: rows.weight_on(token.__eq__),
            order="most",
            cells=lambda rows, token=token: rows.cells_on(token.__eq__),
        )
        for name, token, what in (("start", "<s>", "where the decoder begins"), ("end", "</s>", "the end of the sentence"))
    ),
    Metric(
        "punctuation",
        "On punctuation",
        "Share of the weight on punctuation tokens",
        lambda rows: rows.weight_on(is_punctuation),
        cells=lambda rows: rows.cells_on(is_punctuation),
    ),
    *(
        Metric(
            name,
            f"From {one} to {other}",
            f"Share of weight from sentence {one} to sentence {other}, mean over the rows of {one}",
            lambda rows, second=second: rows.across(second),
            order="most",
            self_only=True,
            of_two=True,
            cells=lambda rows, second=second: rows.cells_across(second),
        )
        for name, one, other, second in (("forth", "A", "B", False), ("back", "B", "A", True))
    ),
):
    register(_metric)
