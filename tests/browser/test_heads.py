"""The Heads page in a real Chromium: hovering previews and sends nothing, a click chooses what it shows."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.conftest import idle

READY = ".all-heads canvas"


def query(page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


@pytest.fixture
def opened(visit):
    def page(where: str = "", **options):
        found = visit("heads" + where, wait=False, **options)
        found.locator(READY).first.wait_for()
        idle(found)
        return found

    return page


def tile(page, kind: str, layer: int, head: int, heads: int = 8) -> tuple[float, float]:
    """The middle of a thumbnail on the screen, in the order by position."""
    box = page.locator(f"canvas[data-focus={kind}]").bounding_box()
    size = (box["width"] - 22) / heads
    return box["x"] + 22 + (head - 0.5) * size, box["y"] + 16 + (layer - 0.5) * size


def title(page) -> str:
    return page.locator(".detail h2").inner_text()


def settled(page) -> None:
    page.wait_for_timeout(400)
    idle(page)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_click_returns_the_head_that_it_shows(opened, kind):
    page = opened()
    page.mouse.click(*tile(page, kind, 2, 7))
    settled(page)
    assert (query(page)["kind"] if kind != "encoder" else "encoder", query(page)["layer"], query(page)["head"]) == (
        kind,
        "2",
        "7",
    )
    page.mouse.move(5, 5)
    assert re.search(r"layer 2, head 7$", title(page))
    assert title(page).lower().startswith(kind)


def test_hovering_previews_and_sends_no_frame(opened):
    page, sent = opened(), []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.reload()
    page.locator(READY).first.wait_for()
    settled(page)
    sent.clear()
    before = title(page)
    for layer, head in ((1, 1), (3, 4), (4, 8)):
        page.mouse.move(*tile(page, "decoder", layer, head))
        assert re.search(rf"^Decoder.*layer {layer}, head {head}$", title(page))
    box = page.locator(".detail .map canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 70)
    page.locator(".detail .lines text.query").first.hover()
    page.wait_for_timeout(400)
    assert title(page) == before
    assert sent == []


def test_a_cell_of_the_map_tells_its_exact_weight(opened):
    page = opened("?kind=cross&layer=3&head=2")
    box = page.locator(".detail .map canvas").bounding_box()
    said = []
    for down in range(60, int(box["height"]), 12):
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + down)
        said.append(page.locator(".detail .said").inner_text())
    assert any(re.search(r" on .+: [01]\.\d{5}$", text) for text in said), said


def test_keys_preview_and_choose(opened):
    page = opened("?kind=cross&layer=2&head=2")
    page.locator("canvas[data-focus=cross]").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    shown = title(page)
    assert re.search(r"layer 3, head 3$", shown)
    page.keyboard.press("Enter")
    settled(page)
    assert (query(page).get("layer", "3"), query(page)["head"]) == ("3", "3")


def test_the_keys_tell_every_cell_and_every_token(opened):
    """As exactly as the pointer, and without the server."""
    page = opened("?kind=cross&layer=2&head=2&step=2")
    cells = page.locator(".detail .map canvas")
    assert re.search(r"the largest value, [01]\.\d{3}, is .+ looking at .+\. Arrow keys", cells.get_attribute("aria-label"))
    page.locator(".detail .lines svg").focus()
    page.keyboard.press("ArrowRight")
    lines, cell = page.locator(".detail .told"), page.locator(".detail .said")
    chosen = lines.inner_text()
    assert re.search(r"^L' → animal looks at \S+ [01]\.\d\d", chosen)
    page.keyboard.press("ArrowDown")
    assert re.search(r"^animal → n' looks at ", lines.inner_text())
    page.keyboard.press("ArrowLeft")
    assert re.search(r"^didn is looked at by ", lines.inner_text())
    assert page.locator(".detail .lines text.on").text_content().startswith("didn")
    cells.focus()
    assert lines.inner_text() == "Point at a token for its weights."
    for key in ["ArrowUp"] * 16 + ["ArrowLeft"] * 16 + ["ArrowDown"] + ["ArrowRight"]:
        page.keyboard.press(key)
    row = next(text for text in cell.inner_text().split(": "))
    assert row == "L' → animal on animal"
    weight = float(cell.inner_text().split(": ")[1])
    assert f"animal {weight:.2f}" in chosen


def test_switches_mass_and_mean_change_the_picture_and_the_link(opened):
    page = opened("?kind=cross&layer=2&head=2")
    lines = page.locator(".detail .lines path")
    before = lines.count()
    page.get_by_role("switch", name=re.compile("^Hide")).check()
    settled(page)
    assert lines.count() < before and query(page)["lines"] == "content"
    page.get_by_role("switch", name="Merge pieces into words").check()
    settled(page)
    assert query(page)["words"] == "merged"
    page.get_by_role("button", name="Mean over heads").click()
    settled(page)
    assert query(page)["head"] == "mean" and "mean over heads" in title(page)


def test_hovering_a_token_isolates_its_lines(opened):
    page = opened("?kind=cross&layer=2&head=2")
    faint = ".detail .lines path[stroke-opacity='0.03']"
    assert page.locator(faint).count() == 0
    page.locator(".detail .lines text.key").nth(1).hover()
    assert 0 < page.locator(faint).count() < page.locator(".detail .lines path").count()


def test_the_link_opens_the_same_in_a_fresh_browser(opened):
    page = opened("?kind=decoder&layer=1&head=4&order=entropy&measure=contribution&mass=90")
    other = opened("?" + urlsplit(page.url).query)
    assert title(other) == title(page)
    assert page.locator(".detail .numbers").inner_text() == other.locator(".detail .numbers").inner_text()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_scrolls_sideways(opened, width):
    page = opened(viewport={"width": width, "height": 720})
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("main => main.scrollWidth - main.clientWidth") <= 0
    assert page.locator("canvas[data-focus=cross]").bounding_box()["width"] > 250


def test_three_sites_stand_on_one_screen(opened):
    page = opened()
    for kind in ("encoder", "decoder", "cross"):
        box = page.locator(f"canvas[data-focus={kind}]").bounding_box()
        assert box["y"] + box["height"] < 720
