"""The Translate page in a real Chromium, as a visitor uses it."""

import re
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import idle, query, resize, sent, sideways, switch, translation, type_text, walk

DOUBTFUL = (
    "Yesterday evening my sister and her two children walked through the old town to the station because they wanted to "
    "meet our grandmother, who had travelled all day from the mountains with a very heavy suitcase."
)
LIGHT, DARK = ("rgb(253, 253, 252)", *["rgb(23, 28, 32)"] * 2), ("rgb(20, 24, 27)", *["rgb(236, 239, 240)"] * 2)


def test_the_first_screen_loads_nothing_from_elsewhere(lab, visit):
    page, hosts = visit(fresh=True), set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.reload()
    idle(page)
    assert len(translation(page)) > 10
    assert page.locator(".maps canvas").count() == 3
    assert {host for host in hosts if host} == {urlsplit(lab).netloc}


def drawn(page) -> tuple[str, str, str]:
    """What the timeline shows of its step: the pair, the lines, the candidates."""
    return (
        page.locator(".pair").inner_text(),
        page.locator(".rows svg").evaluate("svg => svg.innerHTML"),
        page.locator(".cand").inner_text(),
    )


def outlined(page) -> list[str | None]:
    """The row that is outlined in each map."""
    return page.locator(".maps canvas").evaluate_all("all => all.map((each) => each.dataset.row ?? null)")


def test_stepping_sends_one_event_at_rest(visit):
    page = visit()
    first, before = drawn(page), sent(page)
    made, pauses = walk(page, *["ArrowRight"] * 5)
    there = drawn(page)
    assert there[0] != first[0] and there[1] != first[1]
    assert outlined(page) == [None, "6", "6"]
    again, more = walk(page, "ArrowLeft", "ArrowRight")
    assert drawn(page) == there
    walk(page, "ArrowLeft")
    assert made <= pauses and again <= more
    idle(page)
    assert query(page)["step"] == "5"
    assert sent(page) > before
    before = sent(page)
    made, pauses = walk(page, "ArrowRight", "ArrowLeft", "ArrowLeft")
    idle(page)
    assert 1 <= sent(page) - before <= 1 + pauses
    page.keyboard.press("Home")
    assert drawn(page) == first
    page.keyboard.press("End")
    assert page.locator(".pair").inner_text().endswith("</s>")


def test_pointing_at_a_token_sends_nothing(visit):
    page = visit("?step=3")
    label, first, before = page.locator(".frame > .label").first, drawn(page), sent(page)
    said = label.inner_text()
    page.locator(".source .chip").nth(1).hover()
    expect(label).to_contain_text("“dog” is looked at by Le → chien")
    assert page.locator(".rows path[data-row]").count() == page.locator(".target .chip").count() - 1
    page.locator(".target .chip").nth(2).hover()
    expect(label).to_contain_text("“Le → chien” looks at ")
    page.mouse.move(5, 5)
    expect(label).to_have_text(said)
    page.locator(".rows").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(label).to_contain_text("“dog” is looked at by ")
    page.keyboard.press("Escape")
    assert drawn(page) == first
    idle(page)
    assert sent(page) == before


def test_the_player_stands_still_whatever_there_is_to_say(visit):
    page = visit("?layer=77&edits=nothing&target=" + quote("Le chien dort."))
    player, tops = page.locator(".bar"), {}

    def look(state: str) -> None:
        idle(page)
        tops[state] = player.bounding_box()["y"]

    look("faults of the link, and a target that is given")
    assert page.locator(".lab-note.warn").count() == 2 and page.get_by_text("The target is given.").count() == 1
    page.get_by_role("button", name="Let the model translate").click()
    type_text(page, DOUBTFUL)
    look("warnings. ")
    verdict = page.locator(".verdict.some")
    assert re.match(r"\d warnings\. \d+% of .* were bad \(all: \d+%\)\.$", verdict.inner_text())
    verdict.click()
    panel = page.get_by_role("dialog", name="What makes it doubtful")
    expect(panel.locator("li")).to_have_count(int(verdict.inner_text()[0]))
    look("its signs, open")
    timeline, forward = page.locator(".timeline"), page.locator(".bar .forward")
    step = timeline.get_attribute("data-step")
    forward.click()  # beside the panel: it closes, and nothing else
    expect(panel).to_be_hidden()
    assert timeline.get_attribute("data-step") == step
    forward.click()
    assert timeline.get_attribute("data-step") == str(int(step) + 1)
    page.locator(".cand .row:not(.on)").first.click()
    look("a branch")
    assert page.locator(".st-key-branches").count() == 1
    switch(page, "Causal mask")
    look("a branch, without the mask")
    page.get_by_role("button", name="Predict first").click()
    look("guessing")
    assert page.locator(".verdict").count() == 0  # it names tokens that are to be guessed
    assert len(set(tops.values())) == 1, tops


def test_no_width_scrolls_sideways(visit):
    page = visit()
    for width in (1920, 1280, 1024, 768, 390):
        resize(page, width)
        assert sideways(page) <= 0
        page.locator(".candidates").evaluate("box => box.scrollIntoView({ block: 'center' })")
        bar, side = page.locator(".pair").bounding_box(), page.locator(".candidates").bounding_box()
        assert bar["x"] + bar["width"] <= side["x"] or bar["y"] >= side["y"] or bar["y"] + bar["height"] <= side["y"]
        assert page.locator(".french .text").bounding_box()["width"] > 250
    bar = page.locator(".bar").bounding_box()  # of a phone: at the lower end, for a thumb
    assert bar["y"] + bar["height"] == pytest.approx(800, abs=1)
    assert min(box["height"] for box in (b.bounding_box() for b in page.locator(".bar .btn:visible").all())) >= 44


def test_the_back_button_restores_a_switch(visit):
    page = visit()
    score = page.locator(".french .line span").inner_text()
    switch(page, "Causal mask")
    assert query(page)["causal"] == "off"
    heading = page.locator(".lab-rule").inner_text()
    assert page.locator(".french .line span").inner_text() != score
    page.reload()
    idle(page)
    assert page.locator(".lab-rule").inner_text() == heading
    page.go_back()
    idle(page)
    assert "causal" not in query(page)
    assert page.locator(".st-key-translate-change").count() == 0
    assert page.locator(".french .line span").inner_text() == score


def colours(page) -> tuple[str, str, str]:
    """Of the page, of the timeline's text, and of the maps' text."""
    return (
        page.locator(".stApp").evaluate("e => getComputedStyle(e).backgroundColor"),
        page.locator(".timeline").evaluate("e => getComputedStyle(e).color"),
        page.locator(".maps").evaluate("e => getComputedStyle(e).color"),
    )


def test_both_themes_reach_page_and_maps(visit):
    assert colours(visit(color_scheme="dark")) == DARK
    page = visit("?step=3")
    assert colours(page) == LIGHT
    page.locator("[data-testid=stMainMenu]").click()
    page.locator("[data-testid=stMainMenuPopover]").get_by_text("dark_mode").locator("..").click()
    page.keyboard.press("Escape")
    page.wait_for_function(
        "dark => getComputedStyle(document.querySelector('.stApp')).backgroundColor === dark", arg=DARK[0]
    )
    idle(page)
    assert colours(page) == DARK
    assert query(page) == {"step": "3"}
