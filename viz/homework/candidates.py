"""Checks and numbers that an author can choose: those that the author's own view meets."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from model.export import check_forms
from viz.classroom import line_fields
from viz.classroom.talk import Stop, make_stop
from viz.homework import task_checks
from viz.homework.assignment import AssignmentTask
from viz.lessons.lessons import LESSONS
from viz.page_context import PageContext

MARGIN = 0.05  # by which a condition is weaker than the author's own number
MOST = 0.5  # of a probability or a row of weights
MAX_FIELDS = 40
MAX_CHANGED = 3  # tokens of which a condition is offered


def check_lines(start: Stop, solution: Stop, device: str) -> tuple[str, ...]:
    """Returns the checks that hold on the solution and not at the start."""
    try:
        after = task_checks.view_context(solution, device)
    except ValueError:
        return ()
    lines = dict.fromkeys(
        (*_numbers(solution, after), *_lines(solution, after, _outputs(start, device)), *_lessons(solution))
    )
    tasks = [
        AssignmentTask("view", "", start, check=line, own_text=start.view.source != solution.view.source) for line in lines
    ]
    undone = _without_edits_of(solution, start)
    return tuple(
        task.check
        for task in tasks
        if task_checks.judge(task, solution, device).solved
        and not any(task_checks.judge(task, each, device).solved for each in (start, *undone))
    )


def _without_edits_of(solution: Stop, start: Stop) -> tuple[Stop, ...]:
    """Returns the solution's view with the edits of the start: a check that it meets tells nothing of the edits."""
    before, after = start.view, solution.view
    if before.intervention == after.intervention:
        return ()
    return (make_stop(solution.page, dataclasses.replace(after, intervention=before.intervention), ""),)


def number_fields(stop: Stop, device: str) -> tuple[tuple[str, str], ...]:
    """Returns the names and values of the numbers of a view that a student can predict."""
    try:
        context = task_checks.view_context(stop, device)
    except ValueError:
        return ()
    found = []
    for name in dict.fromkeys(line_fields.number_names(stop.place, context)):
        try:
            line_fields.number(stop.place, context, name)
        except ValueError:
            continue
        found.append((name, line_fields.resolve(stop.place, context, name)))
        if len(found) == MAX_FIELDS:
            break
    return tuple(found)


def limit_of(solution: Stop) -> tuple[int, str]:
    """Returns the number of edits of a solution, and their kind if they have one kind."""
    codes = [code for code, _ in solution.view.intervention.codes_and_texts()]
    kinds = {task_checks.edit_kind_of(code) for code in codes}
    return len(codes), kinds.pop() if len(kinds) == 1 and kinds <= set(task_checks.EDIT_KINDS) else ""


def _outputs(stop: Stop, device: str) -> tuple[str, ...]:
    """Returns the tokens that the model writes in a view; none where it has no result."""
    try:
        return task_checks.view_context(stop, device).analysis.trace.predicted_axis.labels
    except ValueError:
        return ()


def _lines(stop: Stop, context: PageContext, before: tuple[str, ...]) -> Iterator[str]:
    trace, view = context.analysis.trace, context.view
    labels = trace.predicted_axis.labels
    if context.analysis.hypothesis is not None:
        same = [was == now for was, now in zip(before, labels, strict=False)]
        changed = same.index(False) if False in same else None
        for step in dict.fromkeys(each for each in (changed, view.step) if each is not None and each < len(labels)):
            writes = f"step {step + 1} writes {check_forms.text(labels[step])} with probability"
            yield from (f"{writes} at least {least} in this view" for least in _limits(float(trace.probabilities[step])))
        yield f"the translation of this view is {check_forms.text(context.analysis.translation)}"
    if stop.place.has_head and view.head is not None and not view.merges_layers and trace.sites(view.kind):
        site = view.site_of(trace.sites(view.kind))
        shown = trace.view(site, view.head)
        is_target = site.spec.query_side == "target" and trace.outputs is not None
        names = trace.outputs.labels if is_target and trace.outputs else trace.axis(site.spec.query_side).labels
        row = view.step if site.spec.query_side == "target" else (view.token or 0)
        if row < len(shown.values):
            key = int(np.argmax(shown.values[row]))
            query, to = check_forms.token(names[row], names, row), check_forms.token(shown.keys[key], shown.keys, key)
            for least in _limits(float(shown.values[row, key])):
                yield f"head this head puts at least {least} of {query} on {to} in this view"


def _numbers(stop: Stop, context: PageContext) -> Iterator[str]:
    """Yields conditions on the probabilities that the edits of a view change most, the weaker one first."""
    changed = []
    for name in dict.fromkeys(line_fields.number_names(stop.place, context)):
        if not name.startswith("probability after of "):
            continue
        with suppress(line_fields.FieldError):
            now, before = (
                line_fields.number(stop.place, context, each) for each in (name, name.replace("after", "before", 1))
            )
            changed.append((abs(now - before), now > before, now, name))
    for size, is_more, value, name in sorted(changed, reverse=True)[:MAX_CHANGED]:
        if size > 2 * MARGIN:
            limits = _limits(value) if is_more else _upper_limits(value)
            yield from (f"{{{name}}} at {'least' if is_more else 'most'} {limit}" for limit in limits)


def _lessons(stop: Stop) -> Iterator[str]:
    for lesson in LESSONS:
        if lesson.page == stop.place.name and not lesson.trains:
            yield f"lesson {lesson.name}"


def _limits(value: float) -> list[str]:
    """Returns the limits of a condition that a number meets, the weakest first: most of the weight, or a little less."""
    close = max(0.0, math.floor(100 * (value - MARGIN)) / 100)
    return [f"{least:.2f}" for least in dict.fromkeys((min(close, MOST), close))]


def _upper_limits(value: float) -> list[str]:
    """Returns upper limits that a number meets, the weakest first."""
    close = min(1.0, math.ceil(100 * (value + MARGIN)) / 100)
    return [f"{most:.2f}" for most in dict.fromkeys((max(close, MOST), close))]
