"""Views of a decoding in a real Chromium: rows, guessing, sentences, keys; and hidden blanks of Fill in and Judge."""

import re
from urllib.parse import quote

from tests.browser.conftest import focused, go, idle, link, query, resize, sideways, translation, type_text, walk
from tests.browser.test_decoding import BEAM, CAT, branch, chips, click, rows, step, titles

TWO = "?show=decoding&text=" + quote("The old man reads a newspaper in the kitchen every morning. It is cold.")
PAGE_TEXT = """() => {
  const found = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) found.push(node.data);
    if (/^(STYLE|SCRIPT)$/.test(node.tagName)) return;
    if (node.getAttribute) for (const name of ["title", "aria-label", "alt"]) found.push(node.getAttribute(name) || "");
    found.push(node.value || "");
    if (node.shadowRoot) walk(node.shadowRoot);
    node.childNodes.forEach(walk);
  };
  walk(document.body);
  return found.join(" ");
}"""


def prefer_yours(page) -> None:
    page.get_by_role("radio", name="Yours").click()
    idle(page)
    type_text(page, "Le chat noir dormait.", "Your translation")


def reveal(page) -> None:
    page.get_by_role("button", name="Predict first").click()
    page.locator(".candidates").get_by_role("button", name="Stop guessing").wait_for()
    idle(page)


def another_path_of_shifted_rows(page) -> None:
    click(page, ".pick", 2)
    page.get_by_label("Target rows").select_option("shifted")
    idle(page)


VIEWS = {  # where a visitor begins, and what they do there
    "hypothesis": (BEAM + "&step=3", another_path_of_shifted_rows),
    "branch": (CAT + "&step=4", branch),
    "yours": (CAT, prefer_yours),
}


def picture(page) -> dict[str, object]:
    """Returns texts and choices of every part of the page."""
    return {
        "said": translation(page),
        "step": step(page),
        "pair": page.locator(".pair").inner_text(),
        "score": page.locator(".french .how").inner_text(),
        "attention": titles(page),
        "targets": chips(page),
        "candidates": rows(page),
        "tree": page.locator(".node").evaluate_all("nodes => nodes.map(node => node.className + node.ariaLabel)"),
        "hypotheses": page.locator(".pick").evaluate_all("picks => picks.map(pick => pick.className + pick.textContent)"),
        "chosen": page.locator("[role=radio][aria-checked=true], [aria-pressed=true]").all_inner_texts(),
        "sentence": page.locator(".lab-pair.chosen").all_inner_texts(),
        "branches": page.locator(".st-key-branches button").all_inner_texts(),
        "fields": page.locator("[data-testid=stMain] input").evaluate_all("boxes => boxes.map(box => box.value)"),
        "sliders": page.get_by_role("slider").evaluate_all("all => all.map(each => each.ariaValueNow ?? each.value)"),
    }


def test_the_link_of_a_view_shows_the_same_elsewhere(visit):
    page, other = visit(), visit()
    for name, (where, act) in VIEWS.items():
        go(page, where, ".timeline .said")
        before = picture(page)
        act(page)
        page.mouse.move(0, 0)  # what is pointed at is no part of the link
        assert link(page) != where[1:] and picture(page) != before, name
        go(other, "?" + link(page), ".timeline .said")
        assert picture(other) == picture(page), name
        assert link(other) == link(page), name
        if name in ("hypothesis", "branch"):
            nothing_scrolls_sideways(page)
            resize(page, 1280, 720)


def nothing_scrolls_sideways(page) -> None:
    for width in (1280, 390):
        resize(page, width)
        assert sideways(page) <= 0
        over = page.locator(".candidates, .tree, .timeline").evaluate_all(
            "parts => parts.map(part => part.scrollWidth - part.clientWidth)"
        )
        assert max(over) <= 0


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def test_no_future_token_is_on_the_page_before_a_guess(visit):
    at = 3
    page = visit(TWO + f"&decode=beam&width=4&rows=training&step={at}")
    future = words(page.locator(".timeline .said .todo").inner_text()) | words(" ".join(chips(page)[at + 1 :]))
    likely = rows(page)
    assert len(future) > 2 and future <= words(page.evaluate(PAGE_TEXT))
    reveal(page)
    typed = page.get_by_role("textbox", name="Sentence to translate").input_value()
    future -= words(translation(page)) | words(typed) | words(page.locator(".st-key-examples").inner_text())
    assert len(future) > 2 and future & words(page.evaluate(PAGE_TEXT)) == set()
    assert likely and rows(page) == []
    assert page.locator(".pair").inner_text().endswith("→ ?")
    page.get_by_role("button", name="Show without guessing").click()
    assert rows(page) == likely


def test_arrows_move_within_the_tree_and_leave_the_step(visit):
    page = visit(BEAM + "&step=3")
    page.locator(".node.on").last.focus()
    names = [focused(page).get_attribute("aria-label")]
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        names.append(focused(page).get_attribute("aria-label"))
    at = [int(re.match(r"Step (\d+),", name).group(1)) for name in names]
    assert [here - at[0] for here in at] == [0, -1, -2, -1, -1, -1]
    assert names[4] != names[3] == names[5]
    assert step(page) == "3"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    there = str(at[0] - 2)
    page.wait_for_function("step => new URLSearchParams(location.search).get('step') === step", arg=there)
    idle(page)
    assert step(page) == query(page)["step"] == there
    said = translation(page)
    page.locator(".cand .row:not(.on)").first.focus()
    page.keyboard.press("Enter")
    idle(page)
    assert translation(page) != said and "branch" in query(page)


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
    page.locator(".judged .chip.now", has_text="dull").wait_for()
    idle(page)
    assert page.locator(".judged .chip.now").inner_text().strip("·") == "dull"
    resize(page, 390)
    assert sideways(page) <= 0
