"""The parts of the page Lessons: what they are, and the list."""

from __future__ import annotations

import streamlit as st

from model.task import TRANSLATES
from viz import cache, pages, state
from viz.lessons.lesson_list import lesson_list
from viz.lessons.lesson_strip import begin
from viz.lessons.lessons import LESSONS
from viz.shared import texts
from viz.shared.shown import Places, Shown
from viz.view import View


def head(view: View, page: pages.Page) -> Places:
    """The title, and what is to be expected."""
    texts.heading(page.title, page.question)
    texts.note(
        f"{len(LESSONS)} questions of a minute or two. Each opens where it is answered and is checked by the numbers of "
        "what you did. Only this browser remembers which you have solved."
    )
    if cache.task(view.checkpoint, view.device).family != TRANSLATES.family:
        texts.note(f"The lessons are about translation: they open {View.checkpoint}.")
    notes = st.container()
    return Places(notes, notes)


def draw(shown: Shown) -> None:
    """What was wrong with the link, and the list."""
    with shown.places.body:
        texts.sentence_notes((), shown.faults)
    _list()


def without_sentence(view: View, places: Places) -> None:
    """The list needs no sentence."""
    with places.body:
        _list()


def in_lecture(shown: Shown) -> None:
    """The list, large."""
    with shown.places.notes:
        texts.sentence_notes((), shown.faults)
    with shown.places.body:
        _list()


def _list() -> None:
    view = state.current()
    lesson_list(view.lesson, on_begin=begin, large=view.lecture)
