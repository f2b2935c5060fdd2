"""The line that says what this is: true of the checkpoint that is loaded, and of any before one is."""

from __future__ import annotations

from tests.support.viz_helpers import Lab
from viz.shared.tour import STOPS


def test_the_tour_points_at_what_is_there():
    assert len(STOPS) == 5 and all(stop.text and stop.at for stop in STOPS)
    assert Lab(text="I love you.")._mounted(".tour")["here"] is True
    for text, checkpoint in (("I love you.", "en-fr"), ("A dull film.", "sentiment")):
        lab = Lab(text=text, checkpoint=checkpoint)
        at = [selector for stop in lab._mounted(".tour")["stops"] for selector in stop["at"]]
        assert {key.removeprefix(".st-key-") for key in at if key.startswith(".st-key-")} <= lab.keys
    lab = Lab("viz/lessons/page.py", text="I love you.")
    assert lab._mounted(".tour")["here"] is False and lab._mounted(".tour_invitation") is None
