"""Inside in a real Chromium: one head unfolded, and the map of the architecture."""

from urllib.parse import quote

import pytest

from model.inference.request import Request
from model.trace import Site
from tests.browser.conftest import focused, idle, query, resize, sent, sideways, walk
from viz import computations
from viz.state.view import FIRST_SENTENCE

# Answers of the server arrive later, by window.lag milliseconds.
SLOW = """(() => {
  window.lag = 0;
  const later = (socket, heard) => (event) => setTimeout(() => heard.call(socket, event), window.lag);
  window.WebSocket = class extends window.WebSocket {
    addEventListener(name, heard) { super.addEventListener(name, name === "message" ? later(this, heard) : heard); }
    set onmessage(heard) { super.onmessage = heard && later(this, heard); }
  };
})()"""
READY = ".stages .stage h2"
LONG = "?split=off&text=" + quote("word " * 126)


def at(page) -> int:
    return int(page.locator(".stage .count").inner_text().split()[0])


def focus(page) -> str:
    return focused(page).evaluate("node => `${node.tagName.toLowerCase()}.${node.className}`")


def title(page) -> str:
    return page.locator(".stage h2").inner_text()


def unfolded(kind: str, layer: int, head: int, query: int):
    return computations.result(
        Request(FIRST_SENTENCE), "auto", computations.UNFOLD(Site(kind, layer - 1), head - 1, query - 1)
    )


@pytest.fixture
def opened(visit):
    return lambda link="", **options: visit("inside" + link, ready=READY, **options)


def test_a_walk_is_one_event_and_one_step_back(opened):
    page = opened()
    before, first = sent(page), title(page)
    made, pauses = walk(page, *["ArrowRight"] * 3, "ArrowLeft", "End", "Home", *["ArrowRight"] * 3)
    assert at(page) == 4 and title(page) != first
    assert made <= pauses
    idle(page)
    assert 1 <= sent(page) - before <= 1 + pauses
    assert query(page)["stage"] == "4" and at(page) == 4
    page.keyboard.press("ArrowRight")
    idle(page)
    assert query(page)["stage"] == "5"
    page.go_back()
    idle(page)
    assert query(page)["stage"] == "4" and at(page) == 4


def test_a_slow_server_never_takes_a_move_back(opened):
    page = opened("?stage=3", fresh=True)
    page.context.add_init_script(SLOW)
    page.reload()
    idle(page)
    page.evaluate("window.lag = 600")
    for first in ("walk", "who asks", "head"):
        before = sent(page)
        if first == "walk":
            page.keyboard.press("ArrowRight")
            page.wait_for_function("before => lab.sent > before", arg=before)
        else:
            page.locator(".chip").nth(4).click() if first == "who asks" else page.locator(
                '.st-key-stage_picks [data-focus="head 4"]'
            ).click()
            page.locator(".stage h2").click()
        start, seen = at(page), []
        page.keyboard.press("ArrowRight")
        while not page.evaluate("lab.idle()"):
            seen.append(at(page))
        assert set(seen) == {start + 1}, first
        assert query(page)["stage"] == str(start + 1)


def test_the_keyboard_alone_works_everything(opened):
    page = opened("?kind=decoder&stage=11")
    page.locator(".chip").first.focus()
    met = []
    for _ in range(60):
        met.append(focus(page))
        page.keyboard.press("Tab")
    for part in ("button.chip", "button.", "button.walk", "summary.", "canvas.", "button.next"):
        assert part in met, (part, met)
    assert page.locator(".rail li button").first.evaluate("button => button.tabIndex") == 0

    page.locator(".rail li button").nth(2).focus()
    page.keyboard.press("Enter")
    idle(page)
    assert at(page) == 3 == int(query(page)["stage"])
    assert focus(page) == "button."  # the place is kept
    page.keyboard.press("ArrowRight")
    assert at(page) == 4
    page.get_by_role("button", name="Next stage").focus()
    page.keyboard.press("Space")
    assert at(page) == 5 and focus(page) == "button.walk"
    page.locator(".chip").nth(2).focus()
    page.keyboard.press("Enter")
    idle(page)
    assert query(page)["step"] == "3" and focus(page) == "button.chip"


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
        said = page.locator(".told").inner_text().replace("−", "-")
        assert said.startswith(f"{table.rows[row]}, dimension {column + 1}: ")
        assert float(said.split(": ")[1].split(";")[0]) == pytest.approx(table.values[row, column], rel=1e-6)
    page.keyboard.press("ArrowUp")  # there is nothing above
    assert page.locator(".told").inner_text().replace("−", "-") == said
    assert at(page) == 4  # the keys are the canvas' own


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
    page = opened("?stage=8", viewport={"width": 390, "height": 400})
    main = page.locator("[data-testid=stMain]")
    before = main.evaluate("main => { main.scrollTop = 500; return main.scrollTop }")
    idle(page)
    assert before > 400  # what chooses the stage is above the screen
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    idle(page)
    assert main.evaluate("main => main.scrollTop") == before
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    idle(page)
    end = main.evaluate("main => { main.scrollTop = 99999; return main.scrollTop }")
    for _ in range(12):  # several stages are shorter than the one before
        page.keyboard.press("ArrowRight")
        idle(page)
        assert main.evaluate("main => main.scrollTop") == end


MAP_READY = ".blueprint svg"
# The blocks to which the arrow keys lead, one after the other.
REACHED = """() => {
  const shadows = [...document.querySelectorAll('*')].map((node) => node.shadowRoot), seen = new Set();
  const root = shadows.find((each) => each?.querySelector('.blueprint')) || document;
  const waiting = [root.querySelector('.blueprint [role=button][tabindex="0"]').dataset.focus];
  const ways = (key) => (seen.has(key) ? [] : ['Up', 'Down', 'Left', 'Right']);
  for (let key = waiting.pop(); key; key = waiting.pop()) for (const way of ways(key)) {
    seen.add(key);
    const node = root.querySelector(`[data-focus="${CSS.escape(key)}"]`);
    node.focus();
    node.dispatchEvent(new KeyboardEvent('keydown', { key: `Arrow${way}`, bubbles: true }));
    waiting.push(root.activeElement.dataset.focus);
  }
  return [...seen];
}"""
# Texts and boxes that stick out of the picture, and blocks whose text sticks out of its box.
OUTSIDE = """svg => {
  const all = svg.getBoundingClientRect();
  const out = ({ left, right, top, bottom }) =>
    left < all.left - 1 || right > all.right + 1 || top < all.top - 1 || bottom > all.bottom + 1;
  return [...svg.querySelectorAll('text, rect')].filter((n) => out(n.getBoundingClientRect())).map((n) => n.textContent);
}"""
TOO_WIDE = """svg => [...svg.querySelectorAll('.block')].filter((g) => {
  const box = g.querySelector('rect')?.getBoundingClientRect();
  const out = ({ left, right }) => right > box.right || left < box.left;
  return box && [...g.querySelectorAll('text')].some((text) => out(text.getBoundingClientRect()));
}).map((g) => g.textContent)"""


@pytest.fixture
def open_map(visit):
    return lambda **options: visit("inside?part=map&step=11&layer=2", ready=MAP_READY, **options)


def block(page, name: str):
    return page.locator(MAP_READY).get_by_role("button", name=name, exact=True)


def panel(page) -> str:
    return page.locator(".blueprint .panel").inner_text()


def test_pointing_and_keys_show_a_block(open_map):
    page = open_map()
    before = sent(page)
    assert panel(page).startswith("Self-attention\nEncoder, layer 2")
    block(page, "Feed-forward, decoder layer 2").hover()
    assert panel(page).startswith("Feed-forward\nDecoder, layer 2")
    assert "[B,T,F] = [1, 16, 1024]" in panel(page) and "525,568 parameters" in panel(page)
    page.mouse.move(5, 5)
    assert panel(page).startswith("Self-attention")
    block(page, "Self-attention, encoder layer 2").focus()
    page.keyboard.press("ArrowUp")
    assert panel(page).startswith("Add\nEncoder, layer 2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert panel(page).startswith("LayerNorm\nEncoder, layer 2")
    page.keyboard.press("ArrowRight")
    assert "Decoder, layer 2" in panel(page)
    block(page, "Linear").click()
    assert panel(page).startswith("Linear") and "counted once, there" in panel(page)
    idle(page)
    assert sent(page) == before
    all_of_them = set(page.locator(".blueprint [role=button]").evaluate_all("nodes => nodes.map((n) => n.dataset.focus)"))
    assert set(page.evaluate(REACHED)) == all_of_them


def test_the_picture_fits(open_map):
    page = open_map(viewport={"width": 1280, "height": 720})
    box = page.locator(MAP_READY).bounding_box()
    assert box["y"] + box["height"] <= 720
    for width, height in ((1280, 720), (390, 844)):
        resize(page, width, height)
        assert sideways(page) <= 0, width
        assert page.locator(MAP_READY).evaluate(OUTSIDE) == [], width
        assert page.locator(MAP_READY).evaluate(TOO_WIDE) == [], width
