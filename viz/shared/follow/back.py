"""The way back to the lecture, over every page, for who has left it to look around."""

from __future__ import annotations

import html

import streamlit as st

from viz import state
from viz.rooms.room import code_of


def bar() -> None:
    """One line over the page; nothing for who came from no room."""
    try:
        code = html.escape(code_of(state.current().room))
    except ValueError:
        return
    st.html(
        '<p class="lab-left"><span>You left the lecture.</span> <span class="more">Look around as you like.</span> '
        f'<a href="/follow/{code}" target="_self">Back to the lecture</a></p>'
    )
