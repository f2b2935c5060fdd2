"""Lecture mode: one line and one thing large on every page, what keys may choose, and what a browser may report of them."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from model.edits.intervention import Intervention
from tests.support.viz_helpers import COMPARE, HEADS, INSIDE, POSITIONS, TRAINING, TRANSLATE, WHAT_IF, WHY, Lab, made_session
from viz import cache, pages
from viz.classroom import hall_keys, lecture, line_fields, talk_prefetch
from viz.classroom.talk import Stop, Talk, make_stop, pack, unpack
from viz.kit import site_texts
from viz.state import links, navigation
from viz.state import session as state
from viz.state.view import View

HOME = Path(lecture.__file__).parents[1]
HAS_STEPS = {TRANSLATE, HEADS, INSIDE, WHAT_IF, WHY, COMPARE}
HAS_HEADS = {TRANSLATE, HEADS, INSIDE, WHAT_IF, WHY, COMPARE, TRAINING}


@pytest.mark.parametrize("page", [page.file for page in pages.PAGES])
def test_keys_choose_what_page_and_checkpoint_have(page):
    lab = Lab(page, text="The dog sleeps.", lecture="on", step="2", layer="1", head="mean")
    told = lab._mounted(".frame_component")
    own = (4, 8) if page in HAS_HEADS else (0, 0)
    assert (told["lecture"], told["layers"], told["heads"]) == (True, *own)
    assert (told["steps"] > 2) == (page in HAS_STEPS)
    assert told["step"] == 2 or page not in HAS_STEPS


def test_a_key_acts_on_what_the_browser_shows(monkeypatch):
    session = made_session(monkeypatch, view=View(lecture=True))
    pressed = []
    lecture.reset_keys()
    lecture.add_key(lecture.NEXT, "next", lambda: pressed.append("first run"))
    lecture.describe_keys()
    lecture.reset_keys()
    lecture._call(lecture.NEXT.key)  # twice before anything of the next run is known
    lecture._call(lecture.NEXT.key)
    lecture._call(lecture.PREVIOUS.key)  # there is none
    assert pressed == ["first run"] * 2
    lecture.add_key(lecture.PREVIOUS, "previous", lambda: pressed.append("second run"))
    lecture.describe_keys()
    lecture._call(lecture.NEXT.key)
    lecture._call(lecture.PREVIOUS.key)
    assert pressed[2:] == ["second run"] and session.view.lecture


@pytest.mark.parametrize(("page", "letter"), [(WHAT_IF, lecture.PADDING), (TRANSLATE, lecture.CAUSAL)])
def test_two_quick_presses_of_a_switch_count_twice(monkeypatch, page, letter):
    lab = Lab(page, text="The dog sleeps.", lecture="on")
    session = made_session(monkeypatch, view=lab.view, link=lab.data.link, lecture=lab.data.lecture)
    lecture._call(letter.key)
    once = session.view
    lecture._call(letter.key)
    assert once != session.view == lab.view


@pytest.mark.parametrize("page", [TRANSLATE, HEADS, INSIDE, WHAT_IF, WHY])
def test_a_key_switches_the_shown_head_off_as_a_click_does(monkeypatch, page):
    lab = Lab(page, text="The dog sleeps.", lecture="on", layer="3", head="4", kind="cross")
    keys = {name: does for name, does, *_ in lab.data.lecture.keys}
    assert keys.keys() >= {"O", "m", "M", "T", "K", "k"} and len(keys) == len(lab.data.lecture.keys)
    assert keys["O"] == "switch cross 3.4 off"
    session = made_session(monkeypatch, view=lab.view, link=lab.data.link, lecture=lab.data.lecture)
    navigation.toggle_edit("off_cross.3.4")
    clicked = session.view
    state.undo_or_redo("undo")
    lecture._call("O")
    assert session.view == clicked and lab.data.lecture.message == "cross 3.4 is off."
    lecture._undo()
    assert session.view == lab.view
    lecture._call("O")
    lecture._call("O")
    assert session.view == lab.view and lab.data.lecture.message == "cross 3.4 is on again."


def test_a_key_with_a_choice_of_a_head_acts_on_that_head(monkeypatch):
    lab = Lab(HEADS, text="The dog sleeps.", lecture="on", kind="cross", layer="3", head="2")
    session = made_session(monkeypatch, view=lab.view, link=lab.data.link, lecture=lab.data.lecture)
    lecture._call_at("O", 2, 4)
    assert lab.data.lecture.message == "cross 2.4 is off." and (session.view.layer, session.view.head) == (1, 3)


def test_the_message_of_a_key_states_the_measured_effect():
    lab = Lab(HEADS, text="The dog sleeps.", lecture="on", kind="cross", layer="3", head="4")
    lab.data.lecture.message, lab.data.lecture.needs_effect = "cross 3.4 is off.", True
    lab.app_test.query_params["edits"] = "off_cross.3.4"
    lab.run()
    effect = site_texts.verdict_text(cache.analyse(lab.view.request(), lab.view.device))
    assert "→" in effect and lab._mounted(".frame_component")["said"][1] == f"cross 3.4 is off. {effect}."


@pytest.mark.parametrize("page", [HEADS, TRANSLATE])
def test_a_key_shows_the_tree_of_a_beam(monkeypatch, page):
    lab = Lab(page, text="The dog sleeps.", lecture="on")
    session = made_session(monkeypatch, view=lab.view, link=lab.data.link, lecture=lab.data.lecture)
    lecture._call(lecture.TREE.key)
    assert (session.view.show, session.view.strategy, session.view.large) == ("decoding", "beam", hall_keys.TREE)
    shown = Lab(TRANSLATE, **links.link(session.view))
    assert shown._mounted(".beam_tree")["large"] and shown._mounted(".beam_tree")["leaves"] > 1
    given = made_session(monkeypatch, view=View(target="Le chien dort."), lecture=lab.data.lecture)
    before = given.view
    lecture._call(lecture.TREE.key)
    assert given.view == before and "no tree" in lab.data.lecture.message


def test_a_letter_has_one_meaning():
    keys = [letter.key for letter in lecture.ALL_KEYS]
    fixed = re.search(r"FIXED = \{(.*?)\};", (HOME / "classroom/keys.js").read_text(encoding="utf-8"))
    taken = set(re.findall(r'"?(\S)"?: "', fixed[1])) | set("jqR0123456789")
    assert {"b", "u", "/"} <= taken and len(set(keys)) == len(keys) and not taken & set(keys)
    assert len({letter.means for letter in lecture.ALL_KEYS}) == len(keys)
    named = {name for name in vars(lecture) if name.isupper()}
    for path in HOME.rglob("*.py"):  # pages take their keys from the table
        calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
        for call in calls:
            if ast.unparse(call.func) == "lecture.add_key":
                whose, _, name = ast.unparse(call.args[0]).partition(".")
                assert (whose, name in named) == ("lecture", True), f"{path}: {ast.unparse(call)}"


def test_every_page_numbers_its_pictures():
    lab = Lab(HEADS, text="The dog sleeps.", lecture="on", large="3")
    assert "large" not in lab.go(POSITIONS).link
    assert (lecture.picture(View(large=3), 3), lecture.picture(View(large=4), 3)) == (3, 1)
    with pytest.MonkeyPatch.context() as patch:
        session = made_session(patch, view=View(large=3), page="heads")
        lecture._turn_page(1)
        assert session.view.large == 1 and session.next_page == INSIDE
        navigation.go_to("heads", 2)  # a stop of a playlist
        assert session.view.large == 2


def test_undo_restores_the_view(monkeypatch):
    view = View(pad=2, intervention=Intervention(causal_mask=False), branches=((5,),))
    session = made_session(monkeypatch, view=view)
    lecture._undo()
    assert session.view == View()
    state.change(pad=3)
    lecture._undo()
    assert session.view == View()


def test_notes_reach_the_browser_for_the_presenter_view_only():
    talk = Talk("One", (Stop("heads", "layer=2", "Look."), Stop("why", ""))).with_notes(1, "Count to ten.")
    lab = Lab(HEADS, text="The dog sleeps.", lecture="on", talk=pack(talk), stop="1")
    assert "Count to ten." not in str([each.proto for each in lab.app_test.get("bidi_component")]) + str(lab.app_test.html)
    assert lab._mounted(".frame_component")["presented"] is None
    lab.data.talk.is_presented = True
    shown = lab.run()._mounted(".frame_component")
    stops = [{"page": "Heads", "line": "Look.", "notes": "Count to ten."}, {"page": "Why", "line": "", "notes": ""}]
    assert shown["presented"] == {"title": "One", "stops": stops, "fault": ""} and "talk" not in shown["query"]
    assert talk_prefetch.wait_until_idle(60)  # it computes the next stop


def test_the_presenter_view_fills_the_line_of_its_stop(monkeypatch):
    view = View(source="The dog sleeps.", step=1)
    talk = Talk("T", tuple(make_stop("translate", view, f"{n}: {{token}}") for n in (1, 2)))
    made_session(monkeypatch, view=dataclasses.replace(view, talk=pack(talk), stop=1))
    (now, later) = (stop["line"] for stop in lecture._presented(talk)["stops"])
    assert now == line_fields.fill(talk.stops[0].place, view, "1: {token}").text != "1: …" and later == "2: …"


def test_the_presenter_view_writes_notes(monkeypatch):
    session = made_session(monkeypatch, view=View(talk=pack(Talk("One", (Stop("heads", ""),))), stop=1), page="heads")
    lecture._set_notes(1, "Ask.\nWait.")
    assert unpack(session.view.talk).stops[0].notes == "Ask.\nWait." and session.view.stop == 1
    lecture._set_notes(1, "x" * 2001)
    assert unpack(session.view.talk).stops[0].notes == "Ask.\nWait."
    assert (
        "2,001 characters; expected at most 2,000" in lecture._presented(None)["fault"]
        and not lecture._presented(None)["fault"]
    )
