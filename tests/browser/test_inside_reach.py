"""One head unfolded, for everybody: the keyboard alone, odd links, long sentences, narrow screens."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from model.inference.request import Request
from model.trace import Site
from tests.browser.inside import LONG, at, query, ready, settled, unfolded, value, where
from viz import cache


@pytest.fixture
def opened(visit):
    return lambda link="", **options: ready(visit("inside" + link, wait=False, **options))


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
    settled(page)
    assert at(page) == 3 == int(query(page)["stage"])
    assert page.evaluate(FOCUSED) == "button."  # the place is kept
    page.keyboard.press("ArrowRight")
    assert at(page) == 4
    page.get_by_role("button", name="Next stage").focus()
    page.keyboard.press("Space")
    assert at(page) == 5 and page.evaluate(FOCUSED) == "button.walk"
    page.locator(".chip").nth(2).focus()
    page.keyboard.press("Enter")
    settled(page)
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


def test_a_cell_that_the_keys_reach_is_in_view(opened):
    page = opened(LONG + "&stage=4")
    page.locator(".cells canvas").focus()
    for _ in range(80):
        page.keyboard.press("ArrowDown")
    scroll = page.locator(".cells .scroll")
    top, high, whole = scroll.evaluate("box => [box.scrollTop, box.clientHeight, box.scrollHeight]")
    assert whole > high
    assert top <= 79 / 128 * whole <= top + high


def test_the_keys_walk_on_after_a_chip_was_clicked(opened):
    page = opened("?stage=3")
    page.locator(".chip").nth(4).click()
    settled(page)
    page.keyboard.press("ArrowRight")
    assert at(page) == 4


# -- odd links, long sentences, narrow screens -----------------------------------------------------------------------------


def test_a_link_to_what_is_not_there_says_what_is_shown(opened):
    page = opened("?stage=99&layer=40&head=mean&token=999")
    text = page.locator("[data-testid=stMain]").inner_text()
    for said in ("There is no stage 99", "layer 40", "head 1 is shown", "There is no token 999"):
        assert said in text
    assert (where(page), at(page)) == (("Encoder", "4", "1", "</s>"), 16)


@pytest.mark.parametrize("link", ["?kind=cross", LONG])
def test_nothing_scrolls_sideways_at_any_stage(opened, link):
    page = opened(link + "&stage=1")
    main = page.locator("[data-testid=stMain]")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844 if width == 390 else 720})
        page.wait_for_timeout(500)
        for number in (1, 3, 8, 14):
            page.locator(".rail li button").nth(number - 1).click()
            assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
            shares = page.locator(".cells canvas").evaluate_all(
                "all => all.map(c => c.clientWidth / c.parentElement.clientWidth)"
            )
            assert min(shares) > 0.6


def test_walking_does_not_move_a_narrow_page(opened):
    page = opened("?stage=8", viewport={"width": 390, "height": 500})
    main = page.locator("[data-testid=stMain]")
    before = main.evaluate("main => { main.scrollTop = 600; return main.scrollTop }")
    page.wait_for_timeout(100)
    assert before > 550  # what chooses the stage is above the screen
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    assert main.evaluate("main => main.scrollTop") == before


def test_a_sentence_of_128_tokens_stays_usable(opened):
    page, times = opened(LONG), []
    assert page.locator(".chip").count() == 128
    for _ in range(15):
        times.append(
            page.evaluate(
                """() => {
                  const start = performance.now();
                  document.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true, composed: true}));
                  return performance.now() - start;
                }"""
            )
        )
    assert at(page) == 16
    assert sorted(times)[len(times) // 2] < 100 and max(times) < 500, times
    page.locator(".chip").nth(127).click()
    settled(page)
    assert query(page)["token"] == "128" and page.locator(".chip").nth(127).is_visible()


@pytest.mark.parametrize(
    ("text", "kind"), [("<script>alert(1)</script>", "cross"), ("🦉 <b>bold</b> & “quoted” _{low} *star*", "encoder")]
)
def test_tokens_are_text(opened, text, kind):
    page = opened(f"?kind={kind}&split=off&text={quote(text)}")
    labels = cache.analyse(Request(text), "auto").trace.queries(Site(kind, 0))
    assert page.locator(".chip").all_text_contents() == list(labels)
    assert page.locator(".stages script, .stages .sentence *, .stages .chip *").count() == 0
    for _ in range(7):
        page.keyboard.press("ArrowRight")
        assert "undefined" not in page.locator(".stages").inner_text()
