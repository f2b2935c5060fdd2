"""The line that says what this is: true of the checkpoint that is loaded, and of any before one is."""

from __future__ import annotations

import pytest

from model.task import TRANSLATES
from tests.support.viz_helpers import Lab
from viz.shared.tour import STOPS
from viz.translate import intro


@pytest.mark.parametrize("checkpoint", ["en-fr", "nothere"])
def test_the_line_is_the_same_before_and_after_and_holds_of_any_checkpoint(checkpoint):
    (line,) = Lab(text="I love you.", checkpoint=checkpoint).sentences("lab-intro")
    ways = [f"{way} {TRANSLATES.keys}" for way in intro.WAYS.values()]
    assert line == " ".join([TRANSLATES.line, *ways]) and not any(sign.isdigit() for sign in line)
    for claim in ("scratch", "translat", "English", "small"):
        assert claim not in line


def test_a_click_leads_to_the_lessons():
    lab = Lab(text="I love you.").click("to the lessons")
    assert any("<h1>Lessons</h1>" in text for text in lab.html)


def test_the_tour_has_five_stops_and_can_be_begun_on_every_page():
    assert len(STOPS) == 5 and all(stop.text and stop.at for stop in STOPS)
    assert Lab(text="I love you.")._mounted(".tour")["here"] is True
    for text, checkpoint in (("I love you.", "en-fr"), ("A dull film.", "sentiment")):
        lab = Lab(text=text, checkpoint=checkpoint)
        at = [selector for stop in lab._mounted(".tour")["stops"] for selector in stop["at"]]
        assert {key.removeprefix(".st-key-") for key in at if key.startswith(".st-key-")} <= lab.keys
    lab = Lab("viz/lessons/page.py", text="I love you.")
    assert lab._mounted(".tour")["here"] is False and lab._mounted(".tour_invitation") is None
