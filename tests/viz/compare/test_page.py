"""The page Compare: two sides of which one thing differs, and one sentence where there is no second."""

from __future__ import annotations

import pytest
from viz_helpers import COMPARE, Lab

from viz.compare.choices import CHOICES
from viz.compare.pair import DIFFERENCES
from viz.compare.parts import PARTS
from viz.view import COMPARED, DIFFERS


def test_what_may_differ_and_the_parts_are_those_of_the_view():
    assert tuple(DIFFERENCES) == tuple(CHOICES) == DIFFERS
    assert tuple(PARTS) == COMPARED


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ({"differs": "edits"}, "Nothing is edited"),
        ({"differs": "sentence"}, "Type the sentence"),
        ({"swap": "40"}, "The sentence has no word 40, it has 12"),
    ],
    ids=str,
)
def test_where_there_is_no_second_side_one_sentence_says_why(link, told):
    lab = Lab(COMPARE, **link)
    assert len(lab.faults) == 1 and lab.faults[0].startswith(told)
