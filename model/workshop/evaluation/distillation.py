"""Targets replaced by a model's own translations: sequence-level distillation by interpolation (Kim and Rush 2016,
"Sequence-Level Knowledge Distillation", section 3.3).

A beam translates each longer source. Of its hypotheses, the one nearest to the target replaces it, if it is near enough and
passes three checks: all its runs of three words occur in the corpus, each of its words goes with a word of the source, and
it is at most two words shorter. Otherwise the target stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch

from ...checkpoint import Checkpoint
from ...config import END, MAX_TOKENS
from ...decoding.strategy import Decoding
from ..corpus.corpus import pad
from .measures import forms_of_address

MIN_WORDS, MAX_WORDS = 5, 30  # of a source that is translated
BATCH_TOKENS, MAX_ROWS = 1400, 128  # of a batch
SORTED_ROWS = 4096  # sources that are sorted by length at a time
NEAREST, NEAR = 0.56, 0.4  # least similarity to any target of the source, and to its own
MIN_LOG_PROB = -0.5  # nats a token
LOG_PROB_WEIGHT = 0.04  # of a nat, beside similarity
SHORTER_BY = 2  # words
LINK = 0.06  # least Dice coefficient of two words that translate each other
COMMON = 1500  # targets with a word that needs no link
_TOKEN = re.compile(r"\w+'|\w+|[^\w\s]")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_SOURCE_WORD = re.compile(r"[^\W\d_]{2,}")
Grams = list[Counter[tuple[str, ...]]]


class Scored(NamedTuple):
    """A hypothesis of a beam, with its mean log-probability a token, in nats."""

    text: str
    log_prob: float


class Distilled(NamedTuple):
    """A source with its new target, and whether the beam has that target."""

    source: str
    target: str
    is_in_beam: bool


def similarity(one: Grams, other: Grams) -> float:
    """Returns the mean F1, 0 to 1, of the runs of one to four characters and of one to three words of two texts."""
    scores = (2 * (a & b).total() / max(1, a.total() + b.total()) for a, b in zip(one, other, strict=True))
    return sum(scores) / len(one)


def grams(text: str) -> Grams:
    """Returns the counted runs of one to four characters, without spaces, and of one to three words."""
    characters, words = text.replace(" ", ""), _TOKEN.findall(text)
    return [Counter(_runs(characters, n)) for n in (1, 2, 3, 4)] + [Counter(_runs(words, n)) for n in (1, 2, 3)]


def _runs(units: Sequence[str], length: int) -> Iterable[tuple[str, ...]]:
    return zip(*(units[start:] for start in range(length)), strict=False)


def _long_words(text: str) -> set[str]:
    return {word.lower() for word in _LONG_WORD.findall(text)}


def _tokens(text: str) -> list[str]:
    return ["<", *_TOKEN.findall(text.lower().replace("’", "'")), ">"]


@dataclass(frozen=True)
class SeenWords:
    """The runs of words of all targets of a corpus, and how often words of both sides stand in one pair."""

    triples: frozenset[tuple[str, ...]]
    doubles: Counter[tuple[str, ...]]
    together: Counter[tuple[str, str]]
    sources: Counter[str]
    targets: Counter[str]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> SeenWords:
        triples, doubles = set[tuple[str, ...]](), Counter[tuple[str, ...]]()
        together, sources, targets = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
        for source, target in pairs:
            tokens = _tokens(target)
            triples.update(_runs(tokens, 3))
            doubles.update(_runs(tokens, 2))
            words, own = set(_SOURCE_WORD.findall(source.lower())), _long_words(target)
            sources.update(words)
            targets.update(own)
            together.update((word, each) for word in words for each in own)
        return cls(frozenset(triples), doubles, together, sources, targets)

    def is_fluent(self, text: str, target: str) -> bool:
        """True if each run of two and of three words stands elsewhere in the corpus, or in the target."""
        tokens, own = _tokens(text), set(_runs(_tokens(target), 3))
        known = all(run in self.triples for run in _runs(tokens, 3) if run not in own)
        return known and all(self.doubles[run] >= 2 for run in _runs(tokens, 2))

    def translates(self, source: str, text: str, target: str, others: Sequence[str]) -> bool:
        """True if the text has a word for those of the target, and each new word goes with a word of the source."""
        words, own = set(_SOURCE_WORD.findall(source.lower())), _long_words(text)
        new = own.difference(_long_words(target), *map(_long_words, others))
        if not all(self._is_linked(word, words) for word in new):
            return False
        if len(text.split()) < len(target.split()) - SHORTER_BY:
            return False
        rare = {word for word in _long_words(target) if self.targets[word] <= COMMON}
        return len(rare - own) <= len(own - _long_words(target))

    def _is_linked(self, word: str, sources: set[str]) -> bool:
        count = self.targets[word]
        pairs = ((self.together[each, word], self.sources[each] + count) for each in sources)
        return count > COMMON or (count >= 2 and any(n >= 2 and 2 * n >= LINK * total for n, total in pairs))


def nearest(source: str, target: str, others: Sequence[str], hypotheses: Sequence[Scored], seen: SeenWords) -> str | None:
    """Returns the hypothesis that may replace a target, or None. `others` are further targets of the source."""
    own, more = grams(target), [grams(other) for other in others if other != target]
    best: tuple[float, str] | None = None
    for text, log_prob in hypotheses:
        each = grams(text)
        near = similarity(each, own)
        nearest_of_all = max([near, *(similarity(each, other) for other in more)])
        if nearest_of_all < NEAREST or near < NEAR or log_prob < MIN_LOG_PROB or text[-1:] != target[-1:]:
            continue
        if forms_of_address(text) != forms_of_address(target):
            continue
        score = 0.5 * (near + nearest_of_all) + LOG_PROB_WEIGHT * log_prob
        if (
            (best is None or score > best[0])
            and seen.is_fluent(text, target)
            and seen.translates(source, text, target, others)
        ):
            best = (score, text)
    return best and best[1]


@torch.inference_mode()
def beams(
    checkpoint: Checkpoint, sources: Sequence[str], progress: Callable[[int], object] = lambda done: None
) -> dict[str, list[Scored]]:
    """Returns the finished hypotheses of a beam of the default width for each source; `progress` gets finished sources."""
    search, device = Decoding("beam").search, next(checkpoint.model.parameters()).device
    ids = [[*row[: MAX_TOKENS - 1], END] for row in checkpoint.source_tokenizer.encode_batch(list(sources))]
    found: dict[str, list[Scored]] = {}
    for start in range(0, len(sources), SORTED_ROWS):
        order = sorted(range(start, min(start + SORTED_ROWS, len(sources))), key=lambda row: len(ids[row]))
        while order:
            longest = len(ids[order[min(MAX_ROWS, len(order)) - 1]])
            count = max(1, min(MAX_ROWS, BATCH_TOKENS // longest))
            rows, order = order[:count], order[count:]
            for row, tree in zip(rows, search(checkpoint.model, pad([ids[row] for row in rows]).to(device)), strict=True):
                ended = [each for each in tree if each.is_finished]
                texts = (checkpoint.target_tokenizer.decode(each.ids).strip() for each in ended)
                found[sources[row]] = [
                    Scored(text, each.score / len(each.ids)) for text, each in zip(texts, ended, strict=True)
                ]
            progress(len(rows))
    return found


def distill(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str]],
    targets: Mapping[str, Sequence[str]],
    seen: SeenWords,
    progress: Callable[[int], object] = lambda done: None,
) -> list[Distilled]:
    """Returns the pairs, in order, with each target replaced where a hypothesis may replace it.

    Args:
        pairs: each source once, with its target.
        targets: all targets of a source.
        seen: the words of the corpus.
        progress: gets the number of finished sources of `is_translated`.
    """
    found = beams(checkpoint, [source for source, _ in pairs if is_translated(source)], progress)
    result = []
    for source, target in pairs:
        hypotheses = found.get(source, [])
        new = nearest(source, target, targets.get(source, ()), hypotheses, seen)
        result.append(Distilled(source, new or target, new is not None or any(each.text == target for each in hypotheses)))
    return result


def is_translated(source: str) -> bool:
    """True for a source of 5 to 30 words."""
    return MIN_WORDS <= len(source.split()) <= MAX_WORDS
