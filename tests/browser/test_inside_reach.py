"""One head unfolded, for everybody: the keyboard alone, long sentences, narrow screens, odd tokens."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from model.inference.request import Request
from model.trace import Site
from tests.browser.conftest import idle, query, resize
from tests.browser.inside import LONG, READY, at, unfolded, value
from viz import cache


@pytest.fixture
def opened(visit):
    return lambda link="", **options: visit("inside" + link, ready=READY, **options)


# -- the keyboard alone ----------------------------------------------------------------------------------------------------

FOCUSED = """() => {
  let node = document.activeElement;
  while (node?.shadowRoot?.activeElement) node = node.shadowRoot.activeElement;
  return `${node.tagName.toLowerCase()}.${node.className}`;
}"""


def test_the_keyboard_alone_works_everything(opened):
    page = opened("?kind=decoder&stage=11")
    page.locator(".chip").first.focus()
    met = []
    for _ in range(60):
        met.append(page.evaluate(FOCUSED))
        page.keyboard.press("Tab")
    for part in ("button.chip", "input.range", "button.", "button.walk", "div.code", "canvas.", "button.next"):
        assert part in met, (part, met)
    assert page.locator(".rail li button").first.evaluate("button => button.tabIndex") == 0

    page.locator(".rail li button").nth(2).focus()
    page.keyboard.press("Enter")
    idle(page)
    assert at(page) == 3 == int(query(page)["stage"])
    assert page.evaluate(FOCUSED) == "button."  # the place is kept
    page.keyboard.press("ArrowRight")
    assert at(page) == 4
    page.get_by_role("button", name="Next stage").focus()
    page.keyboard.press("Space")
    assert at(page) == 5 and page.evaluate(FOCUSED) == "button.walk"
    page.locator(".chip").nth(2).focus()
    page.keyboard.press("Enter")
    idle(page)
    assert query(page)["step"] == "3" and page.evaluate(FOCUSED) == "button.chip"


def test_cells_are_read_with_the_arrow_keys(opened):
    page = opened("?kind=cross&layer=2&head=3&step=4&stage=4")
    table = unfolded("cross", 2, 3, 4)["products"].tables[0]
    page.locator(".cells canvas").focus()
    row = column = 0
    for key, down, right in (
        ("ArrowRight", 0, 0),
        ("ArrowRight", 0, 1),
        ("ArrowDown", 1, 0),
        ("ArrowLeft", 0, -1),
        ("ArrowUp", -1, 0),
    ):
        page.keyboard.press(key)
        row, column = row + down, column + right
        said = page.locator(".told").inner_text()
        assert said.startswith(f"{table.rows[row]}, dimension {column + 1}: ")
        assert value(said.split(": ")[1].split(";")[0]) == pytest.approx(table.values[row, column], rel=1e-6)
    page.keyboard.press("ArrowUp")  # there is nothing above
    assert page.locator(".told").inner_text() == said
    assert at(page) == 4  # the keys are the canvas' own


# -- long sentences, narrow screens, odd tokens ----------------------------------------------------------------------------


def test_a_sentence_of_128_tokens_stays_usable(opened):
    page = opened(LONG + "&stage=4")
    assert page.locator(".chip").count() == 128
    page.locator(".cells canvas").focus()
    for _ in range(80):
        page.keyboard.press("ArrowDown")
    scroll = page.locator(".cells .scroll")
    top, high, whole = scroll.evaluate("box => [box.scrollTop, box.clientHeight, box.scrollHeight]")
    assert whole > high
    assert top <= 79 / 128 * whole <= top + high  # the cell that the keys have reached is in view
    page.locator(".chip").nth(127).click()
    idle(page)
    assert query(page)["token"] == "128" and page.locator(".chip").nth(127).is_visible()
    main = page.locator("[data-testid=stMain]")
    for width in (1280, 390):
        resize(page, width)
        for number in (1, 3, 8, 14):
            page.locator(".rail li button").nth(number - 1).click()
            idle(page)
            assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
            shares = page.locator(".cells canvas").evaluate_all(
                "all => all.map(c => c.clientWidth / c.parentElement.clientWidth)"
            )
            assert min(shares) > 0.6


def test_walking_does_not_move_a_narrow_page(opened):
    page = opened("?stage=8", viewport={"width": 390, "height": 500})
    main = page.locator("[data-testid=stMain]")
    before = main.evaluate("main => { main.scrollTop = 600; return main.scrollTop }")
    idle(page)
    assert before > 550  # what chooses the stage is above the screen
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    idle(page)
    assert main.evaluate("main => main.scrollTop") == before


def test_tokens_are_text(opened):
    text = "<script>alert(1)</script> 🦉 <b>bold</b> & “quoted” _{low} *star*"
    page = opened(f"?kind=encoder&split=off&text={quote(text)}")
    labels = cache.analyse(Request(text), "auto").trace.queries(Site("encoder", 0))
    assert page.locator(".chip").all_text_contents() == list(labels)
    assert page.locator(".stages script, .stages .sentence *, .stages .chip *").count() == 0
    for _ in range(7):
        page.keyboard.press("ArrowRight")
        assert "undefined" not in page.locator(".stages").inner_text()
