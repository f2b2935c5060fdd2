"""Rooms in real browsers: a phone follows and bets, a lecturer asks, a laptop leaves and returns."""

import json
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.conftest import TIMEOUT, idle, query, walk

FRONT = ".stage iframe:not(.behind)"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
HOSTILE = "<img src=x onerror=alert(1)>"
FORGED = """() => { // a document hears the page around it, not what somebody else says in its words
  postMessage({ lab: "show", n: 1, page: "", query: { step: "3" }, pointer: "" }, "*");
  return new Promise((heard) => setTimeout(heard));
}"""


class Lecturer:
    """Opens a room and moves it."""

    def __init__(self, lab: str, address: str) -> None:
        self.lab, self.secret = lab, ""
        made = self.asks("/rooms", {"address": address})
        self.code, self.secret = made["code"], made["secret"]

    def asks(self, path: str, said: dict) -> dict:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.secret}"}
        request = urllib.request.Request(self.lab + path, json.dumps(said).encode(), headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.loads(answer.read() or b"{}")

    def does(self, move: str, **said) -> None:
        self.asks(f"/rooms/{self.code}/{move}", said)


@pytest.fixture
def opened(browser):
    """Opens a page in a browser of its own; fails on an error of a script there, and on a dialog."""
    contexts, wrong = [], []

    def page_of(address: str, **how) -> Page:
        contexts.append(browser.new_context(**how))
        contexts[-1].set_default_timeout(TIMEOUT)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(address)
        return page

    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


def at_step(document: FrameLocator, step: int) -> None:
    document.locator(f'.timeline[data-step="{step}"]').wait_for()


def bets(page: Page, lecturer: Lecturer, document: FrameLocator) -> None:
    """A question, an answer, another one, the result, and back to the page."""
    options = ["il", "elle", HOSTILE]
    lecturer.does("ask", kind="next", text=f"What comes next? {HOSTILE}", options=options, model=[0.7, 0.2, 0.1])
    card = page.get_by_role("region", name="Your answer")
    expect(card.get_by_role("heading")).to_have_text("What comes next?")
    expect(card).to_contain_text(HOSTILE)
    expect(page.get_by_role("link", name="Explore on my own")).to_be_hidden()  # it leads to the answer
    for word in ("elle", "il"):
        option = card.get_by_role("button", name=word, exact=True)
        assert option.bounding_box()["height"] >= 44
        option.tap()
        expect(option).to_have_attribute("aria-pressed", "true")
        card.get_by_role("button", name="Fairly sure").tap()
        expect(card.get_by_role("status")).to_contain_text(f"You answered “{word}”, fairly sure")
    expect(card).to_contain_text("1 has voted")
    lecturer.does("reveal", answer="il")
    expect(card).to_contain_text("You were right.")
    expect(card).to_contain_text("Of those who were fairly sure, 100% were right (1 of 1).")
    expect(card.locator(".shares .right")).to_contain_text("1 (100%)")
    expect(card.locator(".shares .right")).to_contain_text("0.70")
    lecturer.does("show", address="/?step=6")
    expect(card).to_be_hidden()
    at_step(document, 6)


def test_a_phone_follows_bets_and_comes_back(lab, opened):
    page, asked = opened("about:blank", **PHONE), []
    page.on("request", lambda request: asked.append(request.url))
    lecturer = Lecturer(lab, "/?step=2")
    page.goto(f"{lab}/follow")
    page.get_by_label("The code on the screen").fill("kx 234")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("6 letters and digits")
    page.get_by_label("The code on the screen").fill(f" {lecturer.code[:3].lower()}-{lecturer.code[3:]}")
    page.keyboard.press("Enter")
    document = page.frame_locator(FRONT)
    at_step(document, 2)
    lecturer.does("show", address="/?step=9&layer=4&head=1&rows=shifted")
    at_step(document, 9)
    expect(document.get_by_role("group", name="Layer").get_by_role("button", name="4", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    document.locator("body").evaluate(FORGED)
    assert document.locator(".timeline").get_attribute("data-step") == "9"
    bets(page, lecturer, document)
    assert len([url for url in asked if url.endswith("/page")]) == 1

    document.get_by_role("button", name="One step forward").click()  # a tap reaches no sandboxed frame in Chromium 150
    back = page.get_by_role("button", name="Back to the lecture")
    back.wait_for()
    lecturer.does("show", address="/?step=4", blank=True)
    page.get_by_text("The screen is dark").wait_for()
    lecturer.does("show", blank=False)
    page.get_by_text("The screen is dark").wait_for(state="hidden")
    at_step(document, 7)
    back.tap()
    at_step(document, 4)

    page.get_by_role("link", name="Explore on my own").tap()
    page.get_by_role("link", name="Back to the lecture").wait_for()
    assert page.url == f"{lab}/?step=4&room={lecturer.code}"
    page.get_by_role("link", name="Back to the lecture").tap()
    at_step(document, 4)
    assert page.get_by_role("link", name="My view").get_attribute("href") == f"/?step=4&room={lecturer.code}"
    lecturer.does("end")
    page.get_by_role("heading", name="The lecture has ended.").wait_for()
    assert page.get_by_role("link", name="Open the lab").get_attribute("href") == "/?step=4"


HOLDS = """async ([code, holds]) => {
  const room = await (await fetch(`/rooms/${code}`)).json();
  return new Function("room", `return ${holds}`)(room);
}"""


def until(page: Page, code: str, holds: str) -> None:
    page.wait_for_function(HOLDS, arg=[code, holds])


def open_room(page: Page) -> str:
    """Opens a room under Present, closes the panel and returns the room's code."""
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    page.keyboard.press("Escape")
    return code


def test_a_room_follows_and_bets(lab, visit, opened):
    page = visit("?lecture=on&text=The+dog+sleeps.&step=1")
    code = open_room(page)
    idle(page)
    assert page.locator(".room-sign").inner_text() == f"{code[:3]} {code[3:]}"
    phone = opened(f"{lab}/follow/{code}", **PHONE)
    laptop = opened(f"{lab}/follow/{code}")
    for follower in (phone, laptop):
        at_step(follower.frame_locator(FRONT), 1)
    expect(page.locator(".room-sign")).to_contain_text("2 follow")
    made, pauses = walk(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert made <= pauses  # the room hears of steps of which the page's own server does not
    until(page, code, "room.address === '/?text=The+dog+sleeps.&step=3'")
    idle(page)
    for follower in (phone, laptop):
        at_step(follower.frame_locator(FRONT), 3)
    laptop.get_by_role("link", name="Explore on my own").click()
    laptop.get_by_role("link", name="Back to the lecture").wait_for()
    expect(page.locator(".room-sign")).to_contain_text("1 follow")

    answer = page.locator(".timeline").evaluate("root => root.querySelectorAll('.target .chip')[4].dataset.label")
    answer = answer.removeprefix("·")
    held = []
    page.route(f"**/{code}/ask", lambda route: held.append(route))
    with page.expect_request(f"**/{code}/ask"):
        page.keyboard.press("q")
    page.keyboard.press("Escape")  # before the room has it
    with page.expect_response(f"**/{code}/close"):
        held[0].continue_()
    page.unroute(f"**/{code}/ask")
    until(page, code, "room.question === null && room.address.endsWith('step=3')")
    idle(page)
    assert "guess" not in query(page) and page.locator('.timeline[data-step="3"]').count() == 1

    page.keyboard.press("q")
    page.locator(".lab-bet.open").wait_for()
    until(page, code, f"room.question.options.includes('{answer}') && !('answer' in room.question)")
    idle(page)
    assert query(page)["guess"] == "first" and query(page)["step"] == "4"
    assert answer not in page.locator(".timeline .said").inner_text()
    phone.get_by_role("region", name="Your answer").get_by_role("button", name=answer, exact=True).tap()
    phone.get_by_role("button", name="Sure", exact=True).tap()
    expect(page.locator(".lab-bet .summary")).to_have_text("1 has voted")
    assert page.locator(".lab-bet .bar").count() == 0
    page.keyboard.press("Enter")
    page.locator(".lab-bet.shown li.right").wait_for()
    expect(page.locator(".lab-bet .summary")).to_contain_text(f"1 of 1 said “{answer}”; the model gave it 0.")
    until(page, code, f"room.question.answer === '{answer}' && room.score.people === 1")
    expect(phone.get_by_role("region", name="Your answer")).to_contain_text("You were right.")
    laptop.get_by_role("link", name="Back to the lecture").click()
    at_step(laptop.frame_locator(FRONT), 4)

    page.reload()
    page.locator(".lab-bet.shown").wait_for()  # the browser holds room and question
    idle(page)
    page.keyboard.press("Escape")
    until(page, code, "room.question === null")
    for follower in (phone, laptop):
        at_step(follower.frame_locator(FRONT), 4)
    idle(page)
    assert "guess" not in query(page) and page.locator(".lab-bet").count() == 0
    page.keyboard.press("Shift+R")  # what did the class say
    expect(page.locator(".lab-bet .summary")).to_contain_text(f"1 of 1 said “{answer}”")
    page.keyboard.press("Shift+R")
    assert page.locator(".lab-bet").count() == 0
    page.keyboard.press("j")
    expect(page.get_by_role("dialog", name="How to join")).to_contain_text(f"{code[:3]} {code[3:]}")


def test_a_second_tab_asks_before_it_takes_the_room(lab, visit):
    page = visit("?lecture=on&text=The+dog+sleeps.&step=1")
    code = open_room(page)
    other, asked = page.context.new_page(), []
    other.on("request", lambda request: asked.append(request.url))
    other.goto(f"{lab}/?lecture=on&text=The+cat+sleeps.&step=1")
    bars = [tab.locator(".lab-elsewhere") for tab in (page, other)]
    expect(bars[1]).to_contain_text(f"Your room {code[:3]} {code[3:]} is open in another tab.")
    for key in ("ArrowRight", "q"):
        other.keyboard.press(key)
        idle(other)
    assert not [url for url in asked if "/rooms" in url] and other.locator(".lab-bet").count() == 0
    assert bars[0].count() == 0 and other.locator(".room-sign").inner_text().endswith("other tab")
    bars[1].get_by_role("button", name="Close").click()
    expect(bars[1]).to_have_count(0)
    other.keyboard.press("q")  # needs the room
    bars[1].get_by_role("button", name="Continue here").click()
    until(page, code, "room.address === '/?text=The+cat+sleeps.&lecture=on&step=2'")
    expect(bars[0]).to_contain_text("continues in another tab.")
    expect(bars[1]).to_have_count(0)
    bars[0].get_by_role("button", name="Continue here").click()
    until(page, code, "room.address.includes('dog')")
    expect(bars[1]).to_contain_text("continues in another tab.")
    page.reload()  # the same tab goes on
    expect(page.locator(".room-sign")).to_contain_text(code[:3])
    idle(page)
    page.keyboard.press("ArrowRight")
    until(page, code, "room.address.includes('dog') && room.address.endsWith('step=2')")
    assert bars[0].count() == 0
    page.goto("about:blank")  # its tab is gone: the room is free
    other.keyboard.press("ArrowRight")
    expect(bars[1]).to_have_count(0)
    other.wait_for_function(HOLDS, arg=[code, "room.address.includes('cat') && room.address.endsWith('step=3')"])


def ask_own(page: Page, phone: Page, name: str) -> None:
    """Presses Shift Q, answers on the phone, and shows the answer."""
    page.keyboard.press("Q")
    page.locator(".lab-bet.open").wait_for()
    card = phone.get_by_role("region", name="Your answer")
    if name:
        card.get_by_role("button", name=name, exact=True).tap()
    else:
        card.get_by_label("Your number").fill("0,5")
        card.get_by_role("button", name="Set").tap()
    card.get_by_role("button", name="Not sure").tap()
    expect(page.locator(".lab-bet .summary")).to_have_text("1 has voted")
    page.keyboard.press("q")
    page.locator(".lab-bet.shown").wait_for()


OWN = """own => localStorage.setItem("attention-lab-own-questions", JSON.stringify(own))"""


def test_questions_of_the_lecturer_are_asked_and_asked_again(lab, visit, opened):
    page = visit("?lecture=on&text=The+dog+sleeps.&step=1")
    kinds = [("token", "dog"), ("grid", ""), ("number", "0.5")]
    page.evaluate(
        OWN, [{"kind": kind, "text": f"A {kind}?", "options": [], "right": right, "side": "source"} for kind, right in kinds]
    )
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    phone = opened(f"{lab}/follow/{code}", **PHONE)
    at_step(phone.frame_locator(FRONT), 1)
    page.get_by_role("button", name="Write a question").click()
    page.get_by_label("Question", exact=True).fill("Which one?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".question .fault")).to_contain_text("at least 2 options")
    for n, text in enumerate("ab", 1):
        page.get_by_label(f"Option {n}").fill(text)
    page.locator(".question .mark").nth(1).click()
    page.get_by_role("button", name="Ask now").click()
    page.locator(".lab-bet.open").wait_for()
    phone.get_by_role("button", name="b", exact=True).tap()
    phone.get_by_role("button", name="Sure", exact=True).tap()
    expect(page.locator(".lab-bet .summary")).to_have_text("1 has voted")
    page.keyboard.press("q")
    expect(page.locator(".lab-bet .summary")).to_have_text("1 of 1 said “b”, the right answer.")
    page.locator(".lab-bet .again").click()
    page.locator(".lab-bet.open").wait_for()
    until(page, code, "room.question.round === 2")
    page.keyboard.press("q")
    expect(page.locator(".lab-bet .rows .before").nth(1)).to_have_text("100%")
    page.keyboard.press("q")
    page.keyboard.press("Escape")
    idle(page)
    for name in ("dog", "cross 1.2", ""):
        ask_own(page, phone, name)
        page.keyboard.press("q")
        page.locator(".lab-bet").wait_for(state="detached")
        until(page, code, "room.question === null")
    page.get_by_role("button", name="Present").press("Enter")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save answers as CSV").click()
    rows = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()
    assert [row.split(",")[2:5] for row in rows[1:]] == [
        ["choice", "Which one?", "b"],
        ["token", "A token?", "dog"],
        ["grid", "A grid?", "cross 1.2"],
        ["number", "A number?", "0.5"],
    ]
