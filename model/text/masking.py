"""Blanks for a model to fill in, as Devlin et al. 2019 have them (section 3.1): of a text 15% of its tokens are to be told;
of these 80% are read as `<mask>`, 10% as a random token, 10% as they are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from model.config import CONTROL_TOKENS, PAD
from model.text.tokenizer import Tokenizer

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
