"""Every probability and weight that is drawn as a number has its exact value in a tooltip."""

from pathlib import Path

import pytest

from tests.browser.conftest import idle

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


@pytest.mark.parametrize("link", PLACES)
def test_a_number_has_its_exact_value_in_a_tooltip(visit, link):
    page = visit(link, ready="h1")
    page.set_viewport_size({"width": 1366, "height": 2000})
    idle(page)
    missing, parts = page.evaluate(f"{WALK}\nfindWithoutExactValue()")
    assert missing == [] and PLACES[link] in parts
