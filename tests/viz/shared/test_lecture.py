"""Lecture mode: one line and one thing large on every page, what keys may choose, and what a browser may report of them."""

from __future__ import annotations

import pytest
from viz_helpers import COMPARE, HEADS, INSIDE, TRANSLATE, WHAT_IF, WHY, Lab

from viz import pages, state
from viz.shared.lecture import lecture
from viz.view import View

HAS_STEPS = {TRANSLATE, HEADS, INSIDE, WHAT_IF, WHY, COMPARE}
HAS_HEADS = {TRANSLATE, HEADS, INSIDE, WHAT_IF, COMPARE}


@pytest.mark.parametrize("page", [page.file for page in pages.PAGES])
def test_keys_choose_among_what_the_page_and_its_checkpoint_have(page):
    lab = Lab(page, text="The dog sleeps.", lecture="on", step="2", layer="1", head="mean")
    told = lab._mounted(".lecture")
    own = (4, 8) if page in HAS_HEADS else (0, 0)
    assert (told["on"], told["layers"], told["heads"]) == (True, *own)
    assert (told["steps"] > 2) == (page in HAS_STEPS)
    assert told["step"] == 2 or page not in HAS_STEPS


def test_outside_of_a_lecture_only_the_key_that_begins_one_is_there():
    told = Lab(text="The dog sleeps.")._mounted(".lecture")
    assert not told["on"] and told["keys"] == [] and not told["undo"]


@pytest.mark.parametrize("link", [{"causal": "off"}, {"pad": "2"}, {"edits": "off_cross.3"}])
def test_what_was_tried_can_be_taken_back(link):
    assert Lab(text="The dog sleeps.", lecture="on", **link)._mounted(".lecture")["undo"]


def test_taking_back_restores_what_was_there_or_takes_all_edits_away(monkeypatch):
    session = {"view": View(pad=2, causal_mask=False, branches=((5,),)), "link": {}}
    monkeypatch.setattr(state.st, "session_state", session)
    lecture._undo()
    assert session["view"] == View()
    state.change(pad=3)
    lecture._undo()
    assert session["view"] == View()


def test_the_page_keys_go_round():
    names, gone = [page.name for page in pages.PAGES], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "go_to", gone.append)
        patch.setattr(state, "page", lambda: names[-1])
        lecture._turn(1)
        lecture._turn(-1)
    assert gone == [names[0], names[-2]]


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"layer": 2, "head": 3}, (2, 3)),
        ({"layer": 2, "head": None}, (2, None)),
        ({"layer": 2, "head": 0}, (2, None)),
        ({"layer": 0, "head": 1}, None),
        ({"layer": 1.5, "head": 1}, None),
        ({"layer": "1", "head": 1}, None),
        ({"layer": True, "head": 1}, None),
        ({"layer": 1, "head": "x"}, None),
        ({"layer": 1, "head": -1}, None),
    ],
)
def test_a_layer_and_a_head_are_whole_numbers(told, place):
    assert lecture._place(told) == place
