"""The tokens of a sentence: its words with the merges of byte-pair encoding, step by step, and the neighbours of one token.

Training repeatedly joins the most frequent pair of neighbours (Sennrich, Haddow and Birch 2016, "Neural Machine Translation
of Rare Words with Subword Units", section 3.2). A new word is split by these merges, in the order of training. The alphabet
is the 256 bytes, not characters (Radford et al. 2019, GPT-2, section 2.2), so no text is unknown. Of equal pairs in a word
the leftmost is joined first, one merge a step.
"""

from __future__ import annotations

import functools
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from ...checkpoint import Checkpoint
from ...inference.analysis import Analysis
from ...text.tokenizer import Piece, Tokenizer
from ...trace import Axis, Trace
from .neighbours import SIDES, Neighbour, Side, nearest, pieces_of

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


def tokenizer_of(checkpoint: Checkpoint, side: Side) -> Tokenizer:
    """Returns the tokenizer of a side."""
    return checkpoint.source_tokenizer if side == "source" else checkpoint.target_tokenizer


def axes(trace: Trace) -> dict[Side, Axis]:
    """Returns the tokens of each side that a trace has: of the source, and of the written target."""
    both: dict[Side, Axis | None] = {"source": trace.source, "target": trace.outputs}
    return {side: axis for side, axis in both.items() if axis is not None}


def tokens_of_table(checkpoint: Checkpoint, trace: Trace, side: Side) -> tuple[int, ...]:
    """Returns the tokens of the sentence in the table of a side: those of both sides in a joint vocabulary."""
    ids = {each: axis.ids for each, axis in axes(trace).items()}
    return sum(ids.values(), ()) if checkpoint.config.joint_vocab else ids.get(side, ())


def total_counts(checkpoint: Checkpoint, side: Side) -> Sequence[int] | None:
    """Returns the training occurrences of each token of a side's vocabulary, on both sides if the table is shared."""
    if not checkpoint.token_counts:
        return None
    sides = SIDES if checkpoint.config.has_shared_embedding else (side,)
    return [sum(each) for each in zip(*(checkpoint.token_counts[each] for each in sides), strict=True)]


@dataclass(frozen=True)
class WordLine:
    """Words of one text in one table: of the source, of the target, or of a typed text."""

    text: Literal["source", "target", "typed"]
    side: Side  # of the table
    words: tuple[Word, ...]
    is_spaced: bool = False  # True for a typed text after a space


def sentence_words(checkpoint: Checkpoint, analysis: Analysis, typed: str = "") -> tuple[WordLine, ...]:
    """Returns the words of both texts, and of a typed text in each vocabulary, alone and after a space.

    Raises:
        ValueError: A tokenizer is no byte-level BPE, or there is no word.
    """
    lines = []
    for side, axis in axes(analysis.trace).items():
        tokenizer = tokenizer_of(checkpoint, side)
        lines.append(WordLine(side, side, cut(tokenizer, tokenizer.decode(axis.ids).strip()).words))
    typed = typed.strip()
    for line in lines[: 1 if checkpoint.config.joint_vocab else 2] if typed else ():
        for is_spaced in (False, True):
            words = cut(tokenizer_of(checkpoint, line.side), f" {typed}" if is_spaced else typed).words
            lines.append(WordLine("typed", line.side, words, is_spaced))
    if not any(line.words for line in lines):
        raise ValueError("There is no word here: the text is empty.")
    return tuple(lines)


@dataclass(frozen=True)
class FoundToken:
    """A token of a side's table with its neighbours in each language, and the pieces of the word that it begins."""

    side: Side
    token: int
    pieces: tuple[int, ...]
    neighbours: dict[Side | Literal["unknown"], tuple[Neighbour, ...]]


def look_up(checkpoint: Checkpoint, analysis: Analysis, word: str, step: int) -> tuple[FoundToken, ...]:
    """Returns the first token of a word in each table, or without a word the predicted token of a step (from 0).

    Raises:
        ValueError: The word is not valid Unicode.
    """
    trace, sides = analysis.trace, tuple(axes(analysis.trace))
    pieces: dict[Side, tuple[int, ...]] = {}
    for side in sides if word and not checkpoint.config.joint_vocab else sides[-1:]:
        sentence = tokens_of_table(checkpoint, trace, side)
        counts, tokenizer = total_counts(checkpoint, side), tokenizer_of(checkpoint, side)
        pieces[side] = pieces_of(tokenizer, word, sentence, counts) if word else (trace.step_axis.ids[step],)
    return tuple(FoundToken(side, own[0], own, nearest(checkpoint, own[0], side)) for side, own in pieces.items())
