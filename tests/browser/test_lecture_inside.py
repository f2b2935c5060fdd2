"""Inside and Positions in a lecture: every picture is read from the last row, fits the window, and is turned by key."""

from __future__ import annotations

import pytest

from tests.browser.conftest import idle, query, resize
from tests.browser.measured_type import SCRIPT, SLACK, measured, smaller
from viz.page_fields import PARTS

# page: its link, the field that `v` turns, its values, and for each of them what must be larger than all must be
PAGES = {
    "inside": (
        "?lecture=on&kind=cross&layer=4&head=1&step=11&stage=5",
        "part",
        PARTS,
        {
            "stages": ("stages th.token", 24),
            "writers": ("writers td.", 24),
            "map": ("blueprint h2.", 28),
            "tokens": ("tokens span.tile", 40),
        },
    ),
    "positions": ("?lecture=on", "large", tuple(map(str, range(1, 10))), {"1": ("h2.lab-large-title", 28)}),
}


@pytest.mark.parametrize("name", PAGES)
def test_each_picture_of_a_lecture_fits_and_is_large(visit, name):
    link, field, values, larger = PAGES[name]
    page = visit(name + link, ready=".st-key-lecture_stage", scripts=(SCRIPT,))
    for number, value in enumerate(values):
        assert query(page).get(field, values[0]) == value
        if number == len(values) - 1:
            resize(page, 1920, 1080)
        idle(page)
        found = measured(page)
        assert smaller(found) == [], value
        place, least = larger.get(value, ("", 0))
        sizes = [text.size for text in found if place in text.where] if place else [0]
        assert sizes and min(sizes) >= least - SLACK, (value, sizes or {text.where for text in found})
        below = page.locator(".st-key-lecture_stage").evaluate("stage => stage.scrollHeight - stage.clientHeight")
        assert below <= 1, value
        page.keyboard.press("v")
        idle(page)
    assert query(page).get(field, values[0]) == values[0]  # the first again


def test_stages_and_tokens_are_turned_by_key_and_a_pointer_finds_its_cell(visit):
    page = visit("inside?lecture=on&kind=cross&layer=4&head=1&step=11&stage=4", ready=".stages canvas")
    box = page.locator(".stages canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    ring = page.locator(".lab-ring")
    ring.wait_for()
    around, told = ring.bounding_box(), page.locator(".stages .told").inner_text()
    assert around["x"] < box["x"] + box["width"] / 2 < around["x"] + around["width"] and "dimension" in told
    cell = page.evaluate(
        """([x, y]) => [...globalThis.attentionLabRoots.get("stages").querySelectorAll("canvas")]
        .map((canvas) => canvas.labPoints.at(x, y)).find(Boolean)""",
        [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2],
    )
    row, column = map(int, cell.removeprefix("products 0 cell ").split())
    assert f"dimension {column + 1}:" in told and row >= 0  # what is ringed is what is told
    for key in ("n", "n", "p"):
        page.keyboard.press(key)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("location.search.includes('stage=5') && location.search.includes('step=12')")
    assert query(page)["kind"] == "cross"
