"""Compare, in a real Chromium: both maps follow the pointer and the step, and a word is swapped in two moves."""

from __future__ import annotations

from tests.browser.conftest import idle, query, sent, walk


def test_a_cell_is_ringed_in_both_maps_and_a_step_is_walked_in_both_without_the_server(visit):
    page = visit("compare?kind=cross&step=2", ready=".side-by-side canvas")
    maps = page.locator(".side-by-side canvas")
    first = maps.first.bounding_box()
    before = sent(page)
    maps.first.hover(position={"x": first["width"] - 60, "y": first["height"] - 40})
    rings = [ring.split() for each in maps.all() if (ring := each.get_attribute("data-ring"))]
    assert len(rings) == 3 and rings[0] == rings[2]  # the difference stands on the first map's axes
    page.locator(".side-by-side .told").filter(has_text="in “wide”").wait_for()
    page.mouse.move(5, 5)
    assert maps.nth(1).get_attribute("data-ring") is None
    made, pauses = walk(page, *["ArrowRight"] * 8)
    assert sent(page) - before - made == 0 and made <= pauses
    page.locator(".side-by-side [data-focus='step 10'][aria-pressed=true]").wait_for()
    idle(page)
    assert query(page)["step"] == "10"


def test_a_word_is_swapped_by_a_click_and_a_word(visit):
    page = visit("compare?text=The dog is tired.", ready=".side-by-side canvas")
    page.locator(".st-key-compare_word").get_by_text("dog", exact=True).click()
    page.get_by_text("Type the word that shall stand in the place of “dog”.").wait_for()
    box = page.get_by_label("Word in its place")
    box.fill("cat")
    box.press("Enter")
    page.locator(".apart").filter(has_text="chat").wait_for()
    idle(page)
    assert {name: query(page)[name] for name in ("swap", "swap_to")} == {"swap": "2", "swap_to": "cat"}
    page.go_back()
    page.get_by_text("Type the word that shall stand in the place of “dog”.").wait_for()
