"""*Present* panel, the header of a page in lecture mode, and the link back to a lecture.

The panel is in the sidebar, and at the end of the header in lecture mode.
"""

from __future__ import annotations

import html

import streamlit as st

from viz import pages
from viz.classroom import playlist, room_panel, talk_navigation
from viz.classroom.rooms.room import code_of
from viz.kit import controls, lazy, site_texts
from viz.page_context import LecturePlaces
from viz.state import session
from viz.state.view import View

KEYS = "Keys: arrows step, 1 to 9 choose a layer, Shift 1 to 9 a head, ? lists them all."


def panel(view: View) -> None:
    """Draws the button and its popover."""
    if view.lecture:
        room_panel.sign()
    with lazy.popover("Present", talk_navigation.panel_key(), width="content" if view.lecture else "stretch") as is_open:
        if not is_open:
            return
        with st.container(key="present"):
            _lecture(view)
            room_panel.panel()
            playlist.playlist(view)


def _lecture(view: View) -> None:
    """Draws the switch of lecture mode."""
    st.toggle("Lecture mode (key l)", **session.bind("lecture mode", "lecture", view.lecture, write=_switch))
    site_texts.note(KEYS)


def _switch(on: bool) -> None:
    session.change(lecture=on)
    talk_navigation.close_panel()


def head(view: View, page: pages.Page, of_sentence: bool = True) -> LecturePlaces:
    """Draws the title, the sentence (if the page has one), a container for controls, and *Present*."""
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write(f'<header class="lab-hall-title"><h1>{html.escape(page.title)}</h1></header>', inline=True)
        if of_sentence:
            controls.plain_box(view)
        bar = st.container(key="lecture_controls", horizontal=True, vertical_alignment="center", gap="small")
        panel(view)
    notes = st.container(key="lecture_notes", gap=None)
    return LecturePlaces(notes, st.container(key="lecture_stage"), bar)


def bar() -> None:
    """Draws a line above the page for a visitor who came from a room."""
    try:
        code = html.escape(code_of(session.current_view().room))
    except ValueError:
        return
    st.html(
        '<p class="lab-left"><span>You left the lecture.</span> <span class="more">Explore freely.</span> '
        f'<a href="/follow/{code}" target="_self">Back to the lecture</a></p>'
    )
