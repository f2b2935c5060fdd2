"""The lab's typefaces as rules of a stylesheet that holds them: the files that Streamlit brings along, where it is there."""

from __future__ import annotations

import base64
from functools import cache, lru_cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

FACES = {"Source Sans": "SourceSansVF-Upright*.woff2", "Source Code Pro": "SourceCodeVF-Upright*.woff2"}
LATIN = frozenset(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x2010, 0x2040), 0x20AC, 0x221A, 0x2212)))
SIGNS = frozenset("←↑→↓·×÷±≤≥≈∅∞ₖ⁰¹²³⁴⁵⁶⁷⁸⁹⁻−√μσΣ▲▼✕⚠‹›")


def rules(text: str) -> str:
    """One rule a typeface, with the Latin letters, the lab's signs and what else is in a text; none for a file that is not
    there: the system's own stand in its place."""
    made, more = [], frozenset(text) - LATIN - SIGNS
    for family, pattern in FACES.items():
        if file := _file(pattern):
            held = base64.b64encode(_subset(file, more & _letters(file) if more else more)).decode()
            source = f'url("data:font/woff2;base64,{held}") format("woff2")'
            made.append(f'@font-face{{font-family:"{family}";font-weight:200 900;font-display:block;src:{source}}}')
    return "".join(made)


@cache
def _file(pattern: str) -> Path | None:
    home = media()
    return next(iter(sorted(home.glob(pattern))), None) if home else None


def media() -> Path | None:
    """The folder of Streamlit's fonts, found without importing Streamlit; None where that is not installed."""
    found = find_spec("streamlit")
    return Path(found.origin).parent / "static" / "static" / "media" if found and found.origin else None


@cache
def _letters(file: Path) -> frozenset[str]:
    """What a font has letters for; nothing where that cannot be found out."""
    try:
        from fontTools.ttLib import TTFont
    except ImportError:
        return frozenset()
    return frozenset(map(chr, TTFont(file).getBestCmap()))


@lru_cache(8)
def _subset(file: Path, more: frozenset[str]) -> bytes:
    """The font with the letters that are needed; all of it where the tool is not there that takes letters out."""
    try:
        from fontTools import subset
    except ImportError:
        return file.read_bytes()
    options = subset.Options(flavor="woff2", layout_features=["kern", "liga", "tnum", "mark"], notdef_outline=True)
    options.recalc_timestamp = False
    font = subset.load_font(file, options)
    asked = subset.Subsetter(options)
    asked.populate(unicodes=[ord(char) for char in LATIN | SIGNS | more])
    asked.subset(font)
    written = BytesIO()
    subset.save_font(font, written, options)
    return written.getvalue()
