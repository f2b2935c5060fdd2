"""A view as one HTML file, in a browser that reaches nothing: it is stepped, pointed at and chosen from as on the page."""

import pytest
from playwright.sync_api import Page

from model import Request, Site, analyse
from tests.browser.conftest import TIMEOUT
from viz.offline import html_export

HOSTILE = "The dog sees </script><img src=http://127.0.0.1:9/x onerror=alert(1)> the cat."
FORGED = """() => { // nobody leads a file that stands alone
  postMessage({ lab: "show", n: 1, own: true, page: "", query: {}, pointer: "" }, "*");
  return new Promise((heard) => setTimeout(heard));
}"""
STOPPED = """async () => {
  const stopped = new Promise((ended) => { document.addEventListener("securitypolicyviolation", (event) => ended(event)); });
  await fetch("http://127.0.0.1:9/").catch(() => null);
  return (await stopped).effectiveDirective;
}"""


@pytest.fixture
def opened(browser, shipped, tmp_path):
    """Opens the file of a page; fails on an error of its scripts, and on a request of any kind."""
    contexts, wrong = [], []

    def made(name: str, text: str, **changes) -> Page:
        request, name = Request(text), name.replace("_", "-")
        view = html_export.make_view(request, "en-fr", **changes)
        file = tmp_path / f"{name}.html"
        file.write_bytes(html_export.file_of(name, html_export.make_context(shipped, analyse(shipped, request), view)))
        assert file.stat().st_size < 3_000_000
        context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
        context.set_default_timeout(TIMEOUT)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url))
        page.goto(file.as_uri())
        page.locator("html[data-drawn]").wait_for(state="attached")
        export = html_export.export_of(html_export.page_of(name))
        context_of_file = html_export.make_context(shipped, analyse(shipped, request), view)
        pictures = export.lecture_pictures_of(context_of_file) if export.lecture_pictures_of else export.lecture_pictures
        for part, selector in pictures:  # that a lecture shows alone
            assert page.locator(f".part-{part} {selector}").count() > 0, selector
        return page

    yield made
    for context in contexts:
        context.close()
    assert wrong == []


def test_a_file_is_stepped_offline(opened, shipped):
    page = opened("translate", HOSTILE, step=1, layer=3, head=0)
    assert "<img src=http" in page.locator(".sentences dd").first.inner_text()
    trace = analyse(shipped, Request(HOSTILE)).trace
    page.evaluate(FORGED)
    assert page.locator("html.controlled").count() == 0
    page.keyboard.press("ArrowRight")
    assert page.locator(".timeline .count").inner_text() == f"Step 3 of {len(trace.outputs)}"
    chip = page.locator(".timeline .source .chip").nth(1)
    before = chip.get_attribute("title")
    page.get_by_role("group", name="Head").get_by_role("button", name="5", exact=True).click()
    cross = trace.view(Site("cross", 3), 4)
    assert chip.get_attribute("title") == f"dog: weight {cross.values[2, 1]:.3f}" != before
    page.locator(".maps .map").nth(2).locator("canvas").hover(position={"x": 200, "y": 120})
    said = page.locator(".maps .map").nth(2).locator(".card").inner_text()
    assert any(said.endswith(f"{value:.5f}") for value in cross.values.ravel()), said
    page.wait_for_function("() => document.getElementById('link').textContent.includes('step=3')")
    assert "head=5" in page.locator("#link").inner_text()
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(20, 24, 27)"
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate(STOPPED) == "connect-src"


def test_any_head_can_be_chosen_offline(opened, shipped):
    sentence = "The dog didn't cross the street because it was too shy."
    page = opened("heads", sentence, step=10, layer=3, head=0, kind="cross")
    grid = page.locator(".all-heads .site canvas").first
    size = grid.bounding_box()
    grid.click(position={"x": size["width"] * 0.9, "y": size["height"] * 0.9})
    title = page.locator(".all-heads .detail h2")
    assert title.inner_text() == "Encoder self-attention, layer 4, head 8"
    page.locator(".all-heads .map canvas").press("ArrowUp")
    said, seen = (
        page.locator(".all-heads .map .card").inner_text(),
        analyse(shipped, Request(sentence)).trace.view(Site("encoder", 3), 7),
    )
    assert any(said.endswith(f"{value:.5f}") for value in seen.values.ravel()), said
    page.get_by_role("button", name="Mean over layers").click()
    assert title.inner_text() == "Encoder self-attention, mean over layers and heads"
    page.get_by_role("button", name="All three at once").click()
    assert page.locator(".together svg").count() == 1
    assert "average=layers" in page.locator("#link").inner_text()
