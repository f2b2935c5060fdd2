"""A text as its sentences."""

from __future__ import annotations

from functools import lru_cache

from model.config import MAX_CHARACTERS


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
