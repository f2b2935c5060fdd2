"""Runs that are interrupted: the browser has dropped the widgets of the last page, and the next run restores them."""

import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.util import calc_hash

from tests.support.viz_helpers import HEADS, TRANSLATE, Lab
from viz import pages
from viz.state import session

LINK = {"text": "Nine owls sleep.", "layer": "2", "head": "3", "show": "mask"}
WIDGETS = {"source", "causal", "padmask"}


def resent(lab: Lab) -> set[str]:
    """Keys of the widgets whose values the run has sent to the browser."""
    elements = [*lab.app_test.text_input, *lab.app_test.button_group, *lab.app_test.toggle]
    return {each.key for each in elements if each.proto.set_value} & WIDGETS


def interrupt(lab: Lab, page: str, monkeypatch, where: str) -> WidgetStates:
    """Runs a page until its view is opened, or its link is written. Returns the values of the widgets before that run."""

    def stop(*args: object) -> None:
        if where == "write_link":
            settle(*args)
        st.stop()

    settle = session.write_link
    sent = [each for each in lab.app_test._tree.get_widget_states().widgets if not each.HasField("trigger_value")]
    with monkeypatch.context() as patched:
        patched.setattr(session, where, stop)
        _send(lab, page)
    return WidgetStates(widgets=sent)  # a browser sends no button that is not pressed


def run(lab: Lab, page: str, widgets: WidgetStates | None = None) -> Lab:
    """Runs a page, with the values of widgets that the browser sends along."""
    _send(lab, page, widgets)
    return lab._checked()


def _send(lab: Lab, page: str, widgets: WidgetStates | None = None) -> None:
    lab.app_test._page_hash = calc_hash({each.file: each.name for each in pages.PAGES[1:]}.get(page, ""))
    lab.app_test._run(widgets)


@pytest.mark.parametrize("where", ["open_view", "write_link"])
def test_widgets_are_sent_again_after_another_page_began(monkeypatch, where):
    lab = Lab(**LINK)
    assert resent(lab.run()) == set()  # the browser has them, and a visitor may be typing
    widgets = interrupt(lab, HEADS, monkeypatch, where)
    links: list[dict[str, str]] = []
    with monkeypatch.context() as patched:
        patched.setattr(type(st.query_params), "from_dict", lambda self, link: links.append(link))
        run(lab, TRANSLATE, widgets)  # the browser had sent them before it heard of the other page
    assert (resent(lab), links) == (WIDGETS, [LINK])  # its address has lost the link as well
    assert lab.box == LINK["text"]
    assert resent(lab.run()) == set()


def test_widgets_are_sent_again_after_half_a_page(monkeypatch):
    lab = Lab(**LINK)
    interrupt(lab, HEADS, monkeypatch, "write_link")
    assert "source" in resent(run(lab, HEADS))
    assert (lab.box, lab.link) == (LINK["text"], LINK)


def test_an_interrupted_run_leaves_typing_alone(monkeypatch):
    lab = Lab(**LINK)
    widgets = interrupt(lab, TRANSLATE, monkeypatch, "write_link")
    assert resent(run(lab, TRANSLATE, widgets)) == set()


def test_a_second_click_on_a_page_keeps_its_link(monkeypatch):
    lab = Lab(**LINK)
    lab.app_test.query_params.clear()  # as the navigation sends it
    interrupt(lab, HEADS, monkeypatch, "write_link")
    lab.app_test.query_params.clear()
    assert run(lab, HEADS).link == LINK
