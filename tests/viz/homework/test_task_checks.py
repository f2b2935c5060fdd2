"""Checks of tasks: a solution meets its check and the start does not, and limits hold. The author gets only such checks."""

import dataclasses
from urllib.parse import urlencode

import pytest

from model import load
from model.export.checks import check
from viz.classroom.talk import Stop
from viz.homework import candidates, task_checks
from viz.homework.assignment import AssignmentTask, ready_assignments
from viz.lessons.lessons import LESSONS

APPLE = "The dog didn't eat the apple because it was too hard."
BOX = "The cat didn't fit in the box because it was too small."
READY = [(name, n) for name, each in ready_assignments().items() for n, task in enumerate(each.tasks) if task.solution]


def stop(page: str, **params: str | int) -> Stop:
    return Stop(page, urlencode({"text": APPLE, **params}))


START = stop("why", mode="again", step=11)
CUT = stop("why", mode="again", step=11, edits="block_cross_11-12")
IL = 'step 11 writes "il" with probability at least 0.5 in this view'


def judged(line: str, view: Stop, **more):
    return task_checks.judge(AssignmentTask("view", "?", START, check=line, **more), view, "cpu")


@pytest.mark.parametrize(("name", "number"), READY)
def test_a_ready_solution_solves_its_task(name, number):
    task = ready_assignments()[name].tasks[number]
    start, end = (task_checks.judge(task, each, "cpu") for each in (task.start, task.solution))
    assert not start.solved and start.said
    assert end.solved is True and any(char.isdigit() for char in end.said)


def test_numbers_to_predict_are_measured():
    for assignment in ready_assignments().values():
        for task in assignment.tasks:
            if task.kind == "number":
                assert abs(task_checks.measure_number(task.measured_at, task.field, "cpu")) < 100


def test_a_line_means_the_view():
    assert judged(IL, CUT).solved and not judged(IL, START).solved
    assert (
        judged(IL, CUT).said.startswith("Measured: 0.9")
        and "Needed: “il” with probability at least 0.5." in judged(IL, START).said
    )
    (result,) = check(load("en-fr"), IL.replace("this view", f'"{APPLE}" with mode="again" edits=["block_cross_11-12"]'))
    assert result.holds
    head = 'head this head puts at least 0.9 of "elle" on "it" in this view'
    said = [
        judged(head, stop("heads", kind="cross", layer=layer, head=each, step=11)).said for layer, each in ((3, 2), (2, 1))
    ]
    assert said[0] != said[1]
    assert "Choose one head" in judged(head, stop("heads", kind="cross", layer=3, head="mean", step=11)).said
    assert judged('step this step writes "elle" with probability at least 0.5 in this view', START).solved
    quoted = 'the translation of this view is "this view"'
    assert "Le chien" in judged(quoted, START).said


def test_a_number_of_the_view_is_compared():
    view = stop("translate", step=11)
    assert judged("{probability of elle} at least 0.5", view).solved
    verdict = judged("{probability of elle} at most 0.5", view)
    assert not verdict.solved and verdict.said.startswith("Probability of elle: 0.8") and "at most 0.5" in verdict.said
    assert (
        judged("{probability of xyz} at most 0.5", view).said == "This page does not show the number that the task is about."
    )
    with pytest.raises(ValueError, match=r"This view has no number \{probability of xyz\}; it has, for example, "):
        task_checks.require_number("{probability of xyz} at most 0.5", view, "cpu")


def test_limits_hold():
    two = stop("why", mode="again", step=11, edits="block_cross_11-12~block_cross_11-11")
    heads = stop("what-if", text=BOX, mode="again", step=12, edits="off_cross.1")
    assert judged(IL, CUT, max_edits=1, edit_kind="block").solved
    assert judged(IL, two, max_edits=1).said.startswith("Needed: at most 1 edit. Here: ")
    assert judged(IL, heads, edit_kind="block", own_text=True).said.startswith("Needed: only blocked cells. Here: ")
    assert judged(IL.replace("11", "12"), heads, edit_kind="head", max_edits=1, own_text=True).solved


def test_only_the_sentence_and_the_model_of_the_task_count():
    other = Stop("why", urlencode({"text": "I love you.", "step": 2}))
    assert judged(IL, other).said == f"This task needs “{APPLE}”. Start over."
    assert "Start over" not in judged(IL, other, own_text=True).said
    learned = stop("why", mode="again", step=11, checkpoint="en-fr-learned")
    assert judged(IL, learned).said == "This task needs en-fr. The current checkpoint is en-fr-learned."
    given = stop("translate", target="Le chien dort.")
    assert judged(IL, given).said == "The translation is given. Let the model translate."
    assert judged(IL, Stop("nowhere", "")).said.startswith("There is no page at /nowhere")


@pytest.mark.parametrize("lesson", [each for each in LESSONS if each.trains][:2])
def test_lessons_of_training_are_refused(lesson):
    assert task_checks.check_fault(f"lesson {lesson.name}")
    assert not judged(f"lesson {lesson.name}", START).solved


@pytest.mark.parametrize(
    "line", ["", "nonsense", "{x} big", "lesson nothing", IL.replace("0.5", "x"), "{x} at least 0.5 more"]
)
def test_a_wrong_line_is_one_sentence(line):
    assert task_checks.check_fault(line) and "\n" not in task_checks.check_fault(line)


@pytest.mark.parametrize(
    "line", [IL, "lesson cell", "{probability of il} at least 0.5", "no later token leaks in this view"]
)
def test_a_right_line_has_no_fault(line):
    assert task_checks.check_fault(line) == ""


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (START, CUT, ("step 11 writes", "lesson cell", "the translation of this view")),
        (
            stop("heads", kind="cross", layer=1, head=1, step=11),
            stop("heads", kind="cross", layer=3, head=2, step=11),
            ("head",),
        ),
        (
            stop("what-if", text=BOX, mode="again"),
            stop("what-if", text=BOX, mode="again", edits="off_cross.1"),
            ("step 12 writes", "lesson abl"),
        ),
    ],
)
def test_an_author_gets_checks_that_tell_both_views_apart(start, end, wanted):
    lines = candidates.check_lines(start, end, "cpu")
    assert all(any(line.startswith(each) for line in lines) for each in wanted)
    for line in lines:
        assert task_checks.check_fault(line) == ""
        task = AssignmentTask("view", "?", start, check=line)
        assert task_checks.judge(task, end, "cpu").solved and not task_checks.judge(task, start, "cpu").solved
    assert candidates.check_lines(start, start, "cpu") == ()


def test_an_author_gets_the_probabilities_that_an_edit_changes():
    start, bare = stop("translate", step=11, kind="encoder"), {"kind": "cross", "step": 11, "layer": 4, "head": 1}
    lines = candidates.check_lines(start, stop("what-if", edits="block_cross_11-12", **bare), "cpu")
    assert any(line.startswith("{probability after of elle} at most ") for line in lines)
    for line in lines:  # the head that is open tells nothing of the edit
        assert not task_checks.judge(AssignmentTask("view", "?", start, check=line), stop("what-if", **bare), "cpu").solved


def test_the_limit_is_that_of_the_solution():
    assert candidates.limit_of(CUT) == (1, "block") and candidates.limit_of(START) == (0, "")
    mixed = dataclasses.replace(CUT, query=CUT.query.replace("block_cross_11-12", "block_cross_11-12~off_cross.1"))
    assert candidates.limit_of(mixed) == (2, "")


@pytest.mark.parametrize(
    "view", [stop("translate", step=11), CUT, stop("heads", kind="cross"), stop("what-if", mode="again")]
)
def test_every_offered_number_is_measured(view):
    names = candidates.number_fields(view, "cpu")
    assert names and len(dict(names)) == len(names)
    for name, value in names[:12]:
        assert isinstance(task_checks.measure_number(view, name, "cpu"), float) and any(map(str.isdigit, value)), name
