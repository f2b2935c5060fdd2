"""Translate in a lecture: nothing jumps while one steps, keys do what they say, what is pointed at is ringed."""

from __future__ import annotations

from tests.browser.conftest import idle, query, translation, walk
from viz.translate.timeline import ROWS

# From here on: every shift of the layout that follows, keys or not.
WATCHED = """() => {
  window.shifts = [];
  const told = ({ node, previousRect: a, currentRect: b }) => [node?.className, a.x, a.y, a.width, b.x, b.y, b.width];
  const note = (list) => shifts.push(...list.map(({ value, sources }) => `${value.toFixed(5)} ${sources.map(told)}`));
  new PerformanceObserver((list) => note(list.getEntries())).observe({ type: "layout-shift" });
}"""
# The middle of what has a name in a component, in the window; null where it is not there.
MIDDLE = """(name) => {
  const root = attentionLabRoots.get(name.split("|")[0]), what = name.split("|")[1];
  const canvas = [...root.querySelectorAll("canvas")].find((each) => each.labPoints?.rect(what));
  const box = canvas ? canvas.labPoints.rect(what) : root.querySelector(`[data-point="${what}"]`)?.getBoundingClientRect();
  return box && [box.x + box.width / 2, box.y + box.height / 2];
}"""
RING = """() => {
  const box = document.querySelector(".lab-ring:not([hidden])")?.getBoundingClientRect();
  return box && [box.x + box.width / 2, box.y + box.height / 2];
}"""
POINTED = ("timeline|source 9", "timeline|output 4", "timeline|input 1", "candidates|candidate {}", "file_maps|cross 11 9")


def test_a_lecture_on_translate_by_keys_alone(visit):
    page = visit("?step=1&lecture=on")
    page.evaluate(WATCHED)
    walk(page, *["ArrowRight"] * 15, "Home")
    idle(page)
    assert page.evaluate("shifts") == []
    whole = translation(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    idle(page)
    assert "branch" in query(page) and translation(page) != whole
    page.keyboard.press("Escape")
    idle(page)
    assert "branch" not in query(page) and translation(page) == whole
    page.keyboard.press("g")
    page.locator(".candidates .next").wait_for()
    hidden = translation(page)
    page.keyboard.press("PageDown")  # shows what was hidden, and stays
    page.locator(".candidates .row").first.wait_for()
    idle(page)
    assert "step" not in query(page) and len(translation(page)) > len(hidden)
    page.keyboard.press("PageDown")
    page.locator(".candidates .next").wait_for()
    idle(page)
    assert query(page)["step"] == "2"
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.locator(".shifted").wait_for()
    assert page.locator(".legend, .label").first.inner_text().strip().endswith(ROWS["shifted"][1])


def test_what_is_pointed_at_is_ringed(visit):
    page = visit("?step=11&lecture=on&large=2")
    token = page.locator(".candidates [data-point]").first.get_attribute("data-point").split(" ")[1]
    for name in POINTED:
        if name.startswith("timeline") and query(page).get("large"):
            page.keyboard.press("v")
            page.locator(".key-values").wait_for()
            page.keyboard.press("v")
            page.locator(".timeline:not(.over-maps) .chip").first.wait_for()
            idle(page)
        if name.startswith("file_maps"):
            page.keyboard.press("v")
            page.locator(".large canvas").wait_for()
            idle(page)
        middle = page.evaluate(MIDDLE, name.format(token))
        page.mouse.move(*middle)
        idle(page)
        ring = page.evaluate(RING)
        assert ring and max(abs(a - b) for a, b in zip(ring, middle, strict=True)) < 2, name
