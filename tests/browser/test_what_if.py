"""The What if page in a real Chromium: edit by clicking and by keys, take it back, and what hovering tells."""

from urllib.parse import quote

import pytest

from tests.browser.conftest import idle, query, sent

SENTENCE = "The dog bites the man."


@pytest.fixture
def what_if(visit):
    return lambda link="", **options: visit("what-if" + link, ready=".switchboard .legend i", **options)


def click_cell(page, row: int, column: int) -> None:
    """Clicks a cell of the mask matrix by its measured place: labels stand left of it and above."""
    canvas = page.locator(".switchboard canvas")
    left, top, size = (float(canvas.get_attribute(f"data-{name}")) for name in ("left", "top", "size"))
    canvas.click(position={"x": left + (column + 0.5) * size, "y": top + (row + 0.5) * size})
    idle(page)


def test_a_click_blocks_a_cell_and_undo_restores_it(what_if):
    page = what_if(f"?text={quote(SENTENCE)}&kind=cross&mode=again")
    verdict = page.locator(".group.verdict .note")
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
    page.locator(".switchboard .grid button:not(.layer)").first.focus()
    assert press("ArrowDown", "ArrowRight", "Enter") == "off_enc.2.2"


def test_hovering_sends_nothing(what_if):
    page = what_if(f"?text={quote('The man sees the dog and the cat.')}&edits=block_enc_2-5~block_enc_2-8")
    before = sent(page)
    chips = page.locator(".groups").first.inner_text()
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


TIPS = """() => [
  ...[...document.querySelectorAll('[role=tooltip]')].filter((tip) => tip.checkVisibility()),
  ...[...document.querySelectorAll('.lab-term')].filter((term) => getComputedStyle(term, '::after').content !== 'none'),
].length"""


def test_tooltips_close(what_if):
    page = what_if()
    page.get_by_text("Test whether the masks are right").click()
    term = page.locator("[data-testid=stMain] .lab-term", has_text="residual stream")
    term.wait_for()
    idle(page)
    for thing, click in ((term, True), (term, False)):
        thing.hover()
        page.wait_for_function(f"() => ({TIPS})() === 1")
        thing.click() if click else page.keyboard.press("Escape")
        idle(page)
        page.wait_for_function(f"() => ({TIPS})() === 0")  # though the button was drawn anew under the pointer
        page.mouse.move(700, 690)
        assert page.evaluate(TIPS) == 0
