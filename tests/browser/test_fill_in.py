"""Fill in and Judge: hidden blanks cannot be read, and keys go from word to word."""

from urllib.parse import quote

from tests.browser.conftest import idle, query, resize, sideways, walk

SHOWN = """() => [...attentionLabRoots.get('timeline').querySelectorAll('.chip:not(.input)')]
  .map((chip) => chip.firstChild.textContent)"""
TEXT = "The plot is dull, and the jokes fall flat."


def test_a_class_guesses_one_of_two_blanks(visit):
    text = quote("He opened the ___ and went into the ___.")
    page = visit(f"?checkpoint=bert-mini&text={text}&lecture=on&guess=first", ready=".candidates .next")
    hidden = page.evaluate(SHOWN)
    blanks = [n for n, token in enumerate(hidden) if token == "?"]
    assert len(blanks) == 2
    page.keyboard.press("ArrowRight")  # shows this one, and stays
    page.locator(".candidates .row").first.wait_for()
    shown = page.evaluate(SHOWN)
    assert shown[blanks[0]] != "?" and shown[blanks[1]] == "?"
    page.keyboard.press("Shift+ArrowRight")
    page.locator(".candidates .next").wait_for()
    idle(page)
    assert query(page)["step"] == str(blanks[1] + 1) and page.evaluate(SHOWN) == hidden
    page.keyboard.press("g")  # ends the guessing
    page.locator(".candidates .row").first.wait_for()
    idle(page)
    assert "?" not in page.evaluate(SHOWN)


def test_arrow_keys_mark_the_word(visit):
    page = visit(f"?checkpoint=sentiment&text={quote(TEXT)}&step=2", ready=".word-table table")
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
