"""A lecturer opens a room, steps, asks and reveals: the room follows, and nothing gives the answer away before."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.conftest import idle, query, walk

HOLDS = """async ([code, holds]) => {
  const room = await (await fetch(`/rooms/${code}`)).json();
  return new Function("room", `return ${holds}`)(room);
}"""
VOTE = """async ([code, word]) => {
  const { question } = await (await fetch(`/rooms/${code}`)).json();
  const body = JSON.stringify({ voter: "somebody-else", number: question.number, word });
  const headers = { "Content-Type": "application/json" };
  return (await fetch(`/rooms/${code}/vote`, { method: "POST", headers, body })).status;
}"""


def until(page: Page, code: str, holds: str) -> None:
    page.wait_for_function(HOLDS, arg=[code, holds])


def test_a_room_follows_every_step_and_its_class_bets_before_the_model_answers(visit):
    page = visit("?lecture=on&text=The+dog+sleeps.")
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    page.keyboard.press("Escape")
    idle(page)
    assert page.locator(".room-sign").inner_text() == f"{code[:3]} {code[3:]}"
    made, pauses = walk(page, "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert made <= pauses  # the room hears of steps of which the page's own server does not
    until(page, code, "room.address === '/?text=The+dog+sleeps.&step=3'")
    idle(page)
    page.keyboard.press("b")
    until(page, code, "room.blank")
    page.keyboard.press("b")
    until(page, code, "!room.blank")

    answer = page.locator(".timeline").evaluate("root => root.querySelector('.pair b').textContent")
    page.keyboard.press("q")
    page.locator(".lab-bet.open").wait_for()
    until(page, code, f"room.question.options.includes('{answer}') && !('answer' in room.question)")
    idle(page)
    assert query(page)["guess"] == "first" and answer not in page.locator(".timeline .said").inner_text()
    assert page.evaluate(VOTE, [code, answer]) == 204
    expect(page.locator(".lab-bet .said")).to_have_text("1 has voted")
    assert page.locator(".lab-bet .bar").count() == 0
    page.keyboard.press("Enter")
    page.locator(".lab-bet.shown li.right").wait_for()
    expect(page.locator(".lab-bet .said")).to_contain_text(f"1 of 1 said “{answer}”; the model gave it 0.")
    until(page, code, f"room.question.answer === '{answer}' && room.score.people === 1")

    page.reload()
    page.locator(".lab-bet.shown").wait_for()  # the browser holds room and question
    idle(page)
    page.keyboard.press("Escape")
    until(page, code, "room.question === null")
    idle(page)
    assert "guess" not in query(page) and page.locator(".lab-bet").count() == 0
    page.keyboard.press("j")
    expect(page.get_by_role("dialog", name="How to join")).to_contain_text(f"{code[:3]} {code[3:]}")
