"""The lab's own fonts, as Streamlit ships them, for those who draw outside a browser."""

from __future__ import annotations

import functools
import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from viz.offline.fonts import media

if TYPE_CHECKING:
    import typst

SANS, CODE = "Source Sans", "Source Code Pro"
FILES = {
    "SourceSansVF-Upright": SANS,
    "SourceSansVF-Italic": SANS,
    "SourceCodeVF-Upright": CODE,
    "SourceCodeVF-Italic": CODE,
}
_FAMILY, _TYPOGRAPHIC = 1, (16, 17, 21, 22, 25)  # numbers in a font's table of names
_FIXED_WIDTH = re.compile(r"mono|code|courier|menlo|consolas", re.IGNORECASE)


def family(asked: str) -> str:
    """The family that stands for a CSS font-family: what asks for a fixed width gets one, all else the text font."""
    first = asked.split(",")[0].strip().strip("\"'")
    return CODE if _FIXED_WIDTH.search(first) else SANS


def convert(folder: Path) -> None:
    """Writes the fonts into a folder as TrueType files under the names that pictures ask for."""
    from fontTools.ttLib import TTFont

    home = media()
    assert home, "pictures are asked for by a page, and pages need Streamlit"
    for stem, name in FILES.items():
        font = TTFont(next(home.glob(f"{stem}*.woff2")))
        names = [record for record in font["name"].names if record.nameID not in _TYPOGRAPHIC]
        for record in names:
            if record.nameID == _FAMILY:
                record.string = name
        font["name"].names = names
        font.flavor = None
        font.save(folder / f"{stem}.ttf")
        font.close()


@functools.cache
def fonts() -> typst.Fonts:
    """The fonts, then what this machine has for letters that they lack; converted once, which takes about a second."""
    import typst

    folder = Path(tempfile.mkdtemp(prefix="attention-lab-fonts-"))
    try:
        convert(folder)
        found = typst.Fonts(font_paths=[str(folder)])
        every = "".join(
            f'#text(font: "{name}", style: "{style}")[a]' for name in (SANS, CODE) for style in ("normal", "italic")
        )
        typst.Compiler(font_paths=found).compile(every.encode(), format="pdf")  # holds them in memory from here on
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)
