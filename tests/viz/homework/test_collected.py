"""The panel of a class: files are dropped, judged once, and named if they do not count."""

from __future__ import annotations

import pytest
import streamlit as st

from tests.support.homework_helpers import ASSIGNMENT, result_file, view
from tests.support.viz_helpers import LESSONS, TRANSLATE, Lab
from viz.homework import assignment as assignments
from viz.homework import collected
from viz.homework.assignment import file_of, pack

UGLY = "<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def no_ready_assignment(monkeypatch):
    monkeypatch.setattr(collected, "ready_assignments", dict)


@pytest.fixture
def judged(monkeypatch):
    """Counts the results that are judged."""
    judge, names = collected.judge_result, []

    def counted(assignment, result, device):
        names.append(result.student)
        return judge(assignment, result, device)

    monkeypatch.setattr(collected, "judge_result", counted)
    return names


def listed(lab: Lab) -> list[tuple[str, bytes]]:
    """Returns the files that the upload lists."""
    return [(each.name, each.getvalue()) for each in lab.app_test.session_state[f"collect files {lab.data.collected.tried}"]]


def drop(lab: Lab, *files: tuple[str, bytes], instead: bool = False) -> Lab:
    """Drops files on the upload, beside those that it lists or instead of them."""
    (uploader,) = [each for each in lab.app_test.file_uploader if (each.key or "").startswith("collect files")]
    every = (*(() if instead else listed(lab)), *files)
    uploader.set_value([(name, raw, "application/json") for name, raw in every])
    return lab.run()


def solved(name: str, **more) -> tuple[str, bytes]:
    return f"{name}.json", result_file(name, {1: {"view": view("off_cross.4"), "solved": True}, 3: {"choice": 1}}, **more)


def test_results_are_judged_once_and_stay(judged):
    lab = drop(Lab(LESSONS, learn="homework"), ("own.json", file_of(ASSIGNMENT)), solved("Ann"), solved("Bob"))
    assert "2 students. Right answers: 4 of 4 (100%)." in lab.text and judged == ["Ann", "Bob"]
    lab.run()
    drop(lab, solved("Cem"), ("bad.json", b"{"))
    assert "3 students." in lab.text and "bad.json is no result file: expected JSON." in lab.text
    assert judged == ["Ann", "Bob", "Cem"]
    lab.go(TRANSLATE).go(LESSONS)
    assert "3 students." in lab.text and len(judged) == 3 and listed(lab) == []
    drop(lab, solved("Dora"))
    assert "4 students." in lab.text and len(judged) == 4
    drop(lab, instead=True)  # Dora is removed from the list of the upload
    assert "3 students." in lab.text
    lab.click("remove results")
    assert "3 students" not in lab.text and not lab.data.collected.files and not lab.data.collected.judged
    assert listed(lab) == []


def test_the_assignment_of_the_link_is_used():
    lab = drop(Lab(LESSONS, learn="homework", assignment=pack(ASSIGNMENT)), solved("Ann"))
    assert "“Gender of a noun”" in lab.text and "1 student. Right answers: 2 of 2 (100%)." in lab.text


def test_results_alone_name_what_is_missing():
    lab = drop(Lab(LESSONS, learn="homework"), solved("Ann"))
    assert "Open the assignment first" in lab.text and "Unexpected" not in lab.text


def test_results_wait_for_their_assignment(judged):
    lab = drop(Lab(LESSONS, learn="homework"), solved("Ann"), ("empty.json", b""))
    assert "Open the assignment first, or add its own JSON file. Then these results are checked: Ann.json." in lab.text
    assert "empty.json is empty." in lab.text and judged == []
    drop(lab, ("own.json", file_of(ASSIGNMENT)))
    assert "1 student. Right answers: 2 of 2 (100%)." in lab.text


def test_a_ready_assignment_is_recognized(monkeypatch):
    monkeypatch.setattr(collected, "ready_assignments", lambda: {"gender": ASSIGNMENT})
    assert "1 student." in drop(Lab(LESSONS, learn="homework"), solved("Ann")).text


def test_a_class_of_two_assignments_has_a_choice():
    other = assignments.Assignment("Only one task", ASSIGNMENT.tasks[:1])
    own = [(f"{each.title}.json", file_of(each)) for each in (ASSIGNMENT, other)]
    lab = drop(Lab(LESSONS, learn="homework"), *own, solved("Ann"), solved("Bob"), solved("Cem", assignment=other))
    assert "2 students." in lab.text and "Cem.json belongs to another assignment, “Only one task”." in lab.text
    (choice,) = [each for each in lab.app_test.selectbox if each.label == "Assignment"]
    choice.set_value(other.id)
    lab.run()
    assert "1 student. Right answers: 1 of 1 (100%)." in lab.text and "Ann.json belongs to another assignment" in lab.text


def test_an_edited_file_and_a_name_of_markup_are_shown():
    edited = result_file(UGLY, {1: {"view": view(), "solved": True}, 4: {"text": f"**a** {UGLY}"}})
    lab = drop(Lab(LESSONS, learn="homework"), ("own.json", file_of(ASSIGNMENT)), (f"{UGLY}.json", edited), solved("Ann"))
    assert f"{UGLY}, task 1: Probability of une: 0.908. Needed: at most 0.9." in lab.text and "✗ not as stated" in lab.text
    assert not any("<script" in text for text in lab.html)
    shown = " ".join(each.value for kind in ("markdown", "caption", "title") for each in getattr(lab.app_test, kind))
    assert UGLY not in shown and "**a**" not in shown


def test_it_can_be_stopped_and_goes_on(judged, monkeypatch):
    lab, judge = Lab(LESSONS, learn="homework"), collected.judge_result

    def pressed_during_bob(assignment, result, device):
        own = lab.data.collected
        if result.student == "Bob" and not own.is_stopped:
            own.is_stopped = True  # by the callback of the button
            st.rerun()
        return judge(assignment, result, device)

    monkeypatch.setattr(collected, "judge_result", pressed_during_bob)
    drop(lab, ("own.json", file_of(ASSIGNMENT)), solved("Ann"), solved("Bob"), solved("Cem"))
    assert "Stopped: 1 of 3 files are checked." in lab.text and "1 student." in lab.text and judged == ["Ann"]
    monkeypatch.setattr(collected, "judge_result", judge)
    lab.click("collect on")
    assert "Stopped" not in lab.text and "3 students." in lab.text and judged == ["Ann", "Bob", "Cem"]


def test_one_bad_file_does_not_end_the_page(monkeypatch):
    judge = collected.judge_result

    def broken(assignment, result, device):
        return judge(assignment, result, device) if result.student == "Ann" else {}["nowhere"]

    monkeypatch.setattr(collected, "judge_result", broken)
    lab = drop(Lab(LESSONS, learn="homework"), ("own.json", file_of(ASSIGNMENT)), solved("Ann"), solved("Bob"))
    assert "1 student." in lab.text and "Bob.json could not be checked (KeyError)." in lab.text


def test_it_needs_no_checkpoint_of_its_own():
    lab = drop(Lab(LESSONS, learn="homework", checkpoint="nowhere"), ("own.json", file_of(ASSIGNMENT)), solved("Ann"))
    assert lab.faults[0].startswith("There is no checkpoint") and "1 student. Right answers: 2 of 2 (100%)." in lab.text


def test_the_screen_of_a_lecture_shows_no_names(judged):
    lab = Lab(LESSONS, learn="homework", lecture="on", large="2")
    assert "drop the result files on this page" in lab.text
    lab = drop(Lab(LESSONS, learn="homework"), ("own.json", file_of(ASSIGNMENT)), solved("Zebedee"), solved("Bob"))
    assert "Zebedee" in lab.text
    lab.app_test.query_params["lecture"], lab.app_test.query_params["large"] = "on", "2"
    lab.run()
    assert "2 students. Right answers: 4 of 4 (100%)." in lab.text and "Which word decides?" in lab.text
    assert "Zebedee" not in " ".join(lab.html) and len(judged) == 2
