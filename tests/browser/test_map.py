"""The map of the architecture in a real Chromium: pointing shows a block and sends nothing, a click or Enter keeps it."""

from __future__ import annotations

import pytest

from tests.browser.conftest import idle, query, resize, sent, sideways

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


def test_pointing_and_walking_show_a_block_and_send_no_frame(opened):
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


def test_enter_keeps_a_site_strips_tell_the_outputs_and_a_closed_layer_opens(opened):
    page = opened()
    block(page, "Cross-attention, decoder layer 2").focus()
    page.keyboard.press("Enter")
    idle(page)
    assert (query(page)["kind"], query(page)["layer"]) == ("cross", "2")
    page.mouse.move(5, 5)
    assert panel(page).startswith("Cross-attention\nDecoder, layer 2")
    for shape in ("[B,T,D] = [1, 16, 256]", "[B,H,S,K] = [1, 8, 14, 32]", "[B,H,T,S] = [1, 8, 16, 14]"):
        assert shape in panel(page)
    assert "model.decoder[1].cross_attention" in panel(page)
    page.locator(".blueprint .strip").nth(1).click()
    page.mouse.move(5, 5)
    assert panel(page).startswith("Outputs (shifted right)") and "causal mask is needed" in panel(page)
    rows = page.locator(".blueprint .pairs tr")
    told = [rows.nth(n).locator("td").all_inner_texts() for n in range(1, rows.count())]
    assert told[0][1] == "<s>" and told[-1][2] == "</s>"
    assert [row[1] for row in told[1:]] == [row[2] for row in told[:-1]]
    assert page.locator(".blueprint .pairs tr.on td").first.inner_text() == "11"
    block(page, "Layer 4 of the decoder: opens it").click()
    idle(page)
    assert query(page)["layer"] == "4"
    assert block(page, "Masked self-attention, decoder layer 4").is_visible()
    assert block(page, "Layer 2 of the decoder: opens it").is_visible()


def test_a_way_leads_to_the_same_site(opened):
    page = opened()
    block(page, "Masked self-attention, decoder layer 2").focus()
    page.keyboard.press("Enter")
    idle(page)
    page.get_by_role("button", name="Edit its mask and heads, in What if").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.pathname === '/what-if'")
    page.locator(READY).wait_for(state="detached")
    idle(page)
    assert (query(page)["kind"], query(page)["layer"], query(page)["step"]) == ("decoder", "2", "11")


def test_the_picture_fits(opened):
    page = opened(viewport={"width": 1280, "height": 720})
    box = page.locator(READY).bounding_box()
    assert box["y"] + box["height"] <= 720
    for width, height in ((1280, 720), (390, 844)):
        resize(page, width, height)
        assert sideways(page) <= 0, width
        assert page.locator(READY).evaluate(OUTSIDE) == [], width
        assert page.locator(READY).evaluate(TOO_WIDE) == [], width
