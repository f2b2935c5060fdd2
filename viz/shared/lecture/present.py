"""*Present*: all that a lecturer needs, in one panel: in the sidebar, and in lecture mode at the end of the one line."""

from __future__ import annotations

import streamlit as st

from viz import state
from viz.shared import texts, wanted
from viz.shared.room import room
from viz.shared.talks import going, playlist
from viz.view import View

KEYS = "Keys: arrows step, 1 to 9 choose a layer, Shift 1 to 9 a head, ? lists them all."


def panel(view: View) -> None:
    """The button, and what it opens."""
    if view.lecture:
        room.sign()
    with wanted.popover("Present", going.panel_key(), width="content" if view.lecture else "stretch") as is_open:
        if not is_open:
            return
        with st.container(key="present"):
            _lecture(view)
            room.panel()
            playlist.playlist(view)


def _lecture(view: View) -> None:
    """The switch of lecture mode."""
    st.toggle("Lecture mode (key l)", **state.bind("lecture mode", "lecture", view.lecture, write=_switch))
    texts.note(KEYS)


def _switch(on: bool) -> None:
    state.change(lecture=on)
    going.close_panel()
