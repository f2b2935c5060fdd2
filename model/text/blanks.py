"""Blanks in a sentence: `___`, or the name that a model gives them, stands where a word is to be filled in."""

from __future__ import annotations

import re

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
