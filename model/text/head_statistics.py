"""Statistics of every head over many sentences, which a checkpoint stores in `heads.json`. No sentence is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..config import FAMILIES, ModelConfig
from ..io.files import is_count, is_number, is_whole_number, short_repr
from ..io.numbers import head_name

KINDS = FAMILIES["encoder-decoder"]  # of attention
SCHEMA = 1
BINS = 20  # of a distribution
PLACES = ("start", "end", "previous", "same", "next", "punctuation", "word")  # where the largest weight of a row is
COUNTS = ("sentences", "left_out", "tokens")
TEXTS = ("checkpoint", "data", "corpus", "scored_tokens")
MAX_TEXT, MAX_PAIRS = 200, 50


class Mean(NamedTuple):
    """A mean over the sentences, with its 95% interval; both ends are None for one sentence."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MetricStatistics:
    """One metric of a head: its mean over all rows, and how many sentences have a mean in each of `BINS` bins."""

    mean: Mean
    counts: tuple[int, ...]

    @property
    def sentences(self) -> int:
        """The number of sentences with a row that counts."""
        return sum(self.counts)


class WordPair(NamedTuple):
    """Two words, and in how many of their `possible` occurrences in one sentence the largest weight of a row links them."""

    query: str
    key: str
    linked: int
    possible: int


@dataclass(frozen=True)
class HeadStatistics:
    """A head, from 0, over all sentences.

    `places` is the share of the rows whose largest weight is on each of `PLACES`. The rows of `read_pairs` are named after
    the token that they read, those of `written_pairs` after the token that they predict (empty in an encoder). `change` is
    that of the summed log-probability without the head, in nats a sentence; `changed` the share of sentences whose output
    changes. Both are None where no head was switched off.
    """

    site: str
    layer: int
    head: int
    metrics: dict[str, MetricStatistics]
    places: dict[str, float]
    read_pairs: tuple[WordPair, ...]
    written_pairs: tuple[WordPair, ...]
    change: Mean | None = None
    changed: Mean | None = None

    @property
    def name(self) -> str:
        return head_name(self.site, self.layer, self.head)


class CorpusSummary(NamedTuple):
    """Hashes (SHA-256) of checkpoint and data, the name of the data, the tokens that the changes sum over, and the numbers
    of sentences within and over the text limit, and of tokens."""

    checkpoint: str = ""
    data: str = ""
    corpus: str = ""
    scored_tokens: str = ""
    sentences: int = 0
    left_out: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class HeadsOverCorpus:
    """All heads of a checkpoint over a corpus.

    `ranges` are the ends of the bins of each metric. `distances` are the mean Jensen-Shannon divergences, in bits
    from 0 to 1, between the rows of any two heads of a kind of attention: the upper triangle, row by row.
    """

    summary: CorpusSummary
    ranges: dict[str, tuple[float, float]]
    distances: dict[str, tuple[float, ...]]
    heads: tuple[HeadStatistics, ...]

    def of_kind(self, kind: str) -> tuple[HeadStatistics, ...]:
        """Returns the heads of a kind of attention, in the order of layer and head."""
        return tuple(each for each in self.heads if each.site == kind)

    def head(self, kind: str, layer: int, head: int) -> HeadStatistics:
        """Returns the statistics of a head, from 0. Raises ValueError for a head that the model lacks."""
        for each in self.heads:
            if (each.site, each.layer, each.head) == (kind, layer, head):
                return each
        place = f"head {head} in layer {layer} of {kind}, counted from 0"
        raise ValueError(f"There are no statistics of {place}; expected a head of this model.")

    def distance_matrix(self, kind: str) -> np.ndarray:
        """Returns the mean divergence between any two heads of a kind, [E,E]."""
        count = len(self.of_kind(kind))
        matrix = np.zeros((count, count))
        matrix[np.triu_indices(count, 1)] = self.distances[kind]
        return matrix + matrix.T

    def to_dict(self) -> dict[str, Any]:
        """Returns the values for JSON, numbers rounded to five digits."""
        values: dict[str, Any] = {"schema": SCHEMA} | self.summary._asdict()
        values["ranges"] = {name: [_round(end) for end in ends] for name, ends in self.ranges.items()}
        values["distances"] = {kind: [_round(each) for each in row] for kind, row in self.distances.items()}
        values["heads"] = [_head_to_dict(head) for head in self.heads]
        return values

    @classmethod
    def from_dict(cls, values: Any) -> HeadsOverCorpus:
        """Reads the values of a JSON file. Raises ValueError that names the key of the fault."""
        schema = values.get("schema") if isinstance(values, Mapping) else None
        if not is_whole_number(schema) or schema != SCHEMA:
            raise ValueError(f"'schema' is {short_repr(schema)}; expected {SCHEMA}")
        for name in TEXTS:
            if not (isinstance(values.get(name), str) and len(values[name]) <= MAX_TEXT and values[name].isprintable()):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a short text")
        for name in COUNTS:
            if not is_count(values.get(name)) or (name == "sentences" and not values[name]):
                raise ValueError(f"{name!r} is {short_repr(values.get(name))}; expected a whole number")
        ranges, distances, heads = (values.get(name) for name in ("ranges", "distances", "heads"))
        if not isinstance(ranges, Mapping) or not all(
            _are_numbers(ends, 2) and ends[0] < ends[1] for ends in ranges.values()
        ):
            raise ValueError(f"'ranges' is {short_repr(ranges)}; expected two rising numbers for each metric")
        if not isinstance(heads, list) or not heads:
            raise ValueError(f"'heads' is {short_repr(heads)}; expected a list of heads")
        read = tuple(_read_head(each, ranges) for each in heads)
        counts = {kind: sum(each.site == kind for each in read) for kind in KINDS}
        sizes = {kind: count * (count - 1) // 2 for kind, count in counts.items() if count}
        if not isinstance(distances, Mapping) or set(distances) != set(sizes):
            raise ValueError(f"'distances' is {short_repr(distances)}; expected lists for {', '.join(sizes)}")
        for kind, size in sizes.items():
            if not _are_numbers(distances[kind], size) or any(not 0 <= each <= 1 for each in distances[kind]):
                raise ValueError(
                    f"'distances': {kind!r} is {short_repr(distances[kind])}; expected {size} numbers from 0 to 1"
                )
        return cls(
            CorpusSummary(**{name: values[name] for name in CorpusSummary._fields}),
            ranges={str(name): (float(ends[0]), float(ends[1])) for name, ends in ranges.items()},
            distances={kind: tuple(map(float, distances[kind])) for kind in sizes},
            heads=read,
        )

    def check(self, config: ModelConfig) -> None:
        """Raises ValueError unless these are the heads of this model, in the order of kind, layer and head."""
        for kind in KINDS:
            found = [(each.layer, each.head) for each in self.of_kind(kind)]
            expected = [(layer, head) for layer in range(config.layers.get(kind, 0)) for head in range(config.heads)]
            if found != expected:
                raise ValueError(
                    f"'heads' has {len(found)} heads of the kind {kind}; expected the {len(expected)} of the model of "
                    "config.json, by layer and head"
                )


def _round(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _head_to_dict(head: HeadStatistics) -> dict[str, Any]:
    values: dict[str, Any] = {"site": head.site, "layer": head.layer, "head": head.head}
    values["metrics"] = {
        name: {"mean": [_round(each) for each in metric.mean], "counts": list(metric.counts)}
        for name, metric in head.metrics.items()
    }
    values["places"] = {name: _round(share) for name, share in head.places.items()}
    values["read_pairs"], values["written_pairs"] = (
        [list(pair) for pair in pairs] for pairs in (head.read_pairs, head.written_pairs)
    )
    for name in ("change", "changed"):
        mean = getattr(head, name)
        values[name] = None if mean is None else [_round(each) for each in mean]
    return values


def _are_numbers(values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(is_number(each, -1e9, 1e9) for each in values)


def _read_head(values: Any, ranges: Mapping[str, Any]) -> HeadStatistics:
    names = tuple(HeadStatistics.__dataclass_fields__)
    if not isinstance(values, Mapping) or set(values) != set(names):
        raise ValueError(f"'heads' has {short_repr(values)}; expected an object with {', '.join(names)}")
    if values["site"] not in KINDS or not is_count(values["layer"]) or not is_count(values["head"]):
        raise ValueError(f"'heads' has {short_repr(values)}; expected a site, a layer and a head from 0")
    place = head_name(values["site"], values["layer"], values["head"])
    metrics, places = values["metrics"], values["places"]
    if not isinstance(metrics, Mapping) or not set(metrics) <= set(ranges):
        raise ValueError(f"{place}: 'metrics' is {short_repr(metrics)}; expected metrics of 'ranges'")
    for name, each in metrics.items():
        if not isinstance(each, Mapping) or set(each) != {"mean", "counts"} or not _are_counts(each["counts"]):
            raise ValueError(f"{place}: {name!r} is {short_repr(each)}; expected a mean and {BINS} counts")
    if not isinstance(places, Mapping) or set(places) != set(PLACES) or not _are_numbers(list(places.values()), len(PLACES)):
        raise ValueError(f"{place}: 'places' is {short_repr(places)}; expected a share for each of {', '.join(PLACES)}")
    return HeadStatistics(
        values["site"],
        values["layer"],
        values["head"],
        {
            str(name): MetricStatistics(_mean(place, name, each["mean"]), tuple(each["counts"]))
            for name, each in metrics.items()
        },
        {name: float(places[name]) for name in PLACES},
        _pairs(place, values["read_pairs"]),
        _pairs(place, values["written_pairs"]),
        *(None if values[name] is None else _mean(place, name, values[name]) for name in ("change", "changed")),
    )


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and len(values) == BINS and all(map(is_count, values))


def _mean(place: str, name: str, values: Any) -> Mean:
    """Reads a mean; both ends of the interval are numbers, or None."""
    if isinstance(values, list) and len(values) == 3 and values[1:] == [None, None] and _are_numbers(values[:1], 1):
        return Mean(float(values[0]), None, None)
    if not _are_numbers(values, 3) or values[1] > values[2]:
        raise ValueError(f"{place}: {name!r} has {short_repr(values)}; expected a mean and the ends of its interval")
    return Mean(*map(float, values))


def _pairs(place: str, values: Any) -> tuple[WordPair, ...]:
    if not isinstance(values, list) or len(values) > MAX_PAIRS or not all(map(_is_pair, values)):
        raise ValueError(
            f"{place}: there is a faulty list of pairs, {short_repr(values)}; expected [word, word, linked, possible]"
        )
    return tuple(WordPair(*each) for each in values)


def _is_pair(values: Any) -> bool:
    if not isinstance(values, list) or len(values) != len(WordPair._fields):
        return False
    words, counts = values[:2], values[2:]
    if not all(isinstance(word, str) and len(word) <= MAX_TEXT and word.isprintable() for word in words):
        return False
    return all(map(is_count, counts)) and counts[0] <= counts[1]
