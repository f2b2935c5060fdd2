"""How tokens are chosen, in a real Chromium: paths, branches, typed words, keys."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import idle, query, sent, translation, walk

CAT = "?show=decoding&text=" + quote("The black cat was sleeping on the table because it was tired.")
BEAM = CAT + "&decode=beam&width=4"
SAMPLE = CAT + "&decode=sample&temperature=1.5&top_k=40&top_p=1&seed=7"
WORD = "Nabuchodonosor"  # in no small vocabulary: several pieces
MARKUP = "<script>alert(1)</script> <img src=x onerror=alert(1)>"
STRUCK = """cells => cells.map(cell =>
  [cell, cell.parentNode].some(node => getComputedStyle(node).textDecorationLine.includes("line-through")))"""


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


def type_word(page, text: str) -> None:
    box = page.get_by_role("textbox", name="Or type a word")
    box.fill(text)
    box.press("Enter")
    idle(page)


def give(page, text: str) -> None:
    box = page.get_by_role("textbox", name="Your translation")
    box.fill(text)
    box.press("Enter")
    idle(page)


def test_another_hypothesis_of_the_list_changes_text_and_link(visit):
    page, found = visit(BEAM), []
    assert page.locator(".pick").count() == 4
    for n in (2, 1, 0):
        click(page, ".pick", n)
        assert translation(page) == page.locator(".pick .text").nth(n).inner_text()
        found.append((translation(page), query(page).get("path")))
    said, paths = zip(*found, strict=True)
    assert len(set(said)) == len(set(paths)) == 3 and paths[2] is None


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


def test_hovering_sends_nothing_and_tells_the_text_of_the_path(visit):
    page = visit(BEAM)
    before = sent(page)
    told = page.locator(".tree .said")
    nothing = told.inner_text()
    for n in range(page.locator(".pick").count()):
        page.locator(".pick").nth(n).hover()
        assert told.inner_text().startswith(page.locator(".pick .text").nth(n).inner_text() + " (finished")
    nodes = page.locator(".node")
    for n in {0, 1, nodes.count() // 2, nodes.count() - 1}:
        nodes.nth(n).hover()
        number, text = re.match(
            r"(?s)Step (\d+),.*?score −\d+\.\d\d: (.*)$", nodes.nth(n).get_attribute("aria-label")
        ).groups()
        assert told.inner_text().startswith(text.strip())
        assert page.locator(".node.lit").count() == int(number)
    for n in range(3):
        page.locator(".cand .row").nth(n).hover()
    assert told.inner_text() == nothing and page.locator(".node.lit").count() == 0
    idle(page)
    assert sent(page) == before


def test_stepping_marks_the_tree_and_the_candidates_and_tells_the_server_once_at_rest(visit):
    page = visit(BEAM)
    before, seen = sent(page), [rows(page)]
    for number in range(2, 8):
        made, pauses = walk(page, "ArrowRight")
        assert made <= pauses
        assert page.locator(".tree .step.now").all_inner_texts() == [str(number)]
        seen.append(rows(page))
    assert all(before != after for before, after in pairwise(seen))
    idle(page)
    assert sent(page) > before and query(page)["step"] == "7"
    before = sent(page)
    _, pauses = walk(page, *["ArrowLeft"] * 5)
    idle(page)
    assert 1 <= sent(page) - before <= 1 + pauses and query(page)["step"] == "2"


def test_a_candidate_branches_off_and_one_click_goes_back(visit):
    page = visit(CAT + "&step=4")
    before, said = chips(page), translation(page)
    token = branch(page)
    after = chips(page)
    assert after[:4] == before[:4] and after[4] == token != before[4]
    assert step(page) == "4" and query(page)["branch"].count("-") == 3
    shown = page.locator(".node[aria-label^='Step 4,'] .token").all_inner_texts()
    assert set(shown) == {before[4], token}
    assert set(page.locator(".pick .text").all_inner_texts()) == {said, translation(page)}
    page.get_by_role("button", name="Back to the original").click()
    idle(page)
    assert translation(page) == said and "branch" not in query(page)
    assert page.locator(".pick").count() == 0


def test_an_empty_word_is_told_under_the_field_and_a_word_is_forced_piece_by_piece(visit):
    page = visit(CAT + "&step=2")
    said, link, before = translation(page), page.url, chips(page)
    box = page.get_by_role("textbox", name="Or type a word")
    type_word(page, "   ")
    fault = page.locator(".candidates .fault")
    assert fault.inner_text().strip().count(".") == 1 and "empty" in fault.inner_text()
    assert box.input_value() == "   "
    assert fault.bounding_box()["y"] > box.bounding_box()["y"]
    assert (translation(page), page.url) == (said, link)
    type_word(page, WORD)
    after = chips(page)
    pieces = len(query(page)["branch"].split("-")) - 1
    assert pieces > 1 and "".join(after[2 : 2 + pieces]) == WORD
    assert after[:2] == before[:2] and after[2 + pieces :] not in (before[2:], before[2 + pieces :])
    assert WORD in translation(page)
    assert page.locator(".node .token").all_inner_texts().count(after[2]) == 1
    assert box.input_value() == "" and fault.count() == 0


def test_what_is_cut_is_struck_through(visit):
    page = visit(SAMPLE.replace("top_k=40", "top_k=3"))
    cut = page.locator(".cand .row").evaluate_all("rows => rows.map(row => row.classList.contains('cut'))")
    assert cut[:3] == [False] * 3 and len(cut) > 3 and all(cut[3:])
    assert page.locator(".cand .row .t").evaluate_all(STRUCK) == cut


def test_markup_is_shown_as_text_and_runs_nothing(visit):
    """The fixture fails on any dialog."""
    text = MARKUP
    page = visit(CAT + "&decode=yours")
    give(page, text)
    assert translation(page) == text
    assert text == page.locator(".st-key-own_row input").input_value()
    other = visit(CAT)
    type_word(other, text)
    assert translation(other).startswith(text)
    for shown in (page, other):
        shown.keyboard.press("End")  # all of it is known now, and none of it grey
        idle(shown)
        assert text in translation(shown)
        assert shown.locator("img[src=x]").count() == 0
        assert shown.locator("script", has_text="alert(1)").count() == 0


def test_space_plays_and_pauses_but_types_and_presses_where_it_should(visit):
    page = visit(CAT)
    play = page.locator(".btn.play")
    page.keyboard.press("Space")
    expect(play).to_have_text("Pause")
    page.keyboard.press("Space")
    expect(play).to_have_text("Play")
    idle(page)
    for box in (
        page.get_by_role("textbox", name="Sentence to translate"),
        page.get_by_role("textbox", name="Or type a word"),
    ):
        box.press("End")
        before = box.input_value()
        box.press("Space")
        assert box.input_value() == before + " " and play.inner_text() == "Play"
    page.locator(".kind").nth(1).focus()  # what stands in the box goes to the lab now
    idle(page)
    page.keyboard.press("Space")
    expect(page.locator(".kind").nth(1)).to_have_attribute("aria-pressed", "true")
    assert play.inner_text() == "Play"


def test_back_from_another_page_is_the_page_before_as_it_was(visit):
    page = visit(BEAM)
    before = translation(page)
    for name in ("Heads", "Translate"):
        page.get_by_role("link", name=name).click()
        idle(page)
    page.go_back()
    idle(page)
    page.go_back()
    page.locator(".all-heads canvas").first.wait_for()
    idle(page)
    assert page.get_by_role("textbox", name="Sentence to translate").input_value().startswith("The black cat")
    for _ in range(2):  # the entry with the link, and the one without
        if "/heads" in page.url:
            page.go_back()
            idle(page)
    page.locator(".timeline .said").wait_for()
    assert translation(page) == before


def test_the_cache_grows_with_the_step_and_nothing_is_sent(visit):
    page = visit(CAT.replace("decoding", "cache") + "&step=3")
    told, kept = page.locator(".key-values"), page.locator(".key-values .side").first.locator("rect.kept").first
    expect(told).to_have_attribute("data-step", "3")
    width = kept.bounding_box()["width"]
    frames, pauses = walk(page, "ArrowRight", "ArrowRight")
    expect(told).to_have_attribute("data-step", "5")
    assert frames <= pauses
    assert kept.bounding_box()["width"] / width == pytest.approx(2, rel=0.05)  # four tokens are kept, where two were
    assert "Step 5 reads" in told.inner_text()
    walk(page, "ArrowLeft")
    expect(told).to_have_attribute("data-step", "4")
