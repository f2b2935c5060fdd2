"""Draws the frame of all pages: page configuration, stylesheet, navigation, sidebar."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from viz import theme
from viz.classroom import present, talk_prefetch
from viz.classroom.talk_strip import talk_strip
from viz.frame import show, sidebar
from viz.frame.frame_component import mount_frame
from viz.homework.strip import homework_strip
from viz.kit import browser_store
from viz.lessons.lessons import lesson_strip
from viz.state import session

HERE = Path(__file__).parent
MARK = theme.mark()

session.begin_run()
if session.needs_page_config():
    st.set_page_config(page_title="Attention Lab", page_icon=MARK, layout="wide", initial_sidebar_state=208)
mode = session.theme_mode()
if not session.has_colours(mode):
    st.html(theme.needed_rules(mode))
browser_store.begin_run()
st.logo(MARK, size="large")  # the stylesheet sets the name beside it
page = show.draw_navigation(HERE)


def draw_sidebar() -> None:
    with st.sidebar:
        sidebar.checkpoint_menu()
        sidebar.training_line()
        if not session.current_view().lecture:
            present.panel(session.current_view())
        mount_frame(mode)
    present.bar()


def draw_foot() -> None:
    lesson_strip()
    homework_strip()
    talk_strip()


show.run(page, draw_foot, draw_sidebar)
browser_store.end_run()
session.end_run()
talk_prefetch.next_stop(session.current_view())
