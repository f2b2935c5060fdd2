"""The strip of the lesson that is on: its question, what to do, whether it is solved, and the ways on."""

from __future__ import annotations

import streamlit as st

from viz import page_context
from viz.kit import mount
from viz.lessons.lessons import LESSONS, Lesson, Seen, Verdict, find
from viz.state import navigation, session
from viz.state.fields import fields
from viz.state.view import View

KEEPS = ("device", "lecture", "talk", "stop", "room")  # fields that a lesson leaves as they are

_COMPONENT = mount.Component(__file__, '<section class="lesson-strip"></section>')


def begin(name: str) -> None:
    """Goes to where a lesson begins; called from callbacks. ValueError where there is none of this name."""
    lesson = find(name)
    if lesson is None:
        raise ValueError(f"There is no lesson {name!r}; expected one of {', '.join(each.name for each in LESSONS)}.")
    start = lesson.view
    session.change(**{field: getattr(start, field) for field in fields(View) if field not in KEEPS})
    if navigation.current_page() != lesson.page:
        navigation.go_to(lesson.page)


def begin_first() -> None:
    """Goes to where the first lesson begins; called from callbacks."""
    begin(LESSONS[0].name)


def lesson_strip() -> None:
    """Mounts the strip at the foot of any page while a lesson is on, once the page is drawn."""
    view = session.current_view()
    if view.lesson is None:
        return
    lesson = find(view.lesson)
    with st.container(key="lesson"):
        if lesson is None:
            _mount(_unknown(view.lesson))
        else:
            _mount(told(lesson, found(lesson, view)))


def found(lesson: Lesson, view: View) -> Verdict:
    """Whether what is shown solves the lesson; where nothing can be shown, the page says why."""
    try:
        data = page_context.build(view)
    except ValueError:
        return Verdict(False, "There is no result yet.")
    return lesson.verdict(Seen(navigation.current_page(), data))


def told(lesson: Lesson, verdict: Verdict) -> dict[str, object]:
    """What the script needs of a lesson and of what was found."""
    number = LESSONS.index(lesson)
    around = (LESSONS[number - 1] if number else None, *LESSONS[number + 1 : number + 2], None)
    previous, following = ({"name": e.name, "question": e.question, "href": e.href} if e else None for e in around[:2])
    other = session.current_view().checkpoint != lesson.checkpoint
    return {
        "name": lesson.name,
        "place": f"Lesson {number + 1} of {len(LESSONS)}",
        "question": lesson.question,
        "task": lesson.task,
        "touch": lesson.touch,
        "solved": verdict.solved,
        "said": verdict.said,
        "previous": previous,
        "next": following,
        "again": True,
        "large": session.current_view().lecture,
        "other": f"Switch to {lesson.checkpoint}" if other else "",
    }


def _unknown(name: str) -> dict[str, object]:
    shown = name if len(name) <= 40 else name[:40] + "..."
    ways = {"previous": None, "next": None, "again": False, "other": ""}
    said = {"question": f"There is no lesson “{shown}”. The page Lessons lists all.", "task": "", "said": ""}
    return {"name": "", "place": "", "solved": False} | said | ways


def _mount(data: dict[str, object]) -> None:
    lesson = find(str(data["name"]))
    events = {"begin": (mount.one_of([each.name for each in LESSONS]), begin), "leave": (mount.pressed, leave)}
    if lesson is not None:
        events["again"] = (mount.pressed, lambda: begin(lesson.name))
        events["other"] = (mount.pressed, lambda: session.change(checkpoint=lesson.checkpoint))
    _COMPONENT.mount("lesson_strip", data, events)


def leave() -> None:
    """Ends the lesson, and leaves all else as it is; called from callbacks."""
    session.change(lesson=None)
