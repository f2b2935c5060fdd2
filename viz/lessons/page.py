"""Lessons: where do I begin?

The parts of the page Lessons: what they are, and the list.

All lessons in their order; which are solved is known to the browser alone."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from model.task import TRANSLATION
from viz import cache, pages
from viz.frame import show
from viz.kit import mount, site_texts
from viz.lessons.lesson_strip import begin
from viz.lessons.lessons import LESSONS
from viz.page_context import PageContext, Places
from viz.state import session
from viz.state.view import View

_COMPONENT = mount.Component(__file__, '<div class="lesson-list"></div>', picture="Lessons", name="lesson_list")


def lesson_list(current: str | None, on_begin: Callable[[str], None], large: bool = False, key: str = "lesson_list") -> None:
    """Mounts the list; `on_begin` is called with the name of the lesson that is chosen, before the next run. `large`: over
    the whole screen, the questions alone."""
    lessons = [
        {
            "name": lesson.name,
            "question": lesson.question,
            "task": lesson.task,
            "touch": lesson.touch,
            "place": pages.find(lesson.page).title,
            "href": lesson.href,
        }
        for lesson in LESSONS
    ]
    events = {"begin": (mount.one_of([lesson.name for lesson in LESSONS]), on_begin)}
    _COMPONENT.mount(key, {"lessons": lessons, "lesson": current, "large": large}, events)


def head(view: View, page: pages.Page) -> Places:
    """The title, and what is to be expected."""
    site_texts.heading(page.title, page.question)
    site_texts.note(
        f"{len(LESSONS)} questions of a minute or two, checked by your own numbers. "
        "Only this browser remembers the solved ones."
    )
    if cache.task(view.checkpoint, view.device).family != TRANSLATION.family:
        site_texts.note(f"The lessons are about translation. They open {View.checkpoint}.")
    notes = st.container()
    return Places(notes, notes)


def draw(context: PageContext) -> None:
    """What was wrong with the link, and the list."""
    with context.places.body:
        site_texts.sentence_notes((), context.faults)
    _list()


def without_sentence(view: View, places: Places) -> None:
    """The list needs no sentence."""
    with places.body:
        _list()


def in_lecture(context: PageContext) -> None:
    """The list, large."""
    with context.places.notes:
        site_texts.sentence_notes((), context.faults)
    with context.places.body:
        _list()


def _list() -> None:
    view = session.current_view()
    lesson_list(view.lesson, on_begin=begin, large=view.lecture)


show.show("lessons", draw, head=head, draw_without=without_sentence, in_lecture=in_lecture)
