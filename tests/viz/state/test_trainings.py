"""Trainings of visitors: one at a time, in order, ended when they leave. The process is a stand-in that needs no torch."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from viz.state import trainings, uploads, visits
from viz.state.work_queue import WorkQueue

STAND_IN = """
import json, pathlib, sys
wanted = json.loads(sys.stdin.readline())
say = lambda **values: print(json.dumps(values), flush=True)
if wanted["config"].get("dies"): sys.exit(3)
if wanted["config"].get("wrong"): say(fault="It cannot."); sys.exit()
say(ready=True, examples=[], held_out=9, step_before=int(wanted["resume"]))
first = 2 if wanted["resume"] else 1
say(step=first, seconds=0.5, loss=1.0, accuracy=0.5, written=[], maps=[], is_done=False, has_learned=False)
if not wanted["config"].get("ends"): sys.stdin.readline()
(pathlib.Path(wanted["folder"]) / "config.json").write_text("{}")
say(saved=True)
"""


@pytest.fixture
def visit(monkeypatch, tmp_path):
    """Says whose run it is."""
    monkeypatch.setattr(uploads.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(uploads, "_watch", lambda: None)
    monkeypatch.setattr(trainings, "_watch", lambda: None)
    monkeypatch.setattr(trainings, "COMMAND", (sys.executable, "-c", STAND_IN))
    monkeypatch.setattr(trainings, "_queue", WorkQueue(1))
    now, there = ["one"], {"one", "two", "three"}
    monkeypatch.setattr(visits, "session_id", lambda: now[0])
    monkeypatch.setattr(visits, "is_connected", lambda name: name in there)

    def become(name: str, leaves: str = "") -> None:
        now[0] = name
        there.discard(leaves)

    yield become
    trainings.clear()
    uploads.clear()
    visits._visits.clear()
    visits._of_session.clear()


def until(condition) -> None:
    """Waits for a state, however slow the machine is."""
    pause = threading.Event()
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "the state was not reached"
        pause.wait(0.02)


def test_a_training_belongs_to_its_visit(visit):
    training = trainings.start({}, "Reverse", (True, 90))
    until(lambda: training.reports)
    assert training.state == "running" and training.accuracy == 0.5
    trainings.stop(training)
    until(lambda: training.state == "saved")
    assert training.name in uploads.session_uploads() and uploads.is_uploaded(training.name)
    assert uploads.display_name(training.name) == "Reverse"
    visit("two")
    assert trainings.of_session() == [] and training.name not in uploads.session_uploads()
    assert "was trained in another visit" in uploads.unknown_message(training.name)
    assert uploads.display_name(training.name).startswith("Reverse (trained ")  # of another visit
    visit("one")
    trainings.delete(training)
    assert trainings.of_session() == [] and training.name not in uploads.session_uploads()
    trainings.restore(training)
    assert trainings.of_session() == [training] and training.name in uploads.session_uploads()
    trainings.delete(training)
    visit("two")
    assert trainings.deleted() is None
    visit("one")
    trainings.stop(trainings.start({}, "Copy", None))
    assert not training.folder.exists() and trainings.deleted() is None


def test_equal_titles_are_told_apart(visit):
    first, second, other = (trainings.start({"ends": True}, title, None) for title in ("Copy", "Copy", "Sort") if _end_all())
    _end_all()
    assert uploads.display_name(other.name) == "Sort"
    names = {uploads.display_name(each.name) for each in (first, second)}
    assert len(names) == 2 and all(name.startswith("Copy (trained ") for name in names)


def _end_all() -> bool:
    until(lambda: not any(each.is_active for each in trainings.of_session()))
    return True


def test_only_the_last_deletion_can_be_undone(visit, monkeypatch):
    monkeypatch.setattr(trainings, "MAX_OF_SESSION", 1)
    first = trainings.start({"ends": True}, "Reverse", None)
    until(lambda: first.state == "saved")
    trainings.delete(first)
    second = trainings.start({"ends": True}, "Copy", None)
    until(lambda: second.state == "saved")
    assert not first.folder.exists() and trainings.deleted() is None
    trainings.delete(second)
    monkeypatch.setattr(trainings, "MAX_OF_SESSION", 0)
    with pytest.raises(ValueError, match="Delete one first"):
        trainings.restore(second)
    assert trainings.deleted() is second


def test_a_visitor_has_one_at_a_time_and_others_wait_in_order(visit):
    first = trainings.start({}, "Reverse", None)
    until(lambda: first.state == "running")
    with pytest.raises(ValueError, match="still in progress"):
        trainings.start({}, "Copy", None)
    visit("two")
    second = trainings.start({"ends": True}, "Copy", None)
    visit("three")
    third = trainings.start({}, "Sort", None)
    until(lambda: (second.ahead, third.ahead) == (1, 2))
    trainings.stop(third)
    assert third.state == "failed" and "before it began" in third.fault
    trainings.stop(first)
    until(lambda: second.state == "saved")
    assert first.state == "saved" and third.process is None


def test_it_goes_on_from_what_it_has_learned(visit):
    training = trainings.start({"ends": True}, "Reverse", None)
    until(lambda: training.state == "saved")
    trainings.go_on(training)
    until(lambda: training.state == "saved" and len(training.reports) == 2)
    assert [each["step"] for each in training.reports] == [1, 2]
    assert training.latest_end == trainings.SECONDS + 0.5
    training.reports.append(training.reports[-1] | {"step": 7})  # of a process that was killed before it saved
    trainings.go_on(training)
    until(lambda: training.state == "saved" and training.reports[-1]["step"] == 2)
    assert [each["step"] for each in training.reports] == [1, 2]
    assert [*uploads.session_uploads()] == [training.name]


@pytest.mark.parametrize(("config", "fault"), [({"dies": 1}, "ended unexpectedly"), ({"wrong": 1}, "It cannot.")])
def test_a_process_that_ends_is_one_sentence(visit, config, fault):
    training = trainings.start(config, "Reverse", None)
    until(lambda: training.state == "failed")
    assert fault in training.fault and not training.is_saved


def test_a_training_ends_when_its_visitor_leaves(visit, monkeypatch):
    training = trainings.start({}, "Reverse", None)
    until(lambda: training.state == "running")
    process = training.process
    trainings.sweep()
    assert training.state == "running"
    visit("two", leaves="one")
    monkeypatch.setattr(trainings, "ABSENCE_SECONDS", -1)
    trainings.sweep()
    assert training.state == "failed"
    until(lambda: process.poll() is not None)
    monkeypatch.setattr(visits, "ABSENCE_SECONDS", -1)
    trainings.sweep()
    assert not training.folder.exists() and trainings._trainings == []


def test_a_reloaded_tab_has_the_trainings_of_its_visit(visit, monkeypatch):
    assert visits.key() == ""
    training = trainings.start({}, "Reverse", None)
    until(lambda: training.state == "running")
    key = visits.key()
    visit("two", leaves="one")
    for wrong in ("", "0" * 32, key[:-1]):
        visits.join(wrong)
        assert trainings.of_session() == []
    visits.join(key)
    monkeypatch.setattr(trainings, "ABSENCE_SECONDS", 0)
    trainings.sweep()  # its browser is there again
    assert trainings.of_session() == [training] and training.state == "running" and visits.key() == key
    trainings.stop(training)
    until(lambda: training.state == "saved")
    assert [*uploads.session_uploads()] == [training.name]
    visit("three", leaves="two")
    monkeypatch.setattr(visits, "ABSENCE_SECONDS", -1)
    trainings.sweep()
    visits.sweep(-1)
    visits.join(key)
    assert not training.folder.exists() and trainings.of_session() == [] and visits.key() == ""


@pytest.mark.parametrize("sent", [None, 7, "x", "0" * 33, "A" * 32, ["0" * 32]])
def test_a_browser_sends_only_keys(sent):
    assert visits.read_key(sent) is None
    assert visits.read_key("0" * 32) == ("0" * 32,) and visits.read_key("") == ("",)


def test_a_silent_process_is_ended(visit, monkeypatch):
    training = trainings.start({}, "Reverse", None)
    until(lambda: training.state == "running")
    monkeypatch.setattr(trainings, "START_SECONDS", -1)
    trainings.sweep()
    assert training.state == "failed" and "did not answer" in training.fault


def test_there_is_a_limit_and_a_switch(visit, monkeypatch):
    monkeypatch.setattr(trainings, "MAX_OF_SESSION", 1)
    training = trainings.start({"ends": True}, "Reverse", None)
    until(lambda: training.state == "saved")
    with pytest.raises(ValueError, match="Delete one first"):
        trainings.start({}, "Copy", None)
    monkeypatch.setenv("TRAINING", "0")
    with pytest.raises(ValueError, match="TRAINING=1"):
        trainings.start({}, "Copy", None)
    with pytest.raises(ValueError, match="expected 1, 0 or nothing"):
        trainings.configure("yes")
