"""How large every text is that is seen in a window: of elements, fields, svg and canvases, as a hall sees it."""

from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

SCRIPT = Path(__file__).with_suffix(".js")  # in a page before it is loaded: `visit(where, scripts=(SCRIPT,))`
LEAST = 20  # px at 720 lines: what is read from the last row
SLACK = 0.51  # px: half of what a browser may round to


class Text(NamedTuple):
    """A text in the window; `size` in px of a window of 720 lines, `kind` one of text, svg, canvas."""

    text: str
    size: float
    kind: str
    where: str


def measured(page: Page) -> list[Text]:
    """Every text that is seen now."""
    hall = page.evaluate("Math.min(innerHeight / 720, innerWidth / 960)")
    return [Text(text, size / hall, kind, where) for text, size, kind, where in page.evaluate("lab_type()")]


def smaller(texts: list[Text]) -> list[Text]:
    """Those that are not read from the last row."""
    return [text for text in texts if text.size < LEAST - SLACK]
