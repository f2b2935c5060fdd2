"""The head of a page in lecture mode: one line, and below it the place of the one thing that is shown."""

from __future__ import annotations

import html

import streamlit as st

from viz import pages
from viz.shared import controls, texts
from viz.shared.lecture import present
from viz.shared.shown import LecturePlaces
from viz.view import View


def head(view: View, page: pages.Page, of_sentence: bool = True) -> LecturePlaces:
    """The title, the sentence where the page is of it, a place for the page's own controls, and *Present*."""
    with st.container(key="lecture_bar", horizontal=True, vertical_alignment="center", gap="small"):
        texts.write(f'<header class="lab-hall-title"><h1>{html.escape(page.title)}</h1></header>', inline=True)
        if of_sentence:
            controls.plain_box(view)
        bar = st.container(key="lecture_controls", horizontal=True, vertical_alignment="center", gap="small")
        present.panel(view)
    notes = st.container(key="lecture_notes", gap=None)
    return LecturePlaces(notes, st.container(key="lecture_stage"), bar)
