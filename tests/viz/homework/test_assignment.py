"""Assignments: as text they come back as they were, students get no solution, and each fault is one sentence."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viz.classroom.talk import Stop
from viz.homework import task_checks
from viz.homework.assignment import (
    READY,
    Assignment,
    AssignmentError,
    AssignmentTask,
    file_of,
    find_assignment,
    pack,
    read,
    ready_assignments,
    unpack,
)
from viz.kit.packed_text import OWN

START = Stop("why", "text=I+love+you.&step=2")
VIEW = AssignmentTask(
    "view", "Cut it.", START, check="lesson cell", max_edits=1, edit_kind="block", solution=START, notes="No."
)
CHOICE = AssignmentTask("choice", "Why?", START, options=("a", "b"), right=2, pair="why")
NUMBER = AssignmentTask("number", "How much?", START, field="difference", tolerance=0.5, measured=Stop("heads", "layer=2"))
ASSIGNMENT = Assignment("Two tasks", (VIEW, CHOICE, NUMBER), 10, "For students.", "For lecturers.\nTwo lines.")


def test_text_and_file_hold_the_whole_assignment():
    assert unpack(pack(ASSIGNMENT)) == read(file_of(ASSIGNMENT)) == ASSIGNMENT
    assert find_assignment(pack(ASSIGNMENT)) == (ASSIGNMENT, "")


def test_students_get_no_solution():
    students = ASSIGNMENT.for_students()
    assert all(not task.solution and not task.notes for task in students.tasks) and not students.notes
    assert "solution" not in file_of(students).decode() and "lecturers" not in file_of(students).decode()
    assert students.id == ASSIGNMENT.id


def test_a_result_belongs_to_the_tasks_alone():
    hidden = dataclasses.replace(ASSIGNMENT, tasks=(VIEW, dataclasses.replace(CHOICE, right=0), NUMBER))
    assert hidden.id == ASSIGNMENT.id  # the right option may be hidden from students
    assert dataclasses.replace(ASSIGNMENT, title="Later", minutes=45, about="", notes="").id == ASSIGNMENT.id
    for change in ({"question": "Cut that."}, {"check": "lesson why"}, {"max_edits": 2}, {"start": Stop("why", "step=3")}):
        assert ASSIGNMENT.with_task(dataclasses.replace(VIEW, **change), 1).id != ASSIGNMENT.id, change


def test_tasks_are_added_moved_and_removed():
    assert ASSIGNMENT.with_task(VIEW).tasks == (VIEW, CHOICE, NUMBER, VIEW)
    assert ASSIGNMENT.with_task(CHOICE, 1).tasks == (CHOICE, CHOICE, NUMBER)
    assert ASSIGNMENT.moved(1, 3).tasks == (CHOICE, NUMBER, VIEW) and ASSIGNMENT.moved(3, 1).tasks == (NUMBER, VIEW, CHOICE)
    assert ASSIGNMENT.without_task(2).tasks == (VIEW, NUMBER)
    for same in (ASSIGNMENT.moved(1, 9), ASSIGNMENT.without_task(0), ASSIGNMENT.moved(0, 1)):
        assert same == ASSIGNMENT
    with pytest.raises(AssignmentError, match="at most 30 tasks"):
        Assignment(tasks=(VIEW,) * 31)


def changed(number: int, **values) -> bytes:
    content = json.loads(file_of(ASSIGNMENT))
    content["tasks"][number - 1] |= values
    return json.dumps(content).encode()


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"\xff\x00", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        (b'{"talk": 1}', "the key “assignment” is missing"),
        (b'{"assignment": 2}', "has version 2; expected version 1"),
        (b'{"assignment": 1, "tasks": {}}', "not a list"),
        (b'{"assignment": 1, "title": 5}', "its title is not text"),
        (b" " * 300_000, "expected at most 262,144"),
        (changed(1, kind="other"), "task 1 has no kind"),
        (changed(1, question=""), "task 1: it has no question"),
        (changed(1, check=""), "task 1: it has no check"),
        (changed(1, start=None), "task 1: start"),
        (changed(1, start={"page": "nowhere", "view": {}}), "There is no page at /nowhere"),
        (changed(1, start={"page": "why", "view": {"step": "x"}}), "task 1"),
        (changed(2, options=["a"]), "it has 1 options; expected 2 to 8"),
        (changed(2, options=["a", "a"]), "two of its options are equal"),
        (changed(2, right=3), "option 3 is right, but it has 2"),
        (changed(2, right=True), "its right is not a whole number"),
        (changed(3, field=""), "it names no number"),
        (changed(3, tolerance=-1), "its tolerance is not a number above 0"),
    ],
)
def test_a_fault_is_one_sentence(raw, message):
    with pytest.raises(AssignmentError, match=message.replace("(", r"\(")):
        read(raw)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.text(max_size=60))
def test_any_link_has_an_assignment_or_a_message(text):
    for each in (text, OWN + text, pack(ASSIGNMENT)[: len(text) + 3]):
        found, message = find_assignment(each)
        assert (found is None) == bool(message) or not each


def test_ready_assignments_have_what_lecturers_need():
    for name, assignment in ready_assignments().items():
        assert assignment.minutes and assignment.about and assignment.notes, name
        assert len(pack(assignment.for_students())) < 4000, name
        pairs = [task.pair for task in assignment.tasks if task.pair]
        assert all(pairs.count(pair) == 2 for pair in pairs), name
        for task in assignment.tasks:
            assert task.kind != "view" or (task.solution and not task_checks.check_fault(task.check)), task.question
            assert task.kind != "choice" or task.right, task.question
    assert list(ready_assignments()) == list(READY)
    pairs = {task.pair for task in ready_assignments()["first-contact"].tasks}
    assert {"reference", "causal mask"} <= pairs
