"""The ways to look at a decoding, in a real Chromium: rows, guessing, sentences; their links, their widths, their keys."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

import pytest

from tests.browser.conftest import idle, translation
from tests.browser.test_decoding import (
    BEAM,
    CAT,
    SAMPLE,
    branch,
    chips,
    click,
    give,
    query,
    rows,
    settled,
    step,
    titles,
)

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
FOCUS = """() => {
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
  return [at.className, at.getAttribute("aria-label") || ""];
}"""


def moved(page) -> None:
    page.get_by_role("slider", name="Temperature").press("ArrowRight")
    settled(page)


def prefer_yours(page) -> None:
    page.get_by_role("radio", name="Yours").click()
    settled(page)
    give(page, "Le chat noir dormait.")


def reveal(page) -> None:
    page.get_by_role("button", name="Predict first").click()
    settled(page)


VIEWS = {  # where a visitor begins, and what they do there
    "hypothesis": (BEAM + "&step=3", lambda page: click(page, ".pick", 2)),
    "branch": (CAT + "&step=4", branch),
    "sample": (SAMPLE + "&step=2&top_p=0.9", moved),
    "yours": (CAT, prefer_yours),
    "shifted": (CAT + "&step=3", lambda page: click(page, ".kind", 1)),
    "guess": (CAT + "&step=3", reveal),
    "sentence": (TWO, lambda page: click(page, "[class*='st-key-sentence-2'] button")),
}


def picture(page) -> dict[str, object]:
    """What is shown and what is chosen: of every part of the page."""
    return {
        "said": translation(page),
        "step": step(page),
        "pair": page.locator(".pair").inner_text(),
        "score": page.locator(".french .line span").inner_text(),
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


@pytest.mark.parametrize("name", VIEWS)
def test_the_link_of_a_view_shows_the_same_elsewhere(visit, name):
    where, act = VIEWS[name]
    page = visit(where)
    before = picture(page)
    act(page)
    page.mouse.move(0, 0)  # what is pointed at is no part of the link
    link = urlsplit(page.url).query
    assert link != where[1:] and picture(page) != before
    other = visit("?" + link)
    assert picture(other) == picture(page)
    assert urlsplit(other.url).query == link
    nothing_scrolls_sideways(page)


def nothing_scrolls_sideways(page) -> None:
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(600)
        assert page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        over = page.locator(".candidates, .tree, .timeline").evaluate_all(
            "parts => parts.map(part => part.scrollWidth - part.clientWidth)"
        )
        assert max(over) <= 0


@pytest.mark.parametrize(("kind", "n"), [("shifted", 1), ("training", 2)])
def test_the_inputs_are_the_outputs_shifted_right(visit, kind, n):
    page = visit(CAT + "&step=3")
    outputs = chips(page)[1:]
    click(page, ".kind", n)
    assert query(page)["rows"] == kind
    above = [chip.strip() for chip in page.locator(".target .input").all_inner_texts()]
    below = [chip.strip() for chip in page.locator(".target .chip:not(.input)").all_inner_texts()]
    assert below == outputs and above == ["<s>", *outputs[:-1]]
    waiting = page.locator(".target .todo").count()
    assert waiting == (0 if kind == "training" else 2 * (len(outputs) - 3))
    tops = [page.locator(f".target {row}").nth(2).bounding_box() for row in (".input", ".chip:not(.input)")]
    assert tops[0]["y"] + tops[0]["height"] < tops[1]["y"] and tops[0]["x"] == pytest.approx(tops[1]["x"], abs=1)
    page.keyboard.press("ArrowRight")
    assert page.locator(".pair").inner_text() == f"{outputs[2]} → {outputs[3]}"
    assert page.locator(".target .now").all_inner_texts() == [outputs[2], outputs[3]]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


@pytest.mark.parametrize("where", [TWO, BEAM, CAT + "&rows=training"])
def test_before_the_guess_no_token_of_the_future_is_anywhere(visit, where):
    at = 3
    page = visit(where + f"&step={at}")
    future = words(page.locator(".timeline .said .todo").inner_text()) | words(" ".join(chips(page)[at + 1 :]))
    likely = rows(page)
    assert future <= words(page.evaluate(PAGE_TEXT))
    reveal(page)
    typed = page.get_by_role("textbox", name="Sentence to translate").input_value()
    future -= words(translation(page)) | words(typed) | words(page.locator(".st-key-example_links").inner_text())
    assert len(future) > 2 and future & words(page.evaluate(PAGE_TEXT)) == set()
    assert likely and rows(page) == []
    assert page.locator(".pair").inner_text().endswith("→ ?")
    page.get_by_role("button", name="Show without guessing").click()
    assert rows(page) == likely


def test_a_right_guess_is_told_its_rank_and_the_next_step_hides_again(visit):
    page = visit(CAT + "&step=3")
    token = chips(page)[3]
    probability = page.locator(".cand .row.on .p").inner_text()
    reveal(page)
    box = page.get_by_role("textbox", name="Your guess for the next token")
    box.fill(token)
    box.press("Enter")
    verdict = page.locator(".candidates .verdict").inner_text()
    assert verdict == f"“{token}” is its number 1, with probability {probability}."
    assert page.locator(".pair").inner_text().endswith(f"→ {token}")
    page.wait_for_timeout(100)  # Enter gives the keys back to the steps
    page.keyboard.press("ArrowRight")
    assert step(page) == "4"
    assert rows(page) == [] and page.locator(".candidates .verdict").count() == 0
    assert page.locator(".pair").inner_text() == f"{token} → ?"


def test_a_wrong_guess_is_told_so(visit):
    page = visit(CAT + "&step=3&guess=first")
    box = page.get_by_role("textbox", name="Your guess for the next token")
    box.fill("§")
    box.press("Enter")
    assert page.locator(".candidates .verdict").inner_text() == "“§” is not among its 16 likeliest."


def test_the_second_of_several_sentences_is_padded_to_the_first(visit):
    page = visit(TWO + "&step=2")
    sources = [[chip.strip() for chip in page.locator(".source .chip").all_inner_texts()]]
    said = translation(page)
    assert page.locator(".lab-pair").count() == 2
    click(page, "[class*='st-key-sentence-2'] button")
    sources.append([chip.strip() for chip in page.locator(".source .chip").all_inner_texts()])
    assert query(page)["sentence"] == "2" and step(page) == "1"
    assert "<pad>" not in sources[0] and sources[1].count("<pad>") > 2
    assert len(sources[0]) == len(sources[1]) and sources[1][:3] == ["It", "is", "cold"]
    assert translation(page) != said
    pairs = page.locator(".lab-pair").all_inner_texts()
    assert pairs[0].endswith("→ " + said) and pairs[1] == "It is cold. → " + translation(page)
    alone = visit("?show=decoding&text=" + quote("It is cold."))
    assert translation(alone) == translation(page)
    assert page.locator(".source .chip.pad").evaluate_all(
        "chips => chips.every(chip => chip.title.endsWith('weight 0.000'))"
    )


def test_tab_reaches_the_tree_the_list_and_the_candidates(visit):
    page = visit(BEAM)
    page.get_by_role("textbox", name="Sentence to translate").focus()
    reached = set()
    for _ in range(90):
        page.keyboard.press("Tab")
        reached |= set(page.evaluate(FOCUS)[0].split())
    assert {"row", "node", "pick", "kind"} <= reached


def test_arrows_move_within_the_tree_and_leave_the_step(visit):
    page = visit(BEAM + "&step=3")
    page.locator(".node.on").last.focus()
    names = [page.evaluate(FOCUS)[1]]
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
        names.append(page.evaluate(FOCUS)[1])
    at = [int(re.match(r"Step (\d+),", name).group(1)) for name in names]
    assert [here - at[0] for here in at] == [0, -1, -2, -1, -1, -1]
    assert names[4] != names[3] == names[5]
    assert step(page) == "3"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    settled(page)
    assert step(page) == query(page)["step"] == str(at[0] - 2)


def test_enter_on_a_candidate_branches_off(visit):
    page = visit(CAT + "&step=4")
    said = translation(page)
    page.locator(".cand .row:not(.on)").first.focus()
    page.keyboard.press("Enter")
    settled(page)
    idle(page)
    assert translation(page) != said and "branch" in query(page)
