"""The strips of an assignment: for a student each view gets its verdict, and an author's view becomes a task."""

import base64
import json

import pytest

from tests.support.viz_helpers import Lab
from viz.homework.assignment import Assignment, find_assignment, pack, read, ready_assignments
from viz.pages import find

FIRST = ready_assignments()["first-contact"]
FORM = {"kind": "view", "question": "Cut it.", "check": "", "limited": True, "ownText": False, "field": "", "tolerance": 0.1}
FORM |= {"options": ["", ""], "right": 0, "pair": "", "notes": ""}


def report(lab: Lab, name: str, event: str, value=True) -> Lab:
    (mounted,) = (each for each in lab.app_test.get("bidi_component") if each.proto.component_name.endswith(f".{name}"))
    return lab.report(mounted.proto, event, value)


def student(lab: Lab) -> dict:
    return lab._mounted(".student_strip")


def author(lab: Lab) -> dict:
    return lab._mounted(".author_strip")


def test_an_assignment_begins_with_its_overview():
    lab = Lab(find("lessons").file, learn="homework", assignment="first-contact")
    strip = student(lab)
    assert (strip["id"], strip["title"], strip["number"], strip["task"]) == (FIRST.id, "First contact", 0, None)
    assert [question for question, _ in strip["tasks"]] == [task.question for task in FIRST.tasks]
    report(lab, "student_strip", "begin", 6)
    assert (lab.view.exercise, lab.data.page) == (6, "why") and student(lab)["task"]["kind"] == "view"


def test_a_view_gets_its_verdict_and_is_stored_as_it_is():
    start = Lab(find("why").file, assignment="first-contact", task="6")
    report(start, "student_strip", "begin", 6)
    task = student(start)["task"]
    assert (task["solved"], task["said"], task["limit"]) == (False, "", "at most 1 blocked cell")
    end = Lab(find("why").file, assignment="first-contact", task="6", step="11", mode="again", edits="block_cross_11-12")
    task = student(end)["task"]
    assert task["solved"] and "of “il”" in task["said"] and task["checkpoint"][0] == "en-fr"
    assert task["view"] == {"page": "why", "view": {"step": "11", "mode": "again", "edits": "block_cross_11-12"}}


def test_an_answer_is_not_told_before_the_question_returns():
    before, after = (student(Lab(assignment="first-contact", task=str(number)))["task"] for number in (1, 8))
    assert before["options"] == after["options"] and (before["right"], after["right"]) == (0, 2)


def test_a_prediction_is_compared_with_the_measured_number():
    lab = Lab(assignment="first-contact", task="4", step="1")
    assert student(lab)["task"]["measured"] == pytest.approx(0.8617, abs=0.005)
    report(lab, "student_strip", "measured")
    assert (lab.view.step, lab.view.exercise) == (10, 4)


def test_every_task_of_a_ready_assignment_opens():
    for name, assignment in ready_assignments().items():
        lab = Lab(assignment=name)
        for number, task in enumerate(assignment.tasks, 1):
            report(lab, "student_strip", "begin", number)
            assert (lab.data.page, lab.view.exercise, lab.faults) == (task.start.place.name, number, []), (name, number)
        report(lab, "student_strip", "begin", 0)
        assert (lab.data.page, lab.view.of_lessons) == ("lessons", "homework")
        report(lab, "student_strip", "leave")
        assert lab._mounted(".student_strip") is None and "assignment" not in lab.link


@pytest.mark.parametrize("text", ["nothing", "~damaged", "~", "<script>"])
def test_a_wrong_link_is_one_sentence(text):
    lab = Lab(assignment=text, task="3")
    assert student(lab)["fault"].endswith(".") and "script>" not in "".join(lab.html)
    assert lab.translation


def test_the_author_s_own_view_becomes_a_task():
    lab = Lab(find("lessons").file, learn="homework")
    report(lab, "assignment_list", "make")
    assert lab.view.author and author(lab)["tasks"] == []
    report(lab, "author_strip", "head", {"title": " My  homework ", "about": "Try it.", "minutes": 5})
    text = lab.view.assignment
    lab = Lab(find("why").file, assignment=text, author="on", step="11", mode="again")
    report(lab, "author_strip", "take", "start")
    assert author(lab)["stops"]["start"].startswith("Why: “The dog") and author(lab)["choices"]["checks"] == []
    report(lab, "author_strip", "put", FORM)
    assert "Take one as the start" in author(lab)["message"] and author(lab)["tasks"] == []
    lab.app_test.query_params["edits"] = "block_cross_11-12"
    lab.run()
    report(lab, "author_strip", "take", "solution")
    found = author(lab)["choices"]
    assert found["limit"] == "at most 1 blocked cell" and any(line.startswith("step 11 writes") for line in found["checks"])
    report(lab, "author_strip", "put", FORM | {"check": 'the translation of this view is "x"'})
    assert "your solution does not meet the check" in author(lab)["message"]
    report(lab, "author_strip", "put", FORM | {"check": found["checks"][0]})
    strip, (made, _) = author(lab), find_assignment(lab.view.assignment)
    assert strip["message"] == "" and strip["stored"] == 1 and strip["stops"]["start"] == ""
    assert (made.title, made.about, made.minutes) == ("My homework", "Try it.", 5)
    (task,) = made.tasks
    assert (task.question, task.max_edits, task.edit_kind) == (
        "Cut it.",
        1,
        "block",
    ) and task.solution.view.intervention.edits
    assert strip["link"].startswith("lessons?learn=homework&assignment=~")
    shared, _ = find_assignment(strip["link"].partition("assignment=")[2])
    assert shared == made.for_students()


def edited() -> Lab:
    return Lab(assignment=pack(FIRST), author="on")


def test_tasks_are_edited_moved_and_removed():
    lab = edited()
    report(lab, "author_strip", "begin", 4)
    assert author(lab)["task"]["field"] == "probability of elle" and lab.view.step == 0
    assert "probability of elle" in dict(author(lab)["choices"]["fields"])
    report(lab, "author_strip", "put", FORM | {"kind": "number", "question": "New.", "field": "probability of elle"})
    assert find_assignment(lab.view.assignment)[0].tasks[3].question == "New."
    report(lab, "author_strip", "move", {"number": 4, "to": 3})
    assert find_assignment(lab.view.assignment)[0].tasks[2].question == "New."
    report(lab, "author_strip", "remove", 3)
    assert len(find_assignment(lab.view.assignment)[0].tasks) == len(FIRST.tasks) - 1


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"question": " "}, "it has no question"),
        ({"kind": "choice", "options": ["a"]}, "1 options; expected 2 to 8"),
        ({"kind": "number", "field": "probability of zebra"}, "no number {probability of zebra}"),
        ({"kind": "training", "check": "training nothing"}, ""),
    ],
)
def test_a_task_with_a_fault_is_not_stored(form, message):
    lab = edited()
    report(lab, "author_strip", "begin", 0)
    report(lab, "author_strip", "put", FORM | {"kind": "text"} | form)
    assert message in author(lab)["message"] and author(lab)["message"]
    assert find_assignment(lab.view.assignment)[0] == FIRST


def test_a_form_that_no_browser_sends_is_ignored():
    lab = edited()
    for wrong in (
        None,
        {},
        [],
        FORM | {"kind": "other"},
        FORM | {"options": [1]},
        FORM | {"tolerance": "x"},
        FORM | {"right": 99},
    ):
        report(lab, "author_strip", "put", wrong)
        assert find_assignment(lab.view.assignment)[0] == FIRST


def test_the_files_differ_by_the_solutions():
    lab = edited()
    files = {}
    for which in ("lecturer", "students"):
        report(lab, "author_strip", "make", which)
        files[which] = author(lab)["file"]
    lecturer, students = (read(base64.b64decode(files[which]["bytes"])) for which in ("lecturer", "students"))
    assert (lecturer, students) == (FIRST, FIRST.for_students())


def test_a_preview_leads_back():
    lab = edited()
    report(lab, "author_strip", "preview")
    assert student(lab)["isPreview"] and not lab.view.author
    report(lab, "student_strip", "edit")
    assert author(lab)["tasks"] and lab.view.author


def test_a_file_is_opened_or_refused():
    lab = Lab(find("lessons").file, learn="homework")
    report(lab, "assignment_list", "open", json.dumps({"talk": 1}))
    assert "the key “assignment” is missing" in lab._mounted(".assignment_list")["message"]
    report(lab, "assignment_list", "open", json.dumps(json.loads(b'{"assignment": 1, "title": "Empty", "tasks": []}')))
    assert find_assignment(lab.view.assignment)[0] == Assignment("Empty") and student(lab)["title"] == "Empty"
