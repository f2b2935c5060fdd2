"""The frame around all pages: page configuration, stylesheet, navigation, sidebar."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import state, theme
from viz.lessons.lesson_strip import begin_first, lesson_strip
from viz.shared import frame, sidebar
from viz.shared.follow import back
from viz.shared.lecture import lecture, present
from viz.shared.reconnect import reconnect
from viz.shared.room import room
from viz.shared.talks import ahead
from viz.shared.talks.talk_strip import talk_strip
from viz.shared.terms_list import terms_list
from viz.shared.tour import tour
from viz.shared.watch import watch

HERE = Path(__file__).parent
MARK = theme.mark()

state.begin_run()
st.set_page_config(page_title="Attention Lab", page_icon=MARK, layout="wide", initial_sidebar_state=208)
mode = state.theme_mode()
st.html(theme.needed_rules(mode))
st.logo(MARK, size="large")  # the stylesheet sets the name beside it
page = frame.navigation(HERE)
with st.sidebar:
    below = st.container()


def beside() -> None:
    with below:
        sidebar.chosen()
        if not state.current().lecture:
            present.panel(state.current())
        tour(on_lesson=begin_first)
        terms_list()
        watch(mode)
        lecture.mounted()
        room.mounted()
        reconnect()
    back.bar()


def foot() -> None:
    lesson_strip()
    talk_strip()


frame.run(page, foot, beside)
state.end_run()
ahead.next_stop(state.current())
