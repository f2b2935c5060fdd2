"""The first screen of every page, before anything is scrolled: few words and few groups of controls."""

from pathlib import Path

from tests.browser.conftest import go
from viz import pages

COUNT = (Path(__file__).parent / "first_screen.js").read_text(encoding="utf-8")
SIZE = {"width": 1366, "height": 768}
LIMITS = {"translate": (80, 7)}  # words and groups of controls
OTHERS = 100, 9


def test_first_screens_are_light(visit):
    there, heavy = visit(viewport=SIZE), {}
    for page in pages.PAGES:
        go(there, pages.address_of(page), "h1")
        found, (words, groups) = there.evaluate(f"{COUNT}\ncountFirstScreen()"), LIMITS.get(page.name, OTHERS)
        if found["words"] > words or found["groups"] > groups:
            heavy[page.name] = found
    assert heavy == {}
