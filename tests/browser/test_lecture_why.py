"""Why and Compare in a lecture, in a real Chromium: by keys alone, and what is pointed at is ringed where it stands."""

from __future__ import annotations

from tests.browser.conftest import idle, query


def test_why_and_compare_go_by_keys_and_a_cell_is_ringed_in_a_zoomed_map(visit, lab):
    page = visit("why?step=11", ready=".sum .bar")
    page.keyboard.press("ArrowRight")
    page.locator(".lab-why", has_text="était").wait_for()
    page.keyboard.press("l")
    page.locator(".sum .cascade").wait_for()
    idle(page)
    page.keyboard.press("ArrowLeft")
    page.locator(".sum .own", has_text="il").wait_for()
    page.keyboard.press("n")
    page.locator(".sum button.step[aria-pressed=true]").wait_for()
    page.locator(".sum .told", has_text="nothing held").wait_for()
    idle(page)
    assert query(page)["step"] == "11"
    page.locator(".sum button.step").nth(2).hover()
    page.locator(".lab-ring:not([hidden])").wait_for()
    page.keyboard.press("v")
    page.locator(".sum .all-heads .cell").first.wait_for()
    idle(page)
    page.keyboard.press("n")
    page.locator(".sum .all-heads .cell[aria-pressed=true]").wait_for()
    page.goto(f"{lab}/compare?kind=cross&lecture=on")
    page.locator(".side-by-side canvas").first.wait_for()
    idle(page)
    box = page.locator(".side-by-side canvas").first.bounding_box()
    x, y = box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"]
    page.mouse.move(x, y)
    page.locator(".side-by-side canvas[data-ring]").first.wait_for()
    canvas, ring = page.locator(".side-by-side canvas").first, page.locator(".lab-ring:not([hidden])")
    ring.wait_for()
    row, column = map(int, canvas.get_attribute("data-ring").split())
    assert canvas.evaluate("(node, at) => node.labPoints.at(...at)", [x, y]) == f"map1 {row + 1} {column + 1}"
    around = ring.bounding_box()
    assert around["x"] < x < around["x"] + around["width"] and around["y"] < y < around["y"] + around["height"]
