"""The page Variants in a real Chromium: its parts are chosen and stand in the link, with a record or without one."""

from __future__ import annotations

from model.variants.record import place
from tests.browser.conftest import idle, query, resize, sideways


def test_each_part_is_shown_stands_in_the_link_and_fits(visit):
    ready = ".lab-designs" if place() else ".lab-variants-none"
    page = visit("variants", ready=ready)
    for title, name in (("Learning", "curves"), ("One sentence", "maps"), ("Same heads?", "heads"), ("Scores", "scores")):
        page.get_by_role("radio", name=title).click()
        idle(page)
        assert query(page).get("about", "scores") == name
        assert page.locator("[data-testid=stException], .lab-fault").count() == 0
    page.locator(ready).wait_for()
    resize(page, 390)
    assert sideways(page) <= 0
