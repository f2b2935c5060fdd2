"""BPE-dropout: training cuts words in other ways than usual, so that the model learns their pieces (Provilkov et al. 2020,
"BPE-Dropout: Simple and effective subword regularization", algorithm 1)."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence

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
        pieces = self.tokenizer.cut(text)
        return tuple((tuple(p.ids),) if p.read.endswith(APOSTROPHES) else self.path(p.read) for p in pieces)

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
