"""Texts for a model that goes on with a text: paragraphs from files, and the windows that are cut from them.

Blanks for a model to fill in, as Devlin et al. 2019 have them (section 3.1): of a text 15% of its tokens are to be told;
of these 80% are read as `<mask>`, 10% as a random token, 10% as they are."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from model.config import CONTROL_TOKENS, END, MAX_CHARACTERS, MAX_TOKENS, PAD
from model.text.tokenizer import Tokenizer
from model.workshop.corpus.corpus import (
    MAX_BLANK,
    Batch,
    DataError,
    lines,
    pad,
)

MAX_PARAGRAPHS = 10_000_000


def read_paragraphs(path: Path) -> list[str]:
    """The paragraphs of a file that has one a line, in Unicode NFC, without the spaces around them; empty lines are none.

    Plain text, `.gz`, or the first text in a `.zip`. Raises DataError where there is no paragraph, where one is longer than
    can be tokenised, and as `model.workshop.corpus.corpus.lines`.
    """
    found: list[str] = []
    blank = 0  # lines without a text, one after the other
    for number, line in lines(path, ".txt, .txt.gz or .zip"):
        text = unicodedata.normalize("NFC", line.strip())
        blank = 0 if text else blank + 1
        if blank > MAX_BLANK:
            raise DataError(f"{path}, line {number}: more than {MAX_BLANK:,} empty lines one after the other.")
        if not text:
            continue
        if len(text) > MAX_CHARACTERS:
            raise DataError(
                f"{path}, line {number}: {len(text):,} characters without a line end; expected paragraphs, one a line, of "
                f"at most {MAX_CHARACTERS:,}."
            )
        if len(found) == MAX_PARAGRAPHS:
            raise DataError(f"{path}, line {number}: more than {MAX_PARAGRAPHS:,} paragraphs; give a part of them.")
        found.append(text)
    if not found:
        raise DataError(f"{path}: no paragraph in it; expected text, one paragraph a line.")
    return found


def characters(text: str) -> int:
    """Characters of a paragraph, its end counted as one."""
    return len(text) + 1


@dataclass(frozen=True)
class Texts:
    """Encoded texts, one a file: the tokens of its paragraphs one after the other, `</s>` behind each."""

    streams: list[list[int]]
    paragraphs: int
    characters: int  # the end of a paragraph counts as one

    @classmethod
    def encode(cls, files: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Texts:
        streams = [[token for text in file for token in (*tokenizer.encode(text), END)] for file in files]
        return cls(streams, sum(map(len, files)), sum(characters(text) for file in files for text in file))

    @property
    def tokens(self) -> int:
        return sum(map(len, self.streams))

    @property
    def size(self) -> dict[str, int]:
        return {"paragraphs": self.paragraphs, "tokens": self.tokens, "characters": self.characters}

    def windows(self, shifts: Sequence[int]) -> Windows:
        """All tokens cut into windows, of each text the first one of so many tokens, 0 to MAX_TOKENS - 1, the others of
        MAX_TOKENS; what is left at its end is shorter."""
        cut = []
        for stream, shift in zip(self.streams, shifts, strict=True):
            starts = ([0] if shift > 0 else []) + list(range(shift, len(stream), MAX_TOKENS))
            ends = [*starts[1:], len(stream)]
            cut += [stream[start:end] for start, end in zip(starts, ends, strict=True)]
        return Windows(cut)

    def shifted(self, seed: int, epoch: int) -> Windows:
        """The windows of an epoch: where they begin depends on seed and epoch alone."""
        draw = random.Random(f"{seed}/{epoch}/shift")
        return self.windows([draw.randrange(MAX_TOKENS) for _ in self.streams])


@dataclass(frozen=True)
class Windows:
    """Stretches of texts, of at most MAX_TOKENS tokens that are predicted. A model reads `<s>` and all but the last of them,
    just as it reads a text that it is to go on with: a window may begin anywhere in a paragraph."""

    targets: list[list[int]]

    def __len__(self) -> int:
        return len(self.targets)

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Indices of each batch of one epoch: at most `tokens` padded tokens, in random order, which depends on seed and
        epoch alone. Raises ValueError where one window is longer than `tokens`."""
        longest = max(map(len, self.targets))
        if longest > tokens:
            raise ValueError(f"a batch holds {tokens} tokens, a window has {longest}; give a larger batch_tokens")
        draw = random.Random(f"{seed}/{epoch}")
        order = list(range(len(self)))
        draw.shuffle(order)
        size = tokens // longest
        return [order[start : start + size] for start in range(0, len(order), size)]

    def tokens(self, rows: Sequence[int]) -> int:
        """How many tokens are predicted in some rows."""
        return sum(len(self.targets[i]) for i in rows)

    def batch(self, indices: Sequence[int]) -> Batch:
        return Batch(None, pad([self.targets[i] for i in indices]))


BLANK, RANDOM = 0.8, 0.1  # shares of what is to be told; the rest is read as it is


@dataclass(frozen=True)
class Masked:
    """What an encoder reads, and of each place what it is to tell: `<pad>` where it is nothing."""

    read: list[int]
    told: list[int]


class Masking:
    """Chooses what is to be told, a share of the tokens of each text and at least one. Control tokens are never chosen, and
    are never what a random token is."""

    def __init__(self, tokenizer: Tokenizer, share: float, whole_words: bool = False) -> None:
        """With `whole_words` all tokens of a word are chosen, or none. ValueError for a vocabulary without `<mask>`."""
        if tokenizer.mask is None:
            raise ValueError("the vocabulary has no token for a blank; expected <mask> or [MASK] in it")
        self.tokenizer, self.share, self.whole_words, self.blank = tokenizer, share, whole_words, tokenizer.mask
        self.ordinary = [n for n in range(len(CONTROL_TOKENS), tokenizer.size) if n != self.blank]

    def count(self, tokens: int) -> int:
        """How many of so many tokens are to be told."""
        return max(1, round(tokens * self.share)) if tokens else 0

    def masked(self, ids: Sequence[int], draw: random.Random) -> Masked:
        """A text with its blanks, which depend on `draw` alone; each of the chosen is treated for itself."""
        read, told = list(ids), [PAD] * len(ids)
        for place in self.chosen(ids, draw):
            told[place], chance = ids[place], draw.random()
            if chance < BLANK:
                read[place] = self.blank
            elif chance < BLANK + RANDOM:
                read[place] = draw.choice(self.ordinary)
        return Masked(read, told)

    def chosen(self, ids: Sequence[int], draw: random.Random) -> list[int]:
        """The places that are to be told. Of whole words those that still fit into the share, at least one."""
        places = [place for place, token in enumerate(ids) if token >= len(CONTROL_TOKENS) and token != self.blank]
        most = self.count(len(places))
        if not self.whole_words:
            return draw.sample(places, most)
        words: dict[int, list[int]] = {}
        numbers = self.tokenizer.words(ids)
        for place in places:
            words.setdefault(numbers[place], []).append(place)
        found: list[int] = []
        for word in draw.sample(list(words.values()), len(words)):
            if len(found) + len(word) <= most or not found:
                found += word
        return found
