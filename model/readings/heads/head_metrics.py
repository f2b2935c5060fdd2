"""What a head does on one sentence, in numbers: entropy, distances, shares; and the orders of heads.

With numpy alone. Queries are rows; a row that may attend to nothing is left out of every mean. A metric is one entry at the
end of this file: the page, the orders and the link read it from there.

Prefix matching: how much a head looks at what came after an earlier token like its own (Olsson et al. 2022).

With numpy alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from model.readings.heads.patterns import is_punctuation

CONTROL = ("<s>", "</s>", "<pad>")


def followers(places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns True for each key that once followed a token which reads as the row's own: [R,S] for rows at some places [R].
    Control tokens have none like them."""
    tokens, count = np.array(keys, dtype=object), len(keys)
    own = [tokens[place] if place < count and tokens[place] not in CONTROL else None for place in places]
    followed = np.zeros((len(places), count), dtype=bool)  # [R,S]
    followed[:, 1:] = np.array(own, dtype=object)[:, None] == tokens[None, :-1]
    return followed & (np.arange(count) < places[:, None])


def came_after(weights: np.ndarray, places: np.ndarray, keys: Sequence[str]) -> np.ndarray:
    """Returns the weight [H,R] of rows [H,R,S] on their `followers`, nan where a row has none."""
    followed = followers(places, keys)
    found = np.einsum("hrs,rs->hr", weights, followed.astype(weights.dtype))
    return np.where(followed.any(-1), found, np.nan)


@dataclass(frozen=True)
class Rows:
    """The rows of some heads that are measured: their weights [H,R,S], their positions [R], and the tokens of the S keys."""

    weights: np.ndarray
    places: np.ndarray
    keys: tuple[str, ...]
    _mask: np.ndarray | None = None  # bool [R,S]
    _at: dict[int, np.ndarray] = field(default_factory=dict, repr=False)  # what `at` has found

    @classmethod
    def of(
        cls,
        pattern: np.ndarray,
        keys: Sequence[str],
        rows: Sequence[int] | None = None,
        mask: np.ndarray | None = None,
    ) -> Rows:
        """Selects the rows of patterns [H,T,S], all of them or those that `rows` lists; `mask` [T,S]: see `allowed`."""
        if rows is None:
            return cls(pattern, np.arange(pattern.shape[1]), tuple(keys), mask)
        places = np.asarray(rows, dtype=int)
        return cls(pattern[:, places], places, tuple(keys), None if mask is None else mask[places])

    @cached_property
    def allowed(self) -> np.ndarray:
        """The cells that the mask lets through, bool [R,S]; without a mask, those where some head has a weight."""
        return (self.weights > 0).any(0) if self._mask is None else self._mask.astype(bool)

    @cached_property
    def seen(self) -> np.ndarray:
        """Which of them look at anything: bool [H,R]."""
        return self._summed([True] * len(self.keys)) > 0

    @cached_property
    def largest(self) -> np.ndarray:
        """The largest weight of each: [H,R]."""
        return self.weights.max(-1)

    def _summed(self, wanted: Iterable[bool]) -> np.ndarray:
        return self.weights @ np.fromiter(wanted, self.weights.dtype, len(self.keys))  # [H,R]

    def at(self, offset: int) -> np.ndarray:
        """The weight on the token that stands so far behind each row's own, nan where there is none but padding: [H,R]."""
        if offset not in self._at:
            self._at[offset] = self._found(offset)
        return self._at[offset]

    def _found(self, offset: int) -> np.ndarray:
        places, there = self._shifted(offset)
        return np.where(there, self.weights[:, np.arange(len(places)), places], np.nan)

    def _shifted(self, offset: int) -> tuple[np.ndarray, np.ndarray]:
        """The key at an offset from each row [R], and True where there is one that is no padding [R]."""
        length = len(self.keys)
        places = self.places + offset
        there = (places >= 0) & (places < length)
        places = np.minimum(np.maximum(places, 0), length - 1)
        return places, there & np.array([key != "<pad>" for key in self.keys], dtype=bool)[places]

    def cells_at(self, offset: int) -> np.ndarray:
        """The cells that `at` reads: bool [R,S]."""
        places, there = self._shifted(offset)
        return there[:, None] & (np.arange(len(self.keys)) == places[:, None])

    def on(self, wanted: Callable[[str], bool]) -> np.ndarray:
        """The weight on the tokens that are wanted, nan where no key is one of them: [H,R]."""
        found = [wanted(key) for key in self.keys]
        return self._summed(found) if any(found) else np.full(self.weights.shape[:2], np.nan)

    def cells_on(self, wanted: Callable[[str], bool]) -> np.ndarray:
        """The cells that `on` reads: bool [R,S]."""
        return np.broadcast_to([wanted(key) for key in self.keys], self.weights.shape[1:])

    @cached_property
    def _second(self) -> np.ndarray | None:
        """Which keys belong to the second of two sentences: bool [S], padding left out; None where there is one."""
        ends = [n for n, key in enumerate(self.keys) if key == "</s>"]
        return None if len(ends) != 2 else (np.arange(len(self.keys)) > ends[0]) & (np.arange(len(self.keys)) <= ends[1])

    def across(self, from_second: bool) -> np.ndarray:
        """The weight that rows of one of two sentences have on the tokens of the other; nan for all other rows: [H,R]."""
        if self._second is None:
            return np.full(self.weights.shape[:2], np.nan)
        own, answering = self._crossing(self._second, from_second)
        return np.where(own, self.weights @ answering.astype(self.weights.dtype), np.nan)

    def _crossing(self, second: np.ndarray, from_second: bool) -> tuple[np.ndarray, np.ndarray]:
        """The rows of one sentence [R] and the keys of the other [S], bool."""
        length = len(second)
        first = ~second & (np.arange(length) <= np.flatnonzero(second)[0])
        asking, answering = (second, first) if from_second else (first, second)
        return np.array([place < length and asking[place] for place in self.places]), answering

    def cells_across(self, from_second: bool) -> np.ndarray:
        """The cells that `across` reads: bool [R,S]."""
        if self._second is None:
            return np.zeros(self.weights.shape[1:], dtype=bool)
        own, answering = self._crossing(self._second, from_second)
        return own[:, None] & answering

    def entropy(self) -> np.ndarray:
        """-sum_j w_ij ln w_ij, in nats: [H,R]."""
        logs = np.log(np.where(self.weights > 0, self.weights, self.weights.dtype.type(1)))
        return -np.einsum("hrs,hrs->hr", self.weights, logs)

    def distance(self) -> np.ndarray:
        """sum_j w_ij |i - j|, in positions: [H,R]."""
        apart = np.abs(self.places[:, None] - np.arange(len(self.keys))[None]).astype(self.weights.dtype)
        return np.einsum("hrs,rs->hr", self.weights, apart)

    def sums(self, measures: Iterable[Callable[[Rows], np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """The sum of each measure over the rows of a head that look at anything and have such a number, and how many rows
        these are: both [M,H]."""
        values = np.array([measure(self) for measure in measures], dtype=np.float64)  # [M,H,R]
        counted = self.seen & ~np.isnan(values)
        return np.where(counted, values, 0.0).sum(-1), counted.sum(-1)

    def means(self, measures: Iterable[Callable[[Rows], np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """The mean over the same rows, nan where there is none, and how many these are: both [M,H]."""
        sums, counts = self.sums(measures)
        return np.where(counts > 0, sums / np.maximum(1, counts), np.nan), counts


@dataclass(frozen=True)
class Metric:
    """One number of a head: the mean over its rows of what `measure` says of each of them ([H,R]; nan: not of this row).

    `label`, `unit` and `meaning` are what stands on the screen, `digits` how many follow the point. Heads can be put in
    order by it from the "least" or the "most", or not at all where `order` is None. With `self_only` it compares positions
    of one sentence, and says nothing of cross-attention. `cells` are the cells [R,S] whose weight moves the number: where
    the mask allows none of them, the metric does not apply. Without `cells` it applies wherever a row may attend to a key.
    """

    name: str
    label: str
    meaning: str
    measure: Callable[[Rows], np.ndarray]
    unit: str = ""
    digits: int = 2
    order: str | None = None
    self_only: bool = False
    of_two: bool = False  # it compares two sentences, and says nothing of one
    cells: Callable[[Rows], np.ndarray] | None = None

    def applies(self, rows: Rows) -> bool:
        """True where the mask and the tokens of the rows leave the number open."""
        return bool((rows.allowed if self.cells is None else rows.allowed & self.cells(rows)).any())

    def __post_init__(self) -> None:
        if self.order not in (None, "least", "most"):
            raise ValueError(f"The order of {self.name!r} is {self.order!r}; expected 'least', 'most' or None.")


METRICS: dict[str, Metric] = {}  # by their names, as they stand on the screen


def register(metric: Metric) -> None:
    """Adds a metric: from here its number, its words and its order find their way to the page and into the link."""
    if metric.name in orders() or metric.name in METRICS:
        raise ValueError(f"There is a metric or an order {metric.name!r} already.")
    METRICS[metric.name] = metric


def head_metrics(
    pattern: np.ndarray, keys: Sequence[str], rows: Sequence[int] | None = None, mask: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Every metric of patterns [H,T,S]: the mean over the rows (or those named); each value is [H]. `mask`: see `Rows.of`.

    A row that has no such token (the first one has none before it) is left out of that metric's mean, which is nan where no
    row is left.
    """
    return metrics_of(Rows.of(pattern, keys, rows, mask), tuple(METRICS))


def metrics_of(rows: Rows, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Some metrics of rows that are at hand."""
    means, _ = rows.means(METRICS[name].measure for name in names)
    return dict(zip(names, means, strict=True))


def telling(allowed: np.ndarray, keys: Sequence[str], is_self: bool, rows: Sequence[int] | None = None) -> tuple[str, ...]:
    """Returns the metrics that tell the heads of a site apart: those that its mask [T,S] and its tokens do not fix (where no
    later token is seen, nothing is on the next one), and for cross-attention none that compares positions."""
    of = Rows.of(allowed[None], keys, rows, allowed)
    return tuple(name for name, metric in METRICS.items() if (is_self or not metric.self_only) and metric.applies(of))


def orders(two: bool = True) -> tuple[str, ...]:
    """The orders in which the heads of a site can stand; without `two`, over one sentence."""
    found = (metric.name for metric in METRICS.values() if metric.order and (two or not metric.of_two))
    return ("position", *found, "similarity")


def order_label(by: str) -> str:
    """What an order is called on the screen."""
    metric = METRICS.get(by)
    return f"{metric.label}, {metric.order} first" if metric else {"position": "Layer and head"}.get(by, by.capitalize())


def order(
    patterns: np.ndarray,
    by: str,
    keys: Sequence[str] | None = None,
    rows: Sequence[int] | None = None,
    mask: np.ndarray | None = None,
) -> list[int]:
    """The heads [N,T,S] of a site in one of the `orders`, as their numbers: by a metric from the least or the most (`keys`,
    the tokens of S, where it asks for them; `rows` and `mask` as for `head_metrics`); by similarity each is followed by the
    most alike (cosine) of those that are left.

    Raises ValueError for an order that does not exist.
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
    """Heads by what a metric says of each ([H]), from the least or the most."""
    return np.argsort(values if metric.order == "least" else -values, kind="stable").tolist()


def _chain(rows: np.ndarray) -> list[int]:
    alike = rows @ rows.T
    alike /= np.maximum(1e-12, np.sqrt(np.diagonal(alike)))  # the cosine, but for a factor that is one row's own
    found = [0]
    for _ in rows[1:]:
        alike[:, found[-1]] = -np.inf  # each stands once
        found.append(int(alike[found[-1]].argmax()))
    return found


for _metric in (
    Metric(
        "entropy",
        "Entropy",
        "How evenly a row shares its weight out: 0 where one token gets all, ln n where n tokens get as much; "
        "the mean over rows",
        Rows.entropy,
        unit="nats",
        order="least",
        cells=lambda rows: rows.allowed.sum(-1, keepdims=True) > 1,  # one key alone has all the weight
    ),
    Metric(
        "largest",
        "Largest weight of a row, mean",
        "The largest weight of each row, the mean over rows",
        lambda rows: rows.largest,
    ),
    Metric(
        "distance",
        "Mean distance",
        "How far away, in tokens, what a row looks at stands: the mean, weighted",
        Rows.distance,
        order="least",
        self_only=True,
        cells=lambda rows: np.arange(len(rows.keys)) != rows.places[:, None],
    ),
    *(
        Metric(
            name,
            f"On {name} token",
            f"Share of a row’s weight on {where}, the mean over the rows that have one (Clark et al. 2019, section 3.1)",
            lambda rows, offset=offset: rows.at(offset),
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
        "Share of a row’s weight on the tokens that followed the same token earlier, the mean over the rows whose token has "
        "stood before (prefix matching; Olsson et al. 2022, of induction heads)",
        lambda rows: came_after(rows.weights, rows.places, rows.keys),
        order="most",
        self_only=True,
        cells=lambda rows: followers(rows.places, rows.keys),
    ),
    *(
        Metric(
            name,
            f"On {token}",
            f"Share of a row’s weight on {token}, {what} (Clark et al. 2019, section 3.2, of [SEP])",
            lambda rows, token=token: rows.on(token.__eq__),
            order="most",
            cells=lambda rows, token=token: rows.cells_on(token.__eq__),
        )
        for name, token, what in (("start", "<s>", "where the decoder begins"), ("end", "</s>", "the end of the sentence"))
    ),
    Metric(
        "punctuation",
        "On punctuation",
        "Share of the weight on tokens of punctuation alone",
        lambda rows: rows.on(is_punctuation),
        cells=lambda rows: rows.cells_on(is_punctuation),
    ),
    *(
        Metric(
            name,
            f"From {one} to {other}",
            f"Share of a row’s weight that crosses from sentence {one} to sentence {other}, the mean over the rows of {one}",
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
