"""Assignment: tasks for students, each with a view where it starts and a check.

An assignment is text: packed in a link, or a readable JSON file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from viz.classroom.talk import Stop, TalkError, plain, plain_lines, read_stop, stop_values
from viz.kit import packed_text
from viz.kit.packed_text import OWN

Kind = Literal["view", "number", "choice", "text", "training"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SCHEMA = 1
MAX_FILE = 256 * 1024  # bytes, packed or not
MAX_TASKS, MIN_OPTIONS, MAX_OPTIONS = 30, 2, 8
MAX_TITLE, MAX_QUESTION, MAX_OPTION, MAX_CHECK, MAX_NOTES = 80, 400, 120, 1000, 4000  # characters
MAX_ANSWER, MAX_NAME = 4000, 80  # characters of a student's text and name
UNTITLED = "My assignment"
DAMAGED = "The assignment in this link is damaged. Copy the complete link again."


class AssignmentError(ValueError):
    """Error in an assignment; the message is one sentence."""


@dataclass(frozen=True)
class AssignmentTask:
    """A task and the view where it starts.

    Fields:
        kind: view: change the view until `check` holds; number: predict the number `field`; choice; text; training: train a
            small model until `check` holds.
        check: a line of `viz.homework.task_checks`.
        max_edits, edit_kind: limit on the edits of the view (0: no limit; empty: any kind).
        own_text: True if the sentence may differ from that of the start.
        field: a number of the view `measured` as in the line of a talk, such as “probability of il”.
        tolerance: the largest difference of a right prediction.
        right: the right option, from 1; 0: none is marked.
        pair: two choices with the same name are asked before and after.
        solution: a view that solves the task; only the lecturer's version has it, with `notes`.
    """

    kind: Kind
    question: str
    start: Stop
    check: str = ""
    max_edits: int = 0
    edit_kind: str = ""
    own_text: bool = False
    field: str = ""
    tolerance: float = 0.1
    measured: Stop | None = None
    options: tuple[str, ...] = ()
    right: int = 0
    pair: str = ""
    solution: Stop | None = None
    notes: str = ""

    @property
    def has_confidence(self) -> bool:
        """True if the student also says how sure the answer is."""
        return self.kind in ("number", "choice")

    @property
    def measured_at(self) -> Stop:
        """Returns the view in which the predicted number is measured."""
        return self.measured or self.start


@dataclass(frozen=True)
class Assignment:
    """A title and tasks, which count from 1. `about` is one line for students, `notes` are for the lecturer."""

    title: str = UNTITLED
    tasks: tuple[AssignmentTask, ...] = ()
    minutes: int = 0
    about: str = ""
    notes: str = ""

    def __post_init__(self) -> None:
        """Raises AssignmentError for too many tasks."""
        if len(self.tasks) > MAX_TASKS:
            raise AssignmentError(f"An assignment has at most {MAX_TASKS} tasks; this one would have {len(self.tasks)}.")

    def task(self, number: int) -> AssignmentTask | None:
        """Returns the task of a number, or None."""
        return self.tasks[number - 1] if 1 <= number <= len(self.tasks) else None

    @cached_property
    def id(self) -> str:
        """Identifies the tasks, with or without solutions, under any title: results belong to it."""
        values = [_task_values(task, with_right=False) for task in self.for_students().tasks]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def for_students(self) -> Assignment:
        """Returns the assignment without solutions and notes."""
        tasks = tuple(dataclasses.replace(task, solution=None, notes="") for task in self.tasks)
        return dataclasses.replace(self, tasks=tasks, notes="")

    def with_task(self, task: AssignmentTask, number: int | None = None) -> Assignment:
        """Returns the assignment with a task in place of that of a number, or added at the end."""
        if number is None or self.task(number) is None:
            return dataclasses.replace(self, tasks=(*self.tasks, task))
        return dataclasses.replace(self, tasks=(*self.tasks[: number - 1], task, *self.tasks[number:]))

    def without_task(self, number: int) -> Assignment:
        if self.task(number) is None:
            return self
        return dataclasses.replace(self, tasks=(*self.tasks[: number - 1], *self.tasks[number:]))

    def moved(self, number: int, to: int) -> Assignment:
        """Returns the assignment with a task at another position."""
        task = self.task(number)
        if task is None or self.task(to) is None:
            return self
        tasks = list(self.without_task(number).tasks)
        tasks.insert(to - 1, task)
        return dataclasses.replace(self, tasks=tuple(tasks))


def pack(assignment: Assignment) -> str:
    """Returns the assignment as text for a link, of any length."""
    return packed_text.pack(values_of(assignment))


def unpack(text: str) -> Assignment:
    """Returns the assignment of a link's text; raises AssignmentError for invalid text."""
    try:
        raw = packed_text.unpack(text, MAX_FILE)
    except ValueError:
        raise AssignmentError(DAMAGED) from None
    return read(raw, "The link's assignment")


def file_of(assignment: Assignment) -> bytes:
    """Returns the assignment as indented JSON."""
    return f"{json.dumps(values_of(assignment), ensure_ascii=False, indent=2)}\n".encode()


def values_of(assignment: Assignment) -> dict[str, Any]:
    """Returns the JSON values, with the id for scripts that cannot compute it."""
    return _values(assignment) | {"id": assignment.id}


def read(raw: bytes, name: str = "This file") -> Assignment:
    """Returns the assignment of a file. Raises AssignmentError, with the task that is wrong."""
    values = read_json(raw, name, "assignment", MAX_FILE, SCHEMA)
    tasks = values.get("tasks", [])
    if not isinstance(tasks, list) or len(tasks) > MAX_TASKS:
        raise AssignmentError(f"{name}: “tasks” is not a list of at most {MAX_TASKS} tasks.")
    read_tasks = tuple(_task(task, f"{name}: task {n}") for n, task in enumerate(tasks, 1))
    return Assignment(
        _text(values, "title", MAX_TITLE, name) or UNTITLED,
        read_tasks,
        _integer(values, "minutes", 999, name),
        _text(values, "about", MAX_QUESTION, name),
        _text(values, "notes", MAX_NOTES, name, plain_lines),
    )


def read_json(raw: bytes, name: str, what: str, max_bytes: int, schema: int) -> dict[str, Any]:
    """Returns the values of a JSON file whose key `what` has its version. Raises AssignmentError for another file."""
    if len(raw) > max_bytes:
        raise AssignmentError(f"{name} has {len(raw):,} bytes; expected at most {max_bytes:,}.")
    try:
        values = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise AssignmentError(f"{name} is no {what} file: expected JSON.") from None
    if not isinstance(values, dict) or what not in values:
        raise AssignmentError(f"{name} is no {what} file: the key “{what}” is missing.")
    if type(values[what]) is not int or values[what] != schema:
        raise AssignmentError(f"{name} has version {ascii(values[what])[:20]}; expected version {schema}.")
    return values


def _values(assignment: Assignment) -> dict[str, Any]:
    """Returns the JSON values, without those that are at their defaults."""
    head: dict[str, Any] = {"assignment": SCHEMA, "title": assignment.title}
    for name in ("minutes", "about", "notes"):
        if value := getattr(assignment, name):
            head[name] = value
    return head | {"tasks": [_task_values(task) for task in assignment.tasks]}


def _task_values(task: AssignmentTask, with_right: bool = True) -> dict[str, Any]:
    values: dict[str, Any] = {"kind": task.kind, "question": task.question, "start": stop_values(task.start)}
    for name, default in _DEFAULTS.items():
        value = getattr(task, name)
        if value != default and (with_right or name != "right"):
            values[name] = (
                stop_values(value) if isinstance(value, Stop) else list(value) if isinstance(value, tuple) else value
            )
    return values


_DEFAULTS = {
    field.name: field.default
    for field in dataclasses.fields(AssignmentTask)
    if field.name not in ("kind", "question", "start")
}


def _task(values: Any, name: str) -> AssignmentTask:
    if not isinstance(values, dict) or values.get("kind") not in KINDS:
        raise AssignmentError(f"{name} has no kind; expected one of {', '.join(KINDS)}.")
    options = values.get("options", [])
    if not isinstance(options, list):
        raise AssignmentError(f"{name}: its options are not a list.")
    stops = {key: _stop(values[key], f"{name}: {key}") for key in ("start", "measured", "solution") if key in values}
    if "start" not in stops:
        raise AssignmentError(f"{name} has no start; expected a page and a view.")
    tolerance = values.get("tolerance", AssignmentTask.tolerance)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance <= 1e6:
        raise AssignmentError(f"{name}: its tolerance is not a number above 0.")
    task = AssignmentTask(
        values["kind"],
        _text(values, "question", MAX_QUESTION, name),
        stops["start"],
        check=_text(values, "check", MAX_CHECK, name),
        max_edits=_integer(values, "max_edits", 99, name),
        edit_kind=_text(values, "edit_kind", MAX_NAME, name),
        own_text=values.get("own_text") is True,
        field=_text(values, "field", MAX_OPTION, name),
        tolerance=float(tolerance),
        measured=stops.get("measured"),
        options=tuple(_text({"option": each}, "option", MAX_OPTION, name) for each in options),
        right=_integer(values, "right", MAX_OPTIONS, name),
        pair=_text(values, "pair", MAX_NAME, name),
        solution=stops.get("solution"),
        notes=_text(values, "notes", MAX_NOTES, name, plain_lines),
    )
    if fault := task_fault(task):
        raise AssignmentError(f"{name}: {fault}")
    return task


def task_fault(task: AssignmentTask) -> str:
    """Returns what a task lacks, as one sentence; empty if it is complete."""
    if not task.question:
        return "it has no question. Type one."
    if task.kind in ("view", "training") and not task.check:
        return "it has no check. Choose one."
    if task.kind == "number" and not task.field:
        return "it names no number. Choose one."
    if task.kind == "choice":
        if not MIN_OPTIONS <= len(task.options) <= MAX_OPTIONS or not all(task.options):
            return f"it has {len(task.options)} options; expected {MIN_OPTIONS} to {MAX_OPTIONS}, none empty."
        if len(set(task.options)) < len(task.options):
            return "two of its options are equal. Change one."
        if task.right > len(task.options):
            return f"option {task.right} is right, but it has {len(task.options)}."
    return next(iter(task.start.faults), "")


def _stop(values: Any, name: str) -> Stop:
    try:
        return read_stop(values, name)
    except TalkError as fault:
        raise AssignmentError(str(fault)) from None


def _text(
    values: dict[str, Any], key: str, max_length: int, name: str, clean: Callable[[str, int, str], str] = plain
) -> str:
    value = values.get(key, "")
    if not isinstance(value, str):
        raise AssignmentError(f"{name}: its {key} is not text.")
    try:
        return clean(value, max_length, f"{name}: its {key}")
    except TalkError as fault:
        raise AssignmentError(str(fault)) from None


def _integer(values: dict[str, Any], key: str, highest: int, name: str) -> int:
    value = values.get(key, 0)
    if type(value) is not int or not 0 <= value <= highest:
        raise AssignmentError(f"{name}: its {key} is not a whole number up to {highest}.")
    return value


HOME = Path(__file__).with_name("ready")
READY = ("first-contact", "masks-and-positions", "small-research")  # in the order in which they are offered


@cache
def ready_assignments() -> dict[str, Assignment]:
    """Returns the assignments shipped with the lab, by name."""
    return {name: read((HOME / f"{name}.json").read_bytes(), name) for name in READY}


@lru_cache(64)
def find_assignment(text: str) -> tuple[Assignment | None, str]:
    """Returns the assignment of a view's `assignment`, or None and a message."""
    if not text:
        return None, ""
    if not text.startswith(OWN):
        if found := ready_assignments().get(text):
            return found, ""
        return None, f"There is no assignment “{text[:40]}”; expected {', '.join(READY)} or a link with an assignment."
    try:
        return unpack(text), ""
    except AssignmentError as fault:
        return None, str(fault)
