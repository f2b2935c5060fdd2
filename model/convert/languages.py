"""The English names of languages by their codes in ISO 639-1 and 639-3, as model folders have them."""

from __future__ import annotations

import re
from typing import Any

NAMES = (
    "af afr Afrikaans|sq sqi Albanian|ar ara Arabic|hy hye Armenian|az aze Azerbaijani|eu eus Basque|be bel Belarusian|"
    "bn ben Bengali|bg bul Bulgarian|ca cat Catalan|zh zho Chinese|hr hrv Croatian|cs ces Czech|da dan Danish|nl nld Dutch|"
    "en eng English|eo epo Esperanto|et est Estonian|fi fin Finnish|fr fra French|gl glg Galician|ka kat Georgian|"
    "de deu German|el ell Greek|ht hat Haitian|ha hau Hausa|he heb Hebrew|hi hin Hindi|hu hun Hungarian|is isl Icelandic|"
    "ig ibo Igbo|id ind Indonesian|ga gle Irish|it ita Italian|ja jpn Japanese|ko kor Korean|la lat Latin|lv lav Latvian|"
    "lt lit Lithuanian|mk mkd Macedonian|ms msa Malay|ml mal Malayalam|mt mlt Maltese|mr mar Marathi|no nor Norwegian|"
    "fa fas Persian|pl pol Polish|pt por Portuguese|ro ron Romanian|ru rus Russian|sr srp Serbian|sk slk Slovak|"
    "sl slv Slovenian|es spa Spanish|sw swa Swahili|sv swe Swedish|tl tgl Tagalog|th tha Thai|tr tur Turkish|"
    "uk ukr Ukrainian|ur urd Urdu|vi vie Vietnamese|cy cym Welsh|xh xho Xhosa|yo yor Yoruba|zu zul Zulu|jap Japanese"
)
BY_CODE = {code: line.split()[-1] for line in NAMES.split("|") for code in line.split()[:-1]}
_PAIR = re.compile(r"opus-mt-([a-zA-Z_]+)-([a-zA-Z_]+)$")


def of(code: Any) -> str | None:
    """The name for a code; the code itself where it is another one, None where it is none."""
    if not isinstance(code, str) or not re.fullmatch(r"[a-zA-Z_]{2,12}", code):
        return None
    return BY_CODE.get(code.lower(), code)


def pair(name: Any) -> tuple[str | None, str | None]:
    """The two languages of a model that is called `opus-mt-en-fr`, or something that ends in it."""
    found = _PAIR.search(name) if isinstance(name, str) else None
    return (None, None) if found is None else (of(found[1]), of(found[2]))
