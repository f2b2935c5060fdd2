"""BPE-dropout: in training a word is cut in other ways than the usual one, so that its pieces are known by themselves
(Provilkov et al. 2020, "BPE-Dropout: Simple and effective subword regularization", algorithm 1)."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Sequence

from model.config import END, MAX_TOKENS
from model.text.corpus import Batch, Corpus, pad
from model.text.tokenizer import Tokenizer

APOSTROPHES = ("'", "âĢĻ")  # ' and ’, in the stand-ins of their bytes
KEPT = 4096  # rows that are remembered: those of a batch are asked for twice


class Dropout:
    """A tokenizer that leaves out merges. The library's own dropout draws from a source that cannot be seeded, and a run
    that goes on would see other pieces; this one draws from what it is given."""

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        """`share`: how likely a merge that could come next is passed over. ValueError as `Tokenizer.merges`."""
        self.tokenizer, self.share, self.merges = tokenizer, share, tokenizer.merges()
        self.byte_ids = functools.lru_cache(1 << 16)(tokenizer.byte_ids)
        self.after = functools.lru_cache(1 << 18)(self._after)  # words come again and again, and so do their pieces

    def encode(self, text: str, draw: random.Random) -> list[int]:
        """Ids of the text, which decode to it. A word that ends in an apostrophe is cut as ever: it says how the next one is
        written."""
        found: list[int] = []
        for piece in self.tokenizer.cut(text):
            found += piece.ids if piece.read.endswith(APOSTROPHES) else self._merged(piece.read, draw)
        return found

    def _merged(self, read: str, draw: random.Random) -> tuple[int, ...]:
        """The merges of a piece from its bytes on: of those that can be next the first learned that is not passed over."""
        ids, share, chance = self.byte_ids(read), self.share, draw.random
        while chosen := next((after for after in self.after(ids) if chance() >= share), None):
            ids = chosen
        return ids

    def _after(self, ids: tuple[int, ...]) -> list[tuple[int, ...]]:
        """What the pieces of a word become by each merge that can be next, in the order in which these were learned."""
        merges, pairs = self.merges, enumerate(itertools.pairwise(ids))
        found = sorted((rank, n, made) for n, pair in pairs if pair in merges for rank, made in [merges[pair]])
        return [(*ids[:n], made, *ids[n + 2 :]) for _, n, made in found]


class Dropped:
    """Pairs of an epoch, each side cut anew. How a row is cut depends on its number and on `key` alone; a side that would be
    longer than the text limit is as it was. A batch has the rows that it would have without, and more tokens."""

    def __init__(self, corpus: Corpus, source: Dropout, target: Dropout, key: str) -> None:
        self.corpus, self.source, self.target, self.key = corpus, source, target, key
        self.row = functools.lru_cache(KEPT)(self._row)

    def __len__(self) -> int:
        return len(self.corpus)

    def _row(self, number: int) -> tuple[list[int], list[int]]:
        draw = random.Random(f"{self.key}/{number}")
        return (
            _cut(self.corpus.sources[number], self.source, draw),
            _cut(self.corpus.targets[number], self.target, draw),
        )

    def tokens(self, rows: Sequence[int]) -> int:
        """How many tokens are predicted in some rows."""
        return sum(len(self.row(n)[1]) for n in rows)

    def batch(self, indices: Sequence[int]) -> Batch:
        """Some of the rows, padded to one length."""
        rows = [self.row(n) for n in indices]
        return Batch(pad([source for source, _ in rows]), pad([target for _, target in rows]))


def _cut(ids: list[int], dropout: Dropout, draw: random.Random) -> list[int]:
    found = [*dropout.encode(dropout.tokenizer.decode(ids), draw), END]
    return found if len(found) <= MAX_TOKENS else ids
