"""The presenter view in a second window and on a phone: stops, notes, time and buttons. Nobody else is shown the notes."""

import itertools
import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import TIMEOUT, idle, query
from viz.classroom import line_fields
from viz.classroom.talk import find_talk, ready_talks

STOPS = ready_talks()["20-minutes"].stops
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
HEARD = """const Real = EventSource;
window.heard = [];
window.EventSource = class extends Real {
  constructor(address) { super(address); this.addEventListener("message", ({ data }) => heard.push(data)); }
};"""
VOTE = """code => fetch(`/rooms/${code}/vote`, { method: "POST", headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ voter: "a".repeat(9), number: 1, word: "il", sure: 3 }) }).then(({ status }) => status)"""
NOTES = "Ask: who says il?\nWait ten seconds."


def line(index: int) -> str:
    """Returns the line of a stop with its numbers."""
    stop = STOPS[index]
    return line_fields.fill(stop.place, stop.view, stop.line).text


@pytest.fixture
def windows(visit) -> tuple[Page, Page]:
    """The screen before the first stop of a talk, and its presenter view."""
    expect.set_options(timeout=TIMEOUT)
    screen = visit("?talk=20-minutes&lecture=on")
    screen.get_by_role("button", name="Present").click()
    button = screen.get_by_role("button", name="Presenter view")
    with screen.context.expect_page() as opened:
        button.click()
    screen.keyboard.press("Escape")
    idle(screen)
    return screen, opened.value


def test_the_presenter_view_leads_the_screen_and_keeps_the_notes(windows):
    screen, view = windows
    expect(view.locator(".where")).to_have_text(f"{len(STOPS)} stops, Attention in 20 minutes")
    expect(view.locator(".next .line")).to_have_text(line(0))
    expect(view.locator(".time")).to_have_text("0:00")
    view.get_by_role("button", name="Next").click()
    expect(view.locator(".now .line")).to_have_text(line(0))
    idle(screen)
    assert query(screen)["stop"] == "1" and screen.locator(".talk-strip .line").inner_text() == line(0)
    expect(view.locator(".time")).to_have_text(re.compile(r"^0:0[1-9]"))
    view.get_by_label("Notes for this stop").fill(NOTES)
    expect(view.locator(".saved")).to_have_text("Saved in the playlist.")
    idle(screen)
    assert find_talk(query(screen)["talk"])[0].stops[0].notes == NOTES
    for _ in range(2):  # faster than a page is drawn: none is lost
        view.get_by_role("button", name="Next").click()
    expect(view.locator(".now .line")).to_have_text(line(2))
    expect(view.locator("#notes")).to_have_value(STOPS[2].notes)
    expect(view.locator(".where")).to_contain_text(re.compile(r"^3 of 12, planned until \d+:\d\d, "))
    idle(screen)
    assert query(screen)["stop"] == "3"
    view.get_by_role("button", name="Black").click()
    screen.locator(".lab-blank").wait_for()
    view.get_by_role("button", name="Previous").click()  # the screen stays black
    expect(view.locator(".now .line")).to_have_text(line(1))
    idle(screen)
    assert screen.locator(".lab-blank").count() == 1
    view.get_by_role("button", name="Black").click()
    expect(screen.locator(".lab-blank")).to_have_count(0)
    view.get_by_role("button", name="Previous").click()
    expect(view.locator("#notes")).to_have_value(NOTES)
    expect(screen.locator(".talk-strip .line")).to_have_text(line(0))
    idle(screen)
    screen.reload()
    screen.locator(".talk-strip .line", has_text=line(0)).wait_for()
    idle(screen)
    assert not any(secret in screen.locator("body").inner_text() for secret in ("who says il", STOPS[1].notes[:40]))
    view.get_by_role("button", name="Next").click()
    expect(screen.locator(".talk-strip .line")).to_have_text(line(1))


def test_the_presenter_view_hides_the_pointer_and_fits_a_phone(windows):
    screen, view = windows
    expect(view.locator(".where")).to_contain_text("stops")
    chip = screen.locator(".timeline [data-point]").first
    chip.hover()
    screen.locator(".lab-ring:not([hidden])").wait_for()
    view.get_by_role("button", name="Pointer off").click()
    expect(view.locator(".pointer")).to_have_attribute("aria-pressed", "true")
    expect(screen.locator(".lab-ring:not([hidden])")).to_have_count(0)
    for width, height in ((390, 844), (1280, 720)):
        view.set_viewport_size({"width": width, "height": height})
        assert view.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        for name in ("Previous", "Next", "Black", "Pointer off"):
            box = view.get_by_role("button", name=name, exact=False).bounding_box()
            assert box["height"] >= 56 and box["y"] + box["height"] <= height, (name, width)


@pytest.fixture
def hall(visit, browser, lab):
    """The screen before the first stop, the lecturer's phone, a follower, and the lecturer's room."""
    expect.set_options(timeout=TIMEOUT)
    screen = visit("?talk=20-minutes&lecture=on")
    screen.get_by_role("button", name="Present").click()
    screen.get_by_role("button", name="Open a room").click()
    screen.locator(".room-panel .code").wait_for()
    opener = screen.get_by_role("button", name="Presenter view on a phone")
    expect(opener).to_have_attribute("aria-expanded", "false")
    opener.click()
    expect(screen.locator(".room-panel .phone")).to_contain_text("HOST=0.0.0.0")  # no phone reaches 127.0.0.1
    screen.keyboard.press("Escape")
    room = json.loads(screen.evaluate("localStorage['attention-lab-room']"))
    contexts = [browser.new_context(**PHONE) for _ in range(2)]
    for context in contexts:
        context.set_default_timeout(TIMEOUT)
    contexts[1].add_init_script(HEARD)
    phone, follower = (context.new_page() for context in contexts)
    wrong = []
    for page in (phone, follower):
        page.on("pageerror", lambda error: wrong.append(str(error)))
    follower.goto(f"{lab}/follow/{room['code']}")
    phone.goto(f"{lab}/presenter#{room['code']}.{room['secret']}")
    yield screen, phone, follower, room
    for context in contexts:
        context.close()
    assert wrong == []


def test_a_phone_leads_the_screen_by_way_of_the_room(hall, lab):
    screen, phone, follower, room = hall
    expect(phone.locator(".where")).to_have_text(f"{len(STOPS)} stops, Attention in 20 minutes")
    assert phone.url == f"{lab}/presenter"  # a picture of the phone shows no secret
    phone.get_by_role("button", name="Next").tap()
    expect(phone.locator(".now .line")).to_have_text(line(0))
    idle(screen)
    assert query(screen)["stop"] == "1"
    phone.get_by_label("Notes for this stop").fill(NOTES)
    expect(phone.locator(".saved")).to_have_text("Saved in the playlist.")
    assert find_talk(query(screen)["talk"])[0].stops[0].notes == NOTES
    for _ in range(2):  # faster than a page is drawn: none is lost
        phone.get_by_role("button", name="Next").tap()
    expect(phone.locator(".now .line")).to_have_text(line(2))
    idle(screen)
    assert query(screen)["stop"] == "3"
    screen.reload()  # the last command is not done once more
    screen.locator(".talk-strip .line", has_text=line(2)).wait_for()
    phone.get_by_role("button", name="Previous").tap()
    phone.get_by_role("button", name="Previous").tap()
    expect(phone.locator("#notes")).to_have_value(NOTES)
    expect(screen.locator(".talk-strip .line")).to_have_text(line(0))
    idle(screen)
    phone.get_by_role("button", name="Black").tap()
    screen.locator(".lab-blank").wait_for()
    expect(phone.locator(".black")).to_have_attribute("aria-pressed", "true")
    phone.get_by_role("button", name="Black").tap()
    expect(screen.locator(".lab-blank")).to_have_count(0)
    phone.reload()
    expect(phone.locator("#notes")).to_have_value(NOTES)  # this tab has the key
    phone.get_by_role("button", name="Ask the class").tap()
    expect(phone.locator(".votes")).to_contain_text("0 of 1 voted.")
    assert follower.evaluate(VOTE, room["code"]) == 204
    expect(phone.locator(".votes")).to_contain_text("1 of 1 voted.")
    phone.get_by_role("button", name="Show the answer").tap()
    expect(phone.locator(".class li").first).to_contain_text("(")
    follower.wait_for_function("heard.some(each => JSON.parse(each).question?.answer)")
    heard = [json.loads(each) for each in follower.evaluate("heard")]
    public = [{name: value for name, value in each.items() if name != "version"} for each in heard]
    public_texts = json.dumps(heard, ensure_ascii=False) + follower.content() + screen.locator("body").inner_text()
    assert not any(secret in public_texts for secret in ("who says il", *(stop.notes[:40] for stop in STOPS)))
    assert all(one != other for one, other in itertools.pairwise(public))  # each event is news to a follower
    phone.get_by_role("button", name="Back to the page").tap()
    expect(screen.locator(".lab-bet")).to_have_count(0)
    screen.get_by_role("button", name="Present").press("Enter")
    screen.get_by_role("button", name="End", exact=True).click()
    screen.get_by_role("button", name="End it for all?").click()
    expect(phone.locator(".trouble")).to_contain_text("This room has ended")


def test_a_phone_says_what_it_lacks_and_fits_small_screens(hall, lab):
    screen, phone, _, room = hall
    expect(phone.locator(".where")).to_contain_text("stops")
    for width, height in ((390, 844), (360, 640)):
        phone.set_viewport_size({"width": width, "height": height})
        assert phone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        box = phone.get_by_role("button", name="Next").bounding_box()
        assert box["height"] >= 72 and box["width"] > 0.9 * width and height - 20 < box["y"] + box["height"] <= height
    screen.close()
    phone.get_by_role("button", name="Next").tap()
    expect(phone.locator(".trouble")).to_contain_text("The screen of the lecture does not answer.")
    for key, sentence in (
        (f"#{room['code']}.{'x' * 32}", "does not belong"),
        ("#ABCDEF", "lacks the key"),
        ("", "lacks the key"),
    ):
        page = phone.context.new_page()
        page.goto(f"{lab}/presenter{key}")
        expect(page.locator(".trouble")).to_contain_text(sentence)
        page.close()
