"""A phone in a lecture: it follows what the lecturer shows, bets, leaves to look around, and comes back. The lecturer is
played by requests."""

from __future__ import annotations

import json
import urllib.request

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.browser.conftest import TIMEOUT

FRONT = ".stage iframe:not(.behind)"
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
def phone(browser):
    """A phone, and what it has asked for; fails on an error of its scripts."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    context.set_default_timeout(TIMEOUT)
    page, wrong, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    expect.set_options(timeout=TIMEOUT)
    yield page, asked
    context.close()
    assert wrong == []


def at_step(document: FrameLocator, step: int) -> None:
    document.locator(f'.timeline[data-step="{step}"]').wait_for()


def bets(page: Page, lecturer: Lecturer, document: FrameLocator) -> None:
    """A question, a bet, another one, the answer, and back to the page."""
    asked = {
        "kind": "next",
        "text": f"What comes next? {HOSTILE}",
        "options": ["il", "elle", HOSTILE],
        "model": [0.7, 0.2, 0.1],
    }
    lecturer.does("ask", **asked)
    card = page.get_by_role("region", name="Your bet")
    expect(card.get_by_role("heading")).to_have_text("What comes next?")
    expect(card).to_contain_text(HOSTILE)
    for word in ("elle", "il"):
        option = card.get_by_role("button", name=word, exact=True)
        assert option.bounding_box()["height"] >= 44
        option.tap()
        expect(option).to_have_attribute("aria-pressed", "true")
        expect(card.get_by_role("status")).to_contain_text(f"You bet on “{word}”")
    expect(card).to_contain_text("1 has voted")
    lecturer.does("reveal", answer="il")
    expect(card).to_contain_text("You were right.")
    expect(card.locator(".shares .right")).to_contain_text("1 (100%)")
    expect(card.locator(".shares .right")).to_contain_text("0.700")
    lecturer.does("show", address="/?step=6")
    expect(card).to_be_hidden()
    at_step(document, 6)


def test_a_phone_follows_bets_leaves_and_comes_back(lab, phone):
    page, asked = phone
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
    assert page.get_by_role("link", name="Go on in the lab").get_attribute("href") == "/?step=4"
