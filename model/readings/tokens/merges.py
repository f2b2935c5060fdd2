"""Byte-pair encoding of a text step by step: its words, and the merges in each.

Training repeatedly joins the most frequent pair of neighbours (Sennrich, Haddow and Birch 2016, "Neural Machine Translation
of Rare Words with Subword Units", section 3.2). A new word is split by these merges, in the order of training. The alphabet
is the 256 bytes, not characters (Radford et al. 2019, GPT-2, section 2.2), so no text is unknown. Of equal pairs in a word
the leftmost is joined first, one merge a step.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from ...text.tokenizer import Piece, Tokenizer

Merges = dict[tuple[int, int], tuple[int, int]]  # pair of ids to its rank and the merged id


@dataclass(frozen=True)
class Merge:
    """Two neighbours that become one token."""

    index: int  # index of the first of the two pieces, from 0
    rank: int  # in the list of merges, from 1, in the order of training
    token: int  # the merged id


@dataclass(frozen=True)
class Word:
    """A part of the text, from its bytes to its tokens. No merge crosses its border."""

    has_added_space: bool  # True for the word after an elision, read with an added space
    start: tuple[int, ...]  # ids of its single bytes
    merges: tuple[Merge, ...]

    def steps(self) -> Iterator[tuple[int, ...]]:
        """Yields the ids of the pieces before any merge, and after each merge."""
        pieces = list(self.start)
        yield tuple(pieces)
        for merge in self.merges:
            pieces[merge.index : merge.index + 2] = [merge.token]
            yield tuple(pieces)

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens of the word after all merges."""
        *_, last = self.steps()
        return last


@dataclass(frozen=True)
class Cut:
    """A text with its words and merges."""

    text: str  # normalized to Unicode NFC: an accent and its letter are one character
    words: tuple[Word, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The tokens of the full text."""
        return tuple(token for word in self.words for token in word.ids)


@functools.lru_cache(8)
def learned_merges(tokenizer: Tokenizer) -> Merges:
    """Returns a tokenizer's merges by pair. Raises ValueError without any, see `Tokenizer.merges`."""
    return tokenizer.merges()


def cut(tokenizer: Tokenizer, text: str) -> Cut:
    """Returns the words of a text and their merges. The tokens equal `tokenizer.encode`.

    Raises:
        ValueError: The tokenizer is no byte-level BPE.
    """
    merges = learned_merges(tokenizer)
    words = tuple(_merged(tokenizer, piece, merges) for piece in tokenizer.encode_pieces(text))
    return Cut(unicodedata.normalize("NFC", text), words)


def _merged(tokenizer: Tokenizer, piece: Piece, merges: Merges) -> Word:
    start = tokenizer.byte_ids(piece.printable)
    pieces = list(start)
    done: list[Merge] = []
    ranks = [_rank(merges, pair) for pair in pairwise(pieces)]  # of each piece with the next
    while ranks and (best := min(ranks)) < math.inf:
        index = ranks.index(best)
        token = merges[pieces[index], pieces[index + 1]][1]
        done.append(Merge(index, int(best), token))
        pieces[index : index + 2] = [token]
        del ranks[index]
        for left in (index - 1, index):  # the new piece forms new pairs on both sides
            if 0 <= left < len(ranks):
                ranks[left] = _rank(merges, (pieces[left], pieces[left + 1]))
    return Word(piece.has_added_space, start, tuple(done))


def _rank(merges: Merges, pair: tuple[int, int]) -> float:
    return merges[pair][0] if pair in merges else math.inf
