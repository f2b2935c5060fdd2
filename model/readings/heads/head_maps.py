"""Attention maps of a head as weights, contributions or rollout, operations on maps, and the links of each decoding step.

The operations merge pieces into words, compute the rollout and rank correlations, and find the heaviest cells. A link is a
step's main source token and word, and the word linked to that word in the encoder. Queries are rows. The module uses numpy
only.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ...config import END, PAD, START
from ...trace import Site, Trace, site_kind


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
    return np.stack(list(rollout_products(patterns.astype(np.float64).mean(1))))


def rollout_products(means: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Yields the rollout [T,T] after each layer, from the mean over heads [T,T] of each layer; see `rollout`."""
    product: np.ndarray | None = None
    for mean in means:
        mixed = mean.astype(np.float64) + np.eye(len(mean))
        shares = mixed / mixed.sum(-1, keepdims=True)
        product = shares if product is None else shares @ product
        yield product


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


MAP_READINGS = ("weights", "contribution", "rollout")


def head_map(trace: Trace, norms: Mapping[Site, np.ndarray], site: Site, head: int | None, reading: str) -> np.ndarray:
    """Returns a map [T,S] whose rows sum to one, or are zeros where the mask hides all keys.

    Args:
        norms: Value norms after W_O of each site: [H,S], or [H,T,S] where the values differ by row.
        head: The head from 0, or None for all heads together.
        reading: One of `MAP_READINGS`. `weights` is the pattern of the head, or the mean over heads. `contribution` is the
            pattern times the value norm (Kobayashi et al. 2020), summed over heads without a `head`. `rollout` (Abnar and
            Zuidema 2020) covers the stack up to this layer, all heads together. For cross-attention it is the layer's mean
            over heads times the encoder's full rollout.

    Raises:
        ValueError: The reading does not exist.
    """
    patterns = trace.patterns[site]
    if reading == "weights":
        return trace.view(site, head).values
    if reading == "contribution":
        own = norms[site]
        parts = patterns * (own if own.ndim == 3 else own[:, None])  # [H,T,S]
        values = (parts.sum(0) if head is None else parts[head]).astype(np.float64)
        total = values.sum(-1, keepdims=True)
        return np.divide(values, total, out=np.zeros_like(values), where=total > 0)
    if reading == "rollout":
        if not site.spec.is_self:
            return patterns.mean(0) @ rollout(_stack(trace, "encoder"))[-1]
        return rollout(_stack(trace, site.kind))[site.layer]
    raise ValueError(f"There is no measure {reading!r}; expected one of {', '.join(MAP_READINGS)}.")


def _stack(trace: Trace, kind: str) -> np.ndarray:
    return np.stack([trace.patterns[site] for site in trace.sites(kind)])  # [L,H,T,T]


def mean_map(trace: Trace, norms: Mapping[Site, np.ndarray], kind: str, reading: str, head: int | None = None) -> np.ndarray:
    """Returns the mean of a reading over all layers and heads of a kind of site, or over the layers of one `head`, [T,S].

    The rollout combines the layers already, so its value after the last layer counts (for cross-attention the mean).
    """
    sites = trace.sites(kind)
    if reading == "rollout" and site_kind(kind).is_self:
        sites = sites[-1:]
    return np.mean([head_map(trace, norms, site, head, reading) for site in sites], axis=0)


COMBINATIONS = ("mean", "max")  # of the maps of several heads


def maps_of_heads(
    trace: Trace, norms: Mapping[Site, np.ndarray], kind: str, layer: int | None, reading: str, head: int | None = None
) -> np.ndarray:
    """Returns the map of every head of a layer (from 0) or of all layers of a kind of site, layer by layer, [N,T,S].

    With a `head` (from 0) only the maps of this head number count.
    `maps_of_heads(...).max(0)` is the largest value of each cell. Its rows need not sum to one.
    """
    sites = trace.sites(kind) if layer is None else trace.sites(kind)[layer : layer + 1]
    numbers = range(len(trace.patterns[sites[0]])) if head is None else (head,)
    return np.stack([head_map(trace, norms, site, number, reading) for site in sites for number in numbers])


def agreement(maps: Mapping[str, np.ndarray], allowed: np.ndarray) -> dict[str, float]:
    """Returns Spearman's rank correlation of the weights with each other reading, over the cells that the mask allows.

    `maps` has a map [T,S] for each of `MAP_READINGS`.
    """
    return {name: rank_correlation(maps["weights"], maps[name], allowed) for name in MAP_READINGS[1:]}


@dataclass(frozen=True)
class Detail:
    """A map with its labels for drawing: values [T,S], the allowed cells and the cells that get a line."""

    values: np.ndarray
    allowed: np.ndarray
    lines: np.ndarray
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[int, ...]  # for each row of the trace, its row in this map


def detail(trace: Trace, kind: str, values: np.ndarray, allowed: np.ndarray, merge: bool, hide: bool, mass: float) -> Detail:
    """Returns one map [T,S] of a kind of site for drawing.

    Args:
        values: The map [T,S], or maps [N,T,S] of which the largest value of each cell is drawn, after merging.
        merge: Merges pieces into words.
        hide: Leaves out the lines to control tokens and punctuation. The values stay.
        mass: The share of each row that its lines cover, heaviest cells first.
    """
    of = site_kind(kind)
    query_axis, key_axis = trace.axis(of.query_side), trace.axis(of.key_side)
    queries, keys = trace.queries(Site(kind, 0)), key_axis.labels  # type: ignore[arg-type]
    rows = tuple(range(len(queries)))
    if merge:
        values = merge_words(values, query_axis.word_numbers, key_axis.word_numbers)
        allowed = merge_words(allowed.astype(float), query_axis.word_numbers, key_axis.word_numbers) > 0
        places = {word: n for n, word in enumerate(dict.fromkeys(query_axis.word_numbers))}
        rows = tuple(places[word] for word in query_axis.word_numbers)
        keys = _joined(key_axis.labels, key_axis.word_numbers)
        queries = _joined(query_axis.labels, query_axis.word_numbers)
    values = values.max(0) if values.ndim == 3 else values
    lines = heaviest(values, mass)
    if hide:
        lines &= ~np.array([is_special(key) or is_punctuation(key) for key in keys])
    return Detail(values, allowed, lines, tuple(queries), tuple(keys), rows)


def _joined(labels: tuple[str, ...], words: tuple[int, ...]) -> tuple[str, ...]:
    return tuple("".join(t for t, w in zip(labels, words, strict=True) if w == word) for word in dict.fromkeys(words))


@dataclass(frozen=True)
class Pair:
    """A query (row) and a key (column) of a kind of site, both from 0."""

    kind: str
    query: int
    key: int


def link_weights(trace: Trace, pair: Pair, merge: bool = False) -> np.ndarray:
    """Returns the weight from the pair's query to its key in every head, layer by layer, [N].

    With `merge` the weight is from word to word, see `merge_words`.

    Raises:
        ValueError: The checkpoint has no such site, or the text no such token.
    """
    sites = trace.sites(pair.kind)
    if not sites:
        raise ValueError(f"This checkpoint has no {site_kind(pair.kind).name}.")
    of = site_kind(pair.kind)
    sides = (trace.axis(of.query_side), trace.axis(of.key_side))
    for token, side, name in ((pair.query, sides[0], of.query_side), (pair.key, sides[1], of.key_side)):
        if token >= len(side):
            raise ValueError(f"The link asks for {name} token {token + 1}; there are {len(side)}.")
    patterns = np.concatenate([trace.patterns[site] for site in sites])  # [N,T,S]
    if not merge:
        return patterns[:, pair.query, pair.key]
    query, key = word_pair(trace, pair)
    return merge_words(patterns, sides[0].word_numbers, sides[1].word_numbers)[:, query, key]


def strongest_head(trace: Trace, pair: Pair, merge: bool = False) -> tuple[int, int]:
    """Returns the layer and head, from 0, with the largest weight from the pair's query to its key, the first of equals.

    Raises:
        ValueError: See `link_weights`.
    """
    best = int(link_weights(trace, pair, merge).argmax())
    heads = len(trace.patterns[trace.sites(pair.kind)[0]])
    return divmod(best, heads)


def word_pair(trace: Trace, pair: Pair) -> tuple[int, int]:
    """Returns the words of a pair's tokens, as row and column of a map of words."""
    of = site_kind(pair.kind)
    places = [
        list(dict.fromkeys(axis.word_numbers)).index(axis.word_numbers[token])
        for axis, token in ((trace.axis(of.query_side), pair.query), (trace.axis(of.key_side), pair.key))
    ]
    return places[0], places[1]


MIN_WEIGHT = 0.1  # smallest mean weight of a word worth a question
CLEAR = 1.5  # ratio of a standout word's weight to that of any other word


@dataclass(frozen=True)
class Link:
    """The token with a step's largest weight, in the source or the only text, and the `word` with the largest weight.

    `word` is None without a word. Weights are means over all heads and layers. `to` is the word with a standout encoder
    weight from `word`, `linked` that weight. `to` is None without one.
    """

    source: int
    weight: float
    word: int | None
    on_word: float
    to: int | None
    linked: float

    @property
    def is_clear(self) -> bool:
        """True where the weight on the word is large enough for a question about its heads."""
        return self.word is not None and self.on_word >= MIN_WEIGHT


def step_links(trace: Trace, step: int | None = None) -> tuple[Link, ...]:
    """Returns one link for each step, with positions from 0, or only that of `step`, or of the last one where it is larger.

    Control tokens and punctuation are no words.

    Adjacent tokens are never linked, because heads often look there regardless of the token. Without cross-attention there
    is a link for each row of self-attention, without `to`.
    """
    cross, encoder = trace.sites("cross"), trace.sites("encoder")
    if not cross or trace.source is None:
        (kind,), axis = trace.kinds, trace.inputs or trace.source
        assert axis is not None
        own = np.mean([trace.patterns[site].mean(0) for site in trace.sites(kind)], axis=0)  # [T,T]
        words = _words(axis.ids, axis.labels)
        return tuple(_link(row, None, words, np.array(axis.word_numbers)) for row in _rows(own, step))
    looked = np.mean([trace.patterns[site].mean(0) for site in cross], axis=0)  # [T,S]
    among = np.mean([trace.patterns[site].mean(0) for site in encoder], axis=0) if encoder else None  # [S,S]
    words = _words(trace.source.ids, trace.source.labels)
    return tuple(_link(row, among, words, np.array(trace.source.word_numbers)) for row in _rows(looked, step))


def _rows(rows: np.ndarray, step: int | None) -> np.ndarray:
    """Returns all rows, or only that of a step, or the last one where the step is larger."""
    if step is None:
        return rows
    at = min(step, len(rows) - 1)
    return rows[at : at + 1]


def _words(ids: Sequence[int], labels: Sequence[str]) -> np.ndarray:
    pairs = zip(ids, labels, strict=True)
    return np.array([token not in (PAD, START, END) and any(map(str.isalnum, text)) for token, text in pairs])


def _link(row: np.ndarray, among: np.ndarray | None, words: np.ndarray, groups: np.ndarray) -> Link:
    token = int(row.argmax())
    on_words = np.where(words, row, 0.0)
    word = int(on_words.argmax())
    if not on_words[word]:
        return Link(token, float(row[token]), None, 0.0, None, 0.0)
    to = None if among is None or on_words[word] < MIN_WEIGHT else _standing_out(among[word], word, words, groups)
    linked = 0.0 if to is None else float(among[word, to])
    return Link(token, float(row[token]), word, float(row[word]), to, linked)


def _standing_out(row: np.ndarray, word: int, words: np.ndarray, groups: np.ndarray) -> int | None:
    """Returns the word, not adjacent to `word`, with `CLEAR` times the weight of any third one, else None."""
    others = np.where(words & (groups != groups[word]), row, 0.0)
    to = int(others.argmax())
    third = others[groups != groups[to]].max(initial=0.0)
    return to if abs(to - word) > 1 and others[to] >= max(MIN_WEIGHT, CLEAR * third) else None
