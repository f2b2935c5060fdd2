"""The part Homework of the page Lessons: assignments to solve, to make and to open."""

from __future__ import annotations

from typing import Any

from viz.homework import author_strip, student_strip, task_checks
from viz.homework.assignment import (
    MAX_FILE,
    READY,
    Assignment,
    AssignmentError,
    AssignmentTask,
    find_assignment,
    pack,
    read,
    ready_assignments,
)
from viz.kit import mount
from viz.kit.packed_text import OWN
from viz.kit.panel import Panel, Picture, where
from viz.lessons import lessons
from viz.page_context import PageContext
from viz.state import session
from viz.state.session_data import data, store_from_event
from viz.state.values import MAX_LINK_TEXT

_COMPONENT = mount.Component(__file__, '<div class="assignment-list"></div>')


def _payload(context: PageContext, result: Any) -> dict[str, Any]:
    view = context.view
    is_student = bool(view.assignment) and not view.author and not data().homework.is_preview
    every = ready_assignments().items()
    ready = [_describe(name, each) for name, each in every if not is_student or name == view.assignment]
    own = find_assignment(view.assignment)[0] if view.assignment.startswith(OWN) else None
    state = data().homework
    message, state.list_message = state.list_message, ""
    return {
        "assignments": [*([_describe(OWN, own)] if own else []), *ready],
        "chosen": OWN if view.assignment.startswith(OWN) else view.assignment,
        "author": view.author,
        "isStudent": is_student,
        "message": message,
        "large": False,
    }


def _describe(name: str, assignment: Assignment) -> dict[str, Any]:
    return {
        "name": name,
        "title": assignment.title,
        "about": assignment.about,
        "minutes": assignment.minutes,
        "count": len(assignment.tasks),
        "notes": assignment.notes.splitlines(),
        "tasks": [_describe_task(task) for task in assignment.tasks],
    }


def _describe_task(task: AssignmentTask) -> dict[str, Any]:
    """Returns what a lecturer reads: the right answer, the solution as a link, and the notes."""
    answer = task.check
    if lesson := lessons.find(answer.removeprefix("lesson ")):
        answer = f"the check of the lesson “{lesson.question}”"
    if limit := task_checks.limit_text(task):
        answer = f"{answer} ({limit})"
    if task.kind == "number":
        answer = f"{task.field}, within {task.tolerance:g}"
    if task.kind == "choice":
        answer = task.options[task.right - 1] if task.right else ""
    solution = task.solution or (task.measured_at if task.kind == "number" else None)
    link = f"./{solution.address()}" if solution else ""
    return {"question": task.question, "answer": answer, "link": link, "notes": task.notes}


def _events(context: PageContext, result: Any) -> dict[str, mount.Event]:
    names = [OWN, *READY]
    return {
        "solve": (mount.one_of(names), _solve),
        "edit": (mount.one_of(names), _edit),
        "make": (mount.pressed, lambda: author_strip.edit(Assignment())),
        "open": (_file, _open),
    }


def _assignment(name: str) -> Assignment | None:
    view = session.current_view()
    return ready_assignments().get(name) if name != OWN else find_assignment(view.assignment)[0]


def _solve(name: str) -> None:
    """Begins an assignment as a student."""
    view = session.current_view()
    session.change(assignment=view.assignment if name == OWN else name, author=False)
    student_strip.begin(0)


def _edit(name: str) -> None:
    """Opens an assignment for its author; a ready one as a copy."""
    if assignment := _assignment(name):
        author_strip.edit(assignment)


def _file(payload: Any) -> tuple[bytes] | None:
    """Returns the bytes of an opened file, cut after the size limit."""
    return (payload[: MAX_FILE + 1].encode("utf-8", "replace"),) if isinstance(payload, str) else None


def _open(raw: bytes) -> None:
    """Opens the assignment of a file as a student sees it."""
    try:
        text = pack(read(raw))
        if len(text) > MAX_LINK_TEXT:
            raise AssignmentError(f"This assignment is too long: {len(text):,} characters packed (limit {MAX_LINK_TEXT:,}).")
    except AssignmentError as fault:
        store_from_event(data().homework, list_message=str(fault))
        return
    session.change(assignment=text, author=False)
    student_strip.begin(0)


ASSIGNMENTS = Panel(
    "homework.assignments",
    "Homework",
    _COMPONENT,
    _payload,
    _events,
    pictures=(Picture("Homework", data=lambda context, result: {"large": True}),),
    file=None,
    is_visible=where(of_lessons="homework"),
    is_independent=True,
    is_cached=False,
)
