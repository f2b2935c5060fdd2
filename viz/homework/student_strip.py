"""The strip of an assignment at the foot of every page: the current task, its form and its verdict.

Answers stay in the browser until the student saves them as a file (`student_strip.js`).
"""

from __future__ import annotations

from typing import Any

from viz.classroom.talk import Stop, TalkError, make_stop, stop_values
from viz.homework import task_checks, training_results
from viz.homework.assignment import MAX_ANSWER, MAX_NAME, Assignment, AssignmentTask, find_assignment
from viz.homework.results import checkpoint_digest
from viz.kit import mount
from viz.kit.packed_text import OWN
from viz.lessons.lesson_checks import Verdict
from viz.state import navigation, session
from viz.state.fields import fields
from viz.state.session_data import data, store_from_event
from viz.state.view import OF_A_LECTURE, View

KEPT = ("device", *(name for name in OF_A_LECTURE if name != "large"))  # fields that a task leaves as they are
COMPONENT = mount.Component(__file__, '<section class="student-strip"></section>')


def mount_strip(view: View) -> None:
    """Mounts the strip of the view's assignment."""
    assignment, fault = find_assignment(view.assignment)
    if assignment is None:
        COMPONENT.mount("student_strip", {"fault": fault, "id": ""}, {"leave": (mount.pressed, leave)})
        return
    events: dict[str, mount.Event] = {
        "begin": (mount.integer(0, len(assignment.tasks)), begin),
        "measured": (mount.pressed, show_measured),
        "edit": (mount.pressed, lambda: session.change(author=True)),
        "leave": (mount.pressed, leave),
    }
    COMPONENT.mount("student_strip", describe(assignment, view), events)


def describe(assignment: Assignment, view: View) -> dict[str, Any]:
    """Returns the script's values: the assignment, the current task and what the view says about it."""
    number = min(view.exercise, len(assignment.tasks))
    task = assignment.task(number)
    return {
        "fault": "",
        "id": assignment.id,
        "title": assignment.title,
        "about": assignment.about,
        "minutes": assignment.minutes,
        "tasks": [[each.question, _address(each, view, n)] for n, each in enumerate(assignment.tasks, 1)],
        "number": number,
        "isPreview": data().homework.is_preview and view.assignment.startswith(OWN),
        "limits": {"text": MAX_ANSWER, "name": MAX_NAME},
        "task": _describe_task(assignment, number, task, view) if task else None,
    }


def _describe_task(assignment: Assignment, number: int, task: AssignmentTask, view: View) -> dict[str, Any]:
    start = task.start.view
    values: dict[str, Any] = {
        "kind": task.kind,
        "question": task.question,
        "checkpoint": [start.checkpoint, checkpoint_digest(start.checkpoint)],
    }
    if task.kind == "choice":
        later = assignment.tasks[number:]
        is_asked_again = bool(task.pair) and any(each.pair == task.pair for each in later)
        values |= {"options": task.options, "right": 0 if is_asked_again else task.right}
    elif task.kind == "number":
        values |= {"field": task.field, "tolerance": task.tolerance, "measured": _measured(task, view.device)}
    elif task.kind == "view":
        values |= _judged(task, view) | {"limit": task_checks.limit_text(task)}
    elif task.kind == "training":
        verdict, evidence = training_results.judge_live(task)
        values |= {"solved": verdict.solved, "said": verdict.said, "evidence": evidence}
    return values


def _judged(task: AssignmentTask, view: View) -> dict[str, Any]:
    """Returns the verdict on the current view, and the view as it is stored in an answer."""
    try:
        stop = make_stop(navigation.current_page(), view, "")
    except TalkError as fault:
        return {"solved": False, "said": str(fault), "view": None}
    is_start = (stop.page, stop.view) == (task.start.page, task.start.view)
    verdict = Verdict(False, "") if is_start else task_checks.judge(task, stop, view.device)
    return {"solved": verdict.solved, "said": verdict.said, "view": None if is_start else stop_values(stop)}


def _measured(task: AssignmentTask, device: str) -> float | None:
    """Returns the number that a prediction is about; None where the view does not have it."""
    try:
        return task_checks.measure_number(task.measured_at, task.field, device)
    except ValueError:
        return None


def _address(task: AssignmentTask, view: View, number: int) -> str:
    """Returns the link to the start of a task, from any page."""
    return f"./{task.start.address(assignment=view.assignment, task=str(number))}"


def begin(number: int) -> None:
    """Goes to the start of a task; 0 is the overview on the page Lessons. For callbacks."""
    assignment, _ = find_assignment(session.current_view().assignment)
    task = assignment.task(number) if assignment else None
    if task is None:
        session.change(exercise=0, of_lessons="homework", lesson=None)
        _go_to("lessons")
    else:
        _show(task.start, number)


def show_measured() -> None:
    """Goes to the view in which the predicted number is measured. For callbacks."""
    view = session.current_view()
    assignment, _ = find_assignment(view.assignment)
    task = assignment.task(view.exercise) if assignment else None
    if task and task.kind == "number":
        _show(task.measured_at, view.exercise)


def _show(stop: Stop, number: int) -> None:
    view = stop.view
    session.change(
        **{name: getattr(view, name) for name in fields(View) if name not in KEPT} | {"lesson": None, "exercise": number}
    )
    _go_to(stop.place.name)


def _go_to(page: str) -> None:
    if navigation.current_page() != page:
        navigation.go_to(page)


def leave() -> None:
    """Ends the assignment; the view stays. For callbacks."""
    store_from_event(data().homework, stops={}, is_preview=False)
    session.change(assignment="", exercise=0, author=False)
