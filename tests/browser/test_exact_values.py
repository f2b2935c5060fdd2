"""Every probability and weight that is drawn as a number has its exact value in a tooltip."""

from pathlib import Path

from tests.browser.conftest import go

WALK = (Path(__file__).parent / "exact_values.js").read_text(encoding="utf-8")
PLACES = {  # a link, and a part of the page with a number
    "?step=3": "timeline",
    "?decode=sample&temperature=1.5": "candidates",
    "heads": "all_heads",
    "inside?stage=7": "stages",
    "inside?part=writers": "writers",
    "inside?part=lens": "",
    "inside?part=scale": "",
    "what-if?edits=off_cross.3.5": "change_list",
    "why": "",
    "compare": "side_by_side",
    "?checkpoint=sentiment": "judged",
}


def test_numbers_have_their_exact_value_in_a_tooltip(visit):
    page, missing = visit(viewport={"width": 1366, "height": 2000}), {}
    page.evaluate(WALK)
    for link, place in PLACES.items():
        go(page, link, "h1")
        page.wait_for_function("place => findWithoutExactValue()[1].includes(place)", arg=place)
        texts, _ = page.evaluate("findWithoutExactValue()")
        if texts:
            missing[link] = texts
    assert missing == {}
