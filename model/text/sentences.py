"""Sentences of a text, blanks in a sentence (`___` or a mask token), and the labels of a classifier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..config import MAX_CHARACTERS


@lru_cache(1024)
def split(text: str, language: str = "en") -> tuple[str, ...]:
    """Returns the sentences of a text, stripped, by the rules of a language (an ISO 639-1 code).

    A full stop after a known abbreviation ends no sentence; a line break always does. A text with a lone surrogate, or with
    more than `MAX_CHARACTERS`, is not split.
    """
    from sentencex import segment

    if len(text) > MAX_CHARACTERS or any("\ud800" <= char <= "\udfff" for char in text):
        return tuple(filter(None, [text.strip()]))
    sentences = (part.strip() for line in text.splitlines() for part in segment(language or "en", line))
    return tuple(part for part in sentences if part)


MASKS = ("[MASK]", "<mask>")  # names of the mask token in vocabularies
BLANK = re.compile("|".join(["_{3,}", *map(re.escape, MASKS)]))
BLANK_SIGN = "___"  # typed by the user


def texts_around_blanks(text: str) -> list[str]:
    """Returns the texts around the blanks: one more than there are blanks."""
    return BLANK.split(text)


def fill_blank(text: str, number: int, word: str) -> str:
    """Returns the text with one blank (from 0) replaced by a word; ValueError where there is no such blank."""
    places = list(BLANK.finditer(text))
    if not 0 <= number < len(places):
        raise ValueError(f"There is no blank {number + 1}; this sentence has {len(places)}.")
    if not word.strip():
        raise ValueError("The word is empty: type one.")
    place = places[number]
    return text[: place.start()] + word.strip() + text[place.end() :]


class ClassLabels:
    """Names of a classifier's classes, in the order of its logits, with the interface of a tokenizer."""

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
        """Returns the names as parts of a text."""
        return list(self.pieces(labels))
