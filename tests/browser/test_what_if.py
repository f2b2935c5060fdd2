"""The What if page in a real Chromium: edit by clicking, see the translation answer, take it back, send the link."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from model import Request, analyse, head_effects, load
from model.edits.intervention import Intervention
from model.edits.kinds import Block, Place
from tests.browser.conftest import idle, type_sentence

SENTENCE = "The dog bites the man."


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def shown(page) -> str:
    """The edited translation, or the only one."""
    edited = page.locator(".lab-both p").nth(1)
    return (edited if edited.count() else page.locator(".lab-translation")).inner_text().strip()


def settled(page) -> None:
    page.wait_for_timeout(500)
    idle(page)


@pytest.fixture
def what_if(visit):
    def opened(link: str = "", **options):
        page = visit("what-if" + link, wait=False, **options)
        page.locator(".switchboard canvas").wait_for()
        idle(page)
        return page

    return opened


@pytest.fixture(scope="module")
def telling():
    """A cell of the cross-attention whose block, at all layers, changes the translation: measured, not guessed."""
    lab, request = load("en-fr"), Request(SENTENCE, mode="again")
    plain = analyse(lab, request)
    for query_, key in ((t, s) for t in range(1, 6) for s in range(1, 5)):
        edit = Block(Place("cross"), query_, key)
        found = analyse(lab, Request(SENTENCE, mode="again", intervention=Intervention(edits=(edit,))))
        if found.translation != plain.translation:
            return edit, plain.translation, found.translation
    raise AssertionError("no cell of this sentence changes its translation")


def click_cell(page, row: int, column: int) -> None:
    """Clicks a cell of the mask matrix by its measured place: labels stand left of it and above."""
    canvas = page.locator(".switchboard canvas")
    box, count = canvas.bounding_box(), page.locator(".switchboard canvas").get_attribute("aria-label")
    rows, columns = map(int, re.search(r"(\d+) rows by (\d+) columns", count).groups())
    size = (box["height"] - 50) / rows
    left = box["width"] - 30 - columns * size
    canvas.click(position={"x": left + (column + 0.5) * size, "y": 48 + (row + 0.5) * size})
    settled(page)


def test_a_cell_is_blocked_by_clicking_and_the_translation_answers(what_if, telling):
    edit, before, after = telling
    page = what_if(f"?text={quote(SENTENCE)}&kind=cross&mode=again")
    assert shown(page) == before
    click_cell(page, edit.query, edit.key)
    assert query(page)["edits"] == edit.code
    assert shown(page) == after
    assert page.locator(".lab-verdict").inner_text().strip() != "Nothing is edited"
    page.get_by_role("button", name="Undo").click()
    settled(page)
    assert shown(page) == before
    assert "edits" not in query(page)
    page.get_by_role("button", name="Redo").click()
    settled(page)
    assert shown(page) == after


def test_the_link_of_an_edit_opens_the_same_in_a_fresh_browser(what_if, telling):
    edit, _, after = telling
    page = what_if(f"?text={quote(SENTENCE)}&kind=cross&mode=again")
    click_cell(page, edit.query, edit.key)
    fresh = what_if("?" + urlsplit(page.url).query)
    assert shown(fresh) == shown(page) == after
    assert fresh.locator(".st-key-edit_bar").inner_text() == page.locator(".st-key-edit_bar").inner_text()


def test_the_head_that_the_ranking_puts_first_can_be_switched_off(what_if):
    page = what_if(f"?text={quote(SENTENCE)}")
    first = page.locator(".st-key-ranking button").first
    name, change = first.inner_text().strip(), page.locator(".st-key-ranking .lab-number").first.inner_text()
    most = max(head_effects(load("en-fr"), Request(SENTENCE)), key=lambda e: abs(e.change))
    assert name.endswith(f"L{most.site.layer + 1} head {most.head + 1}")
    first.click()
    settled(page)
    assert query(page)["edits"] == most.edit.code
    verdict = page.locator(".lab-verdict").inner_text().replace("−", "-")
    before, after = map(float, re.findall(r"-?\d+\.\d+", verdict))
    assert after - before == pytest.approx(float(change.replace("−", "-")), abs=0.02)
    assert page.locator(".switchboard button.off").count() == 1


def test_everything_is_reached_by_keys(what_if):
    page = what_if(f"?text={quote(SENTENCE)}")
    page.locator(".switchboard canvas").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Space"):
        page.keyboard.press(key)
    settled(page)
    assert query(page)["edits"] == "block_enc_3-2"
    page.keyboard.press("Space")  # the focus has stayed where it was
    settled(page)
    assert "edits" not in query(page)
    page.locator(".switchboard canvas").focus()
    for key in ("ArrowLeft", "ArrowLeft", "Space"):  # beyond the first column stand the rows themselves
        page.keyboard.press(key)
    settled(page)
    assert query(page)["edits"] == "block_enc_3-all"
    for key in ("Space", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Space"):
        page.keyboard.press(key)
        settled(page)
    assert query(page)["edits"] == "block_enc_all-1"
    page.keyboard.press("Space")
    settled(page)
    page.locator(".switchboard .grid button").first.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    settled(page)
    assert query(page)["edits"] == "off_enc.2.2"


def test_hovering_and_moving_send_nothing(what_if):
    page = what_if()
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.reload()
    page.locator(".switchboard canvas").wait_for()
    settled(page)
    sent.clear()
    box = page.locator(".switchboard canvas").bounding_box()
    for step in range(12):
        page.mouse.move(box["x"] + 80 + 10 * step, box["y"] + 60 + 8 * step)
    page.locator(".switchboard canvas").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    assert page.locator(".switchboard .said").inner_text()
    assert sent == []


def test_each_question_is_answered_and_its_link_answers_it_again(what_if):
    page, answers = what_if(), {}
    sentence = page.get_by_role("textbox", name="Sentence to translate").input_value()
    for name in ("padding", "scaling", "align", "skip", "order", "peek"):
        page.locator(f".st-key-try-{name} button").click()
        page.wait_for_function("() => document.querySelector('.lab-answer')")
        settled(page)
        assert query(page)["try"] == name
        answers[urlsplit(page.url).query] = said = page.locator(".lab-answer").inner_text()
        assert re.search(r"\d", said), said
        if name == "order":  # it has brought a sentence of its own
            type_sentence(page, sentence)
    assert len(set(answers.values())) == 6
    fresh = what_if("?" + next(iter(answers)))
    for link, said in list(answers.items())[::3]:
        fresh.goto(fresh.url.partition("?")[0] + "?" + link)
        fresh.locator(".lab-answer").wait_for()
        idle(fresh)
        assert fresh.locator(".lab-answer").inner_text() == said
        assert fresh.locator(".lab-fault").count() == 0


def test_the_leak_test_finds_a_mask_that_is_off(what_if):
    page = what_if()
    page.locator("label", has=page.get_by_role("switch", name="Test it")).click()
    settled(page)
    assert page.locator(".st-key-leaks").inner_text().count("No leak") == 2
    broken = what_if("?causal=off&padmask=off")
    broken.locator("label", has=broken.get_by_role("switch", name="Test it")).click()
    settled(broken)
    assert broken.locator(".st-key-leaks .warn").count() == 2


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ("off_cross.1.99", "names head 99; this checkpoint has 8"),
        ("off_cross.1.1~mean_cross.1.1", "contradict each other"),
        ("nonsense", "“nonsense” is no edit"),
    ],
)
def test_a_link_with_an_edit_that_cannot_be_made_says_so_and_the_page_works(visit, edits, sentence):
    page = visit(f"what-if?mode=again&edits={edits}", wait=False)
    page.get_by_text(sentence).first.wait_for()
    idle(page)
    assert "Traceback" not in page.locator("body").inner_text()
    if page.locator(".lab-fault").count():
        page.get_by_role("button", name="Clear").click()
        settled(page)
    page.locator(".switchboard canvas").wait_for()
    type_sentence(page, "I am tired.")
    assert "fatigué" in shown(page)


def test_the_view_goes_with_the_visitor_from_page_to_page(what_if):
    page = what_if(f"?text={quote(SENTENCE)}&mode=again&edits=off_cross.2.3")
    said = shown(page)
    page.get_by_role("link", name="Translate").click()
    page.locator(".timeline .said").wait_for()
    settled(page)
    assert page.get_by_role("textbox", name="Sentence to translate").input_value() == SENTENCE
    assert "Cross-attention, layer 2, head 3: off" in page.locator(".st-key-edit_bar").inner_text()
    assert query(page)["edits"] == "off_cross.2.3"
    type_sentence(page, "I love you.")
    page.get_by_role("link", name="What if").click()
    page.locator(".switchboard canvas").wait_for()
    settled(page)
    assert page.get_by_role("textbox", name="Sentence to translate").input_value() == "I love you."
    assert shown(page) != said
    assert "off" in page.locator(".st-key-edit_bar").inner_text()


def test_a_question_is_undone_in_one_step(what_if):
    page = what_if("?text=I%20am%20tired.")
    said = shown(page)
    page.locator(".st-key-try-peek button").click()
    page.locator(".lab-answer").wait_for()
    settled(page)
    assert query(page)["checkpoint"] == "en-fr-peek"
    page.locator(".st-key-try-order button").click()  # asked of the shipped model all the same
    page.get_by_text("With positions").wait_for()
    settled(page)
    assert "“”" not in page.locator(".lab-answer").inner_text()
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
        settled(page)
    assert query(page) == {"text": "I am tired."}
    assert shown(page) == said


@pytest.mark.parametrize("width", [1024, 1280, 1920])
def test_nothing_lies_over_the_controls_at_the_top(what_if, width):
    """Playwright refuses to click what something else covers."""
    page = what_if(viewport={"width": width, "height": 720})
    page.get_by_role("textbox", name="Sentence to translate").click(timeout=3000)
    page.get_by_role("button", name="Translate").click(timeout=3000)
    page.get_by_role("button", name="Copy link").click(timeout=3000)
    page.get_by_role("button", name=re.compile("Copied|Copy it from")).wait_for(timeout=3000)
    page.locator("[data-testid=stMainMenu] button").click(timeout=3000)


def test_a_repeated_word_is_told_with_which_of_them_it_is(what_if):
    page = what_if(f"?text={quote('The man sees the dog and the cat.')}&edits=block_enc_2-5~block_enc_2-8")
    chips = page.locator(".st-key-edit_bar").inner_text()
    assert "man sees no the (1st) ×" in chips and "man sees no the (2nd) ×" in chips
    page.locator(".switchboard canvas").focus()
    for key in ["ArrowRight"] * 4:
        page.keyboard.press(key)
    assert page.locator(".switchboard .said").inner_text().startswith("The looks at the (1st)")


def test_a_cell_that_the_mask_forbids_is_not_blocked_in_silence(what_if):
    page = what_if("?text=I%20am%20tired.&kind=decoder")
    assert "forbids it already" not in page.locator("[data-testid=stMain]").inner_text()
    click_cell(page, 0, 2)
    assert query(page)["edits"] == "block_dec_1-3"
    page.get_by_text("The mask forbids it already, so nothing changes").wait_for()
    assert re.search(r"(\S+) → \1$", page.locator(".lab-verdict").inner_text())


def test_everything_blocked_says_so(what_if):
    page = what_if("?text=I%20am%20tired.&mode=again&edits=" + "~".join(f"block_cross_all-{n}" for n in range(1, 6)))
    assert "see nothing at all" in page.locator(".st-key-whatif, [data-testid=stMain]").first.inner_text()
    assert shown(page)
