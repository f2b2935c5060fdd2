"""The page Judge in a browser: stepping through a text, with the words that decide beside it."""

from __future__ import annotations

from urllib.parse import quote

from tests.browser.conftest import idle, query, resize, sideways, walk

NAME = "sentiment"
TEXT = "The plot is dull, and the jokes fall flat."


def test_the_arrow_keys_go_through_the_text_and_mark_the_word(visit):
    page = visit(f"?checkpoint={NAME}&text={quote(TEXT)}&step=2", ready=".word-table table")
    made, pauses = walk(page, "ArrowRight", "ArrowRight", "ArrowRight")
    assert made <= pauses + 1
    idle(page)
    assert query(page)["step"] == "5" and page.locator(".judged .chip.now").count() == 1
    chips = page.locator(".judged .word")
    word = chips.filter(has=page.locator(".chip.now")).inner_text().replace("\n", "")
    assert page.locator(".word-table thead th.now").inner_text().strip() == word
    assert f"Without “{word}”" in page.locator(".word-table .told").inner_text()
    page.locator(".word-table thead button").filter(has_text="dull").click()
    idle(page)
    assert page.locator(".judged .chip.now").inner_text().strip("·") == "dull"
    resize(page, 390)
    assert sideways(page) <= 0


def test_in_a_lecture_the_arrows_move_the_mark_in_the_words_and_in_the_map(visit):
    page = visit(f"?checkpoint={NAME}&text={quote(TEXT)}&step=2&lecture=on", ready=".judged .chip.now")
    page.keyboard.press("ArrowRight")
    idle(page)
    marked = page.locator(".word-table thead th.now")
    page.keyboard.press("v")
    marked.wait_for()
    idle(page)
    word = marked.inner_text()  # that of the step, not of the one that was told last
    page.keyboard.press("ArrowRight")
    idle(page)
    assert query(page)["step"] == "4" and marked.inner_text() not in ("", word)
    page.keyboard.press("v")
    told = page.locator(".large .told")
    told.filter(has_text="looks most at").wait_for()
    idle(page)
    before = told.inner_text()
    page.keyboard.press("ArrowRight")
    idle(page)
    assert query(page)["step"] == "5" and told.inner_text() != before
