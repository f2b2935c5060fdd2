"""Which source word a head looks at for each target word: its peaks, as links between words; and how far links are off.

A link is read off the row that predicts a token, or off the one that reads it, a step later (Chen et al. 2020, "Accurate
Word Alignment Induction from Neural Machine Translation", section 3). With numpy alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from model.config import CONTROL_TOKENS
from model.readings.heads.patterns import merged
from model.text.alignments import ROWS
from model.trace import Axis, Site, Trace

Link = tuple[int, int]  # a source word and a target word, from 0


@dataclass(frozen=True)
class Hits:
    """What the alignment error rate is made of: how many links there are, how many of them are among the sure ones and among
    the possible ones, and how many sure ones there are to be found."""

    links: int
    on_sure: int
    on_possible: int
    sure: int


def word_weights(pattern: np.ndarray, rows: Sequence[int], row_words: Sequence[int], key_words: Sequence[int]) -> np.ndarray:
    """Pieces joined into words: the weight to a word is the sum over its pieces, from a word the mean over its rows;
    [...,T,S] to [...,words,words]. `rows` are those of the pieces, `row_words` their words."""
    return merged(pattern[..., list(rows), :], row_words, key_words)


def peaks(weights: np.ndarray, words: int) -> np.ndarray:
    """The source word of each row's largest weight: [...,T,S] to [...,T]; -1 where it is no word, but one of the columns
    from `words` on, such as `</s>`, or where a row has no weight."""
    best = weights.argmax(-1)
    return np.where((best < words) & (weights.max(-1) > 0), best, -1)


def mutual(weights: np.ndarray, words: int) -> np.ndarray:
    """The same where the target word is also the one that looks at this source word most, else -1: a head that looks at the
    same word all the time has one such pair."""
    found = peaks(weights, words)
    back = weights.argmax(-2)  # [...,S]
    there = np.take_along_axis(back, np.maximum(found, 0), axis=-1)  # [...,T]
    return np.where((found >= 0) & (there == np.arange(weights.shape[-2])), found, -1)


def diagonal(target_words: int, source_words: int) -> np.ndarray:
    """The source word at the same share of the way for each target word: [T]."""
    steps = np.arange(target_words) / max(1, target_words - 1)
    return np.rint(steps * (source_words - 1)).astype(int)


def hits(found: Sequence[int], sure: Collection[Link], possible: Collection[Link]) -> Hits:
    """The links of one sentence, a source word for each target word or -1, held against those made by hand; what is sure is
    possible too."""
    links = [(int(source), target) for target, source in enumerate(found) if source >= 0]
    right = sum(link in sure for link in links)
    allowed = sum(link in possible or link in sure for link in links)
    return Hits(len(links), right, allowed, len(sure))


def error_rate(links: np.ndarray, on_sure: np.ndarray, on_possible: np.ndarray, sure: np.ndarray) -> np.ndarray:
    """AER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|), from 0 to 1 (Och and Ney 2003, section 6), of sums over sentences; 1 where
    there is neither a link nor a sure one."""
    total = np.asarray(links + sure, dtype=float)
    return 1 - np.divide(on_sure + on_possible, total, out=np.zeros_like(total), where=total > 0)


@dataclass(frozen=True)
class HeadPeaks:
    """Where a head of cross-attention looks for each target word, read off the rows that `rows` names: the source word of
    the largest weight, None for a control token, and that weight."""

    site: Site
    head: int
    rows: str  # one of `ROWS`
    peaks: tuple[tuple[str, str | None, float], ...]  # target word, source word
    mutual: int  # how many target words and source words look at each other most
    on_diagonal: int  # how many peaks lie where the diagonal has them


def head_peaks(trace: Trace, rows: str) -> list[HeadPeaks]:
    """All heads of cross-attention, layer by layer. Control tokens are no words."""
    source, outputs, later = trace.source, trace.outputs, ROWS[rows]
    assert source is not None and outputs is not None
    keys = [n for n, label in enumerate(source.labels) if label not in CONTROL_TOKENS]
    steps = [n for n, label in enumerate(outputs.labels) if label not in CONTROL_TOKENS and n + later < len(outputs)]
    places = [(site, head) for site in trace.sites("cross") for head in range(len(trace.patterns[site]))]
    if not keys or not steps:
        return [HeadPeaks(site, head, rows, (), 0, 0) for site, head in places]
    others = [n for n in range(len(source)) if n not in keys]
    from_words, to_words = _words(outputs, steps), _words(source, keys)
    numbers = [*(source.words[n] for n in keys), *(-1 - n for n in others)]  # control tokens last
    straight, found = diagonal(len(from_words), len(to_words)), []
    for site, head in places:
        pattern = trace.patterns[site][head][:, [*keys, *others]]
        weights = word_weights(pattern, [n + later for n in steps], [outputs.words[n] for n in steps], numbers)
        best = peaks(weights, len(to_words))
        named = tuple(
            (word, to_words[s] if s >= 0 else None, float(row.max()))
            for word, s, row in zip(from_words, best, weights, strict=True)
        )
        both = int((mutual(weights, len(to_words)) >= 0).sum())
        found.append(HeadPeaks(site, head, rows, named, both, int((best == straight).sum())))
    return found


def _words(axis: Axis, tokens: Sequence[int]) -> list[str]:
    """The words of some tokens, in their order."""
    spelled: dict[int, str] = {}
    for n in tokens:
        spelled[axis.words[n]] = spelled.get(axis.words[n], "") + axis.labels[n]
    return list(spelled.values())
