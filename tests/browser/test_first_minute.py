"""The first minute in a real Chromium: the tour, offered once and walked by keys; a lesson, solved and remembered."""

from urllib.parse import urlencode

from tests.browser.conftest import idle, query, resize, sideways
from viz.lessons.lessons import LESSONS, find
from viz.state.links import link

PLACES = """() => [".lab-tour", ".lab-tour-ring"].map((name) => {
  const { left, top, right, bottom } = document.querySelector(name).getBoundingClientRect();
  return [left, top, right, bottom];
})"""


def apart(page) -> bool:
    """The card stands in the window, and beside the ring."""
    card, ring = page.evaluate(PLACES)
    width, height = page.viewport_size["width"], page.viewport_size["height"]
    inside = card[0] >= 0 and card[1] >= 0 and card[2] <= width and card[3] <= height
    return inside and (card[2] <= ring[0] or ring[2] <= card[0] or card[3] <= ring[1] or ring[3] <= card[1])


def test_the_tour_is_offered_once_and_walked_by_keys(visit):
    page = visit(reduced_motion="reduce")
    head = page.locator("h1").bounding_box()
    offer = page.get_by_role("button", name="Take the tour")
    offer.focus()
    page.keyboard.press("Enter")
    card, step = page.get_by_role("dialog", name="Tour"), query(page)
    card.wait_for()
    assert offer.count() == 0 and page.locator("h1").bounding_box() == head
    for width, height in ((1280, 720), (390, 844)):
        resize(page, width, height)
        for number in range(1, 6):
            card.get_by_text(f"{number} of 5").wait_for()
            idle(page)
            assert apart(page), (width, number)
            assert sideways(page) <= 0
            page.keyboard.press("ArrowRight" if number < 5 else "ArrowLeft")
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        card.get_by_text("1 of 5").wait_for()
    assert query(page) == step  # the arrows were the tour's alone
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    page.reload()
    page.locator(".timeline .said").first.wait_for()
    idle(page)
    assert offer.count() == 0 and card.count() == 0
    resize(page, 1280, 720)
    again = page.get_by_role("button", name="Tour", exact=True)
    again.click()
    card.wait_for()
    page.keyboard.press("Escape")
    card.wait_for(state="detached")
    assert again.evaluate("node => node.getRootNode().activeElement === node")
    again.click()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # at its end it leads to the first lesson
    page.locator(".lesson-strip").get_by_text(LESSONS[0].question).wait_for()
    idle(page)
    assert (query(page)["lesson"], card.count()) == (LESSONS[0].name, 0)
    page.locator("[data-testid=stMain]").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    strip, above = (page.locator(f"[data-testid=stLayoutWrapper]:has({which} > .st-key-lesson)") for which in ("", "+ *"))
    assert above.bounding_box()["y"] + above.bounding_box()["height"] <= strip.bounding_box()["y"]  # it covers nothing


def test_a_solved_lesson_is_remembered(visit):
    lesson = find("unsure")
    page = visit("?" + urlencode(link(lesson.view)))
    strip = page.locator(".lesson-strip")
    assert strip.get_by_role("status").inner_text().startswith("Step 1 writes")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    strip.get_by_text("✓ Solved").wait_for()
    idle(page)
    strip.get_by_role("link", name="Next ›").click()
    page.locator("h1", has_text="Inside").wait_for()
    idle(page)
    assert query(page)["lesson"] == "formula" and strip.get_by_text("✓ Solved").count() == 0
    page.get_by_role("link", name="Lessons").click()
    page.get_by_text(f"1 of {len(LESSONS)} solved").wait_for()
    assert page.get_by_role("img", name="Solved", exact=True).count() == 1
    idle(page)
    strip.get_by_role("button", name="Leave").click()
    strip.wait_for(state="detached")
    assert "lesson" not in query(page)
