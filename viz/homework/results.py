"""Results of homework: the file that a student's browser writes, read and checked.

Everything in it is untrusted. `judged_results.py` computes each check again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from viz import cache
from viz.classroom.talk import Stop, TalkError, plain, plain_lines, read_stop
from viz.homework.assignment import MAX_ANSWER, MAX_NAME, MAX_OPTIONS, MAX_TASKS, MAX_TITLE, AssignmentError, read_json

SCHEMA = 1
MAX_RESULT = 2 << 20  # bytes of a file
MAX_CHECKPOINTS = 20
CONFIDENCE = ("not sure", "fairly sure", "sure")  # from 1
LARGEST = 1e12  # of a number or of seconds
DIGEST_LENGTH = 16


@dataclass(frozen=True)
class TaskAnswer:
    """An answer to a task, as the file states it.

    Fields:
        view: that of the page when the task was solved.
        solved: the file states that the check held.
        choice: an option, from 1; 0: none.
        confidence: of `CONFIDENCE`, from 1; 0: none.
        seconds: time on the task.
        training: evidence of a small training; see `training_results.py`.
    """

    view: Stop | None = None
    solved: bool = False
    choice: int = 0
    number: float | None = None
    text: str = ""
    confidence: int = 0
    seconds: float | None = None
    training: Mapping[str, Any] | None = field(default=None, hash=False)


@dataclass(frozen=True)
class Result:
    """A student's answers to an assignment, by the number of the task."""

    assignment: str  # its id
    title: str = ""
    student: str = ""
    started: datetime | None = None
    saved: datetime | None = None
    checkpoints: Mapping[str, str] = field(default_factory=dict, hash=False)  # name -> digest of its weights
    answers: Mapping[int, TaskAnswer] = field(default_factory=dict, hash=False)


def read_result(raw: bytes, name: str) -> Result:
    """Returns the result in a file. Raises AssignmentError with one sentence, which names the task that is wrong."""
    if not raw.strip():
        raise AssignmentError(f"{name} is empty.")
    values = read_json(raw, name, "result", MAX_RESULT, SCHEMA)
    checkpoints, answers = values.get("checkpoints", {}), values.get("answers", {})
    if not isinstance(checkpoints, dict) or len(checkpoints) > MAX_CHECKPOINTS:
        raise AssignmentError(f"{name}: “checkpoints” is not an object with at most {MAX_CHECKPOINTS} names.")
    if not isinstance(answers, dict):
        raise AssignmentError(f"{name}: “answers” is not an object.")
    numbered = {number: answers[str(number)] for number in range(1, MAX_TASKS + 1) if str(number) in answers}
    return Result(
        _line(values, "assignment", DIGEST_LENGTH, name),
        _line(values, "title", MAX_TITLE, name),
        _line(values, "student", MAX_NAME, name),
        _time(values, "started", name),
        _time(values, "saved", name),
        {str(key)[:MAX_NAME]: _line(checkpoints, key, 64, name) for key in checkpoints},
        {number: _answer(each, f"{name}: answer {number}") for number, each in numbered.items()},
    )


def _answer(values: Any, name: str) -> TaskAnswer:
    if not isinstance(values, dict):
        raise AssignmentError(f"{name} is not an object.")
    training = values.get("training")
    if training is not None and not isinstance(training, dict):
        raise AssignmentError(f"{name}: its training is not an object.")
    return TaskAnswer(
        _view(values.get("view"), name),
        values.get("solved") is True,
        _whole_number(values, "choice", MAX_OPTIONS, name),
        _number(values, "number", name),
        _text(values, "text", MAX_ANSWER, name),
        _whole_number(values, "confidence", len(CONFIDENCE), name),
        _number(values, "seconds", name),
        training,
    )


def _view(values: Any, name: str) -> Stop | None:
    if values is None:
        return None
    try:
        return read_stop(values, f"{name}: its view")
    except TalkError as fault:
        raise AssignmentError(str(fault)) from None


def _line(values: Mapping[str, Any], key: str, max_length: int, name: str) -> str:
    return _checked(values, key, max_length, name, is_one_line=True)


def _text(values: Mapping[str, Any], key: str, max_length: int, name: str) -> str:
    return _checked(values, key, max_length, name, is_one_line=False)


def _checked(values: Mapping[str, Any], key: str, max_length: int, name: str, is_one_line: bool) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AssignmentError(f"{name}: its {key[:MAX_NAME]} is not text.")
    try:
        return (plain if is_one_line else plain_lines)(value, max_length, f"{name}: its {key[:MAX_NAME]}")
    except TalkError:
        raise AssignmentError(
            f"{name}: its {key[:MAX_NAME]} has {len(value):,} characters; expected at most {max_length:,}."
        ) from None


def _whole_number(values: Mapping[str, Any], key: str, highest: int, name: str) -> int:
    value = values.get(key)
    if value is None:
        return 0
    if type(value) is not int or not 0 <= value <= highest:
        raise AssignmentError(f"{name}: its {key} is not a whole number up to {highest}.")
    return value


def _number(values: Mapping[str, Any], key: str, name: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        raise AssignmentError(f"{name}: its {key} is not a number.")
    return float(value)


def _time(values: Mapping[str, Any], key: str, name: str) -> datetime | None:
    value = values.get(key)
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise AssignmentError(f"{name}: “{key}” is no time such as 2026-11-27T18:30:00Z.") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def checkpoint_digest(name: str) -> str:
    """Returns a short SHA-256 of a checkpoint's weights; empty for one that this visit does not have."""
    folder = cache.checkpoint_folders().get(name)
    if folder is None:
        return ""
    path = folder / "model.safetensors"
    try:
        stamp = path.stat()
        return _file_digest(path, stamp.st_mtime_ns, stamp.st_size)
    except OSError:
        return ""


@lru_cache(64)
def _file_digest(path: Path, modified: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_LENGTH]
