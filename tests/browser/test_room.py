"""Three browsers: a lecturer opens a room, steps, asks and reveals; a phone bets; a laptop leaves and returns."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import TIMEOUT, idle, query, walk

HOLDS = """async ([code, holds]) => {
  const room = await (await fetch(`/rooms/${code}`)).json();
  return new Function("room", `return ${holds}`)(room);
}"""
FRONT = ".stage iframe:not(.behind)"


def until(page: Page, code: str, holds: str) -> None:
    page.wait_for_function(HOLDS, arg=[code, holds])


@pytest.fixture
def opened(browser):
    """Opens a page in a browser of its own; fails on an error of a script there."""
    contexts, wrong = [], []

    def page_of(address: str, **how) -> Page:
        contexts.append(browser.new_context(**how))
        contexts[-1].set_default_timeout(TIMEOUT)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        return page

    expect.set_options(timeout=TIMEOUT)
    yield page_of
    for context in contexts:
        context.close()
    assert wrong == []


def at_step(page: Page, step: int) -> None:
    page.frame_locator(FRONT).locator(f'.timeline[data-step="{step}"]').wait_for()


def test_a_room_follows_every_step_and_its_class_bets_before_the_model_answers(lab, visit, opened):
    page = visit("?lecture=on&text=The+dog+sleeps.")
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    page.keyboard.press("Escape")
    idle(page)
    assert page.locator(".room-sign").inner_text() == f"{code[:3]} {code[3:]}"
    phone = opened(f"{lab}/follow/{code}", viewport={"width": 390, "height": 844}, has_touch=True)
    laptop = opened(f"{lab}/follow/{code}")
    for follower in (phone, laptop):
        at_step(follower, 1)
    expect(page.locator(".room-sign")).to_contain_text("2 follow")
    made, pauses = walk(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert made <= pauses  # the room hears of steps of which the page's own server does not
    until(page, code, "room.address === '/?text=The+dog+sleeps.&step=3'")
    idle(page)
    for follower in (phone, laptop):
        at_step(follower, 3)
    laptop.get_by_role("link", name="Explore on my own").click()
    laptop.get_by_role("link", name="Back to the lecture").wait_for()
    expect(page.locator(".room-sign")).to_contain_text("1 follow")
    page.keyboard.press("b")
    until(page, code, "room.blank")
    page.keyboard.press("b")
    until(page, code, "!room.blank")

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
    expect(page.locator(".lab-bet .said")).to_have_text("1 has voted")
    assert page.locator(".lab-bet .bar").count() == 0
    page.keyboard.press("Enter")
    page.locator(".lab-bet.shown li.right").wait_for()
    expect(page.locator(".lab-bet .said")).to_contain_text(f"1 of 1 said “{answer}”; the model gave it 0.")
    until(page, code, f"room.question.answer === '{answer}' && room.score.people === 1")
    expect(phone.get_by_role("region", name="Your bet")).to_contain_text("You were right.")
    laptop.get_by_role("link", name="Back to the lecture").click()
    at_step(laptop, 4)

    page.reload()
    page.locator(".lab-bet.shown").wait_for()  # the browser holds room and question
    idle(page)
    page.keyboard.press("Escape")
    until(page, code, "room.question === null")
    for follower in (phone, laptop):
        at_step(follower, 4)
    idle(page)
    assert "guess" not in query(page) and page.locator(".lab-bet").count() == 0
    page.keyboard.press("j")
    expect(page.get_by_role("dialog", name="How to join")).to_contain_text(f"{code[:3]} {code[3:]}")
