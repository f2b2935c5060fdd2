"""Comparison of two traces: aligned tokens and the distance between their attention rows. Also word alignment.

Word alignment from cross-attention links source and target words. A link comes from the row that predicts a token, or from
the row one step later that reads it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation",
section 3). The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from ...config import CONTROL_TOKENS
from ...inference.predictions import changed_words
from ...text.measurements import ROWS
from ...trace import PREDICTS, Axis, MapView, Site, Trace
from .head_maps import merge_words


@dataclass(frozen=True)
class Alignment:
    """Two aligned lists of tokens, in reading order.

    A column has a position in each list, or None where that list has no partner. `same` is True for a column with two equal
    tokens.
    """

    columns: tuple[tuple[int | None, int | None], ...]
    same: tuple[bool, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The columns with a position in both lists."""
        return tuple((i, j) for i, j in self.columns if i is not None and j is not None)

    @cached_property
    def common(self) -> tuple[tuple[int, int], ...]:
        """The pairs whose tokens are equal."""
        return tuple(
            (i, j) for (i, j), same in zip(self.columns, self.same, strict=True) if same and i is not None and j is not None
        )

    @cached_property
    def is_equal(self) -> bool:
        """True where both lists are equal."""
        return all(self.same)

    @cached_property
    def unpaired(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The positions without a partner, in the first and in the second list."""
        first = tuple(i for i, j in self.columns if i is not None and j is None)
        return first, tuple(j for i, j in self.columns if j is not None and i is None)

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Positions of both lists that belong together.

        A group is a pair of partners, or all positions without a partner between two pairs, such as the pieces of two words
        that are split differently.
        """
        groups: list[tuple[list[int], list[int]]] = []
        was_pair = True
        for i, j in self.columns:
            is_pair = i is not None and j is not None
            if is_pair or was_pair:
                groups.append(([], []))
            for into, position in zip(groups[-1], (i, j), strict=True):
                if position is not None:
                    into.append(position)
            was_pair = is_pair
        return tuple((tuple(one), tuple(other)) for one, other in groups)


def align(one: Sequence[str], other: Sequence[str]) -> Alignment:
    """Aligns two lists by their longest common subsequence.

    Tokens between two common ones are paired where both lists have equally many, so a substituted word has a partner. Else
    they have none.
    """
    return _align(tuple(one), tuple(other))


@lru_cache(256)
def _align(one: tuple[str, ...], other: tuple[str, ...]) -> Alignment:
    changed, new = changed_words(one, other)
    anchors = [*zip(_unchanged(changed), _unchanged(new), strict=True), (len(one), len(other))]
    columns: list[tuple[int | None, int | None]] = []
    same: list[bool] = []
    i = j = 0
    for next_i, next_j in anchors:
        removed, added = range(i, next_i), range(j, next_j)
        between = (
            [*zip(removed, added, strict=True)]
            if len(removed) == len(added)
            else [*((each, None) for each in removed), *((None, each) for each in added)]
        )
        columns += between
        same += [False] * len(between)
        if next_i < len(one):
            columns.append((next_i, next_j))
            same.append(True)
        i, j = next_i + 1, next_j + 1
    return Alignment(tuple(columns), tuple(same))


def _unchanged(changed: Sequence[bool]) -> list[int]:
    return [n for n, is_changed in enumerate(changed) if not is_changed]


def row_distances(one: np.ndarray, other: np.ndarray, rows: Alignment, keys: Alignment) -> np.ndarray:
    """Returns the total variation distance between paired rows of two patterns [H,T,S] and [H,U,V], [H,pairs].

    The distance is half the sum of absolute differences, from 0 (equal rows) to 1 (no common key). The weights of a group of
    keys (`Alignment.groups`) are summed. A key without a partner counts in full. NaN where one of the rows sees no key.
    """
    first, second = _both(rows.pairs)
    a, b = one[:, first].astype(np.float64), other[:, second].astype(np.float64)  # [H,pairs,S], [H,pairs,V]
    ours, theirs = (_members(keys, side, each.shape[-1]) for side, each in enumerate((one, other)))
    apart = np.abs(a @ ours - b @ theirs).sum(axis=-1) / 2  # [H,pairs]
    return np.where((a.sum(axis=-1) > 0) & (b.sum(axis=-1) > 0), apart, np.nan)


def _members(keys: Alignment, side: int, count: int) -> np.ndarray:
    """Returns 1 where a key belongs to a group, else 0, [keys,groups]."""
    members = np.zeros((count, len(keys.groups)))
    for number, group in enumerate(keys.groups):
        members[list(group[side]), number] = 1
    return members


def mean(distances: np.ndarray) -> np.ndarray:
    """Returns the mean over the last axis without NaN, NaN where no number is left."""
    counts = (~np.isnan(distances)).sum(axis=-1)
    return np.where(counts > 0, np.nansum(distances, axis=-1) / np.maximum(counts, 1), np.nan)


def _both(pairs: Sequence[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [i for i, _ in pairs], [j for _, j in pairs]


@dataclass(frozen=True)
class AlignedTraces:
    """Two traces with alignments of their source, decoder input and predicted tokens."""

    first: Trace
    second: Trace
    source: Alignment | None  # None where one of them has no source
    inputs: Alignment | None
    predicted: Alignment

    def queries(self, site: Site) -> Alignment | None:
        """Returns the alignment of a site's rows. Decoder rows are aligned by the tokens that they predict."""
        return self.source if site.spec.query_side == "source" else self.inputs and self.predicted

    def keys(self, site: Site) -> Alignment | None:
        """Returns the alignment of a site's columns."""
        return self.source if site.spec.key_side == "source" else self.inputs

    def distances(self, site: Site, other: Site | None = None) -> np.ndarray | None:
        """Returns the mean row distance of each head of a site to the head of the second trace, [H].

        The mean covers paired rows without padding. `other` is the site in the second trace. None without a common row.
        """
        other = other or site
        rows, keys = self.queries(site), self.keys(site)
        if rows is None or keys is None or site not in self.first.patterns or other not in self.second.patterns:
            return None
        labels = self.first.axis(site.spec.query_side).labels
        real = [pair for pair in rows.pairs if labels[pair[0]] != "<pad>"]
        one, two = self.first.patterns[site], self.second.patterns[other]
        heads = min(len(one), len(two))
        return mean(row_distances(one[:heads], two[:heads], Alignment(tuple(real), (False,) * len(real)), keys))


def align_traces(first: Trace, second: Trace) -> AlignedTraces:
    """Aligns the tokens of two traces."""

    def both(name: str) -> Alignment | None:
        one, two = getattr(first, name), getattr(second, name)
        return None if one is None or two is None else align(one.labels, two.labels)

    return AlignedTraces(
        first, second, both("source"), both("inputs"), align(first.predicted_axis.labels, second.predicted_axis.labels)
    )


def _split_query(label: str) -> tuple[str, str]:
    """Returns the token that a row reads and the one that it predicts; twice the same where it predicts none."""
    read, _, predicted = label.partition(PREDICTS)
    return read, predicted or read


def common_rows(one: MapView, two: MapView) -> tuple[tuple[int, int], ...]:
    """Returns the pairs of rows that read the same token.

    Decoder rows are aligned by the tokens that they predict. The predictions of a pair may differ: the weights of a row are
    computed before its prediction.
    """
    first, second = ([_split_query(label) for label in view.queries] for view in (one, two))
    pairs = align([predicted for _, predicted in first], [predicted for _, predicted in second]).pairs
    return tuple((i, j) for i, j in pairs if first[i][0] == second[j][0])


def common_difference(one: MapView, two: MapView) -> MapView | None:
    """Returns the second map minus the first over their common tokens, on the axes of the first.

    A row is common if both maps read the same token there (`common_rows`). No other cell is allowed. None where no cell is
    common.
    """
    rows, keys = common_rows(one, two), align(one.keys, two.keys).common
    if not rows or not keys:
        return None
    (first, second), (ours, theirs) = _both(rows), _both(keys)
    here, there = np.ix_(first, ours), np.ix_(second, theirs)
    values, allowed = np.zeros_like(one.values), np.zeros_like(one.allowed)
    values[here] = two.values[there] - one.values[here]
    allowed[here] = one.allowed[here] | two.allowed[there]
    return MapView(values, allowed, one.queries, one.keys) if allowed.any() else None


Link = tuple[int, int]  # a source word and a target word, from 0


@dataclass(frozen=True)
class Hits:
    """Counts behind the alignment error rate: links, links among the sure and the possible ones, and sure links in all."""

    links: int
    on_sure: int
    on_possible: int
    sure: int


def word_weights(pattern: np.ndarray, rows: Sequence[int], row_words: Sequence[int], key_words: Sequence[int]) -> np.ndarray:
    """Joins pieces into words, [...,T,S] to [...,words,words].

    The weight to a word is the sum over its pieces, from a word the mean over its rows. `rows` are the rows of the pieces,
    `row_words` their words.
    """
    return merge_words(pattern[..., list(rows), :], row_words, key_words)


def peaks(weights: np.ndarray, words: int) -> np.ndarray:
    """Returns the source word of each row's largest weight, [...,T,S] to [...,T].

    The entry is -1 where the row has no weight, or its largest weight is on a column from `words` on, such as `</s>`.
    """
    best = weights.argmax(-1)
    return np.where((best < words) & (weights.max(-1) > 0), best, -1)


def mutual(weights: np.ndarray, words: int) -> np.ndarray:
    """Returns the `peaks` whose source word gets its largest weight from this same target word, else -1.

    A head that always looks at one word has one such pair.
    """
    forward = peaks(weights, words)
    backward = weights.argmax(-2)  # [...,S]
    partner = np.take_along_axis(backward, np.maximum(forward, 0), axis=-1)  # [...,T]
    return np.where((forward >= 0) & (partner == np.arange(weights.shape[-2])), forward, -1)


def diagonal(target_words: int, source_words: int) -> np.ndarray:
    """Returns the source word at the same relative position as each target word, [T]."""
    steps = np.arange(target_words) / max(1, target_words - 1)
    return np.rint(steps * (source_words - 1)).astype(int)


def hits(source_words: Sequence[int], sure: Collection[Link], possible: Collection[Link]) -> Hits:
    """Compares the links of one sentence with annotated ones. A sure link is possible too.

    `source_words` has a source word for each target word, or -1.
    """
    links = [(int(source), target) for target, source in enumerate(source_words) if source >= 0]
    right = sum(link in sure for link in links)
    allowed = sum(link in possible or link in sure for link in links)
    return Hits(len(links), right, allowed, len(sure))


def error_rate(links: np.ndarray, on_sure: np.ndarray, on_possible: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """Returns AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|), from 0 to 1, of sums over sentences (Och and Ney 2003, section 6).

    The rate is 1 where there is neither a link nor a sure link.
    """
    total = np.asarray(links + sure, dtype=float)
    return 1 - np.divide(on_sure + on_possible, total, out=np.zeros_like(total), where=total > 0)


@dataclass(frozen=True)
class HeadPeaks:
    """The source word of the largest weight for each target word, for one head of cross-attention.

    The source word is None for a control token.
    """

    site: Site
    head: int
    rows: str  # one of `ROWS`
    peaks: tuple[tuple[str, str | None, float], ...]  # target word, source word
    mutual: int  # pairs of words that are each other's peak
    on_diagonal: int  # peaks on the diagonal


def head_peaks(trace: Trace, rows: str) -> list[HeadPeaks]:
    """Returns the peaks of all heads of cross-attention, layer by layer. Control tokens are no words."""
    source, outputs, later = trace.source, trace.outputs, ROWS[rows]
    assert source is not None and outputs is not None
    keys = [n for n, label in enumerate(source.labels) if label not in CONTROL_TOKENS]
    steps = [n for n, label in enumerate(outputs.labels) if label not in CONTROL_TOKENS and n + later < len(outputs)]
    places = [(site, head) for site in trace.sites("cross") for head in range(len(trace.patterns[site]))]
    if not keys or not steps:
        return [HeadPeaks(site, head, rows, (), 0, 0) for site, head in places]
    others = [n for n in range(len(source)) if n not in keys]
    from_words, to_words = _words(outputs, steps), _words(source, keys)
    numbers = [*(source.word_numbers[n] for n in keys), *(-1 - n for n in others)]  # control tokens last
    straight = diagonal(len(from_words), len(to_words))
    result = []
    for site, head in places:
        pattern = trace.patterns[site][head][:, [*keys, *others]]
        weights = word_weights(pattern, [n + later for n in steps], [outputs.word_numbers[n] for n in steps], numbers)
        best = peaks(weights, len(to_words))
        named = tuple(
            (word, to_words[s] if s >= 0 else None, float(row.max()))
            for word, s, row in zip(from_words, best, weights, strict=True)
        )
        both = int((mutual(weights, len(to_words)) >= 0).sum())
        result.append(HeadPeaks(site, head, rows, named, both, int((best == straight).sum())))
    return result


def _words(axis: Axis, tokens: Sequence[int]) -> list[str]:
    """Returns the words of some tokens, in their order."""
    spelled: dict[int, str] = {}
    for n in tokens:
        spelled[axis.word_numbers[n]] = spelled.get(axis.word_numbers[n], "") + axis.labels[n]
    return list(spelled.values())
