"""Three parts of the page Inside in a real Chromium: a click on a cell or a bar goes where it says."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import idle


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.fixture
def opened(visit):
    def page(part: str, more: str = "", **options):
        found = visit(f"inside?part={part}{more}", wait=False, **options)
        found.locator(".js-plotly-plot .main-svg").first.wait_for()
        idle(found)
        found.wait_for_timeout(300)
        return found

    return page


def settled(page) -> None:
    page.wait_for_timeout(500)
    idle(page)


def plot(page, number: int = 0) -> dict[str, float]:
    """The area of a chart that its axes enclose, on the screen."""
    return page.locator(".js-plotly-plot").nth(number).locator(".nsewdrag").first.bounding_box()


def click(page, box, across: float, down: float) -> None:
    """At a share of an area; the pointer moves first, as a hand does."""
    x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.wait_for_timeout(150)
    page.mouse.click(x, y)
    settled(page)


@pytest.mark.parametrize("step", [4, 16])
def test_a_click_on_a_cell_goes_to_its_step(opened, step):
    page = opened("lens")
    click(page, plot(page), (step - 0.5) / 16, 0.5)
    assert query(page)["step"] == str(step)
    assert page.locator(".lab-lens caption").inner_text().startswith(f"Step {step},")
    click(page, plot(page), 1.5 / 16, 0.9)
    assert query(page)["step"] == "2"


def test_hovering_a_cell_tells_its_numbers(opened):
    page = opened("lens")
    box = plot(page)
    page.mouse.move(box["x"] + box["width"] * 10.4 / 16, box["y"] + box["height"] * 0.7)
    page.mouse.move(box["x"] + box["width"] * 10.5 / 16, box["y"] + box["height"] * 0.7)
    page.locator(".hovertext").first.wait_for()
    assert "layer 3, step 11" in page.locator(".hovertext").first.text_content()


def test_the_slider_moves_the_step_with_the_keys(opened):
    page = opened("lens")
    page.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert query(page)["step"] == "2"


def test_a_click_on_a_bar_goes_on_from_its_token(opened):
    page = opened("embeddings", "&near=eat")
    first = page.locator(".js-plotly-plot").first.locator(".yaxislayer-above text").first.text_content()
    click(page, plot(page), 0.1, 0.05)
    assert query(page)["near"] == first == page.locator(".lab-chosen").inner_text()


def test_a_word_is_typed_and_a_chip_is_clicked(opened):
    page = opened("embeddings")
    box = page.get_by_role("textbox", name="Word", exact=True)
    box.fill("house")
    box.press("Enter")
    settled(page)
    assert query(page)["near"] == "house" and page.locator(".lab-chosen").inner_text() == "·house"
    page.get_by_role("button", name="·tired").or_(page.get_by_role("radio", name="·tired")).first.click()
    settled(page)
    assert query(page)["near"] == "·tired" == page.locator(".lab-chosen").inner_text()
