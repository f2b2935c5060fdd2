"""Every picture of every page as a file, in a real Chromium: lines and texts that are whole, in place and named."""

import io
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from tests.browser.conftest import TIMEOUT, idle

SVG = "{http://www.w3.org/2000/svg}"
# A page's view, how many pictures it has at least, and what stands in one of them, by its name: on both axes of a map.
VIEWS = {
    "?step=11": (5, "What this step looks at", ["The", "because", "</s>", "parce", "timide"]),
    "heads?kind=encoder": (6, "Full map", ["The", "because", "</s>"] * 2),
    "positions": (6, "Embeddings alone", ["The", "because", "</s>"] * 2),
    "what-if?kind=cross": (5, "Who may see whom", ["<s> → Le", "parce → qu'", "because"]),
    "compare": (3, "Maps side by side", ["The", "because", "</s>"] * 6),
}
# Texts that stand upright and lie over one another or outside of the picture.
MISPLACED = """() => {
  const view = document.documentElement.viewBox.baseVal, found = [], boxes = [];
  for (const text of document.querySelectorAll('text:not([transform])')) {
    if (text.closest('[aria-hidden]')) continue;
    const { x, y, width, height } = text.getBBox(), said = text.textContent;
    const right = view.x + view.width, bottom = view.y + view.height;
    if (x < view.x - 1 || y < view.y - 1 || x + width > right + 1 || y + height > bottom + 1) found.push(`outside: ${said}`);
    boxes.push([x + 1, y + height * 0.3, x + width - 1, y + height * 0.75, said]);
  }
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1))
    if (a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]) found.push(`over one another: ${a[4]} and ${b[4]}`);
  return found;
}"""


def opened(page) -> list[str]:
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


@pytest.mark.parametrize("link", VIEWS)
def test_a_picture_has_whole_texts_in_place(visit, tmp_path, link):
    least, watched, labels = VIEWS[link]
    page = visit(link, ready="h1")
    names = opened(page)
    assert len(names) > least and names[-1] == "The whole view"
    beside = page.context.new_page()
    for name in (watched, names[-1]):
        file, content = saved(page, "svg", name)
        root = ET.fromstring(content)
        assert re.fullmatch(r"attention-en-fr-[a-z0-9-]{1,64}\.svg", file)
        assert not list(root.iter(SVG + "image")) and not list(root.iter(SVG + "foreignObject")), name
        texts = ["".join(text.itertext()) for text in root.iter(SVG + "text")]
        assert name in texts and any(text.startswith("en-fr") for text in texts), name
        if name == watched:
            assert not Counter(labels) - Counter(text.strip() for text in texts)
        if name == "The whole view":  # as the page has it
            continue
        (tmp_path / "picture.svg").write_bytes(content)
        beside.goto(f"file://{tmp_path}/picture.svg")
        assert beside.evaluate(MISPLACED) == [], name


def test_a_png_has_twice_the_size(visit):
    page = visit("?step=11")
    name = "Cross-attention map"
    assert name in opened(page)
    page.locator(".save .looks input[value=dark]").check(force=True)
    _, svg = saved(page, "svg", name)
    file, png = saved(page, "png", name)
    assert file == "attention-en-fr-cross-attention-map-l3-h2-step11-the-dog-didnt-cross-the-street.png"
    picture, root = Image.open(io.BytesIO(png)).convert("RGBA"), ET.fromstring(svg)
    assert picture.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
    assert picture.getpixel((0, 0)) == (20, 24, 27, 255)
    page.locator(".save .looks input[value=transparent]").check(force=True)
    page.locator(".save .caption input").uncheck()
    _, png = saved(page, "png", name)
    bare = Image.open(io.BytesIO(png)).convert("RGBA")
    assert bare.getpixel((0, 0))[3] == 0 and bare.height < picture.height
    root = ET.fromstring(saved(page, "svg", name)[1])
    assert (root.get("role"), root[0].tag, root[0].text) == ("img", f"{SVG}title", name), "also without a caption"
