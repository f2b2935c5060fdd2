"""Translate: lecture keys, the tour, and the way to a ready experiment."""

import html
import re
from urllib.parse import parse_qsl, urlsplit

from model.edits.intervention import Intervention
from model.experiments.ready_questions import EXPERIMENTS
from tests.support.viz_helpers import Lab
from viz import cache
from viz.frame.tour import STOPS
from viz.pages import find
from viz.state import session
from viz.state.links import parse
from viz.state.view import View
from viz.translate import in_lecture, mask_charts


def keys(**link: str) -> dict[str, str]:
    """The keys of the page with a link, and what each says that it does."""
    told = Lab(text="I am tired. It rains.", lecture="on", **link)._mounted(".frame_component")["keys"]
    return {name: does for name, does, *_ in told}


def test_a_key_says_what_it_would_bring_about_now():
    plain, other = keys(), keys(large="2", causal="off", mode="again", rows="training", sentence="2")
    assert (plain["v"], other["v"]) == ("view: the maps", "view: the cache")
    assert (plain["m"], other["m"]) == ("causal mask off", "causal mask on")
    assert (plain["s"], other["s"]) == ("sentence 2 of 2", "sentence 1 of 2")
    assert (plain["r"], other["r"]) == ("rows: input above output", "rows: as it writes")
    assert "t" in other and "t" not in plain
    lab = Lab(text="I am tired.", lecture="on", large="2", guess="first")
    assert lab.maps == []  # they would give the next tokens away
    assert lab.timeline["hall"]["steps"] is True and "v" not in keys(guess="first")


def test_the_cache_is_a_lecture_picture(monkeypatch):
    chosen, shown = (Lab(text="I am tired.", lecture="on", step="3", **link) for link in ({"large": "3"}, {"show": "cache"}))
    for lab in (chosen, shown):  # what the page shows outside of a lecture is shown in it
        assert lab.timeline["hall"]["steps"] is False
        told = lab._mounted("key_values")
        assert (told["step"], told["trace"]) == (3, lab.timeline["trace"]) and told["above"] > 0
    assert keys(show="cache")["v"] == keys(large="3")["v"] == "view: the steps"
    lab = Lab(text="I am tired.", lecture="on", large="2")
    view = {"view": lab.app_test.session_state["view"], "link": lab.link}
    with monkeypatch.context() as patch:
        patch.setattr(session.st, "session_state", view)
        task = cache.task(view["view"].checkpoint, view["view"].device)
        for large, shown in ((3, "cache"), (1, View.show), (2, View.show)):  # and back on the page the same is seen
            in_lecture._turn(task)
            assert (view["view"].large, view["view"].show) == (large, shown)
    peeking = Lab(text="I am tired.", lecture="on", large="3", causal="off", mode="again")
    assert peeking._mounted("key_values") is None and any("Nothing can be kept" in text for text in peeking.html)
    hidden = Lab(text="I am tired.", lecture="on", show="cache", guess="first")
    assert hidden._mounted("key_values") is None and hidden.timeline["hall"]["steps"] is True


def test_the_tour_points_at_what_is_there():
    assert len(STOPS) == 5 and all(stop.text and stop.selectors for stop in STOPS)
    assert Lab(text="I love you.")._mounted(".frame_component")["onFirstPage"] is True
    for text, checkpoint in (("I love you.", "en-fr"), ("A dull film.", "sentiment")):
        lab = Lab(text=text, checkpoint=checkpoint)
        at = [selector for stop in lab._mounted(".frame_component")["tourStops"] for selector in stop["at"]]
        assert {key.removeprefix(".st-key-") for key in at if key.startswith(".st-key-")} <= lab.keys
    lab = Lab("viz/lessons/page.py", text="I love you.")
    assert lab._mounted(".frame_component")["onFirstPage"] is False and lab._mounted(".tour_invitation") is None


def test_the_question_carries_the_view():
    (asked,) = [known for known in EXPERIMENTS if known.name == mask_charts.QUESTION]
    view = View(source='A "quoted" <b>cat</b> & a dog.', step=2, intervention=Intervention(causal_mask=False))
    (href, shown) = re.search(r'<a href="([^"]*)"[^>]*>([^<]*)</a>', mask_charts.question(view)).groups()
    address = urlsplit(html.unescape(href))
    found, faults = parse(dict(parse_qsl(address.query)))
    assert find(address.path) and shown == asked.question and not faults
    assert (found.experiment, found.source, found.step) == (asked.name, view.source, 2)
