"""The Translate page in a real Chromium, as a visitor uses it."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.browser.conftest import idle, switch, translation, type_sentence

SETTLE_MS = 300


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_first_screen_shows_a_translation_and_loads_nothing_from_elsewhere(lab, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(lab)
    page.locator(".timeline .said").wait_for(timeout=30_000)
    idle(page)
    assert len(translation(page)) > 10
    assert page.locator(".js-plotly-plot").count() == 3
    assert {host for host in hosts if host} == {urlsplit(lab).netloc}
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 1280 - 208
    context.close()


def test_typing_a_sentence_translates_it(visit):
    page = visit()
    before = translation(page)
    type_sentence(page, "My sister lives in a small town.")
    assert translation(page) != before
    assert query(page)["text"] == "My sister lives in a small town."
    assert page.locator(".source .chip").first.inner_text().strip() == "My"


def test_what_is_being_typed_survives_a_step(visit):
    page = visit()
    page.keyboard.press("ArrowRight")
    box = page.get_by_role("textbox", name="Sentence to translate")
    box.press_sequentially("Half a sent")
    typed = box.input_value()
    page.wait_for_timeout(SETTLE_MS + 600)
    idle(page)
    assert query(page)["step"] == "2"
    assert box.input_value() == typed and "Half a sent" in typed


def test_an_example_fills_the_box(visit):
    page = visit()
    page.get_by_role("button", name="red car").click()
    page.wait_for_timeout(400)
    idle(page)
    assert "red car" in page.get_by_role("textbox", name="Sentence to translate").input_value()
    assert "rouge" in translation(page)


def drawn(page) -> tuple[str, str, str]:
    """What the timeline shows of its step: the pair, the lines, the candidates."""
    return (
        page.locator(".pair").inner_text(),
        page.locator(".rows svg").evaluate("svg => svg.innerHTML"),
        page.locator(".cand").inner_text(),
    )


def test_stepping_makes_no_frame_and_one_event_when_it_rests(visit):
    page = visit(wait=False)
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.reload()
    page.locator(".timeline .said").wait_for()
    idle(page)
    first = drawn(page)
    sent.clear()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    there = drawn(page)
    assert there[0] != first[0] and there[1] != first[1]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert drawn(page) == there
    page.keyboard.press("ArrowLeft")
    assert sent == []  # nothing yet: the last key is a few milliseconds old
    page.wait_for_timeout(SETTLE_MS + 500)
    idle(page)
    assert len(sent) == 1
    assert query(page)["step"] == "5"
    page.keyboard.press("Home")
    assert drawn(page) == first
    page.keyboard.press("End")
    assert page.locator(".pair").inner_text().endswith("</s>")


def cells(page, kind: str) -> list[list[float | None]]:
    """What a map draws: rows of weights, None where the cell is blank."""
    plot = page.locator(f".st-key-map-{kind} .js-plotly-plot")
    return plot.evaluate("p => Array.from(p.calcdata[0][0].z, row => Array.from(row, v => Number.isFinite(v) ? v : null))")


def test_after_typing_the_arrows_step_and_nothing_below_moves(visit):
    page = visit()
    type_sentence(page, "My sister lives in a small town.")
    tops = set()
    for step in range(1, page.locator(".target .chip").count()):
        assert page.locator(".timeline").get_attribute("data-step") == str(step)
        tops.add(page.locator(".st-key-map-cross").bounding_box()["y"])
        page.keyboard.press("ArrowRight")
    assert len(tops) == 1


def test_a_long_translation_scrolls_with_the_step(visit):
    page = visit("?text=Yes.&target=" + quote("Oui, je le veux bien, mais pas tout de suite. " * 6))
    page.keyboard.press("End")
    page.wait_for_timeout(600)
    idle(page)
    box = page.locator(".french .text")
    assert box.evaluate("e => e.scrollHeight > e.clientHeight")
    assert box.evaluate("e => e.scrollTop + e.clientHeight >= e.scrollHeight - 12")


def test_no_width_scrolls_sideways_or_lays_the_count_over_the_candidates(visit):
    page = visit()
    for width in (1920, 1280, 1024, 768, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(600)
        assert page.locator("[data-testid=stMain]").evaluate("e => e.scrollWidth - e.clientWidth") <= 0
        bar, side = page.locator(".pair").bounding_box(), page.locator(".candidates").bounding_box()
        assert bar["x"] + bar["width"] <= side["x"] or bar["y"] >= side["y"] or bar["y"] + bar["height"] <= side["y"]
        assert page.locator(".french .text").bounding_box()["width"] > 250


def test_the_pair_names_what_is_read_and_what_is_predicted(visit):
    page = visit("?step=2")
    chips = [chip.strip() for chip in page.locator(".target .chip").all_inner_texts()]
    assert chips[0] == "<s>" and chips[-1] == "</s>"
    assert page.locator(".pair").inner_text() == f"{chips[1]} → {chips[2]}"


def test_play_walks_to_the_end(visit):
    page = visit("?text=" + quote("Yes."))
    steps = page.locator(".target .chip").count() - 1
    page.locator(".btn.play").click()
    page.wait_for_timeout(700 * (steps + 1) + 800)
    assert page.locator(".timeline").get_attribute("data-step") == str(steps)
    assert page.locator(".btn.play").inner_text() == "Play"


def test_a_mask_switch_shows_its_change_and_lives_in_the_link(visit):
    page = visit()
    said, score = translation(page), page.locator(".french .line span").inner_text()
    assert page.locator(".st-key-change").count() == 0
    switch(page, "Causal mask")
    assert query(page)["causal"] == "off"
    assert page.locator(".st-key-change").count() == 1
    assert "The decoder sees later tokens." in page.locator(".lab-effect").first.inner_text()
    assert page.locator(".french .line span").inner_text() != score
    assert translation(page) == said  # the target is given
    heading = page.locator(".lab-rule").inner_text()
    change = re.search(r"by ([−+]\d+\.\d\d)", heading).group(1)
    assert change in page.locator(".lab-effect").first.inner_text()
    page.reload()
    page.locator(".timeline .said").wait_for()
    idle(page)
    assert page.locator(".lab-rule").inner_text() == heading
    page.go_back()
    page.wait_for_timeout(600)
    idle(page)
    assert "causal" not in query(page)
    assert page.locator(".st-key-change").count() == 0
    assert page.locator(".french .line span").inner_text() == score


def test_decoding_again_shows_both_translations(visit):
    page = visit("?causal=off&mode=again")
    assert page.locator(".lab-both p").count() == 2
    assert page.locator(".lab-both p").nth(1).inner_text() == translation(page)


def test_the_padding_mask_off_adds_padding_and_says_so(visit):
    page = visit()
    assert page.locator(".source .chip.pad").count() == 0
    switch(page, "Source padding mask")
    assert page.locator(".source .chip.pad").count() == 4
    assert "There were none: 4 were added." in page.locator(".lab-effect").nth(1).inner_text()


def test_masks_can_be_seen(visit):
    page = visit("?show=mask")
    allowed = [[int(bool(cell)) for cell in row] for row in cells(page, "decoder")]
    assert len(allowed) > 5
    assert allowed == [[int(j <= i) for j in range(len(allowed))] for i in range(len(allowed))]


def test_layer_and_head_change_the_maps_and_the_rows(visit):
    page = visit("?step=3")
    before, lines = cells(page, "cross"), drawn(page)[1]
    page.locator(".st-key-head").get_by_role("radio", name="5").click()
    page.wait_for_timeout(500)
    idle(page)
    assert query(page)["head"] == "5"
    assert cells(page, "cross") != before
    assert drawn(page)[1] != lines
    assert query(page)["step"] == "3"


def test_a_link_opens_the_same_view_elsewhere_and_tabs_do_not_disturb_each_other(visit):
    page = visit()
    type_sentence(page, "The old man reads a newspaper.")
    page.keyboard.press("Escape")
    page.locator(".bar .forward").click()
    page.locator(".bar .forward").click()
    page.wait_for_timeout(SETTLE_MS + 500)
    idle(page)
    other = visit("?" + urlsplit(page.url).query)
    assert translation(other) == translation(page)
    assert other.locator(".pair").inner_text() == page.locator(".pair").inner_text()
    type_sentence(other, "It is cold.")
    page.keyboard.press("End")
    page.wait_for_timeout(SETTLE_MS + 500)
    idle(page)
    assert page.get_by_role("textbox", name="Sentence to translate").input_value() == "The old man reads a newspaper."


@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(253, 253, 252)"), ("dark", "rgb(20, 24, 27)")])
def test_both_themes_reach_the_page_the_timeline_and_the_maps(visit, scheme, background):
    page = visit(color_scheme=scheme)
    assert page.locator(".stApp").evaluate("e => getComputedStyle(e).backgroundColor") == background
    ink = page.locator(".timeline").evaluate("e => getComputedStyle(e).color")
    assert ink == ("rgb(23, 28, 32)" if scheme == "light" else "rgb(236, 239, 240)")
    paper = page.locator(".st-key-map-cross .js-plotly-plot").evaluate("p => p.layout.paper_bgcolor")
    assert paper == ("#fdfdfc" if scheme == "light" else "#14181b")


def test_the_theme_of_the_menu_reaches_the_maps(visit):
    page = visit("?step=3")
    page.locator("[data-testid=stMainMenu]").click()
    page.locator("[data-testid=stMainMenuPopover]").get_by_text("dark_mode").locator("..").click()
    page.keyboard.press("Escape")
    page.wait_for_timeout(500)
    idle(page)
    assert page.locator(".st-key-map-cross .js-plotly-plot").evaluate("p => p.layout.paper_bgcolor") == "#14181b"
    assert page.locator(".timeline").evaluate("e => getComputedStyle(e).color") == "rgb(236, 239, 240)"
    assert query(page) == {"step": "3"}


def test_a_phone_shows_everything_without_scrolling_sideways(visit):
    page = visit()
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(500)
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
    bar = page.locator(".bar").bounding_box()
    assert bar["y"] + bar["height"] == pytest.approx(844, abs=1)
    assert min(box["height"] for box in (b.bounding_box() for b in page.locator(".bar .btn:visible").all())) >= 44


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_a_map_is_saved_as_a_picture(visit, kind):
    page = visit()
    if kind == "SVG":
        page.get_by_role("button", name="Save").click()
        page.get_by_role("radio", name="SVG").click()
        page.wait_for_timeout(500)
        idle(page)
        page.keyboard.press("Escape")
    chart = page.locator(".st-key-map-cross")
    chart.hover()
    with page.expect_download() as download:
        chart.locator("[data-title*='ownload'], [data-attr='toImage'], [aria-label*='ownload']").first.click()
    assert download.value.suggested_filename.endswith("." + kind.lower())
