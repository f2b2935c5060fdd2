"""Changed and additional training pairs: BPE-dropout, copies as people type them, and several pairs joined into one.

BPE-dropout cuts words in other ways than usual, so that the model learns their pieces (Provilkov et al. 2020, "BPE-Dropout:
Simple and effective subword regularization", algorithm 1).

Random joins teach a model of short sentences to continue after the first (Nguyen et al. 2021, "Data augmentation by
concatenation for low-resource translation": the gain comes from length, and random pairs suffice).
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...config import END, MAX_TOKENS
from ...text.tokenizer import Tokenizer
from .corpus import Batch, Corpus, pad

APOSTROPHES = ("'", "âĢĻ")  # ' and ’, as byte-level characters
CACHED_TEXTS = 1 << 19  # of some hundred bytes each
CACHED_ROWS = 4096  # each row of a batch is used twice

MergePath = tuple[tuple[int, ...], ...]  # the ids of a word after 0, 1, 2... merges


class BpeDropout:
    """A tokenizer that skips merges at random, with a seed.

    The library's own dropout cannot be seeded, so a resumed run would see other pieces.
    """

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        """`share` is the probability that a possible merge is skipped. Raises ValueError as `Tokenizer.merges` does."""
        self.tokenizer, self.share, self.merges = tokenizer, share, tokenizer.merges()
        # The logarithm of a uniform number times this scale is the number of merges before the first skip.
        self.scale = 1 / math.log1p(-share) if 0 < share < 1 else -0.0 if share else -math.inf
        self.merges_after = functools.lru_cache(1 << 18)(self._merges_after)  # words and their pieces recur
        self.path = functools.lru_cache(1 << 17)(self._path)
        self.cached_paths = functools.lru_cache(CACHED_TEXTS)(lambda ids: self._paths(tokenizer.decode(ids)))

    def encode(self, text: str, draw: random.Random) -> list[int]:
        """Returns ids of the text, which decode to it. A word that ends in an apostrophe is cut as usual, because the
        apostrophe determines how the next word is written."""
        return self._sample(self._paths(text), draw)

    def recut(self, ids: tuple[int, ...], draw: random.Random) -> list[int]:
        """Returns new ids of a text that is passed as ids. Caches the text, because it recurs in every epoch."""
        return self._sample(self.cached_paths(ids), draw)

    def _sample(self, paths: Sequence[MergePath], draw: random.Random) -> list[int]:
        return [token for path in paths for token in self._merge(path, draw.random)]

    def _paths(self, text: str) -> tuple[MergePath, ...]:
        pieces = self.tokenizer.encode_pieces(text)
        return tuple((tuple(p.ids),) if p.printable.endswith(APOSTROPHES) else self.path(p.printable) for p in pieces)

    def _path(self, read: str) -> MergePath:
        """Returns the steps of a piece from its bytes on if the first learned merge is applied each time."""
        steps = [self.tokenizer.byte_ids(read)]
        while following := self.merges_after(steps[-1]):
            steps.append(following[0])
        return tuple(steps)

    def _merge(self, path: MergePath, chance: Callable[[], float]) -> tuple[int, ...]:
        """Merges a piece from its bytes on. Each step applies the first learned merge that is not skipped.

        One random number gives the number of steps before the first skip, because most words have none.
        """
        firsts = math.log(1 - chance()) * self.scale
        if firsts >= len(path) - 1:
            return path[-1]
        ids, share = path[int(firsts)], self.share
        following = self.merges_after(ids)[1:]
        while chosen := next((after for after in following if chance() >= share), None):
            ids, following = chosen, self.merges_after(chosen)
        return ids

    def _merges_after(self, ids: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Returns the pieces of a word after each possible merge, in the order in which the merges were learned."""
        merges, pairs = self.merges, enumerate(itertools.pairwise(ids))
        merged = sorted((rank, n, token) for n, pair in pairs if pair in merges for rank, token in [merges[pair]])
        return [(*ids[:n], token, *ids[n + 2 :]) for _, n, token in merged]


class BpeDropoutCorpus:
    """The pairs of an epoch, with each side cut in a new way. The cut depends on the row number and on `key` only.

    A side that would exceed the text limit stays as usual. A batch has the same rows as without dropout, and more tokens.
    """

    def __init__(self, corpus: Corpus, source: BpeDropout, target: BpeDropout, key: str) -> None:
        self.corpus, self.source, self.target, self.key = corpus, source, target, key
        self.row = functools.lru_cache(CACHED_ROWS)(self._row)

    def __len__(self) -> int:
        return len(self.corpus)

    def _row(self, number: int) -> tuple[list[int], list[int]]:
        draw = random.Random(f"{self.key}/{number}")
        return (
            _recut_side(self.corpus.sources[number], self.source, draw),
            _recut_side(self.corpus.targets[number], self.target, draw),
        )

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of tokens that are predicted in some rows."""
        return sum(len(self.row(n)[1]) for n in rows)

    def batch(self, indices: Sequence[int]) -> Batch:
        """Returns some of the rows, padded to one length."""
        rows = [self.row(n) for n in indices]
        return Batch(pad([source for source, _ in rows]), pad([target for _, target in rows]))


def _recut_side(ids: list[int], dropout: BpeDropout, draw: random.Random) -> list[int]:
    tokens = [*dropout.recut(tuple(ids), draw), END]
    return tokens if len(tokens) <= MAX_TOKENS else ids


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
CAPITALS_EVERY = 3  # one copy in this many is in capitals
LONGEST_IN_CAPITALS = 40  # characters: nearly every capital is a token of its own


def with_typed_copies(pairs: Sequence[tuple[str, str]], every: int) -> list[tuple[str, str]]:
    """Returns the pairs, then copies of one in `every` with a retyped source, then `short_texts`.

    The ways of `TYPED` take turns, and each third copy is in capitals if it is short. A copy that equals its source is left
    out. With 0 there are no copies.
    """
    result = list(pairs)
    for turn, (source, target) in enumerate(pairs[::every] if every else ()):
        in_capitals, place = divmod(turn, CAPITALS_EVERY)
        if place == CAPITALS_EVERY - 1 and len(source) <= LONGEST_IN_CAPITALS:
            typed = source.upper()
        else:
            typed = TYPED[(turn - in_capitals) % len(TYPED)](source)
        if typed != source:
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
