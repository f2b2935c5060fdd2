"""A text as its sentences."""

from __future__ import annotations


def split(text: str, language: str = "en") -> tuple[str, ...]:
    """The sentences of a text, without the space around them, by the rules of a language (an ISO 639-1 code).

    A full stop after a known abbreviation ends none; a line break always does. Text with half a character in it (a lone
    surrogate) stays whole: it is no valid Unicode.
    """
    from sentencex import segment

    if any("\ud800" <= char <= "\udfff" for char in text):
        return (text.strip(),)
    found = (part.strip() for line in text.splitlines() for part in segment(language or "en", line))
    return tuple(part for part in found if part)
