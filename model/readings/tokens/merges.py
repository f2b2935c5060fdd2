"""How a text becomes tokens, step by step: its words, and the merges that byte-pair encoding makes in each.

Sennrich, Haddow and Birch 2016 ("Neural Machine Translation of Rare Words with Subword Units", section 3.2): a vocabulary is
learned by joining the most frequent pair of neighbours, again and again; a new word is cut by the same merges in the order
in which they were learned. The alphabet is the 256 bytes, not characters (Radford et al. 2019, GPT-2, section 2.2), so no
text is unknown. Of equal pairs in a word the leftmost is joined first, one merge a step.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from model.text.tokenizer import Piece, Tokenizer

Merges = dict[tuple[int, int], tuple[int, int]]  # of two neighbours' ids: the rank, and the id that they become


@dataclass(frozen=True)
class Merge:
    """Two neighbours that become one token."""

    at: int  # which piece of the word is the first of the two, from 0
    rank: int  # in the list of merges, from 1: the lower, the earlier it was learned
    token: int  # the id that they become


@dataclass(frozen=True)
class Word:
    """A part of the text that merges stay within, from its bytes to its tokens."""

    lent: bool  # True for the word after an elision, read with a space that the text has not
    start: tuple[int, ...]  # ids of its single bytes
    merges: tuple[Merge, ...]

    def steps(self) -> Iterator[tuple[int, ...]]:
        """The ids of its pieces: before any merge, and after each."""
        pieces = list(self.start)
        yield tuple(pieces)
        for merge in self.merges:
            pieces[merge.at : merge.at + 2] = [merge.token]
            yield tuple(pieces)

    @property
    def ids(self) -> tuple[int, ...]:
        """Its tokens, once no two neighbours are in the list of merges."""
        *_, last = self.steps()
        return last


@dataclass(frozen=True)
class Cut:
    """A text on its way to tokens."""

    text: str  # normalised, to Unicode NFC: an accent and its letter are one character
    words: tuple[Word, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens of the whole text."""
        return tuple(token for word in self.words for token in word.ids)


@functools.lru_cache(8)
def learned(tokenizer: Tokenizer) -> Merges:
    """A tokenizer's merges, by pair; ValueError where it has none, see `Tokenizer.merges`."""
    return tokenizer.merges()


def cut(tokenizer: Tokenizer, text: str) -> Cut:
    """The words of a text and the merges of each; all its tokens are those of `tokenizer.encode`.

    Raises ValueError for a tokenizer that is no byte-level BPE.
    """
    merges = learned(tokenizer)
    words = tuple(_merged(tokenizer, piece, merges) for piece in tokenizer.cut(text))
    return Cut(unicodedata.normalize("NFC", text), words)


def _merged(tokenizer: Tokenizer, piece: Piece, merges: Merges) -> Word:
    start = tokenizer.byte_ids(piece.read)
    pieces, made = list(start), []
    ranks = [_rank(merges, pair) for pair in pairwise(pieces)]  # of each piece with the next
    while ranks and (best := min(ranks)) < math.inf:
        at = ranks.index(best)
        token = merges[pieces[at], pieces[at + 1]][1]
        made.append(Merge(at, int(best), token))
        pieces[at : at + 2] = [token]
        del ranks[at]
        for left in (at - 1, at):  # the new piece has new pairs on both sides
            if 0 <= left < len(ranks):
                ranks[left] = _rank(merges, (pieces[left], pieces[left + 1]))
    return Word(piece.lent, start, tuple(made))


def _rank(merges: Merges, pair: tuple[int, int]) -> float:
    return merges[pair][0] if pair in merges else math.inf
