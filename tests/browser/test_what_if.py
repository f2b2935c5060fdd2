"""The What if page in a real Chromium: edit by clicking and by keys, take it back, and what hovering tells."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from tests.browser.conftest import idle, query, resize, sent

SENTENCE = "The dog bites the man."


@pytest.fixture
def what_if(visit):
    return lambda link="", **options: visit("what-if" + link, ready=".switchboard [data-change]", **options)


def click_cell(page, row: int, column: int) -> None:
    """Clicks a cell of the mask matrix by its measured place: labels stand left of it and above."""
    canvas = page.locator(".switchboard canvas")
    left, top, size = (float(canvas.get_attribute(f"data-{name}")) for name in ("left", "top", "size"))
    canvas.click(position={"x": left + (column + 0.5) * size, "y": top + (row + 0.5) * size})
    idle(page)


def test_a_cell_is_blocked_by_clicking_and_the_way_back_is_a_click(what_if):
    page = what_if(f"?text={quote(SENTENCE)}&kind=cross&mode=again")
    verdict = page.locator(".lab-verdict")
    before = verdict.inner_text()
    click_cell(page, 1, 3)
    assert query(page)["edits"] == "block_cross_2-4"
    assert verdict.inner_text() != before
    page.get_by_role("button", name="Undo").click()
    idle(page)
    assert "edits" not in query(page)
    assert verdict.inner_text() == before
    page.get_by_role("button", name="Redo").click()
    idle(page)
    assert query(page)["edits"] == "block_cross_2-4"


def test_everything_is_reached_by_keys(what_if):
    page = what_if(f"?text={quote(SENTENCE)}")

    def press(*keys: str) -> str | None:
        for key in keys:
            page.keyboard.press(key)
        idle(page)
        return query(page).get("edits")

    page.locator(".switchboard canvas").focus()
    assert press("ArrowDown", "ArrowDown", "ArrowRight", "Space") == "block_enc_3-2"
    assert press("Space") is None  # the focus has stayed where it was
    page.locator(".switchboard canvas").focus()
    # beyond the first column stand the rows themselves, above the first row the columns
    assert press("ArrowLeft", "ArrowLeft", "Space") == "block_enc_3-all"
    assert press("Space") is None
    assert press("ArrowRight", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Space") == "block_enc_all-1"
    assert press("Space") is None
    page.locator(".switchboard .grid button").first.focus()
    assert press("ArrowDown", "ArrowRight", "Enter") == "off_enc.2.2"


def test_hovering_and_moving_send_nothing_and_tell_which_of_the_same_words_is_meant(what_if):
    page = what_if(f"?text={quote('The man sees the dog and the cat.')}&edits=block_enc_2-5~block_enc_2-8")
    before = sent(page)
    chips = page.locator(".st-key-edit_bar").inner_text()
    assert "man sees no the (1st) ×" in chips and "man sees no the (2nd) ×" in chips
    box = page.locator(".switchboard canvas").bounding_box()
    for step in range(12):
        page.mouse.move(box["x"] + 80 + 10 * step, box["y"] + 60 + 8 * step)
    page.mouse.move(5, 5)
    page.locator(".switchboard canvas").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert page.locator(".switchboard .said").inner_text().startswith("The looks at the (1st)")
    idle(page)
    assert sent(page) == before


def test_the_view_goes_with_the_visitor_by_the_links_of_the_sidebar(what_if):
    page = what_if(f"?text={quote(SENTENCE)}&mode=again&edits=off_cross.2.3")
    page.get_by_role("link", name="Translate").click()
    page.locator(".timeline .said").wait_for()
    idle(page)
    assert page.get_by_role("textbox", name="Sentence to translate").input_value() == SENTENCE
    assert "Cross-attention, layer 2, head 3: off" in page.locator(".st-key-edit_bar").inner_text()
    assert query(page)["edits"] == "off_cross.2.3"


def test_nothing_lies_over_the_controls_at_the_top(what_if):
    """Playwright refuses to click what something else covers."""
    page = what_if()
    for width in (1920, 1280, 1024):
        resize(page, width, 720)
        page.get_by_role("textbox", name="Sentence to translate").click()
        page.get_by_role("button", name="Translate").click()
        page.get_by_role("button", name=re.compile("Copy link|Copied")).click()
        page.get_by_role("button", name=re.compile("Copied")).wait_for()
        page.locator("[data-testid=stMainMenu] button").click()
        page.keyboard.press("Escape")
        idle(page)


def test_a_cell_that_the_mask_forbids_is_not_blocked_in_silence(what_if):
    page = what_if("?text=I%20am%20tired.&kind=decoder")
    assert "forbids this already" not in page.locator("[data-testid=stMain]").inner_text()
    click_cell(page, 0, 2)
    assert query(page)["edits"] == "block_dec_1-3"
    page.get_by_text("The mask forbids this already, so it changes nothing").wait_for()
    assert re.search(r"(\S+) → \1$", page.locator(".lab-verdict").inner_text())


def test_everything_blocked_says_so(what_if):
    page = what_if("?text=I%20am%20tired.&mode=again&edits=" + "~".join(f"block_cross_all-{n}" for n in range(1, 6)))
    assert "see nothing at all" in page.locator("[data-testid=stMain]").inner_text()
    assert page.locator(".lab-both p").nth(1).inner_text().strip()


TIPS = """() => [
  ...[...document.querySelectorAll('[role=tooltip]')].filter((tip) => tip.checkVisibility()),
  ...[...document.querySelectorAll('.lab-term')].filter((term) => getComputedStyle(term, '::after').content !== 'none'),
].length"""


def test_what_is_told_while_pointing_goes_with_a_click_with_escape_and_with_the_pointer(what_if):
    page = what_if()
    question = page.get_by_role("button", name="Who attends to padding?")
    term = page.locator("[data-testid=stMain] .lab-term").first
    for thing, click in ((question, True), (term, True), (question, False), (term, False)):
        thing.hover()
        page.wait_for_function(f"() => ({TIPS})() === 1")
        thing.click() if click else page.keyboard.press("Escape")
        idle(page)
        page.wait_for_function(f"() => ({TIPS})() === 0")  # though the button was drawn anew under the pointer
        page.mouse.move(700, 690)
        assert page.evaluate(TIPS) == 0
