"""The presenter view in a second window: stops, notes, time and buttons, and a screen that never shows the notes."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import TIMEOUT, idle, query
from viz.classroom import line_fields
from viz.classroom.talk import find_talk, ready_talks

STOPS = ready_talks()["20-minutes"].stops
NOTES = "Ask: who says il?\nWait ten seconds."


def line(index: int) -> str:
    """Returns the line of a stop with its numbers."""
    stop = STOPS[index]
    return line_fields.fill(stop.place, stop.view, stop.line).text


@pytest.fixture
def windows(visit) -> tuple[Page, Page]:
    """The screen before the first stop of a talk, and its presenter view."""
    expect.set_options(timeout=TIMEOUT)
    screen = visit("?talk=20-minutes&lecture=on")
    screen.get_by_role("button", name="Present").click()
    button = screen.get_by_role("button", name="Presenter view")
    with screen.context.expect_page() as opened:
        button.click()
    screen.keyboard.press("Escape")
    idle(screen)
    return screen, opened.value


def test_the_presenter_view_leads_the_screen_and_keeps_the_notes(windows):
    screen, view = windows
    expect(view.locator(".where")).to_have_text(f"{len(STOPS)} stops, Attention in 20 minutes")
    expect(view.locator(".next .line")).to_have_text(line(0))
    expect(view.locator(".time")).to_have_text("0:00")
    view.get_by_role("button", name="Next").click()
    expect(view.locator(".now .line")).to_have_text(line(0))
    idle(screen)
    assert query(screen)["stop"] == "1" and screen.locator(".talk-strip .line").inner_text() == line(0)
    expect(view.locator(".time")).to_have_text(re.compile(r"^0:0[1-9]"))
    view.get_by_label("Notes for this stop").fill(NOTES)
    expect(view.locator(".saved")).to_have_text("Saved in the playlist.")
    idle(screen)
    assert find_talk(query(screen)["talk"])[0].stops[0].notes == NOTES
    for _ in range(2):  # faster than a page is drawn: none is lost
        view.get_by_role("button", name="Next").click()
    expect(view.locator(".now .line")).to_have_text(line(2))
    expect(view.locator("#notes")).to_have_value("")
    idle(screen)
    assert query(screen)["stop"] == "3"
    view.get_by_role("button", name="Black").click()
    screen.locator(".lab-blank").wait_for()
    view.get_by_role("button", name="Previous").click()  # the screen stays black
    expect(view.locator(".now .line")).to_have_text(line(1))
    idle(screen)
    assert screen.locator(".lab-blank").count() == 1
    view.get_by_role("button", name="Black").click()
    expect(screen.locator(".lab-blank")).to_have_count(0)
    view.get_by_role("button", name="Previous").click()
    expect(view.locator("#notes")).to_have_value(NOTES)
    expect(screen.locator(".talk-strip .line")).to_have_text(line(0))
    idle(screen)
    screen.reload()
    screen.locator(".talk-strip .line", has_text=line(0)).wait_for()
    idle(screen)
    assert "who says il" not in screen.locator("body").inner_text()
    view.get_by_role("button", name="Next").click()
    expect(screen.locator(".talk-strip .line")).to_have_text(line(1))


def test_the_presenter_view_hides_the_pointer_and_fits_a_phone(windows):
    screen, view = windows
    expect(view.locator(".where")).to_contain_text("stops")
    chip = screen.locator(".timeline [data-point]").first
    chip.hover()
    screen.locator(".lab-ring:not([hidden])").wait_for()
    view.get_by_role("button", name="Pointer off").click()
    expect(view.locator(".pointer")).to_have_attribute("aria-pressed", "true")
    expect(screen.locator(".lab-ring:not([hidden])")).to_have_count(0)
    for width, height in ((390, 844), (1280, 720)):
        view.set_viewport_size({"width": width, "height": height})
        assert view.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        for name in ("Previous", "Next", "Black", "Pointer off"):
            box = view.get_by_role("button", name=name, exact=False).bounding_box()
            assert box["height"] >= 56 and box["y"] + box["height"] <= height, (name, width)
