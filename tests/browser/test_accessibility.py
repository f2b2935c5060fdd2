"""Every page for everybody: axe finds nothing, the keyboard is seen, nothing jumps or scrolls sideways."""

import io
import re
from collections.abc import Callable

import numpy as np
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from PIL import Image

from model import Request, Site, analyse
from model.io.numbers import exact_probability
from tests.browser.conftest import focused, go, idle, read_table, resize, sideways, switch
from tests.browser.tabs import SIZE
from viz.state.view import FIRST_SENTENCE

EDITED = "mode=again&step=11&edits=off_cross.3~block_cross_2-3~block_enc_1-2"
# A page's view and its link. A new page, or a new part of one, is one line.
LINKS = {
    "translate": "?step=11&layer=4&head=1",
    "translate, edited": f"?causal=off&{EDITED}",
    "translate, beam": "?step=11&show=decoding&decode=beam",
    "translate, empty": "?text=",
    "translate, no such checkpoint": "?checkpoint=nothere",
    "heads": "heads?kind=cross&step=11&layer=4&head=1",
    "heads, many sentences": "heads?over=corpus&kind=cross",
    "heads, claims": "heads?over=claims",
    "inside, stages": "inside?part=stages",
    "inside, writers": "inside?part=writers&kind=decoder&layer=3&head=2&step=4&key=9",
    "inside, map": "inside?part=map",
    "inside, length": "inside?part=length&kind=decoder",
    "inside, lens": "inside?part=lens",
    "inside, tokens": "inside?part=tokens&cut=target&cut_word=2&cut_merges=4&cut_text=unconstitutionally",
    "inside, embeddings": "inside?part=embeddings",
    "what if, edited": f"what-if?kind=cross&scope=layer&{EDITED}",
    "why": "why?step=11&edits=block_cross_11-12&mode=again",
    "compare, a word": "compare?kind=cross&step=11",
    "compare, two checkpoints": "compare?differs=checkpoint&kind=cross&step=11",
    "training": "training?text=The dog sleeps.&trained=763",
    "variants": "variants",
    "compare, families": "compare?differs=family",
    "lessons": "lessons?lesson=cell",
    "homework": "lessons?learn=homework&assignment=first-contact",
    "homework, a task": "?assignment=first-contact&task=4&step=1",
    "homework, its author": "why?assignment=first-contact&task=6&author=on",
}
# Actions of a visitor in sequence: the view, the ways, and where each leads to.
POPOVER = "[data-testid=stPopoverBody]"
DONE: dict[str, list[tuple[Callable, str]]] = {
    "translate": [
        (lambda page: page.get_by_role("button", name=re.compile(r"^\d+ more$")).click(), ".st-key-examples"),
        (lambda page: page.get_by_role("button", name="Save").click(), POPOVER),
    ],
    "heads": [
        (lambda page: page.locator("canvas[data-focus=decoder]").press("ArrowRight"), ".st-key-heads-grid"),
        (lambda page: page.locator(".lines svg").press("ArrowDown"), ".st-key-heads-grid"),
    ],
    "what if, edited": [
        (lambda page: page.get_by_role("button", name="Add edit").click(), ".st-key-editor"),
        (lambda page: (switch(page, "Test whether"), page.locator(".lab-details summary").click()), ".lab-details"),
    ],
    "why": [
        (lambda page: page.get_by_role("radio", name="Parts").click(), "[data-testid=stMain]"),
        (lambda page: page.get_by_role("radio", name="Which reading is true?").click(), "[data-testid=stMain]"),
    ],
}
# The themes differ in their colours alone: some views are looked at in the dark one.
DARK = (
    "heads, claims",
    "translate, beam",
    "translate, edited",
    "what if, edited",
    "inside, lens",
    "compare, two checkpoints",
)
LIGHT = [name for name in LINKS if name not in DARK]
PHONE = 390  # px
GROUPS = [
    ("light", LIGHT[::2]),
    ("dark", DARK),
    pytest.param("light", LIGHT[1::2], marks=pytest.mark.long),
]  # each in one tab


@pytest.fixture
def opened(visit):
    return lambda link, **options: visit(link, ready="h1", **({"reduced_motion": "reduce"} | options))


def describe(violation: dict) -> str:
    """Returns one violation with each of its elements and how to mend it."""
    nodes = [f"\n  {node['html'][:400]}\n    {node['failureSummary']}" for node in violation["nodes"]]
    return f"{violation['id']} ({violation['impact']}): {violation['help']}" + "".join(nodes)


def violations(page, within: str = "html") -> list[str]:
    """Returns the faults that axe-core finds in the page or a part of it, with shadow roots."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    rules = {"presentation-role-conflict": {"enabled": False}}  # Streamlit's place for files has such a role
    options = {"resultTypes": ["violations"], "preload": False, "rules": rules}
    if page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches"):  # only colours differ from the light theme
        options["runOnly"] = ["color-contrast"]
    found = page.evaluate("([within, options]) => axe.run(within, options)", [within, options])
    assert found["passes"], "axe has not looked at anything"
    return [describe(violation) for violation in found["violations"]]


@pytest.mark.parametrize(("scheme", "names"), GROUPS, ids=["light", "dark", "light-rest"])
def test_axe_finds_nothing(opened, names, scheme):
    page, found = opened(LINKS[names[0]], color_scheme=scheme), []
    widths = [SIZE["width"], PHONE] if scheme == "light" else [SIZE["width"]]
    for name in names:
        if name != names[0]:
            go(page, LINKS[name], "h1")
        for width in widths:
            resize(page, width, SIZE["height"])
            assert sideways(page) <= 0, (name, width)
            if width != PHONE:
                found += [f"{name}: {each}" for each in faults(page, name)]
        widths.reverse()  # the next view begins in the width of this one: a change of width draws all charts again
    assert not found, "\n\n".join(["", *found])


def faults(page, name: str) -> list[str]:
    """Returns the violations of a view, and of what a visitor may open in it."""
    assert page.locator("[data-testid=stException]").count() == 0, name
    assert (page.locator(".lab-fault").count() > 0) == any(word in name for word in ("empty", "no such")), name
    found = violations(page)
    for act, opens in DONE.get(name, []):
        act(page)
        idle(page)
        found += violations(page, opens)
        page.keyboard.press("Escape")
        idle(page)
    return found


def test_axe_looks_inside_components(opened):
    page = opened(LINKS["heads"])
    page.locator(".mean").first.evaluate("node => { node.style.color = '#999'; node.style.background = '#aaa'; }")
    page.locator(".lines svg").evaluate("node => node.removeAttribute('aria-label')")
    page.locator("input[data-focus=mass]").evaluate("node => { node.ariaLabel = null; document.body.append(node); }")
    found = "\n".join(violations(page))
    assert "color-contrast (serious)" in found and "label (critical)" in found and 'class="mean"' in found


MOVING = """() => {
  const roots = [document], moving = [];
  for (const root of roots) for (const node of root.querySelectorAll("*")) {
    if (node.shadowRoot) roots.push(node.shadowRoot);
    const { transitionDuration: a, animationDuration: b } = getComputedStyle(node);
    if (`${a},${b}`.split(",").some((time) => parseFloat(time) > 0.001)) moving.push(node.outerHTML.slice(0, 100));
  }
  return moving;
}"""
PLACE = """node => {
  const { x, y, width, height } = node.getBoundingClientRect(), name = node.ariaLabel || node.innerText?.slice(0, 60);
  return { tag: node.tagName, x, y, width, height, name };
}"""


def look(page, place: dict, margin: int = 6) -> np.ndarray:
    """The pixels round an element: [height, width, 3]."""
    left, top = max(0, place["x"] - margin), max(0, place["y"] - margin)
    right, bottom = min(1280, place["x"] + place["width"] + margin), min(900, place["y"] + place["height"] + margin)
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top}
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")).astype(int)


def test_the_place_of_the_keyboard_is_seen(opened):
    page = opened("what-if", color_scheme="dark", viewport={"width": 1280, "height": 900})
    assert page.evaluate(MOVING) == []  # for those who asked for that: so a look needs no waiting
    stops, unseen = [], []
    for _ in range(45):
        page.keyboard.press("Tab")
        node = focused(page)
        if (place := node.evaluate(PLACE))["tag"] == "BODY":
            break
        stops.append(place["name"])
        before = look(page, place)
        node.evaluate("node => node.blur()")
        if (np.abs(before - look(page, place)).max(axis=2) > 90).sum() < 60:
            unseen.append(f"{place['tag'].lower()} {place['name']!r}")
        node.evaluate("node => node.focus({ preventScroll: true, focusVisible: true })")
    assert len(stops) > 20 and unseen == []


def test_a_map_is_read_as_a_table(opened, shipped):
    trace = analyse(shipped, Request(FIRST_SENTENCE)).trace
    weights = trace.view(Site("cross", 3), 0).values
    order = np.argsort(-weights, axis=None, kind="stable")[:15]
    largest = weights.ravel()[order]
    columns = [trace.source.labels[at % weights.shape[1]] for at in order]
    page = opened(LINKS["translate"])
    for name, label, digits in (("translate", "ross 4.1", 5), ("what if", "Who may", None)):
        go(page, LINKS.get(name, "what-if?kind=cross&scope=head&step=11&layer=4&head=1"), "h1")
        caption, (header, *rows) = read_table(page, label)
        assert (caption, header) == ("The 15 largest of 224 cells", ["Row", "Column", "Weight"])
        assert rows[0][0] == "la → pomme" and [row[1] for row in rows] == columns
        written = [exact_probability(weight) if digits is None else f"{weight:.{digits}f}" for weight in largest]
        assert [row[2] for row in rows] == written, name
        assert violations(page) == []
        page.keyboard.press("ArrowRight")  # the next step on Translate
        assert page.locator(".cell-table caption").last.inner_text().endswith("était") == (name == "translate")
        page.keyboard.press("Escape")
        assert label in focused(page).evaluate("node => node.ariaLabel") and page.locator(".cell-table table").count() == 0


# The sum of all shifts that follow from no click: 0 where the observer has none to tell.
SHIFTED = """() => new Promise((told) => {
  const sum = (list) => list.reduce((all, { value, hadRecentInput }) => all + (hadRecentInput ? 0 : value), 0);
  const moved = ({ value, sources }) => sources.map(({ node }) => `${value.toFixed(3)} ${node?.className}`);
  const tell = (list) => told([sum(list), list.flatMap(moved).join("\\n")]);
  new PerformanceObserver((list) => tell(list.getEntries())).observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => told([0, ""])));
})"""


PAGES = ("", "heads", "inside?part=scale", "positions", "what-if")
DRAWN = ".timeline .said, .all-heads canvas, .xtick text, .charts canvas, .switchboard canvas"


def test_the_sidebar_of_a_phone_covers_the_page(visit):
    page = visit("lessons", ready="h1", fresh=True, viewport={"width": 390, "height": 844})
    assert page.evaluate(SHIFTED)[0] < 0.1  # under 0.01; 0.25 where it stands beside the page before it folds
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Inside").click()
    page.get_by_test_id("stExpandSidebarButton").wait_for()  # it goes once a page is chosen


def test_nothing_jumps_while_a_page_loads(visit):
    for where in PAGES:
        page = visit(where, ready=DRAWN, fresh=True)
        shifted, what = page.evaluate(SHIFTED)
        assert shifted < 0.1, f"{where}\n{what}"  # 0.01 to 0.07 alone; a place of the wrong size gives 0.35 and more
        resize(page, 1920, 1080)
        assert page.locator("[data-testid=stMainBlockContainer]").bounding_box()["width"] > 0.95 * (1920 - 208), where
        page.context.close()
