"""How well heads align words, as it was measured against links made by hand and kept with a checkpoint's scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..io.files import shown
from ..io.limits import is_count

KEY = "alignment"  # in metrics.json
ROWS = {"predicts": 0, "reads": 1}  # whose row a word's link is read off: how many steps after the one that predicts it

WHERE = {
    "predicts": "at the step that predicts a word",
    "reads": "at the step that reads a word, one after it was predicted",
}


class Rate(NamedTuple):
    """The alignment error rate of a head, 0 to 1, with its 95% interval over the sentences; which share of its links is
    possible, and which share of the sure ones it finds."""

    error: float
    low: float
    high: float
    precision: float
    recall: float

    @property
    def told(self) -> str:
        """`0.33 (95%: 0.31 to 0.34)`."""
        return f"{self.error:.2f} (95%: {self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Aligned:
    """The rates of all heads of cross-attention over so many `sentences` with so many `sure` links, [layer][head] for each
    of `ROWS`; `left_out` pairs were over the text limit. `resamples` bootstrap samples drawn from `seed` made the
    intervals."""

    sentences: int
    left_out: int
    sure: int
    resamples: int
    seed: int
    diagonal: Rate
    rates: dict[str, tuple[tuple[Rate, ...], ...]]

    def of(self, layer: int, head: int) -> tuple[str, Rate]:
        """The better of a head's rates (from 0), and the row that it was read off."""
        return min(((name, rows[layer][head]) for name, rows in self.rates.items()), key=lambda pair: pair[1].error)

    def covers(self, layers: int, heads: int) -> bool:
        """Whether these are the numbers of a model of so many layers and heads: those of another may have been copied."""
        rows = next(iter(self.rates.values()))
        return (layers, heads) == (len(rows), len(rows[0]))

    def rank(self, layer: int, head: int) -> tuple[int, int]:
        """The place of a head (from 0) among all heads, from 1, and how many there are."""
        rows = next(iter(self.rates.values()))
        errors = [self.of(n, h)[1].error for n, row in enumerate(rows) for h in range(len(row))]
        return 1 + sum(error < self.of(layer, head)[1].error for error in errors), len(errors)

    @property
    def best(self) -> tuple[int, int]:
        """Layer and head (from 0) of the lowest error rate."""
        rows = next(iter(self.rates.values()))
        each = [(layer, head) for layer, row in enumerate(rows) for head in range(len(row))]
        return min(each, key=lambda place: self.of(*place)[1].error)

    def told(self, layer: int, head: int) -> str:
        """What is known of a head (from 0), as a sentence, beside the diagonal and the best head."""
        name, rate = self.of(layer, head)
        best, own = self.best, (layer, head)
        other = f"the best head, layer {best[0] + 1} head {best[1] + 1}, {self.of(*best)[1].error:.2f}; "
        return (
            f"Over {self.sentences:,} sentence pairs whose words people have linked, the error rate of this head’s peaks is "
            f"{rate.told}{', the lowest of all heads' if best == own else ''}, {WHERE[name]}; "
            f"{'' if best == own else other}the diagonal, which knows no word, has {self.diagonal.error:.2f}. 0 is perfect."
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self) | {
            "diagonal": list(self.diagonal),
            "rates": {name: [[list(rate) for rate in row] for row in rows] for name, rows in self.rates.items()},
        }


def read(metrics: Mapping[str, Any]) -> Aligned | None:
    """What a checkpoint's metrics have of it; None where they have nothing. ValueError that names what is wrong."""
    if KEY not in metrics:
        return None
    values = metrics[KEY]
    if not isinstance(values, Mapping):
        raise ValueError(f"{KEY!r} is {shown(values)}; expected an object with the rates")
    counts = [values.get(name) for name in ("sentences", "left_out", "sure", "resamples", "seed")]
    if not all(map(is_count, counts)) or not counts[0]:
        raise ValueError(f"{KEY!r} has sentences, left_out, sure, resamples, seed = {shown(counts)}; expected whole numbers")
    rates = values.get("rates")
    if not isinstance(rates, Mapping) or set(rates) != set(ROWS):
        raise ValueError(f"{KEY!r}: 'rates' is {shown(rates)}; expected lists for {' and '.join(ROWS)}")
    found = {name: _layers(name, rates[name]) for name in ROWS}
    shapes = {tuple(map(len, rows)) for rows in found.values()}
    if len(shapes) > 1:
        raise ValueError(f"{KEY!r}: 'rates' has different heads for {' and '.join(ROWS)}; expected the same")
    return Aligned(*counts, _rate("diagonal", values.get("diagonal")), found)


def _layers(name: str, rows: Any) -> tuple[tuple[Rate, ...], ...]:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
        raise ValueError(f"{KEY!r}: {name!r} is {shown(rows)}; expected a list of heads for each layer")
    return tuple(tuple(_rate(name, rate) for rate in row) for row in rows)


def _rate(name: str, values: Any) -> Rate:
    numbers = isinstance(values, list) and len(values) == len(Rate._fields)
    if not numbers or not all(type(value) in (int, float) and 0 <= value <= 1 for value in values):
        raise ValueError(f"{KEY!r}: {name!r} has {shown(values)}; expected {', '.join(Rate._fields)}, each from 0 to 1")
    return Rate(*map(float, values))
