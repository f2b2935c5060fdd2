"""Short English meanings of French words, from a list of the project's own.

The browser gets `TEXT` once, with the component of the frame, and `glosses.js` reads it. Payloads name only the word of each
token.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from viz.kit.site_texts import language_code

if TYPE_CHECKING:
    from model.trace import Axis, Site, Trace

TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")  # `word: meaning; word: meaning`, any number in a line
LONGEST = 4  # words of a phrase: pomme de terre


@cache
def meanings() -> dict[str, str]:
    """Returns the meaning of each word or phrase, in lower case."""
    return dict(entry.split(": ", 1) for line in TEXT.splitlines() for entry in line.split("; "))


def words(outputs: Axis | None, language: str) -> list[str]:
    """Returns for each target token the listed word or phrase that it belongs to, else an empty text.

    Returns an empty list for a language other than French.
    """
    if outputs is None or language_code(language) != "fr":
        return []
    return list(_words(outputs.labels, outputs.word_numbers))


@lru_cache(256)
def _words(labels: tuple[str, ...], word_numbers: tuple[int, ...]) -> tuple[str, ...]:
    parts: list[str] = []  # words of the sentence
    owners: list[int] = []  # for each token, its part
    groups = itertools.groupby(zip(word_numbers, labels, strict=True), key=lambda pair: pair[0])
    for _, group in groups:
        labels = [label.lower().replace("’", "'") for _, label in group]
        own = _split("".join(labels))
        ends = list(itertools.accumulate(map(len, own)))
        starts = list(itertools.accumulate(map(len, labels), initial=0))[:-1]
        owners += [len(parts) + next(n for n, end in enumerate(ends) if start < end) for start in starts]
        parts += own
    return tuple(_phrase(parts, part) for part in owners)


def map_words(trace: Trace, site: Site, language: str) -> dict[str, list[list[str]]]:
    """Returns the words of a map's labels as `words` of its pattern: none of a side without French.

    A row of the target names the token that it reads and the token that it predicts; a column names one token.
    """
    written = words(trace.outputs, language)
    read = ["", *written[:-1]]
    rows = [list(pair) for pair in zip(read, written, strict=True)] if written and site.spec.query_side == "target" else []
    return {"queries": rows, "keys": [[word] for word in read] if written and site.spec.key_side == "target" else []}


def _split(text: str) -> list[str]:
    """Returns the words of a text without spaces: after each apostrophe, and at hyphens that no listed word has."""
    if text in meanings():
        return [text]
    elided = re.findall(r"[^']*'|[^']+", text)
    return [part for each in elided for part in ([each] if each in meanings() else re.findall(r"-|[^-]+", each))] or [text]


def _phrase(parts: Sequence[str], part: int) -> str:
    """Returns the longest listed phrase around a word, else the word if it is listed, else an empty text."""
    for size in range(LONGEST, 0, -1):
        for first in range(max(0, part - size + 1), part + 1):
            if (text := " ".join(parts[first : first + size])) in meanings() and first + size <= len(parts):
                return text
    return ""
