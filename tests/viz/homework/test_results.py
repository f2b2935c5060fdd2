"""The result file of a student: what is read, and the sentence for each fault."""

from __future__ import annotations

import hashlib

import pytest

from model.io.folders import SHIPPED
from tests.support.homework_helpers import ASSIGNMENT, result_file, view
from viz.homework.assignment import MAX_ANSWER, MAX_NAME, AssignmentError
from viz.homework.results import MAX_RESULT, checkpoint_digest, read_result
from viz.state import uploads


def test_a_result_is_read_with_all_its_fields():
    answers = {
        1: {"view": view("off_cross.4"), "solved": True, "seconds": 41.5, "said": "unknown keys are ignored"},
        2: {"number": 0.3, "confidence": 2},
        3: {"choice": 2},
        4: {"text": "One line.\nAnother."},
    }
    result = read_result(result_file("  Ann\u202e \t Weber ", answers, checkpoints={"en-fr": "12ab"}), "ann.json")
    assert (result.assignment, result.title, result.student) == (ASSIGNMENT.id, ASSIGNMENT.title, "Ann Weber")
    assert result.saved.hour == 18 and result.saved.utcoffset() is not None and result.checkpoints == {"en-fr": "12ab"}
    assert result.answers[1].view.view.intervention.codes_and_texts() and result.answers[1].solved
    assert result.answers[2].number == 0.3 and result.answers[2].confidence == 2
    assert result.answers[3].choice == 2 and result.answers[4].text == "One line.\nAnother."


def test_a_result_may_be_nearly_empty():
    result = read_result(
        b'\xef\xbb\xbf{"result": 1, "answers": {"0": 1, "31": [], "x": {}, "3": {}}, "more": 1}', "ann.json"
    )
    assert result.student == "" and result.saved is None and list(result.answers) == [3]


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b" \n", "ann.json is empty."),
        (result_file("Ann", {})[:40], "ann.json is no result file: expected JSON."),
        (b"[" * 100_000, "ann.json is no result file: expected JSON."),
        (b"\xff\xfe", "ann.json is no result file: expected JSON."),
        (b"{}", "ann.json is no result file: the key “result” is missing."),
        (b'{"result": true}', "ann.json has version True; expected version 1."),
        (b" " * MAX_RESULT + b"{}", f"ann.json has {MAX_RESULT + 2:,} bytes; expected at most {MAX_RESULT:,}."),
        (b'{"result": 1, "answers": []}', "ann.json: “answers” is not an object."),
        (b'{"result": 1, "saved": "soon"}', "ann.json: “saved” is no time such as 2026-11-27T18:30:00Z."),
        (b'{"result": 1, "saved": 5}', "ann.json: “saved” is no time such as 2026-11-27T18:30:00Z."),
        (result_file("A" * (MAX_NAME + 1), {}), "ann.json: its student has 81 characters; expected at most 80."),
        (result_file("Ann", {}, checkpoints={str(n): "" for n in range(99)}), "ann.json: “checkpoints” is not an object"),
        (result_file("Ann", {}, checkpoints={"a": 1}), "ann.json: its a is not text."),
    ],
)
def test_a_faulty_file_gets_one_sentence(raw, sentence):
    with pytest.raises(AssignmentError) as fault:
        read_result(raw, "ann.json")
    assert str(fault.value).startswith(sentence) and str(fault.value).count(". ") == 0


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"text": "a" * (MAX_ANSWER + 1)}, "its text has 4,001 characters; expected at most 4,000."),
        ({"text": ["a"]}, "its text is not text."),
        ({"choice": 9}, "its choice is not a whole number up to 8."),
        ({"choice": True}, "its choice is not a whole number up to 8."),
        ({"confidence": 4}, "its confidence is not a whole number up to 3."),
        ({"number": float("nan")}, "its number is not a number."),
        ({"number": float("inf")}, "its number is not a number."),
        ({"number": 10**400}, "its number is not a number."),
        ({"number": "0.3"}, "its number is not a number."),
        ({"view": {"page": "why", "view": []}}, "its view: its view is not an object of link parameters."),
        ({"view": {"page": "why", "view": {"text": "a" * 30_000}}}, "its view: its view has 30,005 characters"),
        ({"training": "weights"}, "its training is not an object."),
    ],
)
def test_a_fault_names_the_answer(answer, sentence):
    with pytest.raises(AssignmentError) as fault:
        read_result(result_file("Ann", {7: answer}), "ann.json")
    assert str(fault.value).startswith(f"ann.json: answer 7: {sentence}")


def test_the_digest_is_that_of_the_weights(home, monkeypatch):
    path = home / "model.safetensors"
    assert checkpoint_digest("saved") == hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    path.write_bytes(path.read_bytes() + b"more")
    assert checkpoint_digest("saved") == hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    path.unlink()
    assert checkpoint_digest("saved") == checkpoint_digest("en-fr") == checkpoint_digest("../..") == ""
    monkeypatch.setattr(uploads, "session_uploads", lambda: {"mine (zip 0123456789ab)": SHIPPED / "en-fr"})
    assert len(checkpoint_digest("mine (zip 0123456789ab)")) == 16


def test_every_server_takes_a_result_file():
    assert MAX_RESULT <= uploads.SMALL_MB << 20
