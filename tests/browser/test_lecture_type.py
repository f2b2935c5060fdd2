"""Whether a lecture can be read from the last row: the size of every text in lecture mode, in px at 720 lines."""

from __future__ import annotations

from urllib.parse import quote

from tests.browser.conftest import go, resize
from tests.browser.measured_type import SCRIPT, SLACK, measured, smaller

LONG = (
    "When the old man who lived in the little house at the end of the street heard the noise, he took his coat and went out."
)
# query of a page: what is there once it stands, and what is larger than all must be: a part of its place, its least size
PAGES: dict[str, tuple[str, dict[str, float]]] = {
    "?step=11&lecture=on": (".timeline .said", {"p.said": 40, ".chip": 28, "candidates span.t": 28}),
    f"?step=9&lecture=on&causal=off&mode=again&rows=shifted&text={quote(LONG)}": (
        ".timeline .said",
        {"p.said": 40, ".chip": 28},
    ),
    "?step=11&lecture=on&large=2&causal=off": (".large canvas", {"p.said": 40, "timeline b.": 28}),
    "?step=11&lecture=on&show=cache": (".key-values svg", {"p.said": 40, "p.told": 25}),
    "why?step=11&kind=decoder&layer=4&head=1&lecture=on": (".sum .cascade", {"sum h2": 28, "span.own": 28}),
    f"why?step=9&large=3&lecture=on&text={quote(LONG)}": (".sum .words", {"sum h2": 28}),
    "why?text=She+bought+a+red+car.&step=6&why=readings&lecture=on": (".curves svg", {"curves h2": 28, "span.word": 27}),
    "compare?kind=cross&lecture=on": (".side-by-side canvas", {"h2.answer": 28}),
    "compare?large=3&lecture=on": (".side-by-side .cell", {"h2.answer": 28}),
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
BEAMER, LARGE = (1280, 720), (1920, 1080)
EVERY = 4  # of so many views, one is measured in the large window, too: sizes grow with the window by one rule


def test_every_text_of_a_lecture_is_read_from_the_last_row(visit):
    first, (ready, _) = next(iter(PAGES.items()))
    page = visit(first, ready=ready, scripts=(SCRIPT,))
    for number, (where, (ready, larger)) in enumerate(PAGES.items()):
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
