"""*Present*: all that a lecturer needs, in one panel: in the sidebar, and in lecture mode at the end of the one line.

The head of a page in lecture mode: one line, and below it the place of the one thing that is shown.

The way back to the lecture, over every page, for who has left it to look around."""

from __future__ import annotations

import html

import streamlit as st

from viz import pages
from viz.classroom import playlist, room_panel, talk_navigation
from viz.classroom.rooms.room import code_of
from viz.kit import controls, lazy, site_texts
from viz.kit.page_context import LecturePlaces
from viz.state import session
from viz.state.view import View

KEYS = "Keys: arrows step, 1 to 9 choose a layer, Shift 1 to 9 a head, ? lists them all."


def panel(view: View) -> None:
    """The button, and what it opens."""
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
    """The switch of lecture mode."""
    st.toggle("Lecture mode (key l)", **session.bind("lecture mode", "lecture", view.lecture, write=_switch))
    site_texts.note(KEYS)


def _switch(on: bool) -> None:
    session.change(lecture=on)
    talk_navigation.close_panel()


def head(view: View, page: pages.Page, of_sentence: bool = True) -> LecturePlaces:
    """The title, the sentence where the page is of it, a place for the page's own controls, and *Present*."""
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.write(f'<header class="lab-hall-title"><h1>{html.escape(page.title)}</h1></header>', inline=True)
        if of_sentence:
            controls.plain_box(view)
        bar = st.container(key="lecture_controls", horizontal=True, vertical_alignment="center", gap="small")
        panel(view)
    notes = st.container(key="lecture_notes", gap=None)
    return LecturePlaces(notes, st.container(key="lecture_stage"), bar)


def bar() -> None:
    """One line over the page; nothing for who came from no room."""
    try:
        code = html.escape(code_of(session.current().room))
    except ValueError:
        return
    st.html(
        '<p class="lab-left"><span>You left the lecture.</span> <span class="more">Look around as you like.</span> '
        f'<a href="/follow/{code}" target="_self">Back to the lecture</a></p>'
    )
