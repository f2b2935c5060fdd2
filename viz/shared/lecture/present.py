"""*Present*: all that a lecturer needs, in one panel: in the sidebar, and in lecture mode at the end of the one line."""

from __future__ import annotations

import streamlit as st

from viz import state
from viz.shared import texts
from viz.shared.room import room
from viz.shared.talks import going, playlist
from viz.view import View

KEYS = "Keys: arrows step, 1 to 9 choose a layer, Shift 1 to 9 a head, ? lists them all."


def panel(view: View) -> None:
    """The button, and what it opens."""
    if view.lecture:
        room.sign()
    opened = st.popover("Present", key=going.PANEL, on_change=state.hear, width="content" if view.lecture else "stretch")
    if opened.open:
        with opened, st.container(key="present"):
            _lecture(view)
            room.panel()
            playlist.playlist(view)


def _lecture(view: View) -> None:
    """The switch of lecture mode."""
    st.toggle("Lecture mode (key l)", **state.bind("lecture mode", "lecture", view.lecture, write=_switch))
    texts.note(KEYS)


def _switch(on: bool) -> None:
    state.change(lecture=on)
    state.keep(going.PANEL, False)
