"""The Translate page in a real Chromium, and the first minute: the next step, and a lesson that is solved and remembered."""

import re
from urllib.parse import quote, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import idle, query, resize, sent, sideways, switch, translation, type_text, walk
from viz.lessons.lessons import LESSONS, find
from viz.state.links import link

DOUBTFUL = (
    "Yesterday evening my sister and her two children walked through the old town to the station because they wanted to "
    "meet our grandmother, who had travelled all day from the mountains with a quixotic zookeeper and a marzipan hedgehog."
)
LIGHT, DARK = ("rgb(253, 253, 252)", *["rgb(23, 28, 32)"] * 2), ("rgb(20, 24, 27)", *["rgb(236, 239, 240)"] * 2)


def test_the_first_screen_loads_nothing_from_elsewhere(lab, visit):
    page, hosts = visit(fresh=True), set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.reload()
    idle(page)
    assert len(translation(page)) > 10
    assert page.locator(".head-map canvas").count() == 2
    assert {host for host in hosts if host} == {urlsplit(lab).netloc}


def test_a_pressed_button_is_readable_under_the_pointer(visit):
    page = visit()
    pressed = page.locator(".groups button[aria-pressed=true]", has_text="Attention")
    pressed.hover()
    colours = pressed.evaluate("node => [getComputedStyle(node).color, getComputedStyle(node).backgroundColor]")
    assert colours[0] != colours[1]


def test_the_menu_of_examples_works_with_the_keyboard(visit):
    page = visit()
    opener = page.get_by_role("button", name=re.compile(r"^\d+ more$"))
    opener.focus()
    page.keyboard.press("Enter")
    first = page.locator(".items button").first
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(opener).to_be_focused()
    opener.click()
    sentence = first.inner_text()
    first.click()
    expect(page.get_by_role("textbox", name="Sentence to translate")).to_have_value(sentence)
    expect(first).to_be_hidden()


def step_content(page) -> tuple[str, str, str]:
    """Returns the pair, the lines and the candidates of the timeline's step."""
    pair, candidates = (page.locator(each).inner_text() for each in (".pair", ".cand"))
    return pair, page.locator(".rows svg").evaluate("svg => svg.innerHTML"), candidates


def outlined(page) -> list[str | None]:
    """The row that is outlined in the large map."""
    return page.locator(".head-map .map canvas").evaluate_all("all => all.map((each) => each.dataset.row ?? null)")


def test_stepping_sends_one_event_at_rest(visit):
    page = visit("?step=1")
    first, before = step_content(page), sent(page)
    made, pauses = walk(page, *["ArrowRight"] * 5)
    there = step_content(page)
    assert there[0] != first[0] and there[1] != first[1]
    assert outlined(page) == ["6"]
    again, more = walk(page, "ArrowLeft", "ArrowRight")
    assert step_content(page) == there
    walk(page, "ArrowLeft")
    assert made <= pauses and again <= more + 1  # a slow machine rests between the two walks, too
    idle(page)
    assert query(page)["step"] == "5" and sent(page) > before
    before = sent(page)
    made, pauses = walk(page, "ArrowRight", "ArrowLeft", "ArrowLeft")
    idle(page)
    assert 1 <= sent(page) - before <= 1 + pauses
    page.keyboard.press("Home")
    assert step_content(page) == first
    page.keyboard.press("End")
    assert page.locator(".pair").inner_text().endswith("</s>")


def test_pointing_at_a_token_sends_nothing(visit):
    page = visit("?step=3")
    label, first, before = page.locator(".frame > .label").first, step_content(page), sent(page)
    said = label.inner_text()
    page.locator(".source .chip").nth(1).hover()
    expect(label).to_contain_text("“dog” is looked at by Le → chien")
    assert page.locator(".rows path[data-row]").count() == page.locator(".target .chip").count() - 1
    page.locator(".target .chip").nth(2).hover()
    expect(label).to_contain_text("“chien”: dog. “Le → chien” looks at ")
    meanings = [page.locator(each).first.get_attribute("title") for each in (".said [title]", ".cand .row.on")]
    assert meanings[0] == "“le”: the, him, it" and meanings[1].startswith("“n'”: not (with pas)")
    page.mouse.move(5, 5)
    expect(label).to_have_text(said)
    page.locator(".rows").focus()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(label).to_contain_text("“dog” is looked at by ")
    page.keyboard.press("Escape")
    assert step_content(page) == first
    idle(page)
    assert sent(page) == before


PLACE = "node => node.getBoundingClientRect().y + document.querySelector('[data-testid=stMain]').scrollTop"  # on the page


def test_the_player_stands_still_whatever_there_is_to_say(visit):
    page = visit("?layer=77&edits=nothing&target=" + quote("Le chien dort."))
    player, tops = page.locator(".bar"), {}

    def look(state: str) -> None:
        idle(page)
        tops[state] = player.locator("visible=true").evaluate(PLACE)

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
    assert panel.evaluate("(node) => node.scrollWidth <= node.clientWidth && node.scrollHeight <= node.clientHeight")
    timeline, forward = page.locator(".timeline"), page.locator(".bar .forward")
    step = timeline.get_attribute("data-step")
    forward.click()  # beside the panel: it closes, and nothing else
    expect(panel).to_be_hidden()
    assert timeline.get_attribute("data-step") == step
    forward.click()
    assert timeline.get_attribute("data-step") == str(int(step) + 1)
    idle(page)  # the run that the step has asked for draws the candidates anew
    page.locator(".cand .row:not(.on)").first.click()
    page.locator(".st-key-branches").wait_for()
    look("a branch")
    assert page.locator(".st-key-branches").count() == 1
    page.get_by_role("button", name="Masks").click()
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
    page = visit("?show=mask")
    score = page.locator(".french .how").inner_text()
    switch(page, "Causal mask")
    assert query(page)["causal"] == "off"
    heading = page.locator(".lab-rule").inner_text()
    assert page.locator(".french .how").inner_text() != score
    page.reload()
    idle(page)
    assert page.locator(".lab-rule").inner_text() == heading
    page.go_back()
    idle(page)
    assert "causal" not in query(page)
    assert page.locator(".st-key-translate-change").count() == 0
    assert page.locator(".french .how").inner_text() == score


def colours(page) -> tuple[str, str, str]:
    """Of the page, of the timeline's text, and of the maps' text."""
    styles = (".stApp", "backgroundColor"), (".timeline", "color"), (".head-map", "color")
    return tuple(page.locator(node).evaluate(f"e => getComputedStyle(e).{name}") for node, name in styles)


def test_both_themes_reach_page_and_maps(visit):
    assert colours(visit(color_scheme="dark")) == DARK
    page = visit("?step=3")
    assert colours(page) == LIGHT
    page.locator("[data-testid=stMainMenu]").click()
    page.locator("[data-testid=stMainMenuPopover]").get_by_text("dark_mode").locator("..").click()
    page.keyboard.press("Escape")
    expect(page.locator(".stApp")).to_have_css("background-color", DARK[0])
    idle(page)
    assert colours(page) == DARK
    assert query(page) == {"step": "3"}


def test_the_next_step_is_taken_and_dismissed_for_good(visit):
    page = visit()
    step = page.get_by_role("button", name="Next: switch the causal mask off")
    step.click()
    idle(page)
    assert (query(page)["causal"], query(page)["show"], step.count()) == ("off", "mask", 0)  # it is done: another is next
    page.get_by_role("button", name="Do not show this again").click()
    assert page.locator(".lab-next button").count() == 0
    page.reload()
    idle(page)
    assert page.locator(".lab-next button").count() == 0 and page.locator(".lab-next").count() == 1


def test_a_solved_lesson_is_remembered(visit):
    lesson = find("unsure")
    page = visit("?" + urlencode(link(lesson.view)))
    strip = page.locator(".lesson-strip")
    assert strip.get_by_role("status").inner_text().startswith("Step 1 writes")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    strip.get_by_text("✓ Solved").wait_for()
    page.keyboard.press("ArrowRight")  # moving on does not take it back
    idle(page)
    assert query(page)["step"] == "4" and strip.get_by_text("✓ Solved").count() == 1
    strip.get_by_role("link", name="Next ›").click()
    page.locator("h1", has_text="How is one number made?").wait_for()
    idle(page)
    assert query(page)["lesson"] == "formula" and strip.get_by_text("✓ Solved").count() == 0
    page.get_by_role("link", name="Lessons").click()
    page.get_by_text(f"1 of {len(LESSONS) + 1} solved").wait_for()
    assert page.get_by_role("img", name="Solved", exact=True).count() == 1
    idle(page)
    strip.get_by_role("button", name="Leave").click()
    strip.wait_for(state="detached")
    assert "lesson" not in query(page)
