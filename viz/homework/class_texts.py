"""Results of a class as markup. Names, texts, titles and options are untrusted: each is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from viz.homework.assignment import Assignment, AssignmentTask
from viz.homework.class_summary import ConfidenceCount, PairSummary, StudentResult, TaskSummary, answer_text, task_summaries
from viz.homework.judged_results import JudgedAnswer

MAX_OPEN = 6  # sentences that are shown without a click
LONGEST_OPTION = 18  # characters of an option in a cell
MARKS = {True: "✓", False: "✗"}


def share(count: int, total: int) -> str:
    """Returns a share of right answers with its count."""
    return f"{count} of {total} ({count / total:.0%})" if total else "–"


def finding(assignment: Assignment, students: Sequence[StudentResult]) -> str:
    """Returns the first line: students, and the share of right answers."""
    summaries = task_summaries(assignment, students)
    count = "1 student" if len(students) == 1 else f"{len(students)} students"
    right, judged = sum(each.right for each in summaries), sum(each.judged for each in summaries)
    text = f"{count}. Right answers: {share(right, judged)}." if judged else f"{count}."
    return f'<p class="lab-answer-line" role="status">{html.escape(text)}</p>'


def sentence(text: str) -> str:
    """Returns a line of text."""
    return f'<p class="lab-answer-line">{html.escape(text)}</p>'


def sentences(title: str, lines: Sequence[str]) -> str:
    """Returns sentences as a list below a title, folded if there are many; nothing without one."""
    if not lines:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    is_open = " open" if len(lines) <= MAX_OPEN else ""
    return f'<details class="lab-class-notes"{is_open}><summary>{html.escape(title)}</summary><ul>{items}</ul></details>'


def refuted_notes(students: Sequence[StudentResult]) -> str:
    """Returns a sentence for each answer that the file claims to be solved and that is not."""
    lines = [
        f"{student.name}, task {number}: {each.message}"
        for student in students
        for number, each in enumerate(student.judged.answers, 1)
        if each.is_refuted
    ]
    title = "1 answer is “solved” in its file" if len(lines) == 1 else f"{len(lines)} answers are “solved” in their files"
    reason = "The file was edited, or the number is at its limit"
    return sentences(f"Not as stated: {title}, but the check does not hold here. {reason}", lines)


def class_table(assignment: Assignment, students: Sequence[StudentResult]) -> str:
    """Returns a row for each student and a column for each task."""
    head = "".join(_head(str(number), task.question) for number, task in enumerate(assignment.tasks, 1))
    can_be_right = sum(_has_right(task) for task in assignment.tasks)
    rows = []
    for student in students:
        cells = "".join(map(_cell, assignment.tasks, student.judged.answers))
        total = f"{student.judged.right_count} of {can_be_right}" if can_be_right else "–"
        rows.append(f'<tr><th scope="row">{html.escape(student.name)}</th>{cells}<td class="total">{total}</td></tr>')
    shares = "".join(
        f"<td>{each.right / each.judged:.0%}</td>" if each.judged else "<td></td>"
        for each in task_summaries(assignment, students)
    )
    foot = f'<tr><th scope="row">Right</th>{shares}<td></td></tr>'
    inner = (
        f'<thead><tr><th scope="col">Student</th>{head}<th scope="col">Right</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody><tfoot>{foot}</tfoot>"
    )
    return _table("Results of each student", inner, "of-students")


def _has_right(task: AssignmentTask) -> bool:
    return bool(task.right) if task.kind == "choice" else task.kind != "text"


def _head(text: str, title: str) -> str:
    return f'<th scope="col" title="{html.escape(title)}">{text}</th>'


def _cell(task: AssignmentTask, each: JudgedAnswer) -> str:
    if not each.is_answered:
        return '<td class="none" title="No answer.">–</td>'
    if each.is_refuted:
        name, text = "wrong refuted", "✗ not as stated"
    elif each.right is not None:
        name, text = ("right" if each.right else "wrong"), MARKS[each.right]
    elif task.kind == "text":
        name, text = "plain", f"{len(each.answer.text):,} chars"
    elif task.kind == "choice":
        name, text = "plain", _short(answer_text(task, each))
    else:
        name, text = "none", "?"
    content = html.escape(text)
    if task.kind == "view" and each.answer.view is not None and not each.answer.view.faults:
        label = f"{text}: open the view of this answer"
        href = f"./{each.answer.view.address()}"
        content = f'<a href="{html.escape(href)}" target="_blank" aria-label="{html.escape(label)}">{content}</a>'
    title = f"The file says “solved”. Checked here: {each.message}" if each.is_refuted else each.message
    return f'<td class="{name}" title="{html.escape(title)}">{content}</td>'


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_OPTION else f"{text[: LONGEST_OPTION - 1]}…"


def task_table(summaries: Sequence[TaskSummary]) -> str:
    """Returns a row for each task: its share of right answers and the most frequent wrong ones."""
    rows = []
    for each in summaries:
        wrong = "".join(f"<li>{html.escape(text)} <b>{count}</b></li>" for text, count in each.wrong)
        wrong += f"<li>others <b>{each.other_wrong}</b></li>" if each.other_wrong else ""
        right = share(each.right, each.judged)
        bar = f'<span class="bar"><i style="width:{each.right / each.judged:.0%}"></i></span>' if each.judged else ""
        wrong = f"<ul>{wrong}</ul>" if wrong else ""
        rows.append(
            f'<tr><th scope="row">{each.number}</th><td class="words">{html.escape(each.task.question)}</td>'
            f'<td>{each.answered}</td><td>{right}{bar}</td><td class="words">{wrong}</td></tr>'
        )
    head = _heads("Task", "Question", "Answers", "Right", "Most frequent wrong answers")
    return _table("Results of each task", f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>", "of-tasks")


def confidence_table(steps: Sequence[ConfidenceCount]) -> str:
    """Returns the share of right answers for each step of confidence; nothing if nobody stated one."""
    if not any(each.judged for each in steps):
        return ""
    rows = "".join(
        f'<tr><th scope="row">{each.name.capitalize()}</th><td>{each.judged}</td>'
        f"<td>{share(each.right, each.judged)}</td></tr>"
        for each in steps
    )
    head = _heads("How sure", "Answers", "Right")
    inner = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    return _heading("Confidence and right answers") + _table("Right answers by confidence", inner, "small")


def pair_table(pair: PairSummary) -> str:
    """Returns the answers before and after, side by side."""
    first, second = pair.numbers
    begin = f"{'1 student' if pair.both == 1 else f'{pair.both} students'} answered both."
    if pair.has_right:
        begin += (
            f" Right before: {share(pair.right_before, pair.both)}, after: {share(pair.right_after, pair.both)}."
            f" Changed to right: {pair.to_right}, to wrong: {pair.to_wrong}."
        )
    rows = "".join(
        f'<tr><th scope="row">{html.escape(option)}</th><td>{before}</td><td>{after}</td></tr>'
        for option, before, after in zip(pair.options, pair.before, pair.after, strict=True)
    )
    head = _heads("Option", f"Before (task {first})", f"After (task {second})")
    inner = f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody>"
    title = f"Before and after: {pair.name}"
    return f'{_heading(title)}<p class="lab-note">{html.escape(begin)}</p>{_table(title, inner, "small")}'


def texts(assignment: Assignment, students: Sequence[StudentResult]) -> str:
    """Returns the free texts of each task, with the names of the students."""
    parts = []
    for number, task in enumerate(assignment.tasks, 1):
        answers = [(each.name, each.judged.answers[number - 1].answer.text) for each in students]
        written = [(name, text) for name, text in answers if text]
        if task.kind == "text" and written:
            items = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in written)
            count = "1 text" if len(written) == 1 else f"{len(written)} texts"
            title = f"Task {number}, {count}: {task.question}"
            parts.append(
                f'<details class="lab-class-texts"><summary>{html.escape(title)}</summary><dl>{items}</dl></details>'
            )
    return _heading("Texts") + "".join(parts) if parts else ""


def _heading(text: str) -> str:
    return f'<h3 class="lab-label">{html.escape(text)}</h3>'


def _heads(*names: str) -> str:
    return "".join(f'<th scope="col">{html.escape(name)}</th>' for name in names)


def _table(label: str, inner: str, name: str) -> str:
    return (
        f'<div class="lab-scroll" tabindex="0" role="region" aria-label="{html.escape(label)}">'
        f'<table class="lab-class {name}">{inner}</table></div>'
    )


def tasks_heading() -> str:
    return _heading("Tasks")


def joined(parts: Iterable[str]) -> str:
    """Returns the parts of the page that have something, below each other."""
    return "".join(f'<section class="lab-class-part">{part}</section>' for part in parts if part)
