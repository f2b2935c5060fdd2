"""BPE-dropout: in training a word is cut in other ways than the usual one, so that its pieces are known by themselves
(Provilkov et al. 2020, "BPE-Dropout: Simple and effective subword regularization", algorithm 1)."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence

from model.config import END, MAX_TOKENS
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import Batch, Corpus, pad

APOSTROPHES = ("'", "âĢĻ")  # ' and ’, in the stand-ins of their bytes
TEXTS = 1 << 19  # that are remembered as they are in every epoch, each some hundred bytes
KEPT = 4096  # rows that are remembered: those of a batch are asked for twice

Path = tuple[tuple[int, ...], ...]  # the ids of a word before any merge, after one, after two...


class Dropout:
    """A tokenizer that leaves out merges. The library's own dropout draws from a source that cannot be seeded, and a run
    that goes on would see other pieces; this one draws from what it is given."""

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        """`share`: how likely a merge that could come next is passed over. ValueError as `Tokenizer.merges`."""
        self.tokenizer, self.share, self.merges = tokenizer, share, tokenizer.merges()
        # By this the logarithm of a number between 0 and 1 becomes how many merges come before the first passed over.
        self.scale = 1 / math.log1p(-share) if 0 < share < 1 else -0.0 if share else -math.inf
        self.after = functools.lru_cache(1 << 18)(self._after)  # words come again and again, and so do their pieces
        self.path = functools.lru_cache(1 << 17)(self._path)
        self.known = functools.lru_cache(TEXTS)(lambda ids: self._paths(tokenizer.decode(ids)))

    def encode(self, text: str, draw: random.Random) -> list[int]:
        """Ids of the text, which decode to it. A word that ends in an apostrophe is cut as ever: it says how the next one is
        written."""
        return self._drawn(self._paths(text), draw)

    def again(self, ids: tuple[int, ...], draw: random.Random) -> list[int]:
        """The same of a text that is given by its ids, as it is cut in every epoch."""
        return self._drawn(self.known(ids), draw)

    def _drawn(self, paths: Sequence[Path], draw: random.Random) -> list[int]:
        return [token for path in paths for token in self._merged(path, draw.random)]

    def _paths(self, text: str) -> tuple[Path, ...]:
        pieces = self.tokenizer.cut(text)
        return tuple((tuple(p.ids),) if p.read.endswith(APOSTROPHES) else self.path(p.read) for p in pieces)

    def _path(self, read: str) -> Path:
        """What a piece is from its bytes on if each time the first learned merge is made."""
        found = [self.tokenizer.byte_ids(read)]
        while following := self.after(found[-1]):
            found.append(following[0])
        return tuple(found)

    def _merged(self, path: Path, chance: Callable[[], float]) -> tuple[int, ...]:
        """The merges of a piece from its bytes on: of those that can be next the first learned that is not passed over. How
        often that is the first of all is one draw, as most words have none passed over."""
        firsts = math.log(1 - chance()) * self.scale
        if firsts >= len(path) - 1:
            return path[-1]
        ids, share = path[int(firsts)], self.share
        following = self.after(ids)[1:]
        while chosen := next((after for after in following if chance() >= share), None):
            ids, following = chosen, self.after(chosen)
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
    found = [*dropout.again(tuple(ids), draw), END]
    return found if len(found) <= MAX_TOKENS else ids
