"""One head unfolded in a real Chromium: walking sends nothing until it rests, every cell tells its exact value."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from tests.browser.inside import REST, at, query, ready, settled, title, unfolded, value, where

# What the server says arrives later, by window.lag milliseconds.
SLOW = """(() => {
  window.lag = 0;
  const Real = window.WebSocket;
  const later = (socket, heard) => (event) => setTimeout(() => heard.call(socket, event), window.lag);
  window.WebSocket = class extends Real {
    addEventListener(name, heard) { super.addEventListener(name, name === "message" ? later(this, heard) : heard); }
    set onmessage(heard) { super.onmessage = heard && later(this, heard); }
  };
})()"""


@pytest.fixture
def opened(visit):
    return lambda link="", **options: ready(visit("inside" + link, wait=False, **options))


def listen(page) -> list:
    """What the page sends from now on."""
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    page.reload()
    page.locator(".stages .stage h2").wait_for()
    settled(page)
    sent.clear()
    return sent


# -- walking ---------------------------------------------------------------------------------------------------------------


def keys(page) -> None:
    for key in (
        "ArrowRight",
        "ArrowRight",
        "ArrowRight",
        "ArrowLeft",
        "End",
        "Home",
        "ArrowRight",
        "ArrowRight",
        "ArrowRight",
    ):
        page.keyboard.press(key)


def clicks(page) -> None:
    for number in (9, 2, 4):
        page.locator(".rail li button").nth(number - 1).click()


def slider(page) -> None:
    page.locator(".range").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")


def arrows(page) -> None:
    for name in ("Next stage", "Next stage", "Stage before", "Next stage", "Next stage"):
        page.get_by_role("button", name=name).click()


@pytest.mark.parametrize("walk", [keys, clicks, slider, arrows])
def test_walking_makes_no_frame_and_one_event_when_it_rests(opened, walk):
    page = opened()
    sent, first = listen(page), title(page)
    shown = page.evaluate("performance.now()")
    walk(page)
    assert at(page) == 4 and title(page) != first
    if page.evaluate("performance.now()") - shown < REST:
        assert sent == []
    page.wait_for_timeout(REST + 100)
    assert len(sent) <= (1 if walk in (keys, slider) else 5)  # between two clicks it may rest
    settled(page)
    assert query(page)["stage"] == "4" and at(page) == 4
    assert page.locator(".rail [aria-current=step]").inner_text().endswith(title(page))
    assert page.locator(".range").input_value() == "4"


def test_one_move_is_one_frame_after_it_rests(opened):
    page = opened()
    sent = listen(page)
    page.evaluate("""() => { for (let n = 0; n < 6; n++) document.dispatchEvent(
        new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true, composed: true, cancelable: true})) }""")
    assert at(page) == 7
    page.wait_for_timeout(REST - 150)
    assert sent == []
    settled(page)
    assert len(sent) == 1
    assert query(page)["stage"] == "7"


def test_six_quick_presses_arrive_and_stay(opened):
    page = opened()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    for _ in range(10):
        assert at(page) == 7
        page.wait_for_timeout(120)
    assert query(page)["stage"] == "7"


@pytest.mark.parametrize("first", ["walk", "who asks", "head"])
def test_a_slow_server_never_takes_a_move_back(opened, first):
    """Moves that are made while a run is on its way stay, whatever has begun the run."""
    page = opened("?stage=3")
    page.context.add_init_script(SLOW)
    page.reload()
    page.locator(".stages .stage h2").wait_for()
    settled(page)
    page.evaluate("window.lag = 600")
    if first == "walk":
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(REST + 100)
    else:
        page.locator(".chip").nth(4).click() if first == "who asks" else page.get_by_role("radio", name="5").click()
        page.locator(".stage h2").click()
    start, seen = at(page), []
    page.keyboard.press("ArrowRight")
    for _ in range(20):
        seen.append(at(page))
        page.wait_for_timeout(100)
    assert set(seen) == {start + 1}
    assert query(page)["stage"] == str(start + 1)


def test_a_fresh_browser_shows_the_same(opened):
    page = opened("?kind=cross&layer=2&head=5&step=4")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    settled(page)
    other = opened("?" + urlsplit(page.url).query)
    assert (where(other), at(other), title(other)) == (where(page), at(page), title(page))
    for part in (".sentence", ".code", ".shapes", ".formula"):
        assert other.locator(part).inner_text() == page.locator(part).inner_text()
    painted = "canvas => canvas.toDataURL()"
    assert other.locator(".cells canvas").first.evaluate(painted) == page.locator(".cells canvas").first.evaluate(painted)
    page.reload()
    page.locator(".stages .stage h2").wait_for()
    settled(page)
    assert (at(page), title(page)) == (at(other), title(other))


def test_the_back_button_leads_to_the_stage_of_its_link(opened):
    page, links = opened(), []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        settled(page)
        links.append(query(page).get("stage", "1"))
    assert links == ["2", "3", "4"]
    page.go_back()
    settled(page)
    assert str(at(page)) == query(page).get("stage", "1")


def test_chips_choose_who_asks(opened):
    page = opened("?stage=3")
    for number, name in ((4, "token"), (1, "token")):
        page.locator(".chip").nth(number - 1).click()
        settled(page)
        assert query(page).get(name, "1") == str(number)
        assert page.locator(".chip").nth(number - 1).get_attribute("aria-pressed") == "true"
        assert f"“{page.locator('.chip').nth(number - 1).inner_text()}” asks" in page.locator(".sentence").inner_text()
        assert at(page) == 3
    page = opened("?kind=cross&stage=3")
    page.locator(".chip").nth(4).click()
    settled(page)
    assert query(page)["step"] == "5" and "→" in where(page)[3]


def test_the_way_goes_on_through_the_layers(opened):
    page, way = opened("?kind=decoder&layer=3&step=2&stage=11"), []
    while (on := page.locator(".next")).count():
        on.click()
        settled(page)
        assert at(page) == 1
        way.append(where(page)[:2])
        page.keyboard.press("End")
    assert way == [("Cross", "3"), ("Decoder", "4"), ("Cross", "4")]
    assert page.locator(".next").count() == 0 and where(page)[3] == page.locator(".chip").nth(1).inner_text()


# -- reading ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cross"])
def test_every_cell_tells_its_exact_value_and_hovering_sends_nothing(opened, kind):
    name = "token" if kind == "encoder" else "step"
    page, checked = opened(f"?kind={kind}&layer=2&head=3&{name}=4"), 0
    sent, stages = listen(page), unfolded(kind, 2, 3, 4).stages
    for number, stage in enumerate(stages, 1):
        if number % 3 != 1:  # the first of each three will do
            continue
        page.locator(".rail li button").nth(number - 1).click()
        settled(page)
        sent.clear()
        for box, table in zip(page.locator(".cells").all(), [t for t in stage.tables if t.values.shape[1] > 2], strict=True):
            size = box.locator("canvas").bounding_box()
            for across, down in ((0.31, 0.35), (0.62, 0.5)):
                box.locator("canvas").hover(position={"x": across * size["width"], "y": down * size["height"]})
                said = box.locator(".told").inner_text()
                if not (found := re.fullmatch(r"(.*), (\w+) (\d+): ([−\d.e+-]+)(?:; (.+) ([−\d.e+-]+))?", said)):
                    continue
                label, unit, column, told, total, summed = found.groups()
                rows = [n for n, row in enumerate(table.rows) if row == label]
                columns = [table.values[n, int(column) - 1] for n in rows]
                if label == table.foot_name and table.foot is not None:
                    columns = [table.foot[int(column) - 1]]
                assert unit == table.unit and f"{value(told):.6e}" in [f"{v + 0.0:.6e}" for v in columns], (
                    stage.name,
                    said,
                )
                if total:
                    assert total == (table.total_name or "weight")
                    assert f"{value(summed):.6e}" in [f"{table.totals[n]:.6e}" for n in rows]
                checked += 1
    page.wait_for_timeout(REST + 100)
    assert checked > 4
    assert sent == []


def test_scores_and_weights_are_read_as_numbers(opened):
    page = opened("?kind=decoder&layer=2&head=3&step=4&stage=6")
    stages = unfolded("decoder", 2, 3, 4)
    scores, weights = stages["mask"].tables[0], stages["softmax"].tables[0]
    assert page.locator(".bars th.token").all_inner_texts() == list(scores.rows)
    said = page.locator(".bars b").all_inner_texts()
    assert [text == "hidden" for text in said] == [not seen for seen in scores.allowed]
    assert [value(t) for t in said if t != "hidden"] == pytest.approx(scores.values[:4, 0].tolist(), abs=0.51e-3)
    exact = [b.get_attribute("title") for b in page.locator(".bars b[title]").all()]
    assert [value(t) for t in exact] == pytest.approx(scores.values[:4, 0].tolist(), rel=1e-6)
    page.keyboard.press("ArrowRight")
    assert title(page) == "Softmax"
    exact = [value(b.get_attribute("title")) for b in page.locator(".bars b[title]").all()]
    assert exact == pytest.approx(weights.values[:4, 0].tolist(), rel=1e-6) and sum(exact) == pytest.approx(1)


def test_the_lines_of_code_are_those_of_the_program(opened):
    page = opened("?stage=4")
    assert page.locator(".code").inner_text().replace("\xa0", " ").split("\n")[0] == "attention.py · attention"
    assert "products = query @ key.transpose(-2, -1)" in page.locator(".code").inner_text()
    assert page.locator(".shapes").inner_text() == "products [B,H,T,S] = [1, 8, 14, 14]"
