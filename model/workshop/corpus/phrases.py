"""Phrase pairs of a corpus. They teach a model of sentences that a text may be a word or a title.

Phrase pairs as in Koehn, Och and Marcu 2003 ("Statistical phrase-based translation"): no link leaves one side without
entering the other, and both begin and end with a linked word. Rare translations are left out. Word links come from IBM Model
2 with the prior of Dyer et al. 2013 ("A simple, fast, and effective reparameterization of IBM Model 2"): the prior falls
with the distance from the diagonal. A link counts if both directions have it.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

TENSION = 4.0  # slope of the prior: exp(-TENSION * |i/m - j/n|)
ROUNDS = 5  # of expectation and maximisation
EMPTY_PRIOR = 0.08  # prior of a word without an origin

Ids = NDArray[np.int64]


class Cells(NamedTuple):
    """All pairs of a target word and a source word, over all sentence pairs in order: [cells] each."""

    source: Ids  # index of the word over all sources
    target: Ids
    distance: NDArray[np.float64]  # from the diagonal, 0 to 1
    places: tuple[Ids, Ids, Ids]  # indices of the pair, of its source word and of its target word


def _cells(sources: Sequence[int], targets: Sequence[int]) -> Cells:
    """Returns the cells of pairs from their numbers of words on each side."""
    m, n = np.asarray(sources, np.int64), np.asarray(targets, np.int64)
    size = m * n
    begin = np.concatenate(([0], np.cumsum(size)[:-1]))
    pair = np.repeat(np.arange(len(m)), size)
    within = np.arange(int(size.sum())) - begin[pair]
    i, j = within % m[pair], within // m[pair]
    first_source, first_target = (np.concatenate(([0], np.cumsum(side)[:-1])) for side in (m, n))
    distance = np.abs((i + 0.5) / m[pair] - (j + 0.5) / n[pair])
    return Cells(i + first_source[pair], j + first_target[pair], distance, (pair, i, j))


def _is_likeliest(origins: Ids, targets: Ids, word_pairs: Ids, cells: Cells, kinds: int) -> NDArray[np.bool_]:
    """Returns, for each cell, True if `origins` has the most probable origin of the word in `targets`: [cells] bool.

    origins, targets: the word of each cell on either side, counted over all texts. `word_pairs` numbers each cell's pair of
    words.
    """
    prior = np.exp(-TENSION * cells.distance)
    total = np.bincount(targets, prior)
    prior *= (1 - EMPTY_PRIOR) / total[targets]
    types = int(word_pairs.max()) + 1 if len(word_pairs) else 0
    origin = np.zeros(types, np.int64)
    origin[word_pairs] = origins  # origin of each pair of words
    share = np.full(types, 1.0 / max(1, kinds))
    for _ in range(ROUNDS):
        weight = prior * share[word_pairs]
        weight /= (np.bincount(targets, weight) + EMPTY_PRIOR / max(1, kinds))[targets]
        counts = np.bincount(word_pairs, weight, types)
        share = counts / np.maximum(np.bincount(origin, counts)[origin], 1e-12)
    weight = prior * share[word_pairs]
    best = np.zeros(int(targets.max()) + 1 if len(targets) else 0)
    np.maximum.at(best, targets, weight)
    return (weight == best[targets]) & (weight > EMPTY_PRIOR / max(1, kinds))


def word_links(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> list[list[tuple[int, int]]]:
    """Returns the links of each pair of texts, as words: (word of the source, word of the target), from 0, in order."""
    cells = _cells([len(words) for words in sources], [len(words) for words in targets])
    one, many = _number_words(sources), _number_words(targets)
    if not len(cells.source):
        return [[] for _ in sources]
    source_types, target_types = one[cells.source], many[cells.target]
    _, words = np.unique(source_types * (int(many.max()) + 1) + target_types, return_inverse=True)
    kinds = int(one.max()) + 1, int(many.max()) + 1
    forward = _is_likeliest(source_types, cells.target, words, cells, kinds[1])
    backward = _is_likeliest(target_types, cells.source, words, cells, kinds[0])
    result: list[list[tuple[int, int]]] = [[] for _ in sources]
    linked_cells = np.flatnonzero(forward & backward)
    for pair, i, j in zip(*(place[linked_cells].tolist() for place in cells.places), strict=True):
        result[pair].append((i, j))
    return result


def _number_words(texts: Sequence[Sequence[str]]) -> Ids:
    """Returns the words of all texts in order, as numbers; equal words have one number."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(word, len(numbers)) for words in texts for word in words], np.int64)


SOURCE_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[^\w\s]")  # a word or punctuation
TARGET_WORD = re.compile(r"[^\W_]+['’]?|[^\w\s]")  # with elided words separate, as in French
MAX_WORDS = (4, 6)  # words of a phrase, on each side
MIN_SOURCES = 3  # distinct sources of a phrase
MIN_SHARE = 0.3  # share of this translation, geometric mean of both directions
MIN_FREE_SHARE = 0.25  # share of sources without an unlinked word next to the phrase
FREQUENT = 60  # the most frequent words end no phrase of several words: *is too*, *want to*
CAPITAL_SHARE = 0.5  # minimum share of capitalised occurrences inside sentences


class Phrase(NamedTuple):
    """A piece of a source and its translation, written as inside a sentence, and its number of sources."""

    source: str
    target: str
    count: int


class Phrases:
    """The phrase pairs of a corpus."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.phrases = _extract(pairs)

    def sample(self, count: int, draw: random.Random) -> Iterator[tuple[str, str]]:
        """Yields `count` phrases, weighted by the root of their count, each typed in one of the ways of `FORMS`."""
        weights = [phrase.count**0.5 for phrase in self.phrases]
        for phrase in draw.choices(self.phrases, weights, k=count) if self.phrases else ():
            yield draw.choice(FORMS)(phrase.source, phrase.target)


def capitalize(text: str) -> str:
    """Returns the text with a capital first letter."""
    return text[:1].upper() + text[1:]


# Typed forms of a word or a title: with a capital, without, as a title, with a full stop.
FORMS = (
    lambda source, target: (capitalize(source), capitalize(target)),
    lambda source, target: (capitalize(source), capitalize(target)),
    lambda source, target: (source, target),
    lambda source, target: (source.lower(), target),
    lambda source, target: (" ".join(map(capitalize, source.split())), capitalize(target)),
    lambda source, target: (f"{capitalize(source)}.", f"{capitalize(target)}."),
)


def _extract(pairs: Sequence[tuple[str, str]]) -> list[Phrase]:
    spans = [[list(SOURCE_WORD.finditer(source)), list(TARGET_WORD.finditer(target))] for source, target in pairs]
    words = [[[phrase[0].lower() for phrase in side] for side in pair] for pair in spans]
    capitals = tuple(_capitalized_words([pair[side] for pair in spans]) for side in (0, 1))
    sources: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    alone: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for pair, (one, two), linked in zip(pairs, spans, word_links([w[0] for w in words], [w[1] for w in words]), strict=True):
        for s, t, tight in _consistent_spans(one, two, linked):
            phrase = _as_inside_sentence(pair[0], one[s], capitals[0]), _as_inside_sentence(pair[1], two[t], capitals[1])
            sources[phrase].add(pair[0])
            if tight:
                alone[phrase].add(pair[0])
    often = {word for word, _ in Counter(word for side, _ in words for word in side).most_common(FREQUENT)}
    counts = {phrase: len(texts) for phrase, texts in sources.items()}
    totals: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for (source, target), count in counts.items():
        totals[0][source] += count
        totals[1][target] += count
    best: dict[str, Phrase] = {}
    for (source, target), count in counts.items():
        sure = count / (totals[0][source] * totals[1][target]) ** 0.5
        free = len(alone[source, target])
        is_phrase = free >= max(MIN_SOURCES, MIN_FREE_SHARE * count) and not (
            " " in source and source.rsplit(" ", 1)[1].lower() in often
        )
        if is_phrase and sure >= MIN_SHARE and (source not in best or free > best[source].count):
            best[source] = Phrase(source, target, free)
    return sorted(best.values())


def _capitalized_words(texts: Sequence[Sequence[re.Match[str]]]) -> set[str]:
    """Returns the words, in lower case, that mostly begin with a capital inside sentences, as names do."""
    upper, all_ = Counter[str](), Counter[str]()
    for words in texts:
        for word in words[1:]:
            all_[word[0].lower()] += 1
            upper[word[0].lower()] += word[0][0].isupper()
    return {word for word, count in upper.items() if count > CAPITAL_SHARE * all_[word]}


def _as_inside_sentence(text: str, words: Sequence[re.Match[str]], capitals: set[str]) -> str:
    """Returns the words as written inside a sentence, without the capital of its beginning."""
    first = words[0]
    begins = first.start() == 0 and first[0].lower() not in capitals
    cut = text[first.start() : words[-1].end()]
    return cut[:1].lower() + cut[1:] if begins else cut


def _consistent_spans(
    one: Sequence[re.Match[str]], two: Sequence[re.Match[str]], linked: Sequence[tuple[int, int]]
) -> Iterator[tuple[slice, slice, bool]]:
    """Yields the phrase pairs of a linked pair, without punctuation, as slices of the words of both sides.

    The third value is True if every word next to them has a link. A word without one may belong to them, as *n'* to *est pas
    un*.
    """
    loose = [
        {n for n, word in enumerate(side) if word[0][0].isalnum()} - {link[k] for link in linked}
        for k, side in enumerate((one, two))
    ]
    begins = sorted({i for i, _ in linked})
    for begin in begins:
        for end in begins:
            if not 0 <= end - begin < MAX_WORDS[0]:
                continue
            inside = [j for i, j in linked if begin <= i <= end]
            low, high = min(inside), max(inside)
            if high - low >= MAX_WORDS[1] or any(low <= j <= high and not begin <= i <= end for i, j in linked):
                continue
            phrase = [*one[begin : end + 1], *two[low : high + 1]]
            if all(word[0][0].isalpha() for word in phrase) and two[high][0][-1].isalpha():
                tight = not (loose[0] & {begin - 1, end + 1} or loose[1] & {low - 1, high + 1})
                yield slice(begin, end + 1), slice(low, high + 1), tight
