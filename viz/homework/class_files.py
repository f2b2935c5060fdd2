"""Files that a lecturer drops: results of students and assignments. The session holds them; nothing is written to disk."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from viz.classroom.talk import plain
from viz.homework import assignment as assignments
from viz.homework.assignment import Assignment, AssignmentError
from viz.homework.judged_results import checkpoints_of, missing_checkpoints
from viz.homework.results import Result, checkpoint_digest, read_result

MAX_FILES = 500
MAX_TOTAL = 96 << 20  # bytes of all files of a session
LONGEST_NAME = 60  # characters of a file name in a sentence
_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class DroppedFile:
    """A file: a result, an assignment, or the sentence that says why it is neither."""

    name: str
    digest: str  # of the content
    nbytes: int
    content: Result | Assignment | None
    fault: str = ""


@dataclass(frozen=True)
class SortedFiles:
    """The results that count, by name of the student, and one sentence for each file that is not used."""

    results: tuple[DroppedFile, ...]
    unused: tuple[str, ...]


def read_file(raw: bytes, name: str) -> DroppedFile:
    """Returns the content of a file, or the sentence that says what is wrong with it."""
    short = plain(name, len(name), "") or "A file"
    short = short if len(short) <= LONGEST_NAME else f"…{short[-LONGEST_NAME:]}"
    digest, content, fault = hashlib.sha256(raw).hexdigest(), None, ""
    try:
        content = assignments.read(raw, short) if _is_assignment(raw) else read_result(raw, short)
    except AssignmentError as error:
        fault = str(error)
    return DroppedFile(short, digest, len(raw), content, fault)


def _is_assignment(raw: bytes) -> bool:
    if len(raw) > assignments.MAX_FILE:
        return False
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and "tasks" in values and "result" not in values


def add_files(known: Mapping[str, DroppedFile], dropped: Iterable[tuple[str, bytes]]) -> dict[str, DroppedFile]:
    """Returns the files by name and digest with further ones, up to a number and a size that a session holds."""
    files = dict(known)
    total = sum(each.nbytes for each in files.values())
    for name, raw in dropped:
        file = read_file(raw, name)
        if len(files) >= MAX_FILES or total + file.nbytes > MAX_TOTAL:
            limit = f"{MAX_FILES} files and {MAX_TOTAL >> 20} MB"
            fault = f"{file.name} and perhaps others were left out: a class has at most {limit}."
            files["limit"] = DroppedFile(file.name, "", 0, None, fault)
            break
        key = f"{file.name} {file.digest}"
        total += 0 if key in files else file.nbytes
        files[key] = file
    return files


def results_in(files: Iterable[DroppedFile]) -> list[tuple[DroppedFile, Result]]:
    return [(each, each.content) for each in files if isinstance(each.content, Result)]


def offered_assignments(
    files: Iterable[DroppedFile], current: Assignment | None, ready: Iterable[Assignment]
) -> list[Assignment]:
    """Returns the assignments to choose from: dropped ones, that of the link, and ready ones with a result.

    The one with most results comes first.
    """
    counts = Counter(result.assignment for _, result in results_in(files))
    own = [each.content for each in files if isinstance(each.content, Assignment)]
    offered = [*reversed(own), *([current] if current else []), *(each for each in ready if counts[each.id])]
    distinct = {each.id: each for each in reversed(offered)}  # of equal ones the first stays
    order = [each.id for each in offered]
    return sorted(distinct.values(), key=lambda each: (-counts[each.id], order.index(each.id)))


def sort_files(files: Sequence[DroppedFile], assignment: Assignment) -> SortedFiles:
    """Returns the results of an assignment, one for each student, and why other files are not used."""
    unused = [each.fault for each in files if each.fault]
    used: dict[str, tuple[DroppedFile, Result]] = {}
    older: list[tuple[str, DroppedFile, Result]] = []
    seen: dict[str, str] = {}
    digests = {name: checkpoint_digest(name) for task in assignment.tasks for name in checkpoints_of(task)}
    for file, result in results_in(files):
        if file.digest in seen:
            unused.append(f"{file.name} is a copy of {seen[file.digest]}.")
            continue
        seen[file.digest] = file.name
        if result.assignment != assignment.id:
            unused.append(_other_assignment(file, result, assignment))
        elif other := _other_checkpoint(result, digests):
            unused.append(f"{file.name} was made with other weights of the checkpoint {other}.")
        elif not result.answers:
            unused.append(f"{file.name} has no answers.")
        else:
            key = " ".join(result.student.casefold().split()) or file.digest
            if key in used:
                first, last = sorted([used[key], (file, result)], key=lambda pair: pair[1].saved or _EARLIEST)
                older.append((key, *first))
                used[key] = last
            else:
                used[key] = file, result
    for key, file, result in older:
        unused.append(f"{file.name} does not count: of the results of {result.student}, {used[key][0].name} is taken.")
    ordered = sorted(used.values(), key=lambda pair: (not pair[1].student, _letters(pair[1].student), pair[0].name))
    return SortedFiles(tuple(file for file, _ in ordered), tuple(unused))


def _letters(name: str) -> str:
    """Returns a name for sorting: É stands with E, and 10 after 9."""
    plain_name = "".join(char for char in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(char))
    return re.sub(r"\d+", lambda match: match[0].zfill(12), plain_name)


def _other_assignment(file: DroppedFile, result: Result, assignment: Assignment) -> str:
    if result.title == assignment.title:
        return f"{file.name} belongs to another version of “{assignment.title}”, with other tasks."
    return (
        f"{file.name} belongs to another assignment, “{result.title}”. These are the results of “{assignment.title}”."
        " To see the others, add the JSON file of their assignment."
    )


def _other_checkpoint(result: Result, digests: Mapping[str, str]) -> str:
    """Returns a checkpoint whose weights differ from those of the result, with both digests; empty if there is none."""
    for name, own in digests.items():
        theirs = result.checkpoints.get(name, "")
        if own and theirs and own != theirs:
            return f"“{name}” ({theirs[:8]}, here {own[:8]})"
    return ""


def missing_sentences(assignment: Assignment) -> tuple[str, ...]:
    """Returns a sentence for each checkpoint of an assignment that this lab lacks."""
    sentences = []
    for name, numbers in missing_checkpoints(assignment).items():
        tasks = f"task {numbers[0]} is" if len(numbers) == 1 else f"tasks {', '.join(map(str, numbers))} are"
        sentences.append(
            f"This lab lacks the checkpoint “{name}”, so {tasks} not checked. Start the lab with its folder in CHECKPOINTS."
        )
    return tuple(sentences)
