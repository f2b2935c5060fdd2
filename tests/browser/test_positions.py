"""The Positions page in a real Chromium: three schemes, sliders by keys, edits that go along to the other pages."""

from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.browser.conftest import idle

SENTENCE = "The dog sees the dog."
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


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.fixture
def opened(visit):
    def page(where: str = "", **options):
        found = visit("positions" + where, wait=False, **options)
        settled(found)
        return found

    return page


def settled(page) -> None:
    page.wait_for_timeout(500)
    idle(page)
    page.locator(".st-key-pe_variants .lab-variant").first.wait_for()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=stPlotlyChart] .main-svg').length > 0")
    idle(page)


def table(page) -> str:
    """The picture of the table, as it is drawn."""
    return page.locator(".st-key-pe_grid .heatmaplayer image").first.get_attribute("href")


def note(page) -> str:
    return page.locator(".st-key-pe_grid .lab-note").last.inner_text()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_each_scheme_is_drawn(opened, colours):
    page = opened(color_scheme=colours)
    for scheme in ("Learned", "Rotary", "Sinusoidal"):
        page.get_by_role("radio", name=scheme).click()
        settled(page)
        charts = page.locator(".st-key-pe_grid [data-testid=stPlotlyChart]")
        assert charts.count() == SIX
        assert page.locator("[data-testid=stPlotlyChart]").count() == SIX + 3
        assert page.evaluate(BLUE_AND_MORE, table(page)) > 20  # colours: it is no empty picture
        assert query(page).get("scheme", "sinusoidal") == scheme.lower()
        assert page.locator(".lab-fault").count() == 0


def test_a_slider_moves_by_keys_and_changes_picture_text_and_link(opened):
    page = opened()
    before, said = table(page), page.locator(".st-key-pe_grid .lab-note").nth(4).inner_text()
    slider = page.get_by_role("slider", name="Shift k")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settled(page)
    assert query(page)["pe_k"] == "3"
    assert page.locator(".st-key-pe_grid .lab-note").nth(4).inner_text() != said
    page.get_by_role("slider", name="Positions").focus()
    page.keyboard.press("ArrowRight")
    settled(page)
    assert query(page)["pe_n"] == "128"
    assert table(page) != before


def test_a_pair_that_is_followed_is_drawn_with_its_wavelength(opened):
    page = opened("?pe_d=64&pe_base=100&pe_i=16")
    assert "i = 16, wavelength 62.83" in page.locator(".st-key-pe_grid .annotation-text").all_text_contents()


def test_positions_off_go_along_to_what_if_and_can_be_taken_back(opened):
    page = opened(f"?text={quote(SENTENCE)}")
    rows = page.locator(".st-key-pe_variants .lab-variant")
    assert rows.count() == 9
    button = page.get_by_role("button", name="Source: positions shifted by 200")
    button.focus()
    page.keyboard.press("Enter")
    settled(page)
    assert query(page)["edits"] == "source-positions_shifted-200"
    edited = rows.nth(4).inner_text().strip()
    assert page.locator(".st-key-edit_bar button").first.inner_text().startswith("Source: positions shifted by 200")
    page.locator("[data-testid=stSidebarNavLink]", has_text="What if").click()
    page.locator(".switchboard canvas").wait_for()
    idle(page)
    assert page.locator(".lab-both p").nth(1).inner_text().strip() == edited
    page.locator("[data-testid=stSidebarNavLink]", has_text="Positions").click()
    settled(page)
    page.get_by_role("button", name="Source: positions shifted by 200").last.click()
    settled(page)
    assert "edits" not in query(page)


def test_tokens_of_the_target_begin_with_the_start_token(opened):
    page = opened(f"?text={quote(SENTENCE)}&kind=decoder")
    labels = page.locator(".st-key-pe-tokens-alone .ytick text").all_text_contents()
    assert labels[0].strip() == "<s>" and labels.count("chien") == 2


def test_the_link_opens_the_same_in_a_fresh_browser(opened):
    page = opened(f"?text={quote(SENTENCE)}&scheme=rotary&pe_d=32&pe_n=128&pe_k=9&pe_i=3")
    other = opened("?" + urlsplit(page.url).query)
    assert table(other) == table(page)
    assert other.locator(".st-key-pe_grid").inner_text() == page.locator(".st-key-pe_grid").inner_text()


@pytest.mark.parametrize(("scheme", "width"), [("sinusoidal", 390), ("learned", 1280)])
def test_nothing_scrolls_sideways(opened, scheme, width):
    page = opened(f"?scheme={scheme}", viewport={"width": width, "height": 720})
    assert page.locator("[data-testid=stMain]").evaluate("main => main.scrollWidth - main.clientWidth") <= 0
    for box in (chart.bounding_box() for chart in page.locator("[data-testid=stPlotlyChart]").all()):
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["width"] > 250


def test_every_picture_has_a_text_alternative(opened):
    page = opened()
    for chart in page.locator("[data-testid=stPlotlyChart]").all():
        label = chart.evaluate(
            "c => (c.closest('[aria-label]') || c.querySelector('[aria-label]'))?.getAttribute('aria-label')"
        )
        assert label and len(label) > 30, label
