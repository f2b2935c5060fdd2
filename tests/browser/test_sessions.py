"""Sessions: uploads, unknown addresses, a restarted server, many visitors, and tabs that tests share."""

import io
import re
import zipfile
from pathlib import Path

from playwright.sync_api import Browser, expect

from model import checkpoint as checkpoints
from model.text.tokenizer import Tokenizer
from tests.browser.conftest import TIMEOUT, WATCH, free_port, idle, query, start_server, stop, translation, type_text
from tests.browser.tabs import LIGHT
from tests.support import tiny
from viz.pages import PAGES, unknown_address


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
    page.get_by_test_id("stSidebar").get_by_role("button", name="en-fr").click()
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
    expect(page.get_by_text("Foxish: where")).to_be_visible()
    idle(page)
    name = query(page)["checkpoint"]
    assert re.fullmatch(r"fox \(zip [0-9a-f]{12}\)", name)
    expect(page.locator(".lab-fault")).to_have_count(0)
    page.get_by_test_id("stSidebar").get_by_role("button", name="fox").click()
    expect(page.get_by_text("Others must upload the same zip to open your link.")).to_be_visible()
    other = visit(f"?checkpoint={name}", ready=".lab-fault")
    expect(other.locator(".lab-fault")).to_contain_text("Upload the same zip")


def test_an_unknown_address_shows_the_first_page(visit):
    page = visit("nonsense?step=3")
    assert page.locator(".lab-note.warn").inner_text() == unknown_address("nonsense")
    assert page.locator("h1").inner_text() == PAGES[0].question
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
        first = page.locator('.st-key-picks button[data-focus="show mask"]')
        first.click(no_wait_after=True)  # before the new server has run once
        idle(page)
        assert query(page) == {"text": "Nine owls sleep.", "show": "mask"}
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
