"""Lecture mode: large texts, keys, what is pointed at, and a talk by one key of a clicker."""

import re
from urllib.parse import quote

import pytest

from tests.browser.conftest import focused, go, idle, query, read_table, resize, translation, walk
from tests.browser.measured_type import SCRIPT, SLACK, measured, smaller
from viz import pages
from viz.classroom import line_fields
from viz.classroom.talk import find_talk, ready_talks
from viz.decoding_steps.timeline import ROWS
from viz.state import links
from viz.state.page_fields import PARTS

LONG = (
    "When the old man who lived in the little house at the end of the street heard the noise, he took his coat and went out."
)
INSIDE = {
    "stages": (".stages th.token", {"stages th.token": 24}),
    "writers": (".writers td", {"writers td.": 24}),
    "map": (".blueprint h2", {"blueprint h2.": 28}),
}
# query of a page: what is there once it stands, and what is larger than all must be: a part of its place, its least size
PAGES: dict[str, tuple[str, dict[str, float]]] = {
    "?step=11&lecture=on": (".timeline .said", {"span.gloss": 40, ".chip": 28, "candidates span.t": 28}),
    f"?step=9&lecture=on&causal=off&mode=again&rows=shifted&text={quote(LONG)}": (
        ".timeline .said",
        {"p.said": 40, ".chip": 28},
    ),
    "?step=11&lecture=on&large=2&causal=off": (".large canvas", {"span.gloss": 40, "timeline p.": 28}),
    "?lecture=on&show=decoding&decode=beam&large=4": (".tree.large .node", {"span.token": 24, "span.score": 20}),
    "?step=11&lecture=on&show=cache": (".key-values svg", {"span.gloss": 40, "p.told": 25}),
    "why?step=11&lecture=on": (".route .link", {"lab-why": 28, "route text": 20}),
    "why?step=11&why=sum&kind=decoder&layer=4&head=1&lecture=on": (".sum .cascade", {"sum h2": 28, "span.own": 28}),
    f"why?step=9&why=sum&large=3&lecture=on&text={quote(LONG)}": (".sum .words", {"sum h2": 28}),
    "why?text=She+bought+a+red+car.&step=6&why=readings&lecture=on": (".js-plotly-plot .main-svg", {}),
    "compare?kind=cross&lecture=on": (".side-by-side canvas", {"h2.answer": 28}),
    "compare?large=3&lecture=on": (".side-by-side .cell", {"h2.answer": 28}),
    "compare?differs=family&lecture=on": (".maps canvas", {}),
    "compare?compare=patching&lecture=on": (".patch-grids .put-in", {"patch_grids dd.": 27}),
    "training?lecture=on&trained=763": (".player .map canvas", {}),
    "lessons?lecture=on&lesson=cell": (".lesson-list li", {"lesson_list a.": 28}),
    "heads?lecture=on&layer=3&head=3": (".all-heads canvas", {"h2.": 28}),
    f"heads?lecture=on&large=2&text={quote(LONG)}": (".all-heads svg text", {"h2.": 28}),
    "heads?lecture=on&large=2&layer=3&head=3": (".all-heads svg text", {"text.key": 28, "text.query": 28}),
    "heads?lecture=on&large=3&sites=all": (".all-heads canvas", {"h2.": 20}),
    "what-if?lecture=on&try=order": (".change li", {"p.lab-translation": 28}),
    f"what-if?lecture=on&causal=off&mode=again&text={quote(LONG)}": (".change li", {}),
    "what-if?lecture=on&large=2&edits=off_cross.3.5&kind=cross": (".maps canvas", {}),
    "what-if?lecture=on&large=3&edits=off_cross.3.5": (".switchboard canvas", {}),
}
PAGES |= {
    f"inside?lecture=on&kind=cross&layer=4&head=1&step=11&stage=5&part={part}": INSIDE.get(
        part, (".st-key-lecture_stage", {})
    )
    for part in PARTS
}
PAGES |= {f"positions?lecture=on&large={n}": (".st-key-lecture_stage", {}) for n in (1, 4, 8)}
BEAMER, LARGE = (1280, 720), (1920, 1080)
EVERY = 4  # of so many views, one is measured in the large window, too: sizes grow with the window by one rule


@pytest.mark.parametrize("part", [0, pytest.param(1, marks=pytest.mark.long)])
def test_every_text_of_a_lecture_is_large(visit, part):
    views = [*PAGES.items()][part::2]
    first, (ready, _) = views[0]
    page = visit(first, ready=ready, scripts=(SCRIPT,))
    for number, (where, (ready, larger)) in enumerate(views):
        if where != first:
            go(page, where, ready)
        for width, height in (BEAMER, LARGE) if number % EVERY == 0 else (BEAMER,):
            resize(page, width, height)
            found = measured(page)
            assert len(found) > 5, (where, width)
            assert smaller(found) == [], (where, width)
            for place, least in larger.items():
                high = [text.size for text in found if text.where.endswith(place) or place in text.where]
                assert high and min(high) >= least - SLACK, (where, width, place, high)
            below = page.locator(".st-key-lecture_stage").evaluate("stage => stage.scrollHeight - stage.clientHeight")
            assert below <= 1, (where, width)  # nothing lies below the window


# From here on: every shift of the layout that follows, keys or not.
WATCHED = """() => {
  window.shifts = [];
  const told = ({ node, previousRect: a, currentRect: b }) => [node?.className, a.x, a.y, a.width, b.x, b.y, b.width];
  const note = (list) => shifts.push(...list.map(({ value, sources }) => `${value.toFixed(5)} ${sources.map(told)}`));
  new PerformanceObserver((list) => note(list.getEntries())).observe({ type: "layout-shift" });
}"""
# The middle of what has a name in a component, in the window; null where it is not there.
MIDDLE = """(name) => {
  const root = attentionLabRoots.get(name.split("|")[0]), what = name.split("|")[1];
  const canvas = [...root.querySelectorAll("canvas")].find((each) => each.labPoints?.rect(what));
  const box = canvas ? canvas.labPoints.rect(what) : root.querySelector(`[data-point="${what}"]`)?.getBoundingClientRect();
  return box && [box.x + box.width / 2, box.y + box.height / 2];
}"""
RING = """() => {
  const box = document.querySelector(".lab-ring:not([hidden])")?.getBoundingClientRect();
  return box && [box.x + box.width / 2, box.y + box.height / 2];
}"""
POINTED = ("timeline|source 9", "timeline|output 4", "timeline|input 1", "candidates|candidate {}", "file_maps|cross 11 9")


def test_a_lecture_on_translate_goes_by_keys(visit):
    page = visit("?step=1&lecture=on")
    page.evaluate(WATCHED)
    walk(page, *["ArrowRight"] * 15, "Home")
    idle(page)
    assert page.evaluate("shifts") == []
    whole = translation(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    idle(page)
    assert "branch" in query(page) and translation(page) != whole
    page.keyboard.press("Escape")
    idle(page)
    assert "branch" not in query(page) and translation(page) == whole
    page.keyboard.press("g")
    page.locator(".candidates .next").wait_for()
    hidden = translation(page)
    page.keyboard.press("PageDown")  # shows what was hidden, and stays
    page.locator(".candidates .row").first.wait_for()
    idle(page)
    assert query(page)["step"] == "1" and len(translation(page)) > len(hidden)
    page.keyboard.press("PageDown")
    page.locator(".candidates .next").wait_for()
    idle(page)
    assert query(page)["step"] == "2"
    page.keyboard.press("g")
    idle(page)
    page.keyboard.press("r")
    page.locator(".shifted").wait_for()
    assert page.locator(".legend, .label").first.inner_text().strip().endswith(ROWS["shifted"][1])


def test_what_is_pointed_at_is_ringed(visit):
    page = visit("?step=11&lecture=on")
    token = page.locator(".candidates [data-point]").first.get_attribute("data-point").split(" ")[1]
    for name in POINTED:
        if name.startswith("file_maps"):
            page.keyboard.press("v")
            page.locator(".maps.large canvas").first.wait_for()
            idle(page)
        middle = page.evaluate(MIDDLE, name.format(token))
        page.mouse.move(*middle)
        idle(page)
        ring = page.evaluate(RING)
        assert ring and max(abs(a - b) for a, b in zip(ring, middle, strict=True)) < 2, name


def test_why_and_compare_go_by_keys(visit, lab):
    page = visit("why?step=11&why=sum", ready=".sum .bar")
    page.keyboard.press("ArrowRight")
    page.locator(".lab-why", has_text="était").wait_for()
    page.keyboard.press("l")
    page.locator(".sum .cascade").wait_for()
    idle(page)
    page.keyboard.press("ArrowLeft")
    page.locator(".sum .own", has_text="elle").wait_for()
    page.keyboard.press("n")
    page.locator(".sum button.step[aria-pressed=true]").wait_for()
    page.locator(".sum .told", has_text="nothing held").wait_for()
    idle(page)
    assert query(page)["step"] == "11"
    page.locator(".sum button.step").nth(2).hover()
    page.locator(".lab-ring:not([hidden])").wait_for()
    page.keyboard.press("v")
    page.locator(".sum .all-heads .cell").first.wait_for()
    idle(page)
    page.keyboard.press("n")
    page.locator(".sum .all-heads .cell[aria-pressed=true]").wait_for()
    page.goto(f"{lab}/compare?kind=cross&lecture=on")
    page.locator(".side-by-side canvas").first.wait_for()
    idle(page)
    box = page.locator(".side-by-side canvas").first.bounding_box()
    x, y = box["x"] + 0.7 * box["width"], box["y"] + 0.8 * box["height"]
    page.mouse.move(x, y)
    page.locator(".side-by-side canvas[data-ring]").first.wait_for()
    canvas, ring = page.locator(".side-by-side canvas").first, page.locator(".lab-ring:not([hidden])")
    ring.wait_for()
    row, column = map(int, canvas.get_attribute("data-ring").split())
    assert canvas.evaluate("(node, at) => node.labPoints.at(...at)", [x, y]) == f"map1 {row + 1} {column + 1}"
    around = ring.bounding_box()
    assert around["x"] < x < around["x"] + around["width"] and around["y"] < y < around["y"] + around["height"]


HALL = {  # views with a cross-attention head, and what is there once they are drawn
    "?step=11&lecture=on": ".timeline .said",
    "heads?lecture=on&kind=cross": ".all-heads canvas",
    "inside?lecture=on&kind=cross": ".stages",
    "why?lecture=on&kind=cross&step=11": ".route .link",
    "what-if?lecture=on&kind=cross": ".change",
}
WITHOUT_HEAD = ("3", "Shift+Digit4", "Shift+O")  # "What happens without head cross 3.4?"


def test_a_question_from_the_hall_takes_four_keys(visit):
    assert len(WITHOUT_HEAD) <= 4
    page = visit("?lecture=on")
    for where, ready in HALL.items():
        go(page, where, ready)
        for key in WITHOUT_HEAD:
            page.keyboard.press(key)
        idle(page)
        assert query(page)["edits"] == "off_cross.3.4", where
        said = re.compile(r"^cross 3\.4 is off\. Summed log-probability −\S+ → −\S+\.$")
        page.locator(".lab-notice", has_text=said).wait_for(state="attached")  # it is hidden after some seconds
        page.keyboard.press("u")
        idle(page)
        assert "edits" not in query(page), where
    page.keyboard.press("Shift+T")
    page.locator(".tree.large .node").first.wait_for()
    idle(page)
    assert (page.evaluate("location.pathname"), query(page)["decode"]) == ("/", "beam")
    page.keyboard.press("?")
    listed = page.locator(".lab-keys dl").first.locator("dt").all_inner_texts()
    assert {"Shift O", "m", "Shift M", "Shift T", "Shift N", "Shift K", "Shift R"} == set(listed)
    box = page.locator(".lab-keys").bounding_box()
    assert box["y"] >= 0 and box["y"] + box["height"] <= 720


def test_numbers_in_the_cells_come_and_go(visit):
    page = visit("heads?lecture=on&kind=cross&layer=3&head=4", ready=".all-heads .map canvas")
    canvas = page.locator(".all-heads .map canvas").first
    seen = [canvas.evaluate("node => node.toDataURL()")]
    for message in ("no numbers in the cells", "numbers in the cells"):
        page.keyboard.press("Shift+N")
        page.locator(".lab-notice", has_text=re.compile(f"^{message}$")).wait_for(state="attached")
        seen.append(canvas.evaluate("node => node.toDataURL()"))
    assert seen[0] == seen[2] != seen[1]
    go(page, "why?lecture=on", ".route .link")
    page.keyboard.press("Shift+N")
    page.locator(".lab-notice", has_text="This picture has no map.").wait_for(state="attached")


PICTURES = {  # by the page's name: what is there once it is drawn
    "translate": ".timeline .chip",
    "heads": ".all-heads canvas",
    "inside": ".stages",
    "what-if": ".change",
    "why": ".route",
    "compare": ".side-by-side",
}


def test_a_talk_goes_by_one_key(visit):
    talk = ready_talks()["20-minutes"]
    page = visit("?talk=20-minutes&lecture=on")
    before_last = line_fields.fill(talk.stops[-2].place, talk.stops[-2].view, talk.stops[-2].line).text
    for number, stop in enumerate(talk.stops, 1):
        page.keyboard.press("PageDown")
        idle(page)
        page.locator(".talk-strip .line", has_text=line_fields.fill(stop.place, stop.view, stop.line).text).wait_for()
        assert (query(page)["stop"], query(page)["lecture"]) == (str(number), "on")
        assert page.evaluate("location.pathname") == f"/{'' if stop.page == 'translate' else stop.page}"
        assert page.locator(PICTURES[stop.page]).first.is_visible()
        box = page.locator(".talk-strip .line").bounding_box()
        assert box["y"] + box["height"] <= 720 and page.evaluate("scrollY") == 0
    page.keyboard.press("PageDown")
    page.locator(".talk-strip .note", has_text="This is the last stop.").wait_for()
    idle(page)
    page.go_back()
    idle(page)
    page.locator(".talk-strip .line", has_text=before_last).wait_for()
    page.reload()
    page.locator(".talk-strip .line").wait_for()
    idle(page)
    page.locator(".talk-strip .line", has_text=before_last).wait_for()
    for _ in range(6):  # faster than a page is drawn: none is lost
        page.keyboard.press("PageUp")
    page.locator(".talk-strip .place", has_text=f"{len(talk.stops) - 7} of {len(talk.stops)}").wait_for()


def test_a_link_that_names_a_stop_opens_its_page(visit):
    stop = ready_talks()["20-minutes"].stops[3]
    page = visit("?talk=20-minutes&stop=4&lecture=on", ready=PICTURES[stop.page])
    page.locator(".talk-strip .line", has_text=line_fields.fill(stop.place, stop.view, stop.line).text).wait_for()
    assert query(page)["find"] == "encoder_9_7" and page.evaluate("location.pathname") == "/heads"


CHARTS = (
    "inside?part=lens",
    "inside?part=lens&lens_rows=sublayer&edits=off_cross.3.4",
    "why?why=readings&text=She+bought+a+red+car.&step=6",
)
LOWEST = """() => Math.max(...[...document.querySelectorAll('.js-plotly-plot text, .chart-canvas canvas')].map(
    (node) => node.getBoundingClientRect().bottom))"""


def test_the_line_of_a_talk_covers_no_chart(visit):
    page = visit("?lecture=on")
    for where in CHARTS:
        go(page, f"{where}&lecture=on&talk=20-minutes&stop=3", ".js-plotly-plot .main-svg, .chart-canvas canvas")
        assert page.evaluate(LOWEST) <= page.locator(".talk-strip").bounding_box()["y"], where


def test_stops_are_added_on_every_page(visit):
    text = "My sister forgot her book at school."
    link = {"text": text, "layer": "2", "head": "3"}
    page = visit(f"?text={text.replace(' ', '+')}&layer=2&head=3")
    stops = ("Translate", "Heads", "Inside")
    for number, name in enumerate(stops, 1):
        if number > 1:  # with the panel open
            page.get_by_test_id("stSidebarNavLink").filter(has_text=name).click()
            page.locator("h1", has_text=pages.find(name.lower()).question).wait_for()
            idle(page)
            assert page.evaluate("location.pathname") == f"/{name.lower()}"
            found = query(page)
            assert found.pop("talk") and found == link | {"stop": str(number - 1)}
            assert page.get_by_role("textbox", name="Sentence to translate").input_value() == text
        page.get_by_role("button", name="Present").click()
        page.get_by_role("textbox", name="Line for this view").fill(name)
        page.get_by_role("button", name="Add this view").click()
        page.locator(".playlist .stops > li").nth(number - 1).wait_for()
        idle(page)
    kept = find_talk(query(page)["talk"])[0]
    assert [(stop.page, stop.line, links.link(stop.view)) for stop in kept.stops] == [
        (
            name.lower(),
            name,
            link | {"step": "3"} | ({"large": "3"} if name == "Heads" else {}),
        )  # its page begins with all heads
        for name in stops  # a stop keeps its step
    ]


def test_a_table_of_cells_opens_in_view(visit):
    page = visit("heads?lecture=on&large=1", ready=".all-heads .map canvas")
    read_table(page, "ncoder 3.2")
    left, top, right, bottom = focused(page).evaluate(
        "node => { const box = node.parentNode.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; }"
    )
    width, height = page.evaluate("[innerWidth, innerHeight]")
    assert left >= 0 and top >= 0 and right <= width and bottom <= height
    page.keyboard.press("Escape")
    assert page.locator(".cell-table table").count() == 0 and query(page)["lecture"] == "on"


def test_two_notes_share_a_line_where_they_fit(visit):
    page = visit("?text=The+black+cat+is+sleeping.&causal=off&mode=again&lecture=on")
    assert page.locator(".st-key-lecture_notes .lab-note").count() == 2
    counts = []
    for width in (1280, 900):
        resize(page, width)
        counts.append(page.evaluate("document.documentElement.dataset.labNoted"))
    assert counts == ["1", "2"]
