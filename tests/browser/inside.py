"""What the browser tests of one head unfolded share."""

from __future__ import annotations

from urllib.parse import quote

from model.inference.request import Request
from model.trace import Site
from viz import readings
from viz.view import FIRST_SENTENCE

READY = ".stages .stage h2"
LONG = "?split=off&text=" + quote("word " * 126)


def at(page) -> int:
    return int(page.locator(".stage .count").inner_text().split()[0])


def title(page) -> str:
    return page.locator(".stage h2").inner_text()


def where(page) -> tuple[str, str, str, str]:
    """Kind, layer and head that are picked, and who asks."""
    picked = [
        page.get_by_role("radiogroup", name=name).locator("[aria-checked=true]") for name in ("Attention", "Layer", "Head")
    ]
    return (*(found.inner_text() for found in picked), page.locator(".chip[aria-pressed=true]").inner_text())


def value(text: str) -> float:
    return float(text.replace("−", "-"))


def unfolded(kind: str, layer: int, head: int, query: int):
    return readings.unfold(Request(FIRST_SENTENCE), "auto", Site(kind, layer - 1), head - 1, query - 1)
