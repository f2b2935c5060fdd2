"""What training pairs are besides what a file has: pairs as people type them, and several joined into one longer text.

Joining random pairs is what teaches a model of short sentences to go on after the first (Nguyen et al. 2021, "Data
augmentation by concatenation for low-resource translation": the gain comes from length, and random pairs do).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from model.config import END, MAX_TOKENS
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import Corpus

JOINED = (2, 5)  # pairs in a joined one, at least and at most
ENDS = ".!?…"
OPENING = re.compile(r"([^\W\d_][\w'’-]*(?: [\w'’-]+){0,2}), [^,]+$")
CONTRACTED = re.compile(
    r"(?<=n)['’](?=t\b)|(?<=\bi)['’](?=m\b)|(?:(?<=\bthat)|(?<=\bwhat))['’](?=s\b)"
)  # no other word then


def _unended(text: str) -> str:
    return text.rstrip(ENDS).rstrip() or text


def _careless(text: str) -> str:
    return CONTRACTED.sub("", _unended(text.lower()))


# How people type what a corpus has with a capital and a full stop. The target stays as it is: a sentence that is written as
# one is a good translation of each.
TYPED: tuple[Callable[[str], str], ...] = (
    str.lower,
    _unended,
    lambda text: _unended(text.lower()),
    lambda text: _unended(" ".join(word[:1].upper() + word[1:] for word in text.split())),
    lambda text: _unended(text[:1].lower() + text[1:]),
    _careless,
)


def with_typed_copies(pairs: Sequence[tuple[str, str]], every: int) -> list[tuple[str, str]]:
    """The pairs; one in `every` again with its source typed in one of the ways of `TYPED`, by turns, and only where that
    changes it; and what may be typed alone. 0: none again."""
    found = list(pairs)
    for turn, (source, target) in enumerate(pairs[::every] if every else ()):
        if (typed := TYPED[turn % len(TYPED)](source)) != source:
            found.append((typed, target))
    return found + (alone(pairs) if every else [])


def alone(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Words that are no sentence, without an end sign on both sides: sources of one word, and what stands before the only
    comma of both sides if that is up to three words (of 150 such of the shipped model's training, 4 translate otherwise)."""
    found = []
    for source, target in pairs:
        one, two = OPENING.match(source), OPENING.match(target)
        if one and two:
            found.append((one[1], two[1]))
        elif " " not in source and source[-1:] in ENDS:
            found.append((_unended(source), _unended(target)))
    return found


@dataclass(frozen=True)
class Joins:
    """Pairs of a corpus as they go on after another one: there a text begins with a space, and with other tokens."""

    corpus: Corpus
    sources: list[list[int]]  # without `</s>`, row for row
    targets: list[list[int]]

    @classmethod
    def encode(cls, corpus: Corpus, pairs: Sequence[tuple[str, str]], source: Tokenizer, target: Tokenizer) -> Joins:
        """`pairs` are those that the corpus was encoded from."""
        kept = [pairs[i] for i in corpus.kept]
        return cls(corpus, source.encode_batch([f" {s}" for s, _ in kept]), target.encode_batch([f" {t}" for _, t in kept]))

    def drawn(self, count: int, draw: random.Random) -> Iterator[tuple[list[int], list[int]]]:
        """`count` joined pairs, each of 2 to 5 random ones, or of as many as the text limit leaves room for."""
        rows = range(len(self.corpus))
        for _ in range(count):
            first, *others = draw.choices(rows, k=draw.randint(*JOINED))
            source, target = self.corpus.sources[first][:-1], self.corpus.targets[first][:-1]
            for row in others:
                if max(len(source) + len(self.sources[row]), len(target) + len(self.targets[row])) >= MAX_TOKENS:
                    break
                source, target = source + self.sources[row], target + self.targets[row]
            yield [*source, END], [*target, END]

    def with_joined(self, share: float, seed: int, epoch: int) -> Corpus:
        """The corpus, and behind it for each of its pairs `share` joined ones: others in every epoch, the same for the same
        seed and epoch."""
        drawn = list(self.drawn(round(share * len(self.corpus)), random.Random(f"joined/{seed}/{epoch}")))
        sources, targets = [s for s, _ in drawn], [t for _, t in drawn]
        return self.corpus.with_rows(sources, targets)
