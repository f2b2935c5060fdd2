"""Each check of a result is computed again: what the file claims counts for nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.support.homework_helpers import ASSIGNMENT, SEEN, result_file, view
from viz.classroom.talk import Stop
from viz.homework import judged_results, task_checks
from viz.homework.assignment import Assignment, AssignmentTask
from viz.homework.judged_results import judge_result, missing_checkpoints
from viz.homework.results import read_result
from viz.lessons.lesson_checks import Verdict


def judged(answers, assignment=ASSIGNMENT):
    return judge_result(assignment, read_result(result_file("Ann", answers, assignment), "ann.json"), "cpu")


def test_a_view_is_measured_again():
    right, *_ = judged({1: {"view": view("off_cross.4"), "solved": True}}).answers
    assert right.right is True and right.claimed and not right.is_refuted
    measured = task_checks.measure_number(
        Stop(SEEN.page, f"{SEEN.query}&edits=off_cross.4&mode=again"), "probability of une", "cpu"
    )
    assert right.message == f"Probability of une: {measured:.3f}."


@pytest.mark.parametrize(
    "answer",
    [
        {"view": view(), "solved": True},  # without the edit
        {"view": view("off_cross.4", text="She bought a car."), "solved": True},  # of another sentence
        {"view": {"page": "nowhere", "view": {}}, "solved": True},
        {"view": view("nonsense"), "solved": True},
        {"solved": True},
    ],
)
def test_an_edited_file_is_caught(answer):
    first, *_ = judged({1: answer}).answers
    assert first.right is False and first.is_refuted and first.message


def test_a_view_counts_without_a_claim():
    solved, *_ = judged({1: {"view": view("off_cross.4")}}).answers
    assert solved.right is True and not solved.is_refuted
    unsolved, *_ = judged({1: {"view": view()}}).answers
    assert unsolved.right is False and not unsolved.is_refuted
    assert unsolved.message.endswith("Needed: at most 0.9.")


def test_a_prediction_may_be_off_by_the_tolerance():
    measured = task_checks.measure_number(SEEN, "probability of une", "cpu")
    for off, is_right in ((0, True), (0.1, True), (-0.1, True), (0.1001, False), (-0.1001, False)):
        each = judged({2: {"number": measured + off}}).answers[1]
        assert each.right is is_right and f"measured {measured:.4g}" in each.message


def test_a_choice_a_text_and_no_answer():
    answers = judged({3: {"choice": 1}, 4: {"text": "Because."}, 5: {"choice": 7, "solved": True}}).answers
    assert [each.right for each in answers] == [None, None, True, None, False]
    assert [each.is_answered for each in answers] == [False, False, True, True, True]
    assert answers[4].is_refuted and answers[4].message == "There is no option 7; the task has 3."
    unmarked = dataclasses.replace(ASSIGNMENT, tasks=(dataclasses.replace(ASSIGNMENT.tasks[2], right=0),))
    assert unmarked.id != ASSIGNMENT.id and judged({1: {"choice": 2}}, unmarked).answers[0].right is None


def test_a_missing_checkpoint_accuses_nobody():
    far = Stop(SEEN.page, f"{SEEN.query}&checkpoint=far")
    tasks = (
        AssignmentTask("view", "Do.", far, check="{probability of une} at most 0.9"),
        AssignmentTask("number", "How?", SEEN, field="probability of une", measured=far),
        AssignmentTask("choice", "Which?", far, options=("a", "b"), right=1),
    )
    assignment = Assignment("Far", tasks)
    assert missing_checkpoints(assignment) == {"far": [1, 2]}
    each = judged({1: {"view": view(), "solved": True}, 2: {"number": 0.1}, 3: {"choice": 1}}, assignment).answers
    assert [one.right for one in each] == [None, None, True] and not any(one.is_refuted for one in each)
    assert each[0].message == "Not checked: the checkpoint “far” is missing in this lab."


def test_a_number_that_cannot_be_measured_is_not_judged():
    assignment = Assignment("Odd", (AssignmentTask("number", "How?", SEEN, field="probability of zebra"),))
    (each,) = judged({1: {"number": 0.5}}, assignment).answers
    assert each.right is None and each.message.startswith("Not checked: This view has no number")


def test_the_boolean_of_a_check_may_be_of_numpy(monkeypatch):
    monkeypatch.setattr(judged_results.task_checks, "judge", lambda *arguments: Verdict(np.bool_(True), "Measured."))
    assert judged({1: {"view": view(), "solved": True}}).right_count == 1
