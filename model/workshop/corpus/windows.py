"""Texts for language models: paragraphs from files, their windows, and blanks to fill in.

Blanks as in Devlin et al. 2019 (section 3.1): 15% of the tokens are targets. Of these the model reads 80% as `<mask>`, 10%
as a random token and 10% unchanged.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...config import CONTROL_TOKENS, END, MAX_CHARACTERS, MAX_TOKENS, PAD
from ...text.tokenizer import Tokenizer
from .corpus import MAX_BLANK, Batch, DataError, pad, read_lines

MAX_PARAGRAPHS = 10_000_000


def read_paragraphs(path: Path) -> list[str]:
    """Returns the paragraphs of a file, one a line, in Unicode NFC and stripped. Skips empty lines.

    Reads plain text, `.gz`, or the first text in a `.zip`. Raises DataError without a paragraph, if a paragraph is too long
    for the tokenizer, and as `model.workshop.corpus.corpus.read_lines`.
    """
    paragraphs: list[str] = []
    blank = 0  # empty lines in a row
    for number, line in read_lines(path, ".txt, .txt.gz or .zip"):
        text = unicodedata.normalize("NFC", line.strip())
        blank = 0 if text else blank + 1
        if blank > MAX_BLANK:
            raise DataError(f"{path}, line {number}: more than {MAX_BLANK:,} empty lines in a row; remove them.")
        if not text:
            continue
        if len(text) > MAX_CHARACTERS:
            raise DataError(
                f"{path}, line {number}: {len(text):,} characters without a line end; expected paragraphs, one a line, of "
                f"at most {MAX_CHARACTERS:,}."
            )
        if len(paragraphs) == MAX_PARAGRAPHS:
            raise DataError(f"{path}, line {number}: more than {MAX_PARAGRAPHS:,} paragraphs; use a part of the file.")
        paragraphs.append(text)
    if not paragraphs:
        raise DataError(f"{path}: no paragraph; expected text, one paragraph a line.")
    return paragraphs


def count_characters(text: str) -> int:
    """Returns the number of characters of a paragraph, with its end as one."""
    return len(text) + 1


@dataclass(frozen=True)
class Texts:
    """Encoded texts, one a file: the tokens of its paragraphs in order, `</s>` after each."""

    streams: list[list[int]]
    paragraphs: int
    characters: int  # with one for the end of each paragraph

    @classmethod
    def encode(cls, files: Sequence[Sequence[str]], tokenizer: Tokenizer) -> Texts:
        streams = [[token for text in file for token in (*tokenizer.encode(text), END)] for file in files]
        return cls(streams, sum(map(len, files)), sum(count_characters(text) for file in files for text in file))

    @property
    def tokens(self) -> int:
        return sum(map(len, self.streams))

    @property
    def size(self) -> dict[str, int]:
        return {"paragraphs": self.paragraphs, "tokens": self.tokens, "characters": self.characters}

    def windows(self, shifts: Sequence[int]) -> Windows:
        """Cuts all tokens into windows of MAX_TOKENS. `shifts` has the length of the first window of each text, 0 to
        MAX_TOKENS - 1. The last window may be shorter."""
        cut = []
        for stream, shift in zip(self.streams, shifts, strict=True):
            starts = ([0] if shift > 0 else []) + list(range(shift, len(stream), MAX_TOKENS))
            ends = [*starts[1:], len(stream)]
            cut += [stream[start:end] for start, end in zip(starts, ends, strict=True)]
        return Windows(cut)

    def shifted(self, seed: int, epoch: int) -> Windows:
        """Returns the windows of an epoch. Their limits depend on seed and epoch only."""
        draw = random.Random(f"{seed}/{epoch}/shift")
        return self.windows([draw.randrange(MAX_TOKENS) for _ in self.streams])


@dataclass(frozen=True)
class Windows:
    """Stretches of texts, of at most MAX_TOKENS tokens to predict. A window may begin anywhere in a paragraph.

    The model reads `<s>` and all tokens but the last, as it does with a text to continue.
    """

    targets: list[list[int]]

    def __len__(self) -> int:
        return len(self.targets)

    def batches(self, tokens: int, seed: int, epoch: int) -> list[list[int]]:
        """Returns the rows of each batch of an epoch: at most `tokens` padded tokens, shuffled by seed and epoch only.

        Raises ValueError if a window is longer than `tokens`.
        """
        longest = max(map(len, self.targets))
        if longest > tokens:
            raise ValueError(f"a batch holds {tokens} tokens, a window has {longest}; give a larger batch_tokens")
        draw = random.Random(f"{seed}/{epoch}")
        order = list(range(len(self)))
        draw.shuffle(order)
        size = tokens // longest
        return [order[start : start + size] for start in range(0, len(order), size)]

    def tokens(self, rows: Sequence[int]) -> int:
        """Returns the number of tokens that are predicted in some rows."""
        return sum(len(self.targets[i]) for i in rows)

    def batch(self, indices: Sequence[int]) -> Batch:
        return Batch(None, pad([self.targets[i] for i in indices]))


BLANK_SHARE, RANDOM_SHARE = 0.8, 0.1  # shares of the targets; the rest is read unchanged


@dataclass(frozen=True)
class MaskedText:
    """The input of an encoder, and the target of each position; `<pad>` where there is none."""

    input_ids: list[int]
    targets: list[int]


class Masking:
    """Chooses the targets: a share of the tokens of each text and at least one. Never uses control tokens."""

    def __init__(self, tokenizer: Tokenizer, share: float, whole_words: bool = False) -> None:
        """`whole_words` keeps the tokens of a word together. Raises ValueError for a vocabulary without a blank."""
        if tokenizer.mask is None:
            raise ValueError("the vocabulary has no blank token; expected <mask> or [MASK]")
        self.tokenizer, self.share, self.whole_words, self.blank = tokenizer, share, whole_words, tokenizer.mask
        self.ordinary = [n for n in range(len(CONTROL_TOKENS), tokenizer.size) if n != self.blank]

    def target_count(self, tokens: int) -> int:
        """Returns the number of targets among some tokens."""
        return max(1, round(tokens * self.share)) if tokens else 0

    def mask(self, ids: Sequence[int], draw: random.Random) -> MaskedText:
        """Returns a text with its blanks, which depend on `draw` only."""
        read, targets = list(ids), [PAD] * len(ids)
        for place in self.choose_positions(ids, draw):
            targets[place], chance = ids[place], draw.random()
            if chance < BLANK_SHARE:
                read[place] = self.blank
            elif chance < BLANK_SHARE + RANDOM_SHARE:
                read[place] = draw.choice(self.ordinary)
        return MaskedText(read, targets)

    def choose_positions(self, ids: Sequence[int], draw: random.Random) -> list[int]:
        """Returns the positions of the targets. Whole words are added while they fit the share, at least one."""
        places = [place for place, token in enumerate(ids) if token >= len(CONTROL_TOKENS) and token != self.blank]
        limit = self.target_count(len(places))
        if not self.whole_words:
            return draw.sample(places, limit)
        words: dict[int, list[int]] = {}
        numbers = self.tokenizer.word_numbers(ids)
        for place in places:
            words.setdefault(numbers[place], []).append(place)
        positions: list[int] = []
        for word in draw.sample(list(words.values()), len(words)):
            if len(positions) + len(word) <= limit or not positions:
                positions += word
        return positions
