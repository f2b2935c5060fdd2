"""Checks of tasks, measured on a view. A line is one of these:

- a line of docs/checks.md, in which `this view`, `this head` and `this step` stand for those of the view;
- a number of the view and a condition, such as `{probability of il} at least 0.5`;
- `lesson cell`: the check of a lesson;
- `training reverse reaches 95%`, for tasks in which a small model is trained (`training_results.py`).

The same function judges a student's view on the page and in a file that the lecturer collects.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING

from model.edits.intervention import switch_of
from model.edits.kinds import parse as parse_edit
from model.export import check_forms
from model.export.check_kinds import Lab
from model.export.checks import parse
from model.io import numbers
from viz import page_context
from viz.classroom import line_fields
from viz.classroom.talk import Stop
from viz.homework.assignment import AssignmentError, AssignmentTask
from viz.kit.panel import layout_of
from viz.lessons import lessons
from viz.lessons.lesson_checks import Seen, Verdict
from viz.state.result_cache import cached

if TYPE_CHECKING:
    from collections.abc import Callable

    from model.inference.request import Request
    from viz.page_context import PageContext

EDIT_KINDS = {  # of a limit: the name of a kind of edits -> one such edit, and several
    "block": ("blocked cell", "blocked cells"),
    "row": ("replaced row", "replaced rows"),
    "head": ("head switched off", "heads switched off"),
    "scale": ("scaled head", "scaled heads"),
    "layer": ("skipped sub-layer", "skipped sub-layers"),
    "positions": ("change of positions", "changes of positions"),
    "switch": ("switched mask or division", "switched masks or divisions"),
}
_PLACES = re.compile(r"this (view|head|step)\b")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_WRITES = re.compile(rf"step (?:this step|\d+) writes ({_QUOTED.pattern}) with probability (.+?) in ")
_NUMBER = re.compile(r"\{([^{}]+)\} (.+)")
_LESSON = re.compile(r"lesson ([a-z-]+)")


def judge(task: AssignmentTask, stop: Stop, device: str) -> Verdict:
    """Returns whether a view solves a task of kind view, with one sentence that has the measured number."""
    if stop.faults:
        return Verdict(False, stop.faults[0])
    try:
        context = view_context(stop, device)
        return _judge(task, stop, context.request, context)
    except ValueError as fault:
        return Verdict(False, str(fault))


def view_context(stop: Stop, device: str) -> PageContext:
    """Returns the context that a check reads. Raises ValueError for a view without a result."""
    view = dataclasses.replace(stop.view_on(device), lecture=True)
    return layout_of(stop.place).without_session(page_context.build(view))


def check_fault(line: str) -> str:
    """Returns why a line is no check of a task, as one sentence; empty for a check."""
    if match := _LESSON.fullmatch(line):
        lesson = lessons.find(match[1])
        return "" if lesson and not lesson.trains else f"There is no lesson “{match[1]}” about a view."
    match = _NUMBER.fullmatch(line)
    try:
        if match:
            check_forms.read_condition(match[2])
        else:
            sample = {"view": '"A sentence."', "head": "cross.1.1", "step": "1"}
            parse(_outside_quotes(line, lambda place: sample[place]), "The check")
    except ValueError as fault:
        return (
            f"“{match[2]}” is no condition. Write “at least 0.9”, “at most 0.1” or “0.5 within 0.05”."
            if match
            else str(fault)
        )
    return ""


def measure_number(stop: Stop, field: str, device: str) -> float:
    """Returns a number of a view, as in the lines of a talk. Raises ValueError if the view does not have it."""
    return line_fields.number(stop.place, view_context(stop, device), field)


def require_number(line: str, stop: Stop, device: str) -> None:
    """Raises ValueError, with numbers that the view has, if a check needs another one."""
    if match := _NUMBER.fullmatch(line):
        measure_number(stop, match[1], device)


@cached(2048, ignore=("context",))
def _judge(task: AssignmentTask, stop: Stop, request: Request, context: PageContext) -> Verdict:
    start = task.start.view
    if context.loaded.name != start.checkpoint:
        return Verdict(False, f"This task needs {start.checkpoint}. The current checkpoint is {context.loaded.name}.")
    if not task.own_text and context.request.source.strip() != start.source.strip():
        return Verdict(False, f"This task needs “{start.source}”. Start over.")
    match = _LESSON.fullmatch(task.check)
    lesson = lessons.find(match[1]) if match else None
    if context.request.target is not None and start.target is None and not (lesson and lesson.given):
        return Verdict(False, "The translation is given. Let the model translate.")
    if fault := _limit_fault(task, context):
        return Verdict(False, fault)
    if match:
        if lesson is None or lesson.trains:
            return Verdict(False, check_fault(task.check))
        verdict = lesson.check(Seen(stop.place.name, context))
        return Verdict(bool(verdict.solved), verdict.said)
    if match := _NUMBER.fullmatch(task.check):
        try:
            value = line_fields.number(stop.place, context, match[1])
        except line_fields.FieldError:  # its sentence would name the number
            return Verdict(False, "This page does not show the number that the task is about.")
        return _verdict(
            check_forms.read_condition(match[2]).holds(value),
            f"{match[1].capitalize()}: {numbers.decimal(value, 3)}.",
            match[2],
        )
    (check,) = parse(_outside_quotes(task.check, lambda place: _place_text(place, context)), "The check")
    result = check.measure(Lab(context.loaded, analyses={context.request: context.analysis}))
    return _verdict(result.holds, f"Measured: {result.description}.", needed_text(task.check))


def _verdict(holds: bool, measured: str, needed: str) -> Verdict:
    return Verdict(holds, measured if holds else f"{measured} Needed: {needed}.")


def needed_text(line: str) -> str:
    """Returns the condition of a line: its token and amount, its amount, or the line without `in this view`."""
    if match := _WRITES.match(line):
        return f"“{json.loads(match[1])}” with probability {match[2]}"
    amount = re.search(r"at least \S+|at most \S+|\S+ within \S+", _QUOTED.sub("", line))
    return amount[0] if amount else re.sub(r" (in|of) this view", "", line)


def limit_text(task: AssignmentTask) -> str:
    """Returns the limit on edits in words, such as “at most 1 blocked cell”; empty without a limit."""
    one, several = EDIT_KINDS.get(task.edit_kind, ("edit", "edits"))
    if task.max_edits:
        return f"at most {task.max_edits} {one if task.max_edits == 1 else several}"
    return f"only {several}" if task.edit_kind else ""


def edit_kind_of(code: str) -> str:
    """Returns the name of the kind of an edit's code."""
    return "switch" if switch_of(code) else parse_edit(code).name


def _limit_fault(task: AssignmentTask, context: PageContext) -> str:
    codes = [code for code, _ in context.request.intervention.codes_and_texts()]
    wrong = [code for code in codes if task.edit_kind and edit_kind_of(code) != task.edit_kind]
    if (task.max_edits and len(codes) > task.max_edits) or wrong:
        described = context.request.intervention.describe(context.analysis.labels)
        return f"Needed: {limit_text(task)}. Here: {described}."
    return ""


def _outside_quotes(line: str, place_text: Callable[[str], str]) -> str:
    """Replaces `this view`, `this head` and `this step` outside of quoted texts."""
    parts, end = [], 0
    for quoted in _QUOTED.finditer(line):
        parts += [_PLACES.sub(lambda match: place_text(match[1]), line[end : quoted.start()]), quoted[0]]
        end = quoted.end()
    return "".join(parts) + _PLACES.sub(lambda match: place_text(match[1]), line[end:])


def _place_text(place: str, context: PageContext) -> str:
    """Returns the text of `this view`, `this head` or `this step`. Raises AssignmentError for a mean over heads."""
    view = context.view
    if place == "view":
        return check_forms.format_request(context.request)
    if place == "step":
        return str(view.step + 1)
    if view.head is None or view.merges_layers:
        raise AssignmentError("The mean over heads is shown. Choose one head.")
    return check_forms.head(view.site_of(context.analysis.trace.sites(view.kind)), view.head)
