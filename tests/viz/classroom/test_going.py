"""From stop to stop: the view of each, what stays, what is told at the ends; a talk that is changed; the next stop ahead."""

import dataclasses
from urllib.parse import parse_qsl

import pytest

from tests.support.viz_helpers import Lab, made_session
from viz import cache, computations, pages
from viz.classroom import present, talk_navigation, talk_prefetch
from viz.classroom.talk import Stop, Talk, file_of, make_stop, pack
from viz.state import session as state
from viz.state.view import View

DOG, CAR = "The dog sleeps.", "The car is red."
ONE, TWO = make_stop("translate", View(source=DOG, step=1), "one"), make_stop("heads", View(source=DOG, kind="cross"), "two")
THREE, FOUR = make_stop("heads", View(source=CAR, checkpoint="gone"), "three"), Stop("translate", "layer=x", "four")
TALK = Talk("T", (ONE, TWO, THREE, FOUR))


@pytest.fixture
def session(monkeypatch):
    """A session whose callbacks can be called; it is on Translate, before the first stop."""
    view = View(talk=pack(TALK), lecture=True, device="cpu", lesson="unsure")
    return made_session(monkeypatch, view=view, page="translate")


def lines(session) -> list[str]:
    return [stop.line for stop in talk_navigation.talk_of(session.view).stops]


def test_on_and_back_through_all_stops(session):
    for number, stop in enumerate(TALK.stops, 1):
        session.next_page = None
        talk_navigation.move_by(1)
        view = session.view
        around = {"talk": view.talk, "stop": number, "lecture": True, "device": "cpu", "lesson": None}
        assert view == dataclasses.replace(stop.view, **around)
        assert session.next_page == (None if stop.page == session.page else pages.find(stop.page).file)
        session.page = stop.place.name
    talk_navigation.move_by(1)
    assert (session.view.stop, session.talk.ended) == (4, "last")
    for number in (3, 2, 1):
        talk_navigation.move_by(-1)
        assert session.view.stop == number
    talk_navigation.move_by(-1)
    assert (session.view.stop, session.talk.ended) == (1, "first")


def test_a_view_is_inserted_after_the_stop(session):
    talk_navigation.show(1)
    state.change(head=6)
    talk_navigation.keep_view("  new  ")
    assert lines(session) == ["one", "new", "two", "three", "four"]
    view = session.view
    assert view.stop == 2 and talk_navigation.talk_of(view).stop(2).view == View(source=DOG, step=1, head=6)
    talk_navigation.choose("")
    talk_navigation.keep_view("alone")
    assert lines(session) == ["alone"] and session.view.stop == 1


def test_the_current_stop_survives_moves(session):
    talk_navigation.show(2)
    talk_navigation.move(2, 4)
    assert (lines(session), session.view.stop) == (["one", "three", "four", "two"], 4)
    talk_navigation.move(1, 2)
    assert (lines(session), session.view.stop) == (["three", "one", "four", "two"], 4)
    talk_navigation.remove(1)
    assert (lines(session), session.view.stop) == (["one", "four", "two"], 3)
    talk_navigation.remove(3)
    assert (lines(session), session.view.stop) == (["one", "four"], 2)
    talk_navigation.set_line(2, "said")
    talk_navigation.rename("Named")
    assert lines(session) == ["one", "said"] and talk_navigation.talk_of(session.view).title == "Named"
    before = session.view
    for call, *arguments in (("move", 1, 9), ("remove", 9), ("set_line", 0, "x"), ("show", 9)):
        getattr(talk_navigation, call)(*arguments)
        assert session.view == before


def test_a_stop_takes_the_current_view_and_keeps_its_line(session):
    talk_navigation.show(2)
    session.page = "heads"
    state.change(head=6)
    talk_navigation.take_view(2)
    assert lines(session) == ["one", "two", "three", "four"] and session.view.stop == 2
    assert talk_navigation.talk_of(session.view).stop(2).view == View(source=DOG, kind="cross", head=6)


@pytest.mark.parametrize(("lecture", "large"), [(True, 1), (False, 3)])
def test_a_stop_shows_what_it_was_kept_from(session, lecture, large):
    state.change(lecture=lecture)
    session.page = "heads"
    talk_navigation.keep_view("all heads")
    assert talk_navigation.talk_of(session.view).stops[-1].view.large == large


def test_a_copy_is_another_talk_with_the_same_stops(session):
    before = talk_navigation.talk_of(session.view)
    talk_navigation.duplicate()
    after = talk_navigation.talk_of(session.view)
    assert (after.title, after.stops) == ("T (copy)", before.stops)


def test_a_line_with_a_field_that_its_view_lacks_is_refused(session):
    for change in ((talk_navigation.set_line, 1), (talk_navigation.keep_view,)):
        present._show_errors(change[0])(*change[1:], "It has {probability of zebra}.")
        assert "{probability of zebra}" in session.talk.message and lines(session) == ["one", "two", "three", "four"]
    present._show_errors(talk_navigation.set_line)(1, "It has 0.93.")
    assert "0.93 stays as typed" in session.talk.message and lines(session)[0] == "It has 0.93."


def test_a_file_that_is_no_talk_changes_nothing(session):
    before = session.view
    present._show_errors(present._open)(b"{}")
    assert session.view == before and "is not a talk" in session.talk.message
    present._show_errors(present._open)(file_of(Talk("Other", TALK.stops[:1])))
    assert lines(session) == ["one"]
    present._show_errors(talk_navigation.set_line)(1, "x" * 500)
    assert lines(session) == ["one"] and "has 500 characters" in session.talk.message


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_page_always_shows_the_line(number):
    stop = TALK.stops[number - 1]
    link = {"talk": pack(TALK), "stop": str(number)} | dict(parse_qsl(stop.query))
    lab = Lab(stop.place.file if stop.page != "translate" else None, **link)
    strip = lab._mounted("talk_strip")
    assert (strip["line"], strip["number"], strip["count"], strip["large"]) == (stop.line, number, 4, False)
    assert any("There is no checkpoint 'gone'" in fault for fault in lab.faults) == (number == 3)
    assert any("layer is “x”" in fault for fault in strip["faults"]) == (number == 4)
    assert (lab.link["talk"], lab.link["stop"]) == (pack(TALK), str(number))


def test_a_link_without_a_talk_says_so():
    strip = Lab(talk="~cut", stop="3")._mounted("talk_strip")
    assert strip["count"] == 0 and "damaged" in strip["faults"][0]
    assert Lab(talk="masks", stop="99")._mounted("talk_strip")["number"] == 11
    assert Lab(stop="3")._mounted("talk_strip") is None


def test_the_next_stop_is_computed_ahead(session):
    text = "Nobody has asked this before."
    ahead = (make_stop("heads", view, "") for view in (View(source=text), View(checkpoint="gone")))
    talk = Talk("T", (TALK.stops[0], *ahead))
    session.view = View(talk=pack(talk), stop=1)
    request = View(source=text).request()
    assert cache.analyse.known(request, "auto") is None
    talk_prefetch.next_stop(session.view)
    talk_prefetch.next_stop(session.view)
    assert talk_prefetch.wait_until_idle(60)
    assert cache.analyse.known(request, "auto") and computations.result.known(
        request, "auto", computations.VALUE_NORMS(), None
    )
    for stop in (2, 3):  # one that cannot be computed; none
        talk_prefetch.next_stop(dataclasses.replace(session.view, stop=stop))
    assert talk_prefetch.wait_until_idle(60)


@pytest.mark.parametrize("number", [1, 2, 9])
def test_a_link_that_names_a_stop_shows_its_view(number):
    stop = TALK.stops[min(number, 2) - 1]
    lab = Lab(talk=pack(dataclasses.replace(TALK, stops=TALK.stops[:2])), stop=str(number), lecture="on")
    strip = lab._mounted(".talk_strip")
    shown = {name: value for name, value in lab.app_test.query_params.items() if name not in ("talk", "stop", "lecture")}
    assert shown.items() >= dict(parse_qsl(stop.query)).items() and strip["line"] == stop.line
    assert lab.data.page == stop.page and lab.data.view.stop == min(number, 2) and lab.data.view.lecture
    assert lab.run().data.view.head == stop.view.head and talk_prefetch.wait_until_idle(60)
    lab.app_test.query_params["head"] = "7"  # a link with a view of its own keeps it
    assert lab.run().data.view.head == 6 and lab._mounted(".talk_strip")["line"] == stop.line


def test_a_view_without_parameters_stays_at_its_stop():
    lab = Lab(talk=pack(TALK), stop="1")
    assert lab.data.view.source == DOG
    lab.data.view = View(talk=pack(TALK), stop=1)  # changed back by hand, value by value
    lab.data.has_user_event = True
    assert [lab.run().data.view.source for _ in range(2)] == [View.source] * 2 and lab.data.view.stop == 1
    assert talk_prefetch.wait_until_idle(60)
