"""Lessons: where do I begin? Only the browser knows which lessons are solved."""

from __future__ import annotations

import dataclasses
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from model.task import TRANSLATION
from viz import cache, pages
from viz.frame import show
from viz.homework.assignment_list import ASSIGNMENTS
from viz.homework.collected import COLLECTED
from viz.kit import button_groups, mount, site_texts
from viz.kit.panel import Layout, Panel, Picture
from viz.lessons.four_pictures import FOUR_PICTURES
from viz.lessons.lessons import ATTENTION, LESSONS, begin
from viz.page_context import PageContext, Places
from viz.state import page_fields, session
from viz.state.links import link
from viz.state.view import View

_COMPONENT = mount.Component(__file__, '<div class="lesson-list"></div>', name="lesson_list")


def _head(view: View, page: pages.Page) -> Places:
    """Draws the title, and for lesson 0 the box of the text."""
    if view.lesson == ATTENTION:
        return show.title_row(view, page)
    with st.container(key="lessons_head", horizontal=True, vertical_alignment="center", gap="small"):
        site_texts.heading(page.question if view.of_lessons == "lessons" else "What can students do alone?")
        st.space("stretch")
        st.segmented_control(
            "Part",
            page_fields.OF_LESSONS,
            required=True,
            format_func={"lessons": "Lessons", "homework": "Homework"}.get,
            label_visibility="collapsed",
            **session.bind("lessons part", "of_lessons", view.of_lessons),
        )
    if view.of_lessons == "lessons" and cache.task(view.checkpoint, view.device).family != TRANSLATION.family:
        count = sum(not lesson.trains for lesson in LESSONS)
        site_texts.note(f"Lessons 1 to {count} are about translation. They open {View.checkpoint}.")
    return Places()


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    own = dataclasses.replace(context.view, lesson=ATTENTION)
    first = {
        "name": ATTENTION,
        "question": "What is attention, in four pictures?",
        "task": "Of your own sentence.",
        "touch": "",
        "place": "",
        "href": f"./lessons?{urlencode(link(own))}",
    }
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
    return {"lessons": [first, *lessons], "lesson": context.view.lesson, "large": False}


def _is_listed(context: PageContext) -> bool:
    return context.view.of_lessons == "lessons" and (context.view.lesson != ATTENTION or not context.has_checkpoint)


LIST = Panel(
    "lessons.list",
    "Lessons",
    _COMPONENT,
    _payload,
    lambda context, result: {"begin": (mount.one_of([ATTENTION, *(lesson.name for lesson in LESSONS)]), begin)},
    pictures=(Picture("Lessons", data=lambda context, result: {"large": True}),),
    file=None,
    is_visible=_is_listed,
    is_independent=True,
)


def _notes(context: PageContext) -> None:
    """Draws the notes on the text and its edits, which homework does not show."""
    if context.view.of_lessons == "lessons":
        button_groups.draw_notes(context)
    else:
        site_texts.sentence_notes((), context.faults)


LAYOUT = Layout(
    ((LIST,), (FOUR_PICTURES,), (ASSIGNMENTS,), (COLLECTED,)),
    notes=_notes,
    head=_head,
    has_sentence=lambda view: view.lesson == ATTENTION,
)

if __name__ == "__main__":
    show.show("lessons")
