"""Patching in a real Chromium: a cell is pointed at and clicked, and its piece opens in What if."""

from __future__ import annotations

import re

from tests.browser.conftest import idle, query

LINK = "compare?compare=patching&text=The dog didn't cross the street because it was too shy."


def test_a_cell_tells_its_share_shows_the_translation_and_opens_in_what_if(visit):
    page = visit(LINK, ready=".patch-grids .cell")
    cell = page.get_by_role("button", name=re.compile("^Encoder, residual stream, after 2, at “it”: [0-9]+% of the way"))
    cell.hover()
    assert page.locator(".patch-grids .readout").inner_text() == cell.get_attribute("aria-label")
    cell.click()
    page.locator('.patch-grids [aria-pressed="true"][data-focus="patch_enc.2_9"]').wait_for()
    idle(page)
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement.dataset.focus") == "patch_enc.2_8"
    assert page.locator(".lab-three mark").all_inner_texts()[-1] == "elle"
    page.get_by_role("button", name="Take it out").click()
    page.get_by_text("Click a cell to put in another piece.").wait_for()
    idle(page)
    assert "patched" not in query(page)
    cell.click()
    page.locator('.patch-grids [aria-pressed="true"][data-focus="patch_enc.2_9"]').wait_for()
    idle(page)
    page.get_by_role("button", name="Open in What if").click()
    page.locator(".switchboard canvas").wait_for()
    assert query(page)["edits"] == "donor_The dog didn't cross the street because it was too wide.~patch_enc.2_9"
