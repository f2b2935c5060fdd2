"""Rooms and sessions in a real Chromium."""

import io
import json
import re
import urllib.request
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from model import checkpoint as checkpoints
from model.text.tokenizer import Tokenizer
from tests.browser.conftest import TIMEOUT, WATCH, free_port, idle, query, start_server, stop, translation, type_text, walk
from tests.browser.tabs import LIGHT
from tests.support import tiny
from viz.pages import unknown_address

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

    expect.set_options(timeout=TIMEOUT)
    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


def at_step(document: FrameLocator, step: int) -> None:
    document.locator(f'.timeline[data-step="{step}"]').wait_for()


def bets(page: Page, lecturer: Lecturer, document: FrameLocator) -> None:
    """A question, a bet, another one, the answer, and back to the page."""
    options = ["il", "elle", HOSTILE]
    lecturer.does("ask", kind="next", text=f"What comes next? {HOSTILE}", options=options, model=[0.7, 0.2, 0.1])
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


def test_a_room_follows_and_bets(lab, visit, opened):
    page = visit("?lecture=on&text=The+dog+sleeps.")
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    page.keyboard.press("Escape")
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
    phone.get_by_role("region", name="Your bet").get_by_role("button", name=answer, exact=True).tap()
    expect(page.locator(".lab-bet .summary")).to_have_text("1 has voted")
    assert page.locator(".lab-bet .bar").count() == 0
    page.keyboard.press("Enter")
    page.locator(".lab-bet.shown li.right").wait_for()
    expect(page.locator(".lab-bet .summary")).to_contain_text(f"1 of 1 said “{answer}”; the model gave it 0.")
    until(page, code, f"room.question.answer === '{answer}' && room.score.people === 1")
    expect(phone.get_by_role("region", name="Your bet")).to_contain_text("You were right.")
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
    page.keyboard.press("j")
    expect(page.get_by_role("dialog", name="How to join")).to_contain_text(f"{code[:3]} {code[3:]}")


def packed(folder: Path) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        for path in folder.iterdir():
            out.write(path, f"fox/{path.name}")
    return made.getvalue()


def test_an_upload_is_seen_by_its_session_only(visit, tmp_path):
    made = tiny.checkpoint(Tokenizer.train(tiny.SENTENCES, 300))
    object.__setattr__(made, "languages", ("Foxish", "Lampish"))
    checkpoints.save(made, tmp_path)
    whole = packed(tmp_path)
    page = visit()
    page.get_by_role("button", name="Bring your own").click()
    box = page.locator("input[type=file]")
    for name, content, told in (
        ("half.zip", whole[:-100], "half.zip is an incomplete zip; download it again."),
        ("fox.zip", whole.replace(b'"schema": 1', b'"schema": 7'), "fox.zip contains a damaged config.json"),
    ):
        box.set_input_files({"name": name, "mimeType": "application/zip", "buffer": content})
        expect(page.locator(".lab-fault")).to_contain_text(told)
        idle(page)
    assert "checkpoint" not in query(page)
    box.set_input_files({"name": "fox.zip", "mimeType": "application/zip", "buffer": whole})
    expect(page.get_by_role("heading", name="Foxish")).to_be_visible()
    idle(page)
    name = query(page)["checkpoint"]
    assert re.fullmatch(r"fox \(zip [0-9a-f]{12}\)", name)
    expect(page.locator(".lab-fault")).to_have_count(0)
    expect(page.get_by_text("Others must upload the same zip to open your link.")).to_be_visible()
    other = visit(f"?checkpoint={name}", ready=".lab-fault")
    expect(other.locator(".lab-fault")).to_contain_text("Upload the same zip")


def test_an_unknown_address_shows_the_first_page(visit):
    page = visit("nonsense?step=3")
    assert page.locator(".lab-note.warn").inner_text() == unknown_address("nonsense")
    assert page.locator("h1").inner_text() == "Translate"
    assert page.get_by_role("dialog").count() == 0
    assert query(page) == {"step": "3"}


def test_typed_text_survives_a_restart_of_the_server(browser: Browser):
    port = free_port()
    server, url = start_server(port)
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    try:
        context.set_default_timeout(TIMEOUT)
        context.add_init_script(path=WATCH)
        page = context.new_page()
        page.goto(url)
        page.locator(".timeline .said").first.wait_for(state="attached")
        idle(page)
        type_text(page, "Nine owls sleep.")
        before, box = translation(page), page.get_by_role("textbox", name="Sentence to translate")
        box.press("End")
        box.press_sequentially(" They")  # not sent
        server.kill()
        server.wait()
        expect(box).to_be_disabled(timeout=TIMEOUT)
        server, _ = start_server(port)
        expect(box).to_be_enabled(timeout=TIMEOUT)
        first = page.locator('.st-key-picks button[data-focus="layer 0"]')
        first.click(no_wait_after=True)  # before the new server has run once
        idle(page)
        assert query(page) == {"text": "Nine owls sleep.", "layer": "1"}
        assert (box.input_value(), translation(page)) == ("Nine owls sleep. They", before)
        expect(first).to_have_attribute("aria-pressed", "true", timeout=TIMEOUT)
        box.press("Enter")
        idle(page)
        assert query(page)["text"] == "Nine owls sleep. They"
    finally:
        context.close()
        stop(server)


STORED = """() => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return [localStorage.length, sessionStorage.length, document.cookie.includes("kept"), dark];
}"""


def test_a_tab_keeps_nothing_of_the_test_before(lab, tabs):
    with tabs.lent() as lent:
        used = lent.take((), False, color_scheme="dark", viewport={"width": 390, "height": 800})
        for _ in range(2):
            used.page.goto(lab + LIGHT)
        used.page.evaluate("() => { localStorage.a = sessionStorage.a = document.cookie = 'kept=yes'; }")
        used.page.route("**/*", lambda route: route.abort())
        used.context.new_page()
        used.errors.append("of this test")
        assert lent.errors() == ["of this test"]
        assert used.page.evaluate(STORED) == [1, 1, True, True]
        assert lent.take((), False) is not used, "one test never has a tab twice"
        assert lent.take((WATCH,), False) not in lent.shared
    with tabs.lent() as lent:
        again = [lent.take((), False), lent.take((), False)]
        assert used in again and lent.errors() == []
        assert used.page.go_back() is None and used.context.pages == [used.page]
        used.page.goto(lab + LIGHT)
        assert used.page.evaluate(STORED) == [0, 0, False, False]
        assert used.page.viewport_size == {"width": 1280, "height": 720}
