"""Frames: one structure in both languages, with slots for words of the lexicon.

A frame is a block of lines KEY: VALUE. Keys of one capital letter are slots, such as

    X: noun land                  a noun of a class; a|b is either class, a+b both, -a not a, =word the word itself
    X: noun job as=N              a noun of the gender of N
    XY: noun garment|vehicle      two different nouns of one of the classes
    A: adj X, or A: adj X =old    an adjective that can describe X, or one of a list (commas between)
    V: verb X Y                   a verb with X as its subject and Y as its object (- for none; * for a person)
    N: name                       a first name
    K: number 2 12                a number in words

`held: yes` keeps a frame out of training. `both: yes` admits adjectives that could describe X and Y.
`first` and `second` list the adjectives or verbs for slot A or V that make P the first noun, X, or the second, Y.
English places: {X}, {X.s}, {a X}, {a A X}, {A}, {A.er}, {A.est}, {V}, {V.s}, {V.ed}, {V.en}, {V.ing}, {he/she~N}.
French places: {le X}, {de le X A}, {les X}, {X.p}, {A~X}, {A~X.p}, {V.il}, {V.il.fut}, {V.pp~X}, {il/elle~P}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..corpus.corpus import DataError
from .lexicon import TEXTS, Adjective, FirstName, Noun, Verb

KINDS = ("it", "they", "plain")  # it and they have a pronoun with two possible nouns
PLACE = re.compile(r"\{([^{}]*)\}")
Word = Noun | Adjective | Verb | FirstName | int
Words = Mapping[str, Word]


@dataclass(frozen=True)
class SentenceFrame:
    name: str
    kind: str
    is_held_out: bool
    allows_both: bool  # an adjective may describe both nouns; the sentence says which
    slots: tuple[tuple[str, tuple[str, ...]], ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    templates: tuple[tuple[str, str], ...]
    place: str

    @property
    def literal_words(self) -> set[str]:
        """Returns the English words that the frame itself writes."""
        return {word for text, _ in self.templates for word in re.findall(r"[a-z]+", PLACE.sub(" ", text).lower())}


def read_frames(folder: Path = TEXTS) -> list[SentenceFrame]:
    """Returns the frames of the files frames-*.txt. Raises DataError with file and line."""
    frames = []
    for path in sorted(folder.glob("frames-*.txt")):
        number = 1
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = [line for line in block.split("\n") if line.strip() and not line.startswith("#")]
            if lines:
                frames.append(_frame(lines, f"{path}, line {number}"))
            number += block.count("\n") + 2
    return frames


def _frame(lines: list[str], place: str) -> SentenceFrame:
    values: dict[str, str] = {}
    slots, english_texts, french_texts = [], [], []
    for line in lines:
        key, mark, value = line.partition(": ")
        if not mark:
            raise DataError(f"{place}: expected KEY: VALUE, not {line!r}.")
        if key.isupper():
            slots.append((key, tuple(value.split())))
        elif key in ("en", "fr"):
            (english_texts if key == "en" else french_texts).append(value.strip())
        else:
            values[key] = value.strip()
    if values.get("kind") not in KINDS or "name" not in values:
        raise DataError(f"{place}: expected a name and a kind, one of {', '.join(KINDS)}.")
    if not english_texts or len(english_texts) != len(french_texts):
        raise DataError(f"{place}: expected as many lines with en as with fr.")
    lists = [tuple(part.strip() for part in values.get(key, "").split(",") if part.strip()) for key in ("first", "second")]
    pairs = tuple(zip(english_texts, french_texts, strict=True))
    return SentenceFrame(
        values["name"],
        values["kind"],
        *(values.get(key) == "yes" for key in ("held", "both")),
        tuple(slots),
        *lists,
        pairs,
        place,
    )
