"""Time and memory to check the results of a class: python -m benchmarks.collect_results [--students 100] [--trainings]

Each file has answers to six tasks of one assignment: four views, a number and a choice. The views of all students differ in
their edits or sentences, so that no cache answers for another student. `--trainings` adds a seventh task with the weights of
a small model, drawn at random: such a model never ends its answers, so it takes as long as one can.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import time
from typing import Any

import numpy as np
import torch

from benchmarks.memory import cached_mb, resident, sentences
from model.edits.intervention import SEPARATOR
from model.network.transformer import build
from model.workshop.small.small_training import SmallConfig
from viz import page_context
from viz.classroom.talk import Stop
from viz.homework.assignment import Assignment, AssignmentTask
from viz.homework.class_files import add_files, sort_files
from viz.homework.class_summary import StudentResult, results_table, task_summaries
from viz.homework.judged_results import judge_result
from viz.homework.results import Result
from viz.server.serve import return_memory
from viz.state.view import View

TEXT = "The dog didn't cross the street because it was too shy."
START = {"text": TEXT, "step": "11"}
FIELD = "probability of il"


def _stop(page: str, **more: str) -> Stop:
    return Stop(page, "&".join(f"{name}={value.replace(' ', '+')}" for name, value in (START | more).items()))


TASKS = (
    AssignmentTask("view", "Make “il” less probable.", _stop("translate"), check=f"{{{FIELD}}} at most 0.5"),
    AssignmentTask(
        "view",
        "Change the translation.",
        _stop("what-if"),
        check='step 11 writes "elle" with probability at least 0.01 in this view',
    ),
    AssignmentTask(
        *("view", "Find a head that looks at “dog”.", _stop("heads", kind="cross")),
        check='head this head puts at least 0.5 of "il" on "dog" in this view',
    ),
    AssignmentTask(
        "view",
        "Find a sure sentence.",
        _stop("translate"),
        check='step 1 writes "Le" with probability at least 0.5 in this view',
        own_text=True,
    ),
    AssignmentTask("number", "How probable is “il”?", _stop("translate"), field=FIELD),
    AssignmentTask("choice", "Which word decides?", _stop("translate"), options=("dog", "street"), right=1),
)
TRAINING = AssignmentTask("training", "Train.", _stop("training"), check="training reverse reaches 95%")


def edits(draw: random.Random) -> str:
    """Returns two heads that are switched off, as in a link."""
    return SEPARATOR.join(
        f"off_{draw.choice(('enc', 'dec', 'cross'))}.{draw.randint(1, 4)}.{draw.randint(1, 8)}" for _ in range(2)
    )


def answers(draw: random.Random, sentence: str) -> dict[str, Any]:
    """Returns the answers of a student, none of whose views another student has."""
    head = {"kind": "cross", "layer": str(draw.randint(1, 4)), "head": str(draw.randint(1, 8))}
    views = (
        ("translate", START | {"edits": edits(draw), "mode": "again"}),
        ("what-if", START | {"edits": edits(draw), "mode": "again"}),
        ("heads", START | head | {"edits": edits(draw)}),
        ("translate", {"text": sentence}),
    )
    shown = {str(n): {"view": {"page": page, "view": view}, "solved": True} for n, (page, view) in enumerate(views, 1)}
    number = {"number": round(draw.random(), 2), "confidence": draw.randint(1, 3)}
    return shown | {"5": number, "6": {"choice": draw.randint(1, 2), "confidence": draw.randint(1, 3)}}


def evidence(number: int) -> dict[str, Any]:
    """Returns a small model with random weights, as a result file has it."""
    config = SmallConfig("reverse", layers=2, heads=4, d_model=64)
    count = sum(each.numel() for each in build(config.model).parameters())
    weights = np.random.default_rng(number).normal(0, 0.1, count).astype("<f2").tobytes()
    names = {name: getattr(config, name) for name in ("task", "layers", "heads", "d_model", "seed")}
    return {"config": names, "steps": 1000, "weights": base64.b64encode(weights).decode()}


def files_of_class(assignment: Assignment, students: int, has_training: bool) -> list[tuple[str, bytes]]:
    """Returns names and contents of the result files."""
    draw, files = random.Random(1), []
    for number, sentence in enumerate(sentences(draw, students, (1, 1)), 1):
        own = answers(draw, sentence)
        if has_training:
            own["7"] = {"training": evidence(number), "solved": True}
        saved = "2026-11-27T18:30:00Z"
        head = {"result": 1, "assignment": assignment.id, "title": assignment.title, "student": f"Student {number}"}
        files.append((f"{number}.json", json.dumps(head | {"saved": saved, "answers": own}).encode()))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=100)
    parser.add_argument("--trainings", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    return_memory()
    assignment = Assignment("A class", (*TASKS, TRAINING) if args.trainings else TASKS)
    files = files_of_class(assignment, args.students, args.trainings)
    page_context.build(View())  # loads the checkpoint
    size = sum(len(raw) for _, raw in files) / (1 << 20)
    print(f"{len(files)} files with {size:.1f} MB, {len(assignment.tasks)} tasks; before: {resident():,.0f} MB", flush=True)
    began, students = time.perf_counter(), []
    used = sort_files(list(add_files({}, files).values()), assignment)
    print(f"read: {time.perf_counter() - began:.2f} s, {len(used.unused)} unused", flush=True)
    for file in used.results:
        assert isinstance(file.content, Result)
        students.append(StudentResult(file.name, judge_result(assignment, file.content, View.device)))
    judged = time.perf_counter() - began
    rows = len(results_table(assignment, students).csv())
    right = ", ".join(f"{each.right} of {each.judged}" for each in task_summaries(assignment, students))
    print(f"judged: {judged:.1f} s, {1000 * judged / len(students):.0f} ms a student; CSV of {rows:,} bytes")
    print(f"right: {right}")
    print(f"peak RSS: {resident(what='VmHWM'):,.0f} MB, caches {cached_mb():,.0f} MB")


if __name__ == "__main__":
    main()
