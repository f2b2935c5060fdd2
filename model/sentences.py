"""A text as its sentences."""

from __future__ import annotations


def split(text: str, language: str = "en") -> tuple[str, ...]:
    """The sentences of a text, without the space around them, by the rules of a language (an ISO 639-1 code).

    A full stop after a known abbreviation ends none; a line break always does.
    """
    from sentencex import segment

    found = (part.strip() for line in text.splitlines() for part in segment(language or "en", line))
    return tuple(part for part in found if part)
