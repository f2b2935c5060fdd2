"""The strip of an assignment for its author: the tasks, and a form that turns the current view into a task."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from model.workshop.small.small_tasks import TASKS
from viz.classroom.talk import Stop, TalkError, make_stop, plain, plain_lines
from viz.homework import candidates, student_strip, task_checks, training_results
from viz.homework.assignment import (
    KINDS,
    MAX_CHECK,
    MAX_NOTES,
    MAX_OPTION,
    MAX_OPTIONS,
    MAX_QUESTION,
    MAX_TASKS,
    MAX_TITLE,
    Assignment,
    AssignmentError,
    AssignmentTask,
    file_of,
    find_assignment,
    pack,
    task_fault,
)
from viz.kit import mount
from viz.save.saved_files import JSON, File, Offer, make_file, stem_of
from viz.state import navigation, session
from viz.state.session_data import data, store_from_event
from viz.state.values import MAX_LINK_TEXT
from viz.state.view import View

STOPS = ("start", "solution", "measured")  # views of a task
FILES = ("lecturer", "students")
EXCERPT = 40  # characters of a sentence
_COMPONENT = mount.Component(__file__, '<section class="author-strip"></section>')


def mount_strip(view: View) -> None:
    """Mounts the strip of the assignment that is edited."""
    assignment, fault = find_assignment(view.assignment)
    number = mount.integer(1, MAX_TASKS)
    events: dict[str, mount.Event] = {
        "begin": (mount.integer(0, MAX_TASKS), _show_errors(_begin)),
        "take": (mount.one_of(STOPS), _show_errors(_take)),
        "put": (_form, _show_errors(_put)),
        "remove": (number, _show_errors(_remove)),
        "move": (mount.fields(number=number, to=number), _show_errors(_move)),
        "head": (mount.fields(title=mount.text, about=mount.text, minutes=mount.integer(0, 999)), _show_errors(_set_head)),
        "make": (mount.one_of(FILES), lambda which: store_from_event(data().homework, requested_file=(which, uuid4().hex))),
        "kind": (mount.one_of(KINDS), lambda kind: store_from_event(data().homework, kind=kind)),
        "preview": (mount.pressed, _preview),
        "leave": (mount.pressed, student_strip.leave),
    }
    _COMPONENT.mount("author_strip", describe(assignment or Assignment(), fault, view), events)


def describe(assignment: Assignment, fault: str, view: View) -> dict[str, Any]:
    """Returns the script's values: the assignment, the edited task with its views, and what can be checked."""
    state = data().homework
    message, state.message = state.message, ""
    requested, state.requested_file = state.requested_file, None
    packed = pack(assignment.for_students())
    too_long = len(packed) > MAX_LINK_TEXT
    return {
        "title": assignment.title,
        "about": assignment.about,
        "minutes": assignment.minutes,
        "tasks": [[task.kind, task.question, task.start.place.title] for task in assignment.tasks],
        "number": min(view.exercise, len(assignment.tasks)),
        "task": _describe_task(assignment.task(view.exercise)),
        "stops": {name: _stop_text(_stop(name, assignment, view)) for name in STOPS},
        "choices": _choices(assignment, view),
        "trainings": [[name, task.title] for name, task in TASKS.items()],
        "limits": {
            "question": MAX_QUESTION,
            "title": MAX_TITLE,
            "option": MAX_OPTION,
            "options": MAX_OPTIONS,
            "check": MAX_CHECK,
        },
        "link": "" if too_long or not assignment.tasks else f"lessons?learn=homework&assignment={packed}",
        "long": f"Too long for a link: {len(packed):,} characters (limit {MAX_LINK_TEXT:,}). Save a file instead."
        if too_long
        else "",
        "message": message or fault,
        "file": _make_file(assignment, *requested) if requested else None,
        "stored": state.stored,
        "kind": state.kind,
    }


def _describe_task(task: AssignmentTask | None) -> dict[str, Any] | None:
    if task is None:
        return None
    return {
        "kind": task.kind,
        "question": task.question,
        "check": task.check,
        "limited": bool(task.max_edits or task.edit_kind),
        "ownText": task.own_text,
        "field": task.field,
        "tolerance": task.tolerance,
        "options": list(task.options),
        "right": task.right,
        "pair": task.pair,
        "notes": task.notes,
    }


def _stop(name: str, assignment: Assignment, view: View) -> Stop | None:
    """Returns a view of the edited task: the one just taken, or that of the stored task."""
    taken = data().homework.stops.get(name)
    task = assignment.task(view.exercise)
    return taken if taken or task is None else getattr(task, name)


def _stop_text(stop: Stop | None) -> str:
    if stop is None:
        return ""
    text = stop.view.source
    excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
    count = len(stop.view.intervention.codes_and_texts())
    edits = f", {count} {'edit' if count == 1 else 'edits'}" if count else ""
    return f"{stop.place.title}: “{excerpt}”{edits}"


def _choices(assignment: Assignment, view: View) -> dict[str, Any]:
    """Returns the checks that the solution meets and the start does not, its limit, and the numbers to predict."""
    start, solution = (_stop(name, assignment, view) for name in ("start", "solution"))
    measured = _stop("measured", assignment, view) or start
    lines = candidates.check_lines(start, solution, view.device) if start and solution else ()
    most, kind = candidates.limit_of(solution) if solution else (0, "")
    limit = task_checks.limit_text(AssignmentTask("view", "", Stop("", ""), max_edits=most, edit_kind=kind))
    fields = candidates.number_fields(measured, view.device) if measured and data().homework.kind == "number" else ()
    is_same = bool(start and solution) and (start.page, start.view) == (solution.page, solution.view)
    return {"checks": lines, "limit": limit, "fields": fields, "isSame": is_same}


def _begin(number: int) -> None:
    """Chooses a task and shows its start; 0 begins a new task at the current view."""
    store_from_event(data().homework, stops={})
    assignment, _ = find_assignment(session.current_view().assignment)
    task = assignment.task(number) if assignment else None
    if task is None:
        session.change(exercise=0)
    else:
        store_from_event(data().homework, kind=task.kind)
        student_strip.begin(number)


def _take(name: str) -> None:
    """Takes the current view as start, as solution, or as the view in which a number is measured."""
    stop = make_stop(navigation.current_page(), session.current_view(), "")
    state = data().homework
    kind = "number" if name == "measured" else state.kind
    store_from_event(state, stops=state.stops | {name: stop}, kind=kind)


def _form(value: Any) -> tuple[dict[str, Any]] | None:
    """Returns the form of a task that a browser sends; None if it is malformed."""
    texts = ("question", "check", "field", "pair", "notes")
    options, tolerance, right = value["options"], value["tolerance"], value["right"]
    fits = value["kind"] in KINDS and isinstance(options, list) and len(options) <= MAX_OPTIONS
    fits = fits and all(mount.text(each) for each in (*(value[name] for name in texts), *options))
    fits = fits and isinstance(tolerance, int | float) and 0 < tolerance <= 1e6 and type(right) is int and 0 <= right <= 8
    return (value,) if fits else None


def _put(form: dict[str, Any]) -> None:
    """Stores the form as the edited task, or as a new one."""
    view = session.current_view()
    assignment = find_assignment(view.assignment)[0] or Assignment()
    here = make_stop(navigation.current_page(), view, "")
    start, solution, measured = (_stop(name, assignment, view) for name in STOPS)
    kind = form["kind"]
    if kind == "view" and (start is None or solution is None):
        raise AssignmentError("This task needs two views. Take one as the start, change it, and take that as the solution.")
    most, edit_kind = candidates.limit_of(solution) if kind == "view" and solution and form.get("limited") else (0, "")
    task = AssignmentTask(
        kind,
        plain(form["question"], MAX_QUESTION, "The question"),
        start or here,
        check=plain(form["check"], MAX_CHECK, "The check") if kind in ("view", "training") else "",
        max_edits=most,
        edit_kind=edit_kind,
        own_text=kind == "view" and form.get("ownText") is True,
        field=plain(form["field"], MAX_OPTION, "The number") if kind == "number" else "",
        tolerance=float(form["tolerance"]),
        measured=measured if kind == "number" else None,
        options=tuple(plain(each, MAX_OPTION, "An option") for each in form["options"]) if kind == "choice" else (),
        right=form["right"] if kind == "choice" else 0,
        pair=plain(form["pair"], MAX_OPTION, "The name of the pair") if kind == "choice" else "",
        solution=solution if kind == "view" else None,
        notes=plain_lines(form["notes"], MAX_NOTES, "The notes"),
    )
    if fault := _task_fault(task, view.device):
        raise AssignmentError(f"This task is not stored: {fault}")
    _store(assignment.with_task(task, view.exercise or None), 0)
    store_from_event(data().homework, stops={}, stored=data().homework.stored + 1)


def _task_fault(task: AssignmentTask, device: str) -> str:
    if fault := task_fault(task):
        return fault
    if task.kind == "training":
        return training_results.training_check_fault(task.check)
    if task.kind == "number":
        task_checks.measure_number(task.measured_at, task.field, device)
    if task.kind == "view":
        if fault := task_checks.check_fault(task.check):
            return fault
        assert task.solution is not None
        task_checks.require_number(task.check, task.solution, device)
        verdict = task_checks.judge(task, task.solution, device)
        if not verdict.solved:
            return f"your solution does not meet the check. {verdict.said}"
        if task_checks.judge(task, task.start, device).solved:
            return "the start meets the check already. Choose another check."
    return ""


def _remove(number: int) -> None:
    assignment = find_assignment(session.current_view().assignment)[0] or Assignment()
    _store(assignment.without_task(number), 0)


def _move(number: int, to: int) -> None:
    assignment = find_assignment(session.current_view().assignment)[0] or Assignment()
    _store(assignment.moved(number, to), to if session.current_view().exercise == number else 0)


def _set_head(title: str, about: str, minutes: int) -> None:
    """Sets title, line and minutes of the assignment."""
    view = session.current_view()
    assignment = find_assignment(view.assignment)[0] or Assignment()
    title = plain(title, MAX_TITLE, "The title") or Assignment.title
    about = plain(about, MAX_QUESTION, "The line for students")
    _store(dataclasses.replace(assignment, title=title, about=about, minutes=minutes), view.exercise)


def _store(assignment: Assignment, number: int) -> None:
    session.change(assignment=pack(assignment), exercise=number)


def edit(assignment: Assignment) -> None:
    """Begins to edit an assignment. For callbacks."""
    store_from_event(data().homework, stops={}, kind="view")
    session.change(assignment=pack(assignment), exercise=0, author=True, lesson=None)


def _preview() -> None:
    """Shows the assignment as students see it; *Edit* leads back."""
    store_from_event(data().homework, is_preview=True)
    session.change(author=False)
    student_strip.begin(session.current_view().exercise)


def _make_file(assignment: Assignment, which: str, number: str) -> dict[str, Any]:
    shown = assignment if which == "lecturer" else assignment.for_students()
    name = f"{stem_of((assignment.title,))}{'-with-solutions' if which == 'lecturer' else ''}.json"
    return make_file(Offer(which, lambda: File(name, JSON, file_of(shown))), number)


def _show_errors(change: Callable[..., None]) -> Callable[..., None]:
    """Wraps a change: an error becomes a message in the strip, and the typed text stays."""

    def changed(*args: Any) -> None:
        try:
            change(*args)
        except (TalkError, AssignmentError, ValueError) as fault:
            store_from_event(data().homework, message=str(fault))

    return changed
