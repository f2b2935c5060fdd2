"""Pictures of every page as files, and a view as one HTML file in a browser that reaches nothing."""

import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page

from model import Request, Site, analyse
from model.io.numbers import exact_probability
from tests.browser.conftest import TIMEOUT, go, idle, read_table
from viz.classroom import line_fields
from viz.classroom.talk import Talk, ready_talks
from viz.classroom.talk_page import page_of_talk
from viz.kit.terms import GLOSSARY
from viz.offline import html_export

HOSTILE = "The dog sees </script><img src=http://127.0.0.1:9/x onerror=alert(1)> the cat."
FORGED = """() => new Promise((heard) => { // nobody leads a file that stands alone
  postMessage({ lab: "show", n: 1, own: true, page: "", query: {}, pointer: "" }, "*"); setTimeout(heard);
})"""
STOPPED = """() => new Promise((ended) => {
  document.addEventListener("securitypolicyviolation", (event) => ended(event.effectiveDirective));
  fetch("http://127.0.0.1:9/").catch(() => null);
})"""


@pytest.fixture
def opened(browser, shipped, tmp_path):
    """Opens the file of a page; fails on an error of its scripts, and on a request of any kind."""
    contexts, wrong = [], []

    def made(name: str, text: str, **changes) -> Page:
        request, name = Request(text), name.replace("_", "-")
        view = html_export.make_view(request, "en-fr", **changes)
        file = tmp_path / f"{name}.html"
        shown = html_export.make_context(shipped, analyse(shipped, request), view)
        file.write_bytes(html_export.file_of(name, shown))
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
        for part, selector in html_export.export_of(html_export.page_of(name)).pictures(shown):  # that a lecture shows alone
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
    cross = trace.view(Site("cross", 3), 4)
    most = int(cross.values[2].argmax())
    chip = page.locator(".timeline .source .chip").nth(most)
    before = chip.get_attribute("title")
    page.get_by_role("group", name="Head").get_by_role("button", name="5", exact=True).click()
    after = chip.get_attribute("title")
    assert f": weight {exact_probability(float(cross.values[2, most]))}" in after and after != before
    page.locator(".maps .map").nth(2).locator("canvas").hover(position={"x": 200, "y": 120})
    said = page.locator(".maps .map").nth(2).locator(".card").inner_text()
    assert any(f"{value:.5f}" in said.splitlines() for value in cross.values.ravel()), said
    page.wait_for_function("() => document.getElementById('link').textContent.includes('step=3')")
    assert "head=5" in page.locator("#link").inner_text()
    caption, (_, *rows) = read_table(page, "Cross")
    assert caption.startswith("The 15 largest of") and rows[0][2] == f"{cross.values.max():.5f}"
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
    assert title.inner_text() == "encoder 4.8"
    page.locator(".all-heads .map canvas").press("ArrowUp")
    said = page.locator(".all-heads .map .card").inner_text()
    seen = analyse(shipped, Request(sentence)).trace.view(Site("encoder", 3), 7)
    assert any(said.endswith(f"{value:.5f}") for value in seen.values.ravel()), said
    page.get_by_role("button", name="Options").click()
    page.get_by_role("button", name="Mean over layers").click()
    assert title.inner_text() == "Encoder self-attention, head 8, mean over layers"
    page.get_by_role("button", name="Mean over both").click()
    assert title.inner_text() == "Encoder self-attention, mean over layers and heads"
    page.get_by_role("button", name="Max over layers").click()
    assert title.inner_text() == "Encoder self-attention, head 8, maximum over layers"
    page.get_by_role("button", name="Max over both").click()
    assert title.inner_text() == "Encoder self-attention, maximum over layers and heads"
    assert "the largest of 32 heads. Rows need not add up to 1" in page.locator(".all-heads .say").inner_text()
    page.get_by_role("button", name="All three at once").click()
    assert page.locator(".together svg").count() == 1
    assert {"average=layers", "combine=max"} <= set(page.locator("#link").inner_text().partition("?")[2].split("&"))
    page.locator(".all-heads .site canvas").first.click(position={"x": size["width"] * 0.9, "y": size["height"] * 0.9})
    assert "combine" not in page.locator("#link").inner_text()


SVG = "{http://www.w3.org/2000/svg}"
# A page's view, how many pictures it has at least, and what stands in one of them, by its name: on both axes of a map.
VIEWS = {
    "?step=11": (5, "What this step looks at", ["The", "because", "</s>", "parce", "dure"]),
    "heads?kind=encoder": (6, "Full map", ["The", "because", "</s>"] * 2),
    "positions": (4, "Embeddings alone", ["The", "because", "</s>"] * 2),
    "what-if?kind=cross": (5, "Who may see whom", ["<s> → Le", "parce → qu'", "because"]),
    "compare?kind=encoder": (3, "Maps side by side", ["The", "because", "</s>"] * 6),
}
# Texts that stand upright and lie over one another or outside of the picture.
MISPLACED = """() => {
  const view = document.documentElement.viewBox.baseVal, found = [], boxes = [];
  for (const text of document.querySelectorAll('text:not([transform])')) {
    if (text.closest('[aria-hidden]')) continue;
    const { x, y, width, height } = text.getBBox(), said = text.textContent;
    const right = view.x + view.width + 1, bottom = view.y + view.height + 1;
    if (x < view.x - 1 || y < view.y - 1 || x + width > right || y + height > bottom) found.push(`outside: ${said}`);
    boxes.push([x + 1, y + height * 0.3, x + width - 1, y + height * 0.75, said]);
  }
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1))
    if (a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]) found.push(`over one another: ${a[4]} and ${b[4]}`);
  return found;
}"""


def open_page(page) -> list[str]:
    """Opens the panel; the names of the pictures."""
    page.locator(".st-key-save button").first.click()
    page.locator(".save select").wait_for()
    idle(page)
    return page.locator(".save select option").all_text_contents()


def saved(page, kind: str, name: str) -> tuple[str, bytes]:
    """Saves a picture: the name of its file, and what is in it."""
    page.locator(".save select").select_option(label=name)
    with page.expect_download(timeout=TIMEOUT) as download:
        page.locator(f".save .formats .{kind}").click()
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long)])
def test_pictures_have_whole_texts_in_place(visit, tmp_path, part):
    views = [*VIEWS.items()][part::2]
    page = visit(views[0][0], ready="h1")
    beside = page.context.new_page()
    for link, (least, watched, labels) in views:
        go(page, link, "h1")
        names = open_page(page)
        assert len(names) > least and names[-1] == "The whole view", link
        for name in (watched, names[-1]):
            file, content = saved(page, "svg", name)
            root = ET.fromstring(content)
            assert re.fullmatch(r"attention-en-fr-[a-z0-9-]{1,64}\.svg", file)
            assert not list(root.iter(SVG + "image")) and not list(root.iter(SVG + "foreignObject")), name
            texts = ["".join(text.itertext()) for text in root.iter(SVG + "text")]
            assert name in texts and any(text.startswith("en-fr") for text in texts), name
            if name == watched:
                assert not Counter(labels) - Counter(text.strip() for text in texts), link
            if name == "The whole view":  # as the page has it
                continue
            (tmp_path / "picture.svg").write_bytes(content)
            beside.goto(f"file://{tmp_path}/picture.svg")
            assert beside.evaluate(MISPLACED) == [], name
        page.keyboard.press("Escape")
        page.locator(".save select").wait_for(state="hidden")


def test_a_png_has_twice_the_size(visit):
    page = visit("?step=11")
    name = "Cross-attention map"
    assert name in open_page(page)
    page.locator(".save .looks input[value=dark]").check(force=True)
    _, svg = saved(page, "svg", name)
    file, png = saved(page, "png", name)
    assert file == "attention-en-fr-cross-attention-map-l3-h2-step11-the-dog-didnt-eat-the-apple.png"
    picture, root = Image.open(io.BytesIO(png)).convert("RGBA"), ET.fromstring(svg)
    assert picture.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
    assert picture.getpixel((0, 0)) == (20, 24, 27, 255)
    page.locator(".save .looks input[value=transparent]").check(force=True)
    page.locator(".save .caption input").uncheck()
    bare = Image.open(io.BytesIO(saved(page, "png", name)[1])).convert("RGBA")
    assert bare.getpixel((0, 0))[3] == 0 and bare.height < picture.height
    root = ET.fromstring(saved(page, "svg", name)[1])
    assert (root.get("role"), root[0].tag, root[0].text) == ("img", f"{SVG}title", name), "also without a caption"


def test_a_talk_is_given_offline(browser, tmp_path):
    talk = ready_talks()["masks"]
    file = tmp_path / "talk.html"
    file.write_bytes(page_of_talk(Talk(talk.title, talk.stops[:3])))
    context = browser.new_context(viewport={"width": 1280, "height": 720}, offline=True)
    context.set_default_timeout(TIMEOUT)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    for number, stop in enumerate(talk.stops[:3], 1):
        page.locator(".place", has_text=f"{number} of 3").wait_for()
        page.frame_locator("iframe").locator(f"body.page-{stop.page}").wait_for()
        page.frame_locator("iframe").locator("html[data-drawn]").wait_for(state="attached")
        assert page.locator(".line").inner_text() == line_fields.fill(stop.place, stop.view, stop.line).text
        page.frame_locator("iframe").locator("body").press("PageDown")
    assert page.get_by_role("button", name="Next").is_disabled()
    page.get_by_role("button", name="Back").click()
    page.locator(".place", has_text="2 of 3").wait_for()
    context.close()
    assert wrong == []


def test_attention_in_four_pictures_prints_on_one_sheet(opened):
    page = opened("lessons", "The dog didn't eat the apple because it was too hard.", lesson="attention")
    assert page.locator(".four-pictures figure").count() == 4 and page.get_by_role("button", name="All lessons").count() == 0
    assert re.findall(rb"/Count (\d+)", page.pdf(prefer_css_page_size=True)) == [b"1"]
    summary = page.locator(".summary")
    assert not summary.is_visible() and page.get_by_role("button", name="Print").is_visible()
    page.emulate_media(media="print")
    assert summary.is_visible() and not page.get_by_role("button", name="Print").is_visible()
    assert GLOSSARY["attention weight"] in summary.inner_text()
