"""Title, author and licence of the files that the shipped checkpoints were trained on, by their SHA-256."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

UNKNOWN = "title, author and licence are not recorded: write them here"


@dataclass(frozen=True)
class DataSource:
    """A published text or corpus."""

    title: str
    authors: str
    licence: str
    where: str = ""  # how it was obtained

    def describe(self) -> str:
        """Title, authors, licence and origin, as one line."""
        return f"{self.title}, {self.authors}{self.where and f', {self.where}'}. Licence: {self.licence}."


def _book(title: str, authors: str) -> DataSource:
    return DataSource(f"*{title}*", authors, "public domain")


_TATOEBA = DataSource(
    "English-French sentence pairs of **Tatoeba** (https://tatoeba.org)",
    "by its contributors",
    "CC BY 2.0 FR",
    "selected by **manythings.org/anki** (https://www.manythings.org/anki/, `fra-eng.zip` of 7 April 2019)",
)
_POLARITY = DataSource("Sentence polarity dataset v1.0", "Bo Pang and Lillian Lee (ACL 2005)", "CC BY 4.0")
SOURCES: Mapping[str, DataSource] = {  # by the first 16 hexadecimal digits of a file's SHA-256
    "fa7308e6cd3fab9c": _TATOEBA,
    "546882cb9867b516": _TATOEBA,
    "66d8c58929637943": _POLARITY,
    "fbfe372edc69297d": _POLARITY,
    "655f67e22568813f": _POLARITY,
    "7c6c97dd3ee21ccd": _POLARITY,
    "5963cd1569be353d": _book("Fairy Tales", "the Brothers Grimm, translated by Edgar Taylor and Marian Edwardes"),
    "79be6b380fe4e0f6": _book("The Jungle Book", "Rudyard Kipling"),
    "de5703dd4ca2a5fb": _book("Pride and Prejudice", "Jane Austen"),
    "4692c3ec740a9f4b": _book("The Adventures of Sherlock Holmes", "Arthur Conan Doyle"),
    "9a72466b54516f4f": _book("The Return of Sherlock Holmes", "Arthur Conan Doyle"),
    "c5df920b2e14a9fe": _book("The Adventures of Tom Sawyer", "Mark Twain"),
    "ccc705f1205f0082": _book("The Wonderful Wizard of Oz", "L. Frank Baum"),
    "c7a31daa7cb0f307": _book("Alice’s Adventures in Wonderland", "Lewis Carroll"),
}


def describe_sources(digests: Mapping[str, str]) -> str:
    """A line for each source of a training's files, given as name and SHA-256; files of one source share a line."""
    names: dict[str, list[str]] = {}
    for name, digest in digests.items():
        if name != "probes":  # these are watched and not trained on
            source = SOURCES.get(digest[:16])
            names.setdefault(source.describe() if source else f"{UNKNOWN}.", []).append(f"`{name}`")
    return "\n".join(f"- {', '.join(files)}: {source}" for source, files in names.items())
