"""The files of a class: which of them count, their numbers, their CSV table, and that nothing of them becomes markup."""

from __future__ import annotations

import csv
import dataclasses
import io
from html.parser import HTMLParser

import pytest

from tests.support.homework_helpers import ASSIGNMENT, SEEN, result_file, view
from viz.homework import class_files, class_texts
from viz.homework.assignment import Assignment, AssignmentTask, file_of
from viz.homework.class_files import add_files, offered_assignments, read_file, sort_files
from viz.homework.class_summary import StudentResult, confidence_counts, pair_summaries, results_table, task_summaries
from viz.homework.judged_results import judge_result
from viz.homework.results import MAX_RESULT, checkpoint_digest

OTHER = Assignment("Another one", (AssignmentTask("text", "Why?", SEEN),))
UGLY = "<script>alert(1)</script>"


def dropped(*pairs: tuple[str, bytes]):
    return list(add_files({}, pairs).values())


def sorted_names(*pairs: tuple[str, bytes]):
    files = sort_files(dropped(*pairs), ASSIGNMENT)
    return [each.name for each in files.results], list(files.unused)


def class_of(*answers, names=None):
    """Returns judged results, one for each record of answers."""
    students = []
    for number, each in enumerate(answers):
        name = names[number] if names else f"Student {number}"
        file = read_file(result_file(name, each), f"{number}.json")
        students.append(StudentResult(file.name, judge_result(ASSIGNMENT, file.content, "cpu")))
    return students


def test_the_later_result_of_a_student_counts():
    answers = {3: {"choice": 1}}
    first = result_file("Ann", answers, saved="2026-11-27T18:30:00Z")
    second = result_file(" ANN ", answers, saved="2026-11-27T19:00:00+00:30")  # half past 18 in London, too
    third = result_file("Ann", answers, saved="2026-11-27T20:00:00")
    undated = result_file("Ann", answers, saved=None)
    assert sorted_names(("c.json", third), ("a.json", first), ("d.json", undated))[0] == ["c.json"]
    names, unused = sorted_names(("a.json", first), ("b.json", second), ("c.json", third))
    assert names == ["c.json"]
    assert unused == [
        "a.json does not count: of the results of Ann, c.json is taken.",
        "b.json does not count: of the results of ANN, c.json is taken.",
    ]


def test_results_without_a_name_are_apart_and_come_last():
    named, one, two = (
        result_file("Zoe", {3: {"choice": 1}}),
        result_file("", {3: {"choice": 1}}),
        result_file("", {3: {"choice": 2}}),
    )
    accented = result_file("Élodie", {3: {"choice": 1}})
    assert sorted_names(("1.json", one), ("2.json", two), ("z.json", named), ("e.json", accented)) == (
        ["e.json", "z.json", "1.json", "2.json"],
        [],
    )


def test_numbered_students_stand_in_order():
    names = [f"Student {n}" for n in (10, 9, 1)]
    pairs = [(f"{name}.json", result_file(name, {3: {"choice": 1}})) for name in names]
    assert sorted_names(*pairs)[0] == ["Student 1.json", "Student 9.json", "Student 10.json"]


def test_each_unused_file_gets_one_sentence():
    good = result_file("Ann", {3: {"choice": 1}})
    renamed = dataclasses.replace(ASSIGNMENT, tasks=ASSIGNMENT.tasks[:1])
    names, unused = sorted_names(
        ("good.json", good),
        ("other.json", result_file("Bob", {1: {"text": "a"}}, OTHER)),
        ("version.json", result_file("Bob", {1: {"text": "a"}}, renamed)),
        ("weights.json", result_file("Bob", {3: {"choice": 1}}, checkpoints={"en-fr": "0" * 16})),
        ("damaged.json", good[:50]),
        ("huge.json", b"[" + b" " * MAX_RESULT),
        ("empty.json", b""),
        ("nothing.json", result_file("Bob", {})),
        ("copy.json", good),
    )
    own = checkpoint_digest("en-fr")[:8]
    assert names == ["good.json"]
    assert unused == [
        "damaged.json is no result file: expected JSON.",
        f"huge.json has {MAX_RESULT + 1:,} bytes; expected at most {MAX_RESULT:,}.",
        "empty.json is empty.",
        "other.json belongs to another assignment, “Another one”. These are the results of “Gender of a noun”."
        " To see the others, add the JSON file of their assignment.",
        "version.json belongs to another version of “Gender of a noun”, with other tasks.",
        f"weights.json was made with other weights of the checkpoint “en-fr” (00000000, here {own}).",
        "nothing.json has no answers.",
        "copy.json is a copy of good.json.",
    ]


def test_the_own_or_an_unknown_digest_is_accepted():
    for digest in (checkpoint_digest("en-fr"), ""):
        raw = result_file("Ann", {3: {"choice": 1}}, checkpoints={"en-fr": digest, "elsewhere": "f" * 16})
        assert sorted_names(("a.json", raw)) == (["a.json"], [])


def test_files_are_bounded(monkeypatch):
    raw = result_file("Ann", {3: {"choice": 1}})
    files = add_files(add_files({}, [("a.json", raw)]), [("a.json", raw)])
    assert len(files) == 1  # dropped twice
    monkeypatch.setattr(class_files, "MAX_FILES", 3)
    files = add_files({}, [(f"{n}.json", raw) for n in range(9)])
    assert [each.name for each in files.values() if not each.fault] == ["0.json", "1.json", "2.json"]
    assert [each.fault for each in files.values() if each.fault] == [
        "3.json and perhaps others were left out: a class has at most 3 files and 96 MB."
    ]
    monkeypatch.setattr(class_files, "MAX_TOTAL", 2 * len(raw))
    assert sum(not each.fault for each in add_files({}, [(f"{n}.json", raw) for n in range(3)]).values()) == 2


def test_the_assignment_with_most_results_comes_first():
    results = [(f"{n}.json", result_file(f"Student {n}", {3: {"choice": 1}})) for n in range(2)]
    files = dropped(*results, ("x.json", result_file("Bob", {1: {"text": "a"}}, OTHER)), ("own.json", file_of(ASSIGNMENT)))
    assert offered_assignments(files, OTHER, []) == [ASSIGNMENT, OTHER]
    assert offered_assignments(dropped(*results), None, [OTHER, ASSIGNMENT]) == [ASSIGNMENT]  # a ready one that has results
    assert offered_assignments(dropped(*results), None, [OTHER]) == []
    marked = dataclasses.replace(ASSIGNMENT, notes="mine")
    again = dropped(*results, ("own.json", file_of(ASSIGNMENT)), ("marked.json", file_of(marked)))
    assert offered_assignments(again, None, []) == [marked]  # the later of two equal ones
    assert dropped(("own.json", b'{"assignment": 1, "tasks": [{}]}'))[0].fault.startswith("own.json: task 1 has no kind")


def test_numbers_of_tasks():
    students = class_of(
        {1: {"view": view("off_cross.4"), "solved": True}, 2: {"number": 0.9, "confidence": 3}, 3: {"choice": 1}},
        {1: {"view": view(), "solved": True}, 2: {"number": 0.3, "confidence": 3}, 3: {"choice": 2}},
        {2: {"number": 0.30, "confidence": 1}, 3: {"choice": 2}, 4: {"text": "Because."}},
        {2: {"number": 0.5, "confidence": 1}, 3: {"choice": 3}},
    )
    first, second, third, fourth, fifth = task_summaries(ASSIGNMENT, students)
    assert (first.answered, first.judged, first.right) == (2, 2, 1)
    assert sum(each.judged.answers[0].is_refuted for each in students) == 1
    assert first.wrong == (("Probability of une: 0.908. Needed: at most 0.9.", 1),)
    assert (second.answered, second.right, second.wrong) == (4, 1, (("0.3", 2), ("0.5", 1)))
    assert (third.right, third.wrong, third.other_wrong) == (1, (("red", 2), ("She", 1)), 0)
    assert (fourth.answered, fourth.judged) == (1, 0) and (fifth.answered, fifth.judged) == (0, 0)
    assert [(each.name, each.judged, each.right) for each in confidence_counts(students)] == [
        ("not sure", 2, 0),
        ("fairly sure", 0, 0),
        ("sure", 2, 1),
    ]


def test_frequent_wrong_answers_are_few(monkeypatch):
    students = class_of(*({2: {"number": n / 100}} for n in (10, 10, 20, 20, 30, 30, 30, 40, 50)))
    summary = task_summaries(ASSIGNMENT, students)[1]
    assert summary.wrong == (("0.3", 3), ("0.1", 2), ("0.2", 2)) and summary.other_wrong == 2


def test_pairs_stand_side_by_side():
    choices = [(2, 1), (2, 1), (3, 1), (1, 1), (1, 3), (2, 3), (2, None), (None, 1)]
    students = class_of(*({n: {"choice": each} for n, each in zip((3, 5), pair, strict=True) if each} for pair in choices))
    (pair,) = pair_summaries(ASSIGNMENT, students)
    assert (pair.name, pair.numbers, pair.options, pair.both) == ("gender", (3, 5), ("car", "red", "She"), 6)
    assert (pair.before, pair.after) == ((2, 3, 1), (4, 0, 2))
    assert (pair.right_before, pair.right_after, pair.to_right, pair.to_wrong) == (2, 4, 3, 1)
    text = class_texts.pair_table(pair)
    assert "Right before: 2 of 6 (33%), after: 4 of 6 (67%). Changed to right: 3, to wrong: 1." in text


def test_the_table_has_a_row_for_each_student_and_task():
    students = class_of(
        {1: {"view": view("off_cross.4"), "solved": True, "seconds": 41.5}, 4: {"text": "=1+1\nTwo lines"}},
        {2: {"number": -0.5, "confidence": 2}},
        names=['=HYPERLINK("x")', "Bob"],
    )
    rows = list(csv.DictReader(io.StringIO(results_table(ASSIGNMENT, students).csv().decode("utf-8-sig"))))
    assert len(rows) == 2 * len(ASSIGNMENT.tasks) and rows[0]["student"] == '\'=HYPERLINK("x")'
    assert (rows[0]["right"], rows[0]["claimed"], rows[0]["refuted"], rows[0]["seconds"]) == ("1", "1", "0", "41.5")
    assert rows[0]["answer"].startswith("?") and "edits=off_cross.4" in rows[0]["answer"]
    assert rows[3]["answer"] == "'=1+1\nTwo lines" and rows[3]["right"] == ""
    assert (rows[6]["answer"], rows[6]["confidence"], rows[6]["right"]) == ("'-0.5", "2", "0")
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


class Tags(HTMLParser):
    """Collects the tags and the attributes of markup, and its text."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("ugly", [UGLY, '"><img src=x onerror=alert(1)>', "**bold** [a](javascript:alert(1)) $x$ :smile:"])
def test_nothing_typed_becomes_markup(ugly):
    tasks = [
        dataclasses.replace(each, question=ugly, options=tuple(f"{ugly} {n}" for n in range(len(each.options))))
        for each in ASSIGNMENT.tasks
    ]
    assignment = Assignment(ugly, tuple(tasks))
    answers = {1: {"view": view(ugly), "solved": True}, 3: {"choice": 2}, 4: {"text": ugly}, 5: {"choice": 1}}
    raws = [result_file(ugly, answers, assignment), result_file("Bob", answers, OTHER, title=ugly)]
    files = sort_files(dropped(*((f"{ugly}{n}.json", raw) for n, raw in enumerate(raws))), assignment)
    students = [StudentResult(each.name, judge_result(assignment, each.content, "cpu")) for each in files.results]
    page = class_texts.joined(
        [
            class_texts.finding(assignment, students),
            class_texts.sentences(ugly, files.unused),
            class_texts.refuted_notes(students),
            class_texts.class_table(assignment, students),
            class_texts.task_table(task_summaries(assignment, students)),
            class_texts.confidence_table(confidence_counts(students)),
            *map(class_texts.pair_table, pair_summaries(assignment, students)),
            class_texts.texts(assignment, students),
        ]
    )
    tags = Tags(page)
    assert not tags.tags & {"script", "img", "strong", "em"} and not {
        each for each in tags.attributes if each.startswith("on")
    }
    assert tags.text.count(ugly) > 10 and len(students) == len(files.unused) == 1
