"""How a text addresses people: whether French says *tu* or *vous*, where English says *you*."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from model.text.languages import FRENCH

WORDS, LANGUAGE = FRENCH.address, FRENCH.name
_NOUNS = re.compile(r"(?<!\w)(?:rendez|garde[- ]à)-vous(?!\w)")  # *un rendez-vous*, *au garde-à-vous* address nobody
_STANDS = {
    name: re.compile("|".join(rf"(?<!\w){word}" + ("" if word[-1] == "'" else r"(?!\w)") for word in words))
    for name, words in WORDS.items()
}


def says(text: str) -> set[str]:
    """Which of *tu* and *vous* a text has a word of: none, one or both. An apostrophe may be the typographic one."""
    plain = _NOUNS.sub("", unicodedata.normalize("NFC", text).lower().replace("’", "'"))
    return {name for name, stands in _STANDS.items() if stands.search(plain)}


def shares(texts: Sequence[str]) -> dict[str, float | int | None]:
    """Of some texts the shares that say *tu* and that say *vous*, 0 to 1, and how many *vous* there are to one *tu*: None
    where there is no *tu*. A text may say both. Raises ValueError where there is no text."""
    if not texts:
        raise ValueError("there is no text to look for tu and vous in; expected at least one")
    found = [says(text) for text in texts]
    count = {name: sum(name in each for each in found) for name in WORDS}
    told: dict[str, float | int | None] = {"texts": len(texts)}
    told |= {name: round(number / len(texts), 4) for name, number in count.items()}
    return told | {"vous_to_tu": round(count["vous"] / count["tu"], 3) if count["tu"] else None}


def compared(said: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, dict[str, float | int | None]]:
    """`shares` of what a model said, of the first reference of each text, and of all references where there are more."""
    first, rows = [each[0] for each in references], [each for own in references for each in own]
    return {"said": shares(said), "first": shares(first)} | ({"all": shares(rows)} if len(rows) > len(first) else {})
