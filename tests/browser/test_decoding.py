"""How tokens are chosen, in a real Chromium: paths, branches, typed words, keys."""

import re
from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import idle, query, sent, translation, type_text, walk

CAT = "?show=decoding&text=" + quote("The black cat was sleeping on the table because it was tired.")
BEAM = CAT + "&decode=beam&width=4"
WORD_BOX = "Or type a word"
WORD = "Nabuchodonosor"  # in no small vocabulary: several pieces


def click(page, selector: str, n: int = 0) -> None:
    page.locator(selector).nth(n).click()
    idle(page)


def titles(page) -> tuple[str, ...]:
    """The cross-attention of the step: every source token with its weight."""
    return tuple(page.locator(".source .chip").evaluate_all("chips => chips.map(chip => chip.title)"))


def chips(page) -> list[str]:
    """The outputs, in one row behind `<s>`."""
    return [chip.strip() for chip in page.locator(".target .chip").all_inner_texts()]


def step(page) -> str | None:
    return page.locator(".timeline").get_attribute("data-step")


def rows(page) -> list[str]:
    return page.locator(".cand .row").all_inner_texts()


def branch(page) -> str:
    """Clicks the likeliest candidate that was not chosen; its token."""
    other = page.locator(".cand .row:not(.on)").first
    token = other.locator(".t").inner_text().strip().removeprefix("·")
    other.click()
    idle(page)
    return token


def test_a_node_of_the_tree_shows_its_path_at_its_step(visit):
    page = visit(BEAM)
    said, first = translation(page), titles(page)
    ended = page.locator(".node.finished:not(.on)").first
    name = ended.get_attribute("aria-label")
    ended.click()
    idle(page)
    assert translation(page) != said and name.endswith(": " + translation(page))
    assert step(page) == query(page)["step"] == re.match(r"Step (\d+)", name).group(1)
    assert titles(page) != first
    assert page.locator(".node.on").last.get_attribute("aria-label") == name
    assert query(page)["path"].count("-") + 1 == int(step(page)) == page.locator(".node.on").count()


def test_hovering_and_stepping_mark_the_tree(visit):
    page = visit(BEAM + "&step=1")
    before = sent(page)
    told = page.locator(".tree .said")
    nothing = told.inner_text()
    for n in range(page.locator(".pick").count()):
        page.locator(".pick").nth(n).hover()
        assert told.inner_text().startswith(page.locator(".pick .text").nth(n).inner_text() + " (finished")
    nodes = page.locator(".node")
    for n in {0, 1, nodes.count() // 2, nodes.count() - 1}:
        nodes.nth(n).hover()
        number, text = re.match(r"(?s)Step (\d+),.*?score −[\d.]+: (.*)$", nodes.nth(n).get_attribute("aria-label")).groups()
        assert told.inner_text().startswith(text.strip())
        assert page.locator(".node.lit").count() == int(number)
    for n in range(3):
        page.locator(".cand .row").nth(n).hover()
    assert told.inner_text() == nothing and page.locator(".node.lit").count() == 0
    idle(page)
    assert sent(page) == before
    first = rows(page)
    made, pauses = walk(page, "ArrowRight")
    assert made <= pauses and page.locator(".tree .step.now").all_inner_texts() == ["2"] and rows(page) != first


def test_a_typed_word_is_forced_piece_by_piece(visit):
    page = visit(CAT + "&step=2")
    said, link, before = translation(page), page.url, chips(page)
    box = page.get_by_role("textbox", name=WORD_BOX)
    type_text(page, "   ", WORD_BOX)
    fault = page.locator(".candidates .fault")
    assert fault.inner_text().strip().count(".") == 1 and "empty" in fault.inner_text()
    assert box.input_value() == "   "
    assert fault.bounding_box()["y"] > box.bounding_box()["y"]
    assert (translation(page), page.url) == (said, link)
    type_text(page, WORD, WORD_BOX)
    after = chips(page)
    pieces = len(query(page)["branch"].split("-")) - 1
    assert pieces > 1 and "".join(after[2 : 2 + pieces]) == WORD
    assert after[:2] == before[:2] and after[2 + pieces :] not in (before[2:], before[2 + pieces :])
    assert WORD in translation(page)
    assert page.locator(".node .token").all_inner_texts().count(after[2]) == 1
    assert box.input_value() == "" and fault.count() == 0


def test_markup_is_shown_as_text_and_runs_nothing(visit):
    text = "<script>alert(1)</script> <img src=x onerror=alert(1)>"
    page = visit(CAT + "&decode=yours")
    type_text(page, text, "Your translation")
    assert translation(page) == text
    assert text == page.locator(".st-key-own_row input").input_value()
    other = visit(CAT + "&step=1")
    type_text(other, text, WORD_BOX)
    assert translation(other).startswith(text)
    for shown in (page, other):
        shown.keyboard.press("End")  # all of it is known now, and none of it grey
        idle(shown)
        assert text in translation(shown)
        assert shown.locator("img[src=x]").count() == 0
        assert shown.locator("script", has_text="alert(1)").count() == 0


def test_space_plays_pauses_and_types(visit):
    page = visit(CAT)
    play = page.locator(".btn.play")
    page.keyboard.press("Space")
    expect(play).to_have_text("Pause")
    page.keyboard.press("Space")
    expect(play).to_have_text("Play")
    idle(page)
    for box in (page.get_by_role("textbox", name=name) for name in ("Sentence to translate", WORD_BOX)):
        box.press("End")
        before = box.input_value()
        box.press("Space")
        assert box.input_value() == before + " " and play.inner_text() == "Play"
    page.get_by_label("Target rows").focus()  # what stands in the box goes to the lab now
    idle(page)
    page.keyboard.press("Space")
    assert play.inner_text() == "Play"
