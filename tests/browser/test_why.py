"""Why this word, in a real Chromium: from the first screen to one head's part, tested, in three clicks."""

from __future__ import annotations

import re

from tests.browser.conftest import idle, query


def test_from_the_first_screen_to_what_one_head_did_is_three_clicks(visit):
    page = visit("?step=11", ready=".timeline .said")
    page.get_by_role("button", name=re.compile("^Why “il”, and not “elle”")).click()
    page.locator(".sum .bar").first.wait_for()
    idle(page)
    assert query(page)["step"] == "11" and "rival" in query(page)
    page.locator(".sum button.bar").filter(has_text="cross-attention, layer 3, head 2").click()
    told = page.get_by_text(re.compile("^Cross-attention, layer 3, head 2 wrote [+−].* by way of “.+Switched off"))
    told.wait_for()
    idle(page)
    assert page.locator('.sum [aria-pressed="true"]').count() == 2  # the bar, and its cell
    page.get_by_role("button", name="Switch it off").click()
    page.locator(".switchboard canvas").wait_for()
    assert query(page)["edits"] == "off_cross.3.2"


def test_a_candidate_leads_to_why_not_and_a_reading_to_its_curves(visit):
    page = visit("?text=She+bought+a+red+car.&step=6", ready=".timeline .said")
    page.locator(".candidate").nth(1).hover()
    page.get_by_role("button", name=re.compile("^Why not")).first.click()
    page.locator(".sum .bar").first.wait_for()
    idle(page)
    assert query(page)["step"] == "6" and "rival" in query(page)
    page.get_by_role("radio", name="Which reading is true?").click()
    page.locator(".ranking .row").first.wait_for()
    idle(page)
    assert page.locator(".ranking button.row").count() == 7
    assert page.locator('.ranking [aria-pressed="true"]').count() == 1
    page.locator(".ranking button.row", has_text="Occlusion").click()
    page.get_by_text(re.compile("^Occlusion: What the token")).wait_for()
    assert query(page)["reading"] == "occlusion"
