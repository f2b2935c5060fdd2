"""A server ends and is started anew, under a page that stays open: nothing that is done there is lost."""

from __future__ import annotations

from playwright.sync_api import Browser, expect

from tests.browser.conftest import TIMEOUT, WATCH, free_port, idle, query, start_server, stop, translation, type_sentence


def test_what_is_typed_and_clicked_reaches_a_server_that_was_started_anew(browser: Browser):
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
        type_sentence(page, "Nine owls sleep.")
        before, box = translation(page), page.get_by_role("textbox", name="Sentence to translate")
        box.press("End")
        box.press_sequentially(" They")  # not sent
        server.kill()
        server.wait()
        expect(box).to_be_disabled(timeout=TIMEOUT)
        server, _ = start_server(port)
        expect(box).to_be_enabled(timeout=TIMEOUT)
        page.locator(".st-key-layer button").first.click(no_wait_after=True)  # before the new server has run once
        idle(page)
        assert query(page) == {"text": "Nine owls sleep.", "layer": "1"}
        assert (box.input_value(), translation(page)) == ("Nine owls sleep. They", before)
        expect(page.locator(".st-key-layer button").first).to_have_attribute("aria-checked", "true", timeout=TIMEOUT)
        box.press("Enter")
        idle(page)
        assert query(page)["text"] == "Nine owls sleep. They"
    finally:
        context.close()
        stop(server)
