"""Results of homework with each check computed again, on the lecturer's own lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from viz import cache
from viz.classroom.talk import Stop
from viz.homework import task_checks
from viz.homework.assignment import Assignment, AssignmentTask
from viz.homework.results import Result, TaskAnswer, checkpoint_digest
from viz.homework.training_results import judge_evidence
from viz.lessons.lesson_checks import Verdict
from viz.state.result_cache import cached

NO_ANSWER = "No answer."
ROUNDING = 1e-9  # of a prediction that is off by exactly the tolerance


@dataclass(frozen=True)
class JudgedAnswer:
    """An answer and its recomputed check.

    Fields:
        right: None for a text, a choice without a right option, no answer, and a check that this lab cannot compute.
        message: one sentence, with the measured number.
        is_refuted: the file states that the task is solved, and the check does not hold.
    """

    answer: TaskAnswer
    right: bool | None = None
    message: str = NO_ANSWER
    is_answered: bool = False
    is_refuted: bool = False

    @property
    def claimed(self) -> bool:
        """True if the file states that the task is solved."""
        return self.answer.solved


@dataclass(frozen=True)
class JudgedResult:
    """A result and its judged answers, one for each task of the assignment."""

    result: Result
    answers: tuple[JudgedAnswer, ...]

    @property
    def right_count(self) -> int:
        return sum(each.right is True for each in self.answers)


def checkpoints_of(task: AssignmentTask) -> tuple[str, ...]:
    """Returns the checkpoints that a task shows or measures; none for a task in which a model is trained."""
    if task.kind == "training":
        return ()
    stops = (task.start, task.measured_at) if task.kind == "number" else (task.start,)
    return tuple(dict.fromkeys(stop.view.checkpoint for stop in stops))


def missing_checkpoints(assignment: Assignment) -> dict[str, list[int]]:
    """Returns the checkpoints that this lab lacks, each with the numbers of the tasks that need it for their check."""
    known, missing = cache.checkpoint_names(), {}
    for number, task in enumerate(assignment.tasks, 1):
        if task.kind in ("view", "number"):
            for name in checkpoints_of(task):
                if name not in known:
                    missing.setdefault(name, []).append(number)
    return missing


def judge_result(assignment: Assignment, result: Result, device: str) -> JudgedResult:
    """Returns a result with each check computed again. The claims of the file count for nothing."""
    lacking = {number: name for name, numbers in missing_checkpoints(assignment).items() for number in numbers}
    answers = []
    for number, task in enumerate(assignment.tasks, 1):
        answer = result.answers.get(number, TaskAnswer())
        if number in lacking:
            said = f"Not checked: the checkpoint “{lacking[number]}” is missing in this lab."
            answers.append(JudgedAnswer(answer, None, said, is_answered=answer != TaskAnswer()))
        else:
            answers.append(_JUDGES[task.kind](task, answer, device))
    return JudgedResult(result, tuple(answers))


def _of_verdict(answer: TaskAnswer, verdict: Verdict) -> JudgedAnswer:
    is_right = bool(verdict.solved)  # a check may return a boolean of numpy
    return JudgedAnswer(answer, is_right, verdict.said, is_answered=True, is_refuted=answer.solved and not is_right)


def _judge_view(task: AssignmentTask, answer: TaskAnswer, device: str) -> JudgedAnswer:
    if answer.view is None:
        return _of_verdict(answer, Verdict(False, "The file has no view for this task.")) if answer.solved else _open(answer)
    return _of_verdict(answer, task_checks.judge(task, answer.view, device))


def _judge_training(task: AssignmentTask, answer: TaskAnswer, device: str) -> JudgedAnswer:
    if answer.training is None and not answer.solved:
        return _open(answer)
    return _of_verdict(answer, judge_evidence(task, answer.training))


def _judge_number(task: AssignmentTask, answer: TaskAnswer, device: str) -> JudgedAnswer:
    if answer.number is None:
        return _open(answer)
    try:
        measured = measured_number(task, device)
    except ValueError as fault:
        return JudgedAnswer(answer, None, f"Not checked: {fault}", is_answered=True)
    said = f"Predicted {answer.number:.4g}, measured {measured:.4g}. Allowed difference: {task.tolerance:g}."
    return _of_verdict(answer, Verdict(abs(answer.number - measured) <= task.tolerance + ROUNDING, said))


def _judge_choice(task: AssignmentTask, answer: TaskAnswer, device: str) -> JudgedAnswer:
    if not answer.choice:
        return _open(answer)
    if answer.choice > len(task.options):
        said = f"There is no option {answer.choice}; the task has {len(task.options)}."
        return JudgedAnswer(answer, False if task.right else None, said, is_answered=True, is_refuted=answer.solved)
    chosen = f"Chose “{task.options[answer.choice - 1]}”."
    if not task.right:
        return JudgedAnswer(answer, None, chosen, is_answered=True)
    is_right = answer.choice == task.right
    return _of_verdict(
        answer, Verdict(is_right, chosen if is_right else f"{chosen} Right: “{task.options[task.right - 1]}”.")
    )


def _judge_text(task: AssignmentTask, answer: TaskAnswer, device: str) -> JudgedAnswer:
    if not answer.text:
        return _open(answer)
    count = len(answer.text)
    return JudgedAnswer(answer, None, f"{count:,} {'character' if count == 1 else 'characters'}.", is_answered=True)


def _open(answer: TaskAnswer) -> JudgedAnswer:
    return JudgedAnswer(answer)


def measured_number(task: AssignmentTask, device: str) -> float:
    """Returns the number that a task asks for. Raises ValueError if its view does not have it."""
    stop = task.measured_at
    return _measure(stop, task.field, device, checkpoint_digest(stop.view.checkpoint))


@cached(256)
def _measure(stop: Stop, field: str, device: str, digest: str) -> float:
    """Returns a number of a view, which the students of a class share while the weights stay the same."""
    return task_checks.measure_number(stop, field, device)


_JUDGES: Mapping[str, Callable[[AssignmentTask, TaskAnswer, str], JudgedAnswer]] = {
    "view": _judge_view,
    "training": _judge_training,
    "number": _judge_number,
    "choice": _judge_choice,
    "text": _judge_text,
}
