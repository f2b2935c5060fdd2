"""Small trainings that visitors start, each in a process of its own at low priority, and their queue.

A visitor has one at a time. It is stopped when the visitor leaves, and its checkpoint belongs to the visit (`uploads`).
TRAINING=0 disables them.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from model.io.package_names import module_name
from viz import pages
from viz.state import uploads, visits
from viz.state.work_queue import WorkQueue

SECONDS = 110.0  # longest training; "continue" adds as much
STEPS = 6000  # likewise
START_SECONDS = 120.0  # until a process is ready, and from the last report until it has saved
ABSENCE_SECONDS = 20.0  # without a browser, after which a training is stopped
MINUTES = 2  # of a training, at most, for those who wait
MAX_OF_SESSION = 6  # checkpoints
PLACES = max(1, (os.cpu_count() or 1) // 2)
COMMAND = (sys.executable, "-m", module_name("model.workshop.small.small_process"))
State = Literal["waiting", "starting", "running", "stopping", "saved", "failed"]
ACTIVE: tuple[State, ...] = ("waiting", "starting", "running", "stopping")


class _EndedError(Exception):
    """The visitor has stopped a training that waited, or has left."""


@dataclass(eq=False)
class Training:
    """A training of a visit.

    Fields:
        config: the fields of `model.workshop.small.small_training.SmallConfig`.
        title: names it in a list.
        guess: what the visitor predicted: True for "yes", and how sure, in per cent.
        ahead: trainings before it in the queue.
        reports: each with step, seconds, loss in nats a token and accuracy.
        examples: source, target, and the tokens of both.
        written, maps: of the last report.
    """

    visit: str
    name: str
    title: str
    config: dict[str, Any]
    guess: tuple[bool, int] | None
    folder: Path
    state: State = "waiting"
    ahead: int = 0
    reports: list[dict[str, float]] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)
    held_out: int = 0
    written: list[str] = field(default_factory=list)
    maps: list[list[int]] = field(default_factory=list)
    fault: str = ""
    has_learned: bool = False  # it ended because the answers were right
    was_stopped: bool = False  # by the visitor, before its end
    is_deleted: bool = False  # by the visitor, who can undo it until the next deletion or start
    latest_end: float = SECONDS  # seconds of training after which it ends
    process: subprocess.Popen[str] | None = None
    seen: float = field(default_factory=time.monotonic)  # when its visitor was last there
    heard: float = 0.0  # when its process last wrote

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE

    @property
    def is_saved(self) -> bool:
        """True if it has a checkpoint, perhaps of before it went on."""
        return (self.folder / "config.json").exists()

    @property
    def accuracy(self) -> float:
        """Share of exact held-out answers at the last report; 0 before the first."""
        return self.reports[-1]["accuracy"] if self.reports else 0.0


_queue = WorkQueue(PLACES)
_trainings: list[Training] = []
_changing = threading.Lock()


def configure(wanted: str) -> bool:
    """Enables or disables trainings by TRAINING and returns the choice. Raises ValueError for a wrong value."""
    if wanted not in ("", "0", "1"):
        raise ValueError(f"TRAINING is {wanted[:40]!r}; expected 1, 0 or nothing.")
    return wanted != "0"


def is_enabled() -> bool:
    """True if visitors may train."""
    return os.environ.get("TRAINING", "1") != "0"


def of_session() -> list[Training]:
    """Returns the trainings of this visit, the oldest first, without a deleted one."""
    return [each for each in _of_visit() if not each.is_deleted]


def deleted() -> Training | None:
    """Returns the training of this visit that was deleted last, while it can be restored."""
    return next((each for each in _of_visit() if each.is_deleted), None)


def _of_visit() -> list[Training]:
    visit = visits.visit_id()
    with _changing:
        return [each for each in _trainings if each.visit == visit] if visit else []


def start(config: Mapping[str, Any], title: str, guess: tuple[bool, int] | None) -> Training:
    """Queues a training of this visit. Raises ValueError with one sentence."""
    visit = visits.visit_id()
    if not (is_enabled() and visit):
        raise ValueError("This server trains no models. Start it with TRAINING=1 to allow it.")
    own = of_session()
    if any(each.is_active for each in own):
        raise ValueError("Your training is still in progress. Stop it first.")
    if sum(each.is_saved for each in own) >= MAX_OF_SESSION:
        raise ValueError(f"You have trained {MAX_OF_SESSION} models, the limit. Delete one first.")
    _purge()
    try:
        folder = uploads.new_folder()
    except OSError:
        raise ValueError("The training cannot start: the server's disk is full or locked.") from None
    visits.begin()
    training = Training(visit, uploads.trained_name(title), title, dict(config), guess, folder)
    with _changing:
        _trainings.append(training)
    _begin(training)
    return training


def go_on(training: Training) -> None:
    """Continues a training that has ended, for as long again at most. Raises ValueError with one sentence."""
    if any(each.is_active for each in of_session()):
        raise ValueError("Your training is still in progress. Stop it first.")
    training.state, training.fault, training.ahead, training.was_stopped = "waiting", "", 0, False
    _begin(training)


def stop(training: Training) -> None:
    """Ends a training that waits, or asks a running one to save what it has learned."""
    process = training.process
    if training.state == "waiting":
        training.state = "saved" if training.is_saved else "failed"
        training.fault = "" if training.is_saved else "It was stopped before it began."
    elif training.is_active and process is not None and process.stdin is not None:
        training.state, training.was_stopped = "stopping", True
        with contextlib.suppress(OSError, ValueError):  # it has just ended
            process.stdin.close()


def delete(training: Training) -> None:
    """Ends a training and hides its checkpoint, until `restore` or the next deletion or start."""
    _purge()
    _kill(training)
    training.is_deleted = True
    uploads.unregister(training.name)


def restore(training: Training) -> None:
    """Undoes `delete`. Raises ValueError with one sentence."""
    if sum(each.is_saved for each in of_session()) >= MAX_OF_SESSION:
        raise ValueError(f"You have trained {MAX_OF_SESSION} models, the limit. Delete one first.")
    training.is_deleted = False
    if training.is_saved:
        uploads.add_trained(training.visit, training.name, training.folder)


def _purge() -> None:
    if (training := deleted()) is not None:
        _remove(training)


def _remove(training: Training) -> None:
    """Ends a training and deletes its checkpoint."""
    _kill(training)
    with _changing:
        if training in _trainings:
            _trainings.remove(training)
    uploads.unregister(training.name)
    shutil.rmtree(training.folder, ignore_errors=True)


def clear() -> None:
    """Ends all trainings, when the server stops."""
    for each in list(_trainings):
        _kill(each)
    with _changing:
        _trainings.clear()


def sweep() -> None:
    """Ends the trainings of visitors who left, and those whose process does not answer."""
    now = time.monotonic()
    for each in list(_trainings):
        if visits.is_active(each.visit):
            each.seen = now
        if now - each.seen > visits.ABSENCE_SECONDS:
            _remove(each)
        elif each.is_active and now - each.seen > ABSENCE_SECONDS:
            _fail(each, "It was stopped because nobody watched it.")
        elif each.process is not None and each.is_active and now - each.heard > START_SECONDS:
            _fail(each, "The process of the training did not answer and was ended.")
    visits.sweep()


def _begin(training: Training) -> None:
    _watch()
    threading.Thread(target=_work, args=(training,), name="training", daemon=True).start()


def _work(training: Training) -> None:
    def wait(ahead: int) -> None:
        training.ahead = ahead
        if training.state != "waiting":
            raise _EndedError

    with contextlib.suppress(_EndedError), _queue.slot(wait):
        if training.state == "waiting":
            try:
                _run(training)
            except Exception:
                logging.getLogger(__name__).exception("A training could not be run")
                _fail(training, "The training ended unexpectedly. Train again.")


def _run(training: Training) -> None:
    """Runs the process of a training until it ends."""
    training.state, training.heard = "starting", time.monotonic()
    training.latest_end = SECONDS + (training.reports[-1]["seconds"] if training.reports else 0)
    wanted = {"folder": str(training.folder), "resume": bool(training.reports), "seconds": SECONDS, "steps": STEPS}
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    with subprocess.Popen(
        COMMAND,
        cwd=pages.ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        training.process = process
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError, ValueError):  # it has ended or was stopped already
            process.stdin.write(json.dumps(wanted | {"config": training.config}) + "\n")
            process.stdin.flush()
        last: dict[str, Any] = {}
        for line in process.stdout:
            training.heard = time.monotonic()
            last = json.loads(line)
            _hear(training, last)
    training.process = None
    if not training.is_active:
        return
    if "saved" in last:
        uploads.add_trained(training.visit, training.name, training.folder)
        training.state = "saved"
    else:
        unknown = "The process of the training ended unexpectedly. Train again, or with a smaller model."
        training.state, training.fault = "failed", last.get("fault", unknown)


def _hear(training: Training, message: dict[str, Any]) -> None:
    if "ready" in message:
        training.examples, training.held_out = message["examples"], message["held_out"]
        # It goes on from what was saved: a process that was killed may have reported later steps.
        training.reports = [each for each in training.reports if each["step"] <= message["step_before"]]
        training.state = "running" if training.state == "starting" else training.state
    elif "step" in message:
        training.written, training.maps = message.pop("written"), message.pop("maps")
        training.has_learned = message.pop("has_learned")
        training.reports.append({name: message[name] for name in ("step", "seconds", "loss", "accuracy")})


def _fail(training: Training, fault: str) -> None:
    training.state, training.fault = "failed", fault
    _kill(training)


def _kill(training: Training) -> None:
    training.state = "failed" if training.is_active else training.state
    if (process := training.process) is not None:
        with contextlib.suppress(OSError):
            process.kill()


@cache
def _watch() -> None:
    """Starts a thread that ends the trainings of visitors who left."""
    atexit.register(clear)

    def look() -> None:
        while True:
            time.sleep(2)
            try:
                sweep()
            except Exception:  # the thread must go on
                logging.getLogger(__name__).exception("Trainings of ended sessions could not be ended")

    threading.Thread(target=look, name="trainings", daemon=True).start()
