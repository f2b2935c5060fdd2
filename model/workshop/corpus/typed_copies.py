"""Additional training pairs: copies as people type them, and several pairs joined into a longer text.

Random joins teach a model of short sentences to continue after the first (Nguyen et al. 2021, "Data augmentation by
concatenation for low-resource translation": the gain comes from length, and random pairs suffice).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...config import END, MAX_TOKENS
from ...text.tokenizer import Tokenizer
from .corpus import Corpus

JOINED_PAIRS = (2, 5)  # minimum and maximum number of pairs in a joined one
ENDS = ".!?…"
OPENING = re.compile(r"([^\W\d_][\w'’-]*(?: [\w'’-]+){0,2}), [^,]+$")
CONTRACTED = re.compile(
    r"(?<=n)['’](?=t\b)|(?<=\bi)['’](?=m\b)|(?:(?<=\bthat)|(?<=\bwhat))['’](?=s\b)"
)  # contractions that stay unambiguous without apostrophe


def _without_end(text: str) -> str:
    return text.rstrip(ENDS).rstrip() or text


def _careless(text: str) -> str:
    return CONTRACTED.sub("", _without_end(text.lower()))


# Ways in which people type a sentence. The target stays, because a well-formed sentence is a good translation of each.
TYPED: tuple[Callable[[str], str], ...] = (
    str.lower,
    _without_end,
    lambda text: _without_end(text.lower()),
    lambda text: _without_end(" ".join(word[:1].upper() + word[1:] for word in text.split())),
    lambda text: _without_end(text[:1].lower() + text[1:]),
    _careless,
)


def with_typed_copies(pairs: Sequence[tuple[str, str]], every: int) -> list[tuple[str, str]]:
    """Returns the pairs, then copies of one in `every` with a retyped source, then `short_texts`.

    The ways of `TYPED` take turns. A copy that equals its source is left out. With 0 there are no copies.
    """
    result = list(pairs)
    for turn, (source, target) in enumerate(pairs[::every] if every else ()):
        if (typed := TYPED[turn % len(TYPED)](source)) != source:
            result.append((typed, target))
    return result + (short_texts(pairs) if every else [])


def short_texts(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns words that are no sentence, without end punctuation on both sides.

    These are sources of one word, and up to three words before the only comma of both sides. Of 150 such pairs of the
    shipped model's training, 4 translate otherwise.
    """
    texts = []
    for source, target in pairs:
        one, two = OPENING.match(source), OPENING.match(target)
        if one and two:
            texts.append((one[1], two[1]))
        elif " " not in source and source[-1:] in ENDS:
            texts.append((_without_end(source), _without_end(target)))
    return texts


@dataclass(frozen=True)
class JoinedPairs:
    """Pairs of a corpus as they continue another pair: they begin with a space, so their tokens differ."""

    corpus: Corpus
    sources: list[list[int]]  # without `</s>`, row for row
    targets: list[list[int]]

    @classmethod
    def encode(cls, corpus: Corpus, pairs: Sequence[tuple[str, str]], source: Tokenizer, target: Tokenizer) -> JoinedPairs:
        """`pairs` are those from which the corpus was encoded."""
        corpus_pairs = [pairs[i] for i in corpus.pair_indices]
        return cls(
            corpus,
            source.encode_batch([f" {s}" for s, _ in corpus_pairs]),
            target.encode_batch([f" {t}" for _, t in corpus_pairs]),
        )

    def sample(self, count: int, draw: random.Random) -> Iterator[tuple[list[int], list[int]]]:
        """Yields `count` joined pairs, each of 2 to 5 random ones, or of as many as fit the text limit."""
        rows = range(len(self.corpus))
        for _ in range(count):
            first, *others = draw.choices(rows, k=draw.randint(*JOINED_PAIRS))
            source, target = self.corpus.sources[first][:-1], self.corpus.targets[first][:-1]
            for row in others:
                if max(len(source) + len(self.sources[row]), len(target) + len(self.targets[row])) >= MAX_TOKENS:
                    break
                source, target = source + self.sources[row], target + self.targets[row]
            yield [*source, END], [*target, END]

    def with_joined(self, share: float, seed: int, epoch: int) -> Corpus:
        """Returns the corpus with `share` joined pairs for each of its own, which depend on seed and epoch only."""
        joined = list(self.sample(round(share * len(self.corpus)), random.Random(f"joined/{seed}/{epoch}")))
        sources, targets = [s for s, _ in joined], [t for _, t in joined]
        return self.corpus.with_rows(sources, targets)
