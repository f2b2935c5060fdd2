"""Answers of a room as a CSV table, without names."""

from __future__ import annotations

from typing import Any

from model.export.csv_tables import Table
from viz.classroom.rooms.room import Room
from viz.classroom.rooms.room_question import is_right, unpack_question

COLUMNS = ("question", "round", "kind", "text", "answer", "confidence", "right", "seconds")


def answers_table(room: Room) -> Table:
    """Returns one row for each vote, by question and round. `right` is 1, 0, or blank without a revealed right answer."""
    packed = (*room.past, *([room.question.packed()] if room.question else []))
    questions: list[dict[str, Any]] = sorted(map(unpack_question, packed), key=lambda each: (each["first"], each["round"]))
    answers = {each["first"]: each["answer"] for each in questions if each["answer"]}
    rows = []
    for each in questions:
        answer = answers.get(each["first"], "")
        for word, sure, seconds in each["votes"]:
            right = int(is_right(each["kind"], word, answer)) if answer else None
            rows.append((each["first"], each["round"], each["kind"], each["text"], word, sure, right, seconds))
    return Table("answers", COLUMNS, tuple(rows))
