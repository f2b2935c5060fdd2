"""The map of the architecture in a real Chromium: pointing shows a block and sends nothing, a click or Enter keeps it."""

import pytest

from tests.browser.conftest import idle, resize, sent, sideways

READY = ".blueprint svg"
# The blocks to which the arrow keys lead, one after the other.
REACHED = """() => {
  const shadows = [...document.querySelectorAll('*')].map((node) => node.shadowRoot);
  const root = shadows.find((each) => each?.querySelector('.blueprint')) || document;
  const seen = new Set(), waiting = [root.querySelector('.blueprint [role=button][tabindex="0"]').dataset.focus];
  while (waiting.length) {
    const key = waiting.pop();
    if (seen.has(key)) continue;
    seen.add(key);
    for (const way of ['Up', 'Down', 'Left', 'Right']) {
      const node = root.querySelector(`[data-focus="${CSS.escape(key)}"]`);
      node.focus();
      node.dispatchEvent(new KeyboardEvent('keydown', { key: `Arrow${way}`, bubbles: true }));
      waiting.push(root.activeElement.dataset.focus);
    }
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
def opened(visit):
    return lambda **options: visit("inside?part=map&step=11&layer=2", ready=READY, **options)


def block(page, name: str):
    return page.locator(READY).get_by_role("button", name=name, exact=True)


def panel(page) -> str:
    return page.locator(".blueprint .panel").inner_text()


def test_pointing_and_keys_show_a_block(opened):
    page = opened()
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


def test_the_picture_fits(opened):
    page = opened(viewport={"width": 1280, "height": 720})
    box = page.locator(READY).bounding_box()
    assert box["y"] + box["height"] <= 720
    for width, height in ((1280, 720), (390, 844)):
        resize(page, width, height)
        assert sideways(page) <= 0, width
        assert page.locator(READY).evaluate(OUTSIDE) == [], width
        assert page.locator(READY).evaluate(TOO_WIDE) == [], width
