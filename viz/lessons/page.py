"""Lessons: where do I begin? Only the browser knows which lessons are solved."""

from __future__ import annotations

from typing import Any

import streamlit as st

from model.task import TRANSLATION
from viz import cache, pages
from viz.frame import show
from viz.kit import mount, site_texts
from viz.kit.panel import Layout, Panel, Picture
from viz.lessons.lessons import LESSONS, begin
from viz.page_context import PageContext, Places
from viz.state.view import View

_COMPONENT = mount.Component(__file__, '<div class="lesson-list"></div>', name="lesson_list")


def _head(view: View, page: pages.Page) -> Places:
    """Draws the title, and what to expect."""
    site_texts.heading(page.question)
    site_texts.note(
        f"{len(LESSONS)} questions of a minute or two, checked by your own numbers. "
        "Only this browser remembers the solved ones."
    )
    if cache.task(view.checkpoint, view.device).family != TRANSLATION.family:
        site_texts.note(f"The lessons are about translation. They open {View.checkpoint}.")
    notes = st.container()
    return Places(notes, notes)


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
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
    return {"lessons": lessons, "lesson": context.view.lesson, "large": False}


LIST = Panel(
    "lessons.list",
    "Lessons",
    _COMPONENT,
    _payload,
    lambda context, result: {"begin": (mount.one_of([lesson.name for lesson in LESSONS]), begin)},
    pictures=(Picture("Lessons", data=lambda context, result: {"large": True}),),
    file=None,
    is_independent=True,
)
LAYOUT = Layout(((LIST,),), head=_head, has_sentence=lambda view: False)

if __name__ == "__main__":
    show.show("lessons")
