"""One head unfolded in a real Chromium: walking sends nothing until it rests, every cell tells its exact value."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import idle, link, query, sent, walk
from tests.browser.inside import READY, at, title, unfolded, value, where

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
    return lambda link="", **options: visit("inside" + link, ready=READY, **options)


# -- walking ---------------------------------------------------------------------------------------------------------------


def clicks(page) -> None:
    for number in (9, 2, 4):
        page.locator(".rail li button").nth(number - 1).click()


def slider(page) -> None:
    page.locator(".range").focus()
    for key in ("Home", *["ArrowRight"] * 3):
        page.keyboard.press(key)


def arrows(page) -> None:
    for name in ("Next stage", "Next stage", "Stage before", "Next stage"):
        page.get_by_role("button", name=name).click()


def test_walking_makes_no_frame_and_one_event_when_it_rests(opened):
    page = opened()
    before, first = sent(page), title(page)
    made, pauses = walk(page, *["ArrowRight"] * 3, "ArrowLeft", "End", "Home", *["ArrowRight"] * 3)
    assert at(page) == 4 and title(page) != first
    assert made <= pauses
    idle(page)
    assert 1 <= sent(page) - before <= 1 + pauses
    assert query(page)["stage"] == "4" and at(page) == 4


def test_the_other_ways_to_walk_lead_there_too(opened):
    page = opened("?stage=2")
    for walk_by in (clicks, slider, arrows):
        if at(page) != 2:
            page.locator(".rail li button").nth(1).click()
        assert at(page) == 2
        walk_by(page)
        assert at(page) == 4, walk_by
        assert query(page)["stage"] == "4" and at(page) == 4, walk_by
        assert page.locator(".rail [aria-current=step]").inner_text().endswith(title(page))
        assert page.locator(".range").input_value() == "4"


def test_a_slow_server_never_takes_a_move_back(opened):
    """Moves that are made while a run is on its way stay, whatever has begun the run."""
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
            page.locator(".chip").nth(4).click() if first == "who asks" else page.get_by_role("radio", name="5").click()
            page.locator(".stage h2").click()
        start, seen = at(page), []
        page.keyboard.press("ArrowRight")
        while not page.evaluate("lab.idle()"):
            seen.append(at(page))
        assert set(seen) == {start + 1}, first
        assert query(page)["stage"] == str(start + 1)


def test_a_fresh_browser_shows_the_same(opened):
    page = opened("?kind=cross&layer=2&head=5&step=4")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    idle(page)
    other = opened("?" + link(page), fresh=True)
    assert (where(other), at(other), title(other)) == (where(page), at(page), title(page))
    for part in (".sentence", ".code", ".shapes", ".formula"):
        assert other.locator(part).inner_text() == page.locator(part).inner_text()
    painted = "canvas => canvas.toDataURL()"
    assert other.locator(".cells canvas").first.evaluate(painted) == page.locator(".cells canvas").first.evaluate(painted)


def test_the_back_button_leads_to_the_stage_of_its_link(opened):
    page, links = opened(), []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        idle(page)
        links.append(query(page).get("stage", "1"))
    assert links == ["2", "3", "4"]
    page.go_back()
    idle(page)
    assert str(at(page)) == query(page).get("stage", "1")


def test_chips_choose_who_asks(opened):
    page = opened("?stage=3")
    for number, name in ((4, "token"), (1, "token")):
        page.locator(".chip").nth(number - 1).click()
        idle(page)
        assert query(page).get(name, "1") == str(number)
        assert page.locator(".chip").nth(number - 1).get_attribute("aria-pressed") == "true"
        assert f"“{page.locator('.chip').nth(number - 1).inner_text()}”" in page.locator(".sentence").inner_text()
        assert at(page) == 3
    page = opened("?kind=cross&stage=3")
    page.locator(".chip").nth(4).click()
    idle(page)
    assert query(page)["step"] == "5" and "→" in where(page)[3]
    page.keyboard.press("ArrowRight")  # the keys walk on after a click
    assert at(page) == 4


def test_the_way_goes_on_through_the_layers(opened):
    page, way = opened("?kind=decoder&layer=3&step=2&stage=11"), []
    while (on := page.locator(".next")).count():
        on.click()
        idle(page)
        assert at(page) == 1
        way.append(where(page)[:2])
        page.keyboard.press("End")
    assert way == [("Cross", "3"), ("Decoder", "4"), ("Cross", "4")]
    assert page.locator(".next").count() == 0 and where(page)[3] == page.locator(".chip").nth(1).inner_text()


# -- reading ---------------------------------------------------------------------------------------------------------------


def test_cells_tell_their_exact_values_and_hovering_sends_nothing(opened):
    page, checked = opened("?kind=cross&layer=2&head=3&step=4"), 0
    stages = unfolded("cross", 2, 3, 4).stages
    for number, stage in enumerate(stages, 1):
        if number % 3 != 1:  # the first of each three will do
            continue
        page.locator(".rail li button").nth(number - 1).click()
        idle(page)
        before = sent(page)
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
        idle(page)
        assert sent(page) == before
    assert checked > 4


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
