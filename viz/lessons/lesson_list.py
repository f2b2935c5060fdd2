"""All lessons in their order; which are solved is known to the browser alone."""

from __future__ import annotations

from collections.abc import Callable

from viz import pages
from viz.lessons.lessons import LESSONS
from viz.shared import mount

_COMPONENT = mount.Component(__file__, '<div class="lesson-list"></div>', picture="Lessons")


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
