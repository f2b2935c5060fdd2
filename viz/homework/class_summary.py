"""Numbers of a class: shares of right answers, frequent wrong answers, confidence, pairs of choices, and the CSV table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from model.export.csv_tables import Table
from viz.homework.assignment import Assignment, AssignmentTask
from viz.homework.judged_results import JudgedAnswer, JudgedResult
from viz.homework.results import CONFIDENCE

MAX_WRONG = 3  # wrong answers that are listed
COLUMNS = ("student", "file", "saved", "task", "kind", "question", "answer", "right", "claimed", "refuted", "confidence")
COLUMNS += ("seconds", "result")


@dataclass(frozen=True)
class StudentResult:
    """A judged result and the name of its file."""

    file: str
    judged: JudgedResult

    @property
    def name(self) -> str:
        """The student's name; the file's name without one."""
        return self.judged.result.student or f"(no name) {self.file}"


@dataclass(frozen=True)
class TaskSummary:
    """A task over a class. `right` counts among `judged`; both are 0 for a task without a right answer."""

    number: int
    task: AssignmentTask
    answered: int
    judged: int
    right: int
    wrong: tuple[tuple[str, int], ...]  # the most frequent wrong answers, with counts
    other_wrong: int  # wrong answers that are not listed


@dataclass(frozen=True)
class ConfidenceCount:
    """Judged answers of one step of confidence."""

    name: str
    judged: int
    right: int


@dataclass(frozen=True)
class PairSummary:
    """Two choices with the same name, before and after. Counts are of students who answered both.

    Fields:
        numbers: of the two tasks.
        before, after: students for each option.
        right_before, right_after, to_right, to_wrong: 0 without a right option.
    """

    name: str
    numbers: tuple[int, int]
    options: tuple[str, ...]
    both: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    has_right: bool
    right_before: int
    right_after: int
    to_right: int
    to_wrong: int


def task_summaries(assignment: Assignment, students: Sequence[StudentResult]) -> list[TaskSummary]:
    """Returns the numbers of each task."""
    summaries = []
    for number, task in enumerate(assignment.tasks, 1):
        answers = [each.judged.answers[number - 1] for each in students]
        judged = [each for each in answers if each.right is not None]
        counts = Counter(wrong_answer(task, each) for each in judged if not each.right)
        wrong = tuple(counts.most_common(MAX_WRONG))
        summaries.append(
            TaskSummary(
                number,
                task,
                sum(each.is_answered for each in answers),
                len(judged),
                sum(each.right is True for each in judged),
                wrong,
                counts.total() - sum(count for _, count in wrong),
            )
        )
    return summaries


def answer_text(task: AssignmentTask, answer: JudgedAnswer) -> str:
    """Returns an answer as text: the option, the number, the text, or the link to the view."""
    given = answer.answer
    if task.kind == "choice":
        return task.options[given.choice - 1] if 1 <= given.choice <= len(task.options) else ""
    if task.kind == "number":
        return "" if given.number is None else f"{given.number:.6g}"
    if task.kind == "text":
        return given.text
    return given.view.address() if task.kind == "view" and given.view is not None else ""


def wrong_answer(task: AssignmentTask, answer: JudgedAnswer) -> str:
    """Returns what counts as the same wrong answer: the option, the number, or what was measured on the view."""
    text = answer_text(task, answer) if task.kind in ("choice", "number") else ""
    return text or answer.message


def confidence_counts(students: Sequence[StudentResult]) -> list[ConfidenceCount]:
    """Returns judged and right answers of each step of confidence."""
    answers = [each for student in students for each in student.judged.answers if each.right is not None]
    steps = []
    for step, name in enumerate(CONFIDENCE, 1):
        own = [each for each in answers if each.answer.confidence == step]
        steps.append(ConfidenceCount(name, len(own), sum(each.right is True for each in own)))
    return steps


def pair_summaries(assignment: Assignment, students: Sequence[StudentResult]) -> list[PairSummary]:
    """Returns the first two choices of each pair side by side, with how many students changed their answer."""
    named: dict[str, list[int]] = {}
    for number, task in enumerate(assignment.tasks, 1):
        if task.kind == "choice" and task.pair:
            named.setdefault(task.pair, []).append(number)
    return [_pair(assignment, students, name, numbers[0], numbers[1]) for name, numbers in named.items() if len(numbers) > 1]


def _pair(assignment: Assignment, students: Sequence[StudentResult], name: str, first: int, second: int) -> PairSummary:
    tasks = assignment.tasks[first - 1], assignment.tasks[second - 1]
    options = tuple(dict.fromkeys((*tasks[0].options, *tasks[1].options)))
    both = [
        (each.judged.answers[first - 1], each.judged.answers[second - 1])
        for each in students
        if all(answer_text(task, each.judged.answers[n - 1]) for task, n in zip(tasks, (first, second), strict=True))
    ]
    counts = [Counter(answer_text(task, pair[n]) for pair in both) for n, task in enumerate(tasks)]
    return PairSummary(
        name,
        (first, second),
        options,
        len(both),
        *(tuple(count[option] for option in options) for count in counts),
        all(task.right for task in tasks),
        *(sum(pair[n].right is True for pair in both) for n in (0, 1)),
        sum(before.right is False and after.right is True for before, after in both),
        sum(before.right is True and after.right is False for before, after in both),
    )


def results_table(assignment: Assignment, students: Sequence[StudentResult]) -> Table:
    """Returns one row for each student and task. `right` is blank where nothing is right or wrong."""
    rows = []
    for student in students:
        saved = student.judged.result.saved
        head = (student.judged.result.student, student.file, saved.isoformat(timespec="seconds") if saved else None)
        for number, (task, each) in enumerate(zip(assignment.tasks, student.judged.answers, strict=True), 1):
            right = None if each.right is None else int(each.right)
            flags = right, int(each.claimed), int(each.is_refuted)
            more = each.answer.confidence or None, each.answer.seconds
            rows.append((*head, number, task.kind, task.question, answer_text(task, each), *flags, *more, each.message))
    return Table("results", COLUMNS, tuple(rows))
