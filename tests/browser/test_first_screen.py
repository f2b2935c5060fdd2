"""The first screen of every page, before anything is scrolled: few words and few groups of controls."""

from pathlib import Path

import pytest

from tests.browser.conftest import idle
from viz import pages

COUNT = (Path(__file__).parent / "first_screen.js").read_text(encoding="utf-8")
SIZE = {"width": 1366, "height": 768}
LIMITS = {"translate": (80, 7)}  # words and groups of controls
OTHERS = 100, 9


@pytest.mark.parametrize("page", [page.name for page in pages.PAGES])
def test_a_first_screen_is_light(visit, page):
    there = visit(pages.address_of(pages.find(page)), ready="h1")
    there.set_viewport_size(SIZE)
    idle(there)
    found, (words, groups) = there.evaluate(f"{COUNT}\ncountFirstScreen()"), LIMITS.get(page, OTHERS)
    assert (found["words"] <= words, found["groups"] <= groups) == (True, True), found
