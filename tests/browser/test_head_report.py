"""The page of the head report in a browser that reaches nothing: thumbnails, orders, both themes."""

import pytest

from model.__main__ import main
from tests.browser.conftest import TIMEOUT
from tests.support import tiny

IS_DRAWN = """(canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data.some((value) => value > 0);
}"""
PIXEL = 'document.querySelector("tbody canvas").toDataURL()'


@pytest.fixture
def opened(browser, saved, tmp_path):
    """Opens the page of a report; fails on an error of its script, and on a request of any kind."""
    data, file, wrong = tmp_path / "data.txt", tmp_path / "heads.html", []
    data.write_text("\n".join(source for source, _ in tiny.PAIRS[:3]), encoding="utf-8")
    command = ["report", "heads", "--data", str(data), "--checkpoint", str(saved), "--device", "cpu", "--quiet"]
    assert main([*command, "--out", str(tmp_path / "heads.csv"), "--html", str(file)]) == 0
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="light")
    context.set_default_timeout(TIMEOUT)
    page = context.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith("file:") else wrong.append(asked.url))
    page.goto(file.as_uri())
    page.locator("html[data-drawn]").wait_for(state="attached")
    yield page
    context.close()
    assert wrong == []


def test_every_head_has_a_thumbnail_in_both_themes(opened):
    maps = opened.locator("tbody canvas")
    assert maps.count() == 12
    assert all(maps.nth(n).evaluate(IS_DRAWN) for n in range(12))
    light = opened.evaluate(PIXEL)
    opened.locator("#theme").click()
    opened.locator("html[data-theme=dark]").wait_for(state="attached")
    assert opened.evaluate(PIXEL) != light
    assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_header_sorts_and_blank_cells_come_last(opened):
    def values(column: int) -> list[float | None]:
        read = f"[...document.querySelectorAll('tbody tr')].map((row) => row.cells[{column}].dataset.sort ?? null)"
        return [None if each is None else float(each) for each in opened.evaluate(read)]

    titles = opened.locator("thead th").all_inner_texts()
    start = next(n for n, title in enumerate(titles) if title.startswith("On <s>"))
    for order, sign in (("descending", -1), ("ascending", 1)):
        header = opened.locator("thead th").nth(start)
        header.get_by_role("button").click()
        assert header.get_attribute("aria-sort") == order
        sorted_values = values(start)
        numbers = [each for each in sorted_values if each is not None]
        assert 0 < len(numbers) < 12 and sorted_values == [
            *sorted(numbers, key=lambda v, s=sign: s * v),
            *[None] * (12 - len(numbers)),
        ]
    assert opened.locator("thead [aria-sort]").count() == 1
