"""A text as its sentences.

Blanks in a sentence: `___`, or the name that a model gives them, stands where a word is to be filled in.

The labels of a classifier, numbered and shown as a tokenizer's tokens are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..config import MAX_CHARACTERS


@lru_cache(1024)
def split(text: str, language: str = "en") -> tuple[str, ...]:
    """The sentences of a text, without the space around them, by the rules of a language (an ISO 639-1 code).

    A full stop after a known abbreviation ends none; a line break always does. Two kinds of text stay whole: one with half a
    character in it (a lone surrogate), which is no valid Unicode, and one of more than `MAX_CHARACTERS`.
    """
    from sentencex import segment

    if len(text) > MAX_CHARACTERS or any("\ud800" <= char <= "\udfff" for char in text):
        return tuple(filter(None, [text.strip()]))
    found = (part.strip() for line in text.splitlines() for part in segment(language or "en", line))
    return tuple(part for part in found if part)


MASKS = ("[MASK]", "<mask>")  # what vocabularies call the token of a blank
BLANK = re.compile("|".join(["_{3,}", *map(re.escape, MASKS)]))
SIGN = "___"  # as it is told to be typed


def parts(text: str) -> list[str]:
    """The texts around the blanks: one more than there are blanks."""
    return BLANK.split(text)


def filled(text: str, number: int, word: str) -> str:
    """The text with a word in the place of one blank, which counts from 0; ValueError where there is none."""
    places = list(BLANK.finditer(text))
    if not 0 <= number < len(places):
        raise ValueError(f"There is no blank {number + 1}; this sentence has {len(places)}.")
    if not word.strip():
        raise ValueError("The word is empty: type one.")
    place = places[number]
    return text[: place.start()] + word.strip() + text[place.end() :]


class Labels:
    """Names for what a classifier chooses from, in the order of its logits."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    @property
    def size(self) -> int:
        return len(self.names)

    def piece(self, label: int) -> str:
        return self.names[label]

    def pieces(self, labels: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.names[label] for label in labels)

    def segments(self, labels: Iterable[int]) -> list[str]:
        """The names as parts of a text."""
        return list(self.pieces(labels))
