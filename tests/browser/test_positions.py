"""The Positions page in a real Chromium: what is drawn, and a slider that is moved by keys."""

from __future__ import annotations

import pytest

from tests.browser.conftest import idle, query, resize, sideways

SIX = 6  # figures of a scheme
BLUE_AND_MORE = """image => new Promise(done => {
    const picture = new Image();
    picture.onload = () => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [picture.width, picture.height];
        const pen = canvas.getContext('2d');
        pen.drawImage(picture, 0, 0);
        const seen = new Set();
        const data = pen.getImageData(0, 0, picture.width, picture.height).data;
        for (let i = 0; i < data.length; i += 4) seen.add(data.slice(i, i + 3).join());
        done(seen.size);
    };
    picture.src = image;
})"""
LABEL = "c => (c.closest('[aria-label]') || c.querySelector('[aria-label]'))?.getAttribute('aria-label')"


@pytest.fixture
def opened(visit):
    return lambda **options: visit("positions", ready=".st-key-pe_grid .heatmaplayer image", **options)


def table(page) -> str:
    """The picture of the table, as it is drawn."""
    return page.locator(".st-key-pe_grid .heatmaplayer image").first.get_attribute("href")


def test_each_scheme_is_drawn_and_told_and_fits(opened):
    page = opened(color_scheme="dark")
    for scheme in ("Learned", "Rotary", "Sinusoidal"):
        page.get_by_role("radio", name=scheme).click()
        idle(page)
        assert page.locator(".st-key-pe_grid [data-testid=stPlotlyChart]").count() == SIX
        assert page.evaluate(BLUE_AND_MORE, table(page)) > 20  # colours: it is no empty picture
        assert query(page).get("scheme", "sinusoidal") == scheme.lower()
    for chart in page.locator("[data-testid=stPlotlyChart]").all():
        label = chart.evaluate(LABEL)
        assert label and len(label) > 30, label
    resize(page, 390)
    assert sideways(page) <= 0  # the charts stand in strips of their own
    for box in (chart.bounding_box() for chart in page.locator("[data-testid=stPlotlyChart]").all()):
        assert 250 < box["width"] <= 390


def test_a_slider_moves_by_keys_and_changes_picture_text_and_link(opened):
    page = opened()
    before, said = table(page), page.locator(".st-key-pe_grid .lab-note").nth(4).inner_text()
    page.get_by_role("slider", name="Shift k").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    idle(page)
    assert query(page)["pe_k"] == "3"
    assert page.locator(".st-key-pe_grid .lab-note").nth(4).inner_text() != said
    page.get_by_role("slider", name="Positions").focus()
    page.keyboard.press("ArrowRight")
    idle(page)
    assert query(page)["pe_n"] == "128"
    assert table(page) != before
