"""Word alignment from cross-attention: links between source and target words, and their error rate.

A link comes from the row that predicts a token, or from the row one step later that reads it (Chen et al. 2020, "Accurate
Word Alignment Induction from Neural Machine Translation", section 3). The module uses numpy only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ...config import CONTROL_TOKENS
from ...text.measurements import ROWS
from ...trace import Axis, Site, Trace
from .head_maps import merge_words

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
