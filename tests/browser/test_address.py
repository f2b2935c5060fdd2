"""An address that is no page's, in a real Chromium: Streamlit would answer with a dialog of its own."""

from __future__ import annotations

from tests.browser.conftest import query
from viz.pages import unknown_address


def test_an_address_that_is_no_page_s_is_told_and_the_first_page_shown(visit):
    page = visit("nonsense?step=3")
    assert page.locator(".lab-note.warn").inner_text() == unknown_address("nonsense")
    assert page.locator("h1").inner_text() == "Translate"
    assert page.get_by_role("dialog").count() == 0
    assert query(page) == {"step": "3"}
