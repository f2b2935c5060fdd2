"""An assignment of all kinds of tasks on the shipped checkpoint, and result files as the browser writes them."""

from __future__ import annotations

import json
from typing import Any

from viz.classroom.talk import Stop
from viz.homework.assignment import Assignment, AssignmentTask

TEXT = "She bought a red car."
SEEN = Stop("translate", "text=She+bought+a+red+car.&step=4&layer=3&head=2&kind=cross")
STEP = "une"
TASKS = (
    AssignmentTask(
        "view",
        "Switch heads off until “une” has a probability of at most 0.9.",
        SEEN,
        check=f"{{probability of {STEP}}} at most 0.9",
    ),
    AssignmentTask("number", "How probable is “une”?", SEEN, field=f"probability of {STEP}", tolerance=0.1),
    AssignmentTask("choice", "Which word decides?", SEEN, options=("car", "red", "She"), right=1, pair="gender"),
    AssignmentTask("text", "Why?", SEEN),
    AssignmentTask("choice", "Which word decides now?", SEEN, options=("car", "red", "She"), right=1, pair="gender"),
)
ASSIGNMENT = Assignment("Gender of a noun", TASKS)


def view(edits: str = "", text: str = TEXT) -> dict[str, Any]:
    """Returns the view of an answer: the start, with edits."""
    more = {"edits": edits, "mode": "again"} if edits else {}
    return {"page": "translate", "view": {"text": text, "step": "4"} | more}


def result_file(student: str, answers: dict[int, dict[str, Any]], assignment: Assignment = ASSIGNMENT, **more: Any) -> bytes:
    """Returns a result file."""
    values = {
        "result": 1,
        "assignment": assignment.id,
        "title": assignment.title,
        "student": student,
        "started": "2026-11-27T18:00:00.000Z",
        "saved": "2026-11-27T18:30:00.000Z",
        "checkpoints": {},
        "answers": {str(number): answer for number, answer in answers.items()},
    }
    return json.dumps(values | more).encode()
