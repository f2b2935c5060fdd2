"""A room over a restart of its server: a phone pauses, and phone and lecturer go on with the same code and answers."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import TIMEOUT, start_server, stop
from tests.browser.test_rooms import PHONE, Lecturer, until
from tests.support.processes import free_port

VOTE = """async (code) => { // of a phone, for the first option
  const { question } = await (await fetch(`/rooms/${code}`)).json();
  const body = JSON.stringify({ voter: "one phone here", number: question.number, word: question.options[0], sure: 3 });
  await fetch(`/rooms/${code}/vote`, { method: "POST", headers: { "content-type": "application/json" }, body });
}"""


@pytest.fixture
def restartable():
    """Returns a function that starts the lab at one port, after ending the one before without a farewell."""
    port, running = free_port(), []

    def begin() -> str:
        running.append(start_server(port))
        return running[-1][1]

    def end() -> None:
        stop(running.pop()[0])

    yield begin, end
    for server, _ in running:
        stop(server)


def test_a_phone_goes_on_after_a_restart(browser, restartable):
    begin, end = restartable
    lab = begin()
    lecturer = Lecturer(lab, "/?step=2")
    lecturer.does("ask", kind="next", text="What comes next?", options=["il", "elle"], model=[0.7, 0.2])
    context = browser.new_context(**PHONE)
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    page.goto(f"{lab}/follow/{lecturer.code}")
    card, state = page.get_by_role("region", name="Your answer"), page.locator("header .state")
    card.get_by_role("button", name="il", exact=True).tap()
    card.get_by_role("button", name="Sure", exact=True).tap()
    expect(card).to_contain_text("1 has voted")
    lecturer.does("here")  # as the browser of a lecturer says every few seconds
    expect(state).to_have_text("live")
    end()
    expect(state).to_contain_text("paused")
    expect(state).to_contain_text(":")  # and the time
    begin()
    lecturer.does("here")
    expect(state).to_have_text("live")
    expect(card.get_by_role("button", name="il", exact=True)).to_have_attribute("aria-pressed", "true")
    lecturer.does("reveal", answer="il")
    expect(card).to_contain_text("You were right.")
    lecturer.does("end")
    page.get_by_role("heading", name="The lecture has ended.").wait_for()
    context.close()


def test_the_lecturer_goes_on_after_a_restart(browser, restartable):
    begin, end = restartable
    lab = begin()
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    page.goto(f"{lab}/?lecture=on&text=The+dog+sleeps.&step=1")
    page.get_by_role("button", name="Present").press("Enter")
    page.get_by_role("button", name="Open a room").click()
    page.locator(".room-panel .code").wait_for()
    code = page.evaluate("attentionLabRoom.code")
    page.keyboard.press("Escape")
    page.keyboard.press("q")
    page.locator(".lab-bet.open").wait_for()
    until(page, code, "room.question && !('answer' in room.question)")
    end()
    begin()
    page.wait_for_function(f"fetch('/rooms/{code}').then(({{ ok }}) => ok, () => false)")
    page.evaluate(VOTE, code)
    expect(page.locator(".lab-bet .summary")).to_have_text("1 has voted")
    page.keyboard.press("q")
    expect(page.locator(".lab-bet .summary")).to_contain_text("1 said")
    until(page, code, "'answer' in room.question")
    context.close()
