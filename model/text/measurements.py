"""Measurements that a checkpoint stores: error rates of alignments, and faithfulness of readings.

Alignments of heads are measured against hand-made word links, and are in the metrics. The faithfulness of the readings of
source words is measured over many sentences and is in `faithfulness.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..io.files import is_count, is_number, is_whole_number, short_repr
from ..io.numbers import head_name

KEY = "alignment"  # in metrics.json
ROWS = {"predicts": 0, "reads": 1}  # rows of a word's link, in steps after the one that predicts it

ROW_TEXTS = {
    "predicts": "at the step that predicts a word",
    "reads": "at the step that reads a word, one after it was predicted",
}


class Rate(NamedTuple):
    """The alignment error rate of a head, 0 to 1, with its 95% interval over the sentences.

    `precision` is the share of the head's links that are possible, `recall` the share of the sure links that it has.
    """

    error: float
    low: float
    high: float
    precision: float
    recall: float

    @property
    def summary(self) -> str:
        """`0.33 (95%: 0.31 to 0.34)`."""
        return f"{self.error:.2f} (95%: {self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class AlignmentRates:
    """The rates of all heads of cross-attention, [layer][head] for each of `ROWS`.

    They cover `sentences` sentences with `sure` sure links; `left_out` pairs exceeded the text limit. The intervals come
    from `resamples` bootstrap samples with `seed`.
    """

    sentences: int
    left_out: int
    sure: int
    resamples: int
    seed: int
    diagonal: Rate
    rates: dict[str, tuple[tuple[Rate, ...], ...]]

    def best_row(self, layer: int, head: int) -> tuple[str, Rate]:
        """Returns the lower rate of a head (from 0), and the name of its row."""
        return min(((name, rows[layer][head]) for name, rows in self.rates.items()), key=lambda pair: pair[1].error)

    def covers(self, layers: int, heads: int) -> bool:
        """Returns True where the rates fit a model of this size; copied metrics may belong to another."""
        rows = next(iter(self.rates.values()))
        return (layers, heads) == (len(rows), len(rows[0]))

    def rank(self, layer: int, head: int) -> tuple[int, int]:
        """Returns the rank of a head (from 0) among all heads, from 1, and the number of heads."""
        rows = next(iter(self.rates.values()))
        errors = [self.best_row(n, h)[1].error for n, row in enumerate(rows) for h in range(len(row))]
        return 1 + sum(error < self.best_row(layer, head)[1].error for error in errors), len(errors)

    @property
    def best_head(self) -> tuple[int, int]:
        """Returns layer and head (from 0) with the lowest error rate."""
        rows = next(iter(self.rates.values()))
        each = [(layer, head) for layer, row in enumerate(rows) for head in range(len(row))]
        return min(each, key=lambda place: self.best_row(*place)[1].error)

    def describe(self, layer: int, head: int) -> str:
        """Returns a sentence on a head (from 0), with the best head and the diagonal for comparison."""
        name, rate = self.best_row(layer, head)
        best, own = self.best_head, (layer, head)
        other = f"the best head, {head_name('cross', *best)}, {self.best_row(*best)[1].error:.2f}; "
        return (
            f"Over {self.sentences:,} sentence pairs whose words people have linked, the error rate of this head’s peaks is "
            f"{rate.summary}{', the lowest of all heads' if best == own else ''}, {ROW_TEXTS[name]}; "
            f"{'' if best == own else other}the diagonal, which knows no word, has {self.diagonal.error:.2f}. 0 is perfect."
        )

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return asdict(self) | {
            "diagonal": list(self.diagonal),
            "rates": {name: [[list(rate) for rate in row] for row in rows] for name, rows in self.rates.items()},
        }


def read_alignment(metrics: Mapping[str, Any]) -> AlignmentRates | None:
    """Returns the alignment rates in a checkpoint's metrics, or None; ValueError that names the fault."""
    if KEY not in metrics:
        return None
    values = metrics[KEY]
    if not isinstance(values, Mapping):
        raise ValueError(f"{KEY!r} is {short_repr(values)}; expected an object with the rates")
    counts = [values.get(name) for name in ("sentences", "left_out", "sure", "resamples", "seed")]
    if not all(map(is_count, counts)) or not counts[0]:
        raise ValueError(
            f"{KEY!r} has sentences, left_out, sure, resamples, seed = {short_repr(counts)}; expected whole numbers"
        )
    rates = values.get("rates")
    if not isinstance(rates, Mapping) or set(rates) != set(ROWS):
        raise ValueError(f"{KEY!r}: 'rates' is {short_repr(rates)}; expected lists for {' and '.join(ROWS)}")
    layers = {name: _layers(name, rates[name]) for name in ROWS}
    shapes = {tuple(map(len, rows)) for rows in layers.values()}
    if len(shapes) > 1:
        raise ValueError(f"{KEY!r}: 'rates' has different heads for {' and '.join(ROWS)}; expected the same")
    return AlignmentRates(*counts, _rate("diagonal", values.get("diagonal")), layers)


def _layers(name: str, rows: Any) -> tuple[tuple[Rate, ...], ...]:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise ValueError(f"{KEY!r}: {name!r} is {short_repr(rows)}; expected a list of heads for each layer")
    return tuple(tuple(_rate(name, rate) for rate in row) for row in rows)


def _rate(name: str, values: Any) -> Rate:
    numbers = isinstance(values, list) and len(values) == len(Rate._fields)
    if not numbers or not all(type(value) in (int, float) and 0 <= value <= 1 for value in values):
        raise ValueError(f"{KEY!r}: {name!r} has {short_repr(values)}; expected {', '.join(Rate._fields)}, each from 0 to 1")
    return Rate(*map(float, values))


SCHEMA = 1
SCOPES = ("step", "whole")  # single tokens, and the full target
RANDOM = "random"  # the baseline among the readings
COUNTS = ("sentences", "tokens", "orders", "resamples")


@dataclass(frozen=True)
class Share:
    """A reading's area as a share of the words' worth, with its 95% interval.

    `behind` is the distance to the leader, paired over the sentences, with its interval; negative values are ahead.
    """

    share: float
    low: float
    high: float
    behind: float
    behind_low: float
    behind_high: float

    @property
    def is_tied_with_leader(self) -> bool:
        """Returns True where the interval of the distance to the leader contains 0."""
        return self.behind_low <= 0 <= self.behind_high


@dataclass(frozen=True)
class FaithfulnessShares:
    """The shares of all readings over `sentences` sentences with `tokens` tokens, for each of `SCOPES`.

    `worth` is the mean worth of a sentence's words, in nats. `leaders` have the largest share of the readings that remove
    no words themselves. `shares` includes the random baseline. `orders` random orders of each sentence and `resamples`
    bootstrap samples use `seed`.
    """

    sentences: int
    tokens: int
    orders: int
    resamples: int
    seed: int
    data: str  # SHA-256 of the file
    worth: dict[str, float]
    leaders: dict[str, str]
    shares: dict[str, dict[str, Share]]

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON."""
        return {"schema": SCHEMA} | asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> FaithfulnessShares:
        """Reads the values of a JSON file; ValueError that names the key of the fault."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if not is_whole_number(schema) or schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        for name in COUNTS:
            if not (is_count(values.get(name)) and values[name]):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a whole number of at least 1")
        if not is_count(values.get("seed")):
            raise ValueError(f"'seed' is {short_repr(values.get('seed'))}; expected a whole number")
        if not isinstance(values.get("data"), str):
            raise ValueError(f"'data' is {short_repr(values.get('data'))}; expected the SHA-256 of the sentences' file")
        worth, shares = (values.get(name) for name in ("worth", "shares"))
        if not _has_keys(worth, SCOPES) or not _are_numbers(worth.values()):
            raise ValueError(f"'worth' is {short_repr(worth)}; expected a number for each of {', '.join(SCOPES)}")
        if not _has_keys(shares, SCOPES):
            raise ValueError(f"'shares' is {short_repr(shares)}; expected an object for each of {', '.join(SCOPES)}")
        leaders, scope_shares = values.get("leaders"), {scope: _shares(scope, shares[scope]) for scope in SCOPES}
        possible_leaders = {scope: [name for name in scope_shares[scope] if name != RANDOM] for scope in SCOPES}
        if not _has_keys(leaders, SCOPES) or any(leaders[scope] not in possible_leaders[scope] for scope in SCOPES):
            raise ValueError(
                f"'leaders' is {short_repr(leaders)}; expected a reading of 'shares' for each of {', '.join(SCOPES)}"
            )
        numbers = {name: values[name] for name in (*COUNTS, "seed")}
        means = {scope: float(worth[scope]) for scope in SCOPES}
        return cls(**numbers, data=values["data"], worth=means, leaders=dict(leaders), shares=scope_shares)


def _shares(scope: str, values: Any) -> dict[str, Share]:
    if not isinstance(values, Mapping) or RANDOM not in values or len(values) < 2:
        raise ValueError(f"'shares': {scope!r} is {short_repr(values)}; expected readings, and {RANDOM!r} among them")
    names = tuple(Share.__dataclass_fields__)
    for reading, share in values.items():
        if not _has_keys(share, names) or not _are_numbers(share.values()) or not share["low"] <= share["high"]:
            raise ValueError(
                f"'shares': {scope!r}: {short_repr(reading)} is {short_repr(share)}; expected numbers {', '.join(names)}"
            )
    return {str(reading): Share(**{name: float(share[name]) for name in names}) for reading, share in values.items()}


def _has_keys(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, Mapping) and set(value) == set(names)


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(is_number(value, -1e9, 1e9) for value in values)
