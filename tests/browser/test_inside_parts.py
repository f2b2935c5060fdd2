"""Parts of the page Inside in a real Chromium: a click on a cell, a bar or a word goes where it says."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import idle, query, walk


@pytest.fixture
def opened(visit):
    return lambda part, more="": visit(f"inside?part={part}{more}", ready=".js-plotly-plot .nsewdrag")


def plot(page) -> dict[str, float]:
    """The area of the first chart that its axes enclose, on the screen."""
    return page.locator(".js-plotly-plot").first.locator(".nsewdrag").first.bounding_box()


def point(page, across: float, down: float) -> tuple[float, float]:
    """At a share of the chart's area: the pointer moves there, as a hand does, until the chart tells what it points at.

    It leaves the chart first: a click goes where the chart's words are, and those of the place before stay a while.
    """
    box = plot(page)
    x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
    page.mouse.move(0, 0)
    expect(page.locator(".hoverlayer .hovertext")).to_have_count(0)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    return x, y


def click(page, across: float, down: float) -> None:
    page.mouse.click(*point(page, across, down))
    idle(page)


def test_a_cell_tells_its_numbers_and_a_click_on_it_goes_to_its_step(opened):
    page = opened("lens")
    point(page, 10.5 / 16, 0.7)
    assert "layer 3, step 11" in page.locator(".hovertext").first.text_content()
    for step, down in ((4, 0.5), (16, 0.5), (2, 0.9)):
        click(page, (step - 0.5) / 16, down)
        assert query(page)["step"] == str(step)
        assert page.locator(".lab-lens caption").inner_text().startswith(f"Step {step},")


def test_a_click_on_a_bar_goes_on_from_its_token(opened):
    page = opened("embeddings", "&near=eat")
    first = page.locator(".js-plotly-plot").first.locator(".yaxislayer-above text").first.text_content()
    click(page, 0.1, 0.05)
    assert query(page)["near"] == first == page.locator(".lab-chosen").inner_text()


def test_a_words_merges_are_walked_without_the_server_and_lead_to_its_neighbours(visit):
    page = visit("inside?part=tokens&text=The%20animal%20didn%27t%20sleep.", ready=".tokens .pieces")
    page.get_by_role("button", name="·animal, 1 token").first.click()
    idle(page)
    assert query(page)["cut_word"] == "2"
    tiles = page.locator(".pieces .tile")
    assert "".join(tiles.all_inner_texts()) == "·animal" and tiles.count() == 7
    frames, pauses = walk(page, *["ArrowRight"] * 9, *["ArrowLeft"] * 2)
    assert frames <= pauses
    idle(page)
    assert query(page)["cut_merges"] == "4" and tiles.all_inner_texts() == ["·an", "im", "al"]
    assert page.locator(".next .tile").all_inner_texts() == ["·an", "im"]
    chip = page.locator(".chip[aria-pressed=true]")
    chip.press("ArrowRight")
    idle(page)
    assert chip.inner_text() == "·didn" and chip.evaluate("node => node.getRootNode().activeElement === node")
    chip.press("ArrowLeft")
    idle(page)
    page.get_by_role("button", name="Neighbours of ·animal").click()
    idle(page)
    assert (query(page)["part"], query(page)["near"]) == ("embeddings", "·animal")
    assert page.locator(".lab-chosen").inner_text() == "·animal"


def test_a_measurement_is_watched_and_stopped(visit):
    page = visit("inside?part=length", ready=".js-plotly-plot .xtick text")
    stop = page.get_by_role("button", name="Stop", exact=True)
    assert not stop.is_visible()
    page.get_by_role("button", name="Measure on this machine").click()
    page.get_by_role("progressbar").wait_for()
    stop.click()
    page.get_by_text("Shown: a run that comes with the lab").wait_for()
    assert page.get_by_role("progressbar").count() == 0 and not stop.is_visible()


def test_a_score_leads_to_its_writers_and_a_head_among_them_to_its_own(visit):
    page = visit("inside?kind=cross&layer=3&head=2&step=11&stage=5", ready=".stages .next")
    page.get_by_role("button", name="Why does it look there?").click()
    page.locator(".writers table").wait_for()
    idle(page)
    assert query(page)["part"] == "writers"
    shown = [float(text.replace("−", "-")) for text in page.locator(".writers td[title]").all_inner_texts()]
    assert abs(sum(shown) - float(page.locator(".writers .all").inner_text())) < 0.005 * len(shown)
    head = page.locator("button.writer[title^='cross-attention']").first
    kind, layer, number = head.get_attribute("title").replace(": open it", "").split(", ")
    head.click()
    idle(page)
    asked = query(page)
    assert (kind, layer, number) == ("cross-attention", f"layer {asked['layer']}", f"head {asked['head']}")
    assert page.locator(".writers .chip[aria-pressed=true]").first.inner_text() == "qu' → il"
