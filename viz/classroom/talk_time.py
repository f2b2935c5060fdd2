"""Planned time of a talk: what a lecturer says at each stop, and what the class answers.

The lecturer reads the line aloud and says the notes, at 130 words a minute. A number counts as one word. A question to the
class is the line if it has a question mark, or a line of the notes that begins with “Ask:”. The class thinks and one student
answers in 30 seconds. A stop that hides the next token is a prediction: phones vote in 60 seconds. A task for the class
states its minutes in its line: “Your turn, 5 minutes: ...”.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import NamedTuple

from viz.classroom.line_fields import UNFILLED, blank
from viz.classroom.talk import Stop, Talk

WORDS_A_MINUTE = 130
QUESTION_SECONDS, PREDICTION_SECONDS = 30, 60
ASK = "Ask:"
_TASK = re.compile(r"Your turn, (\d+) minutes?\b")
_WORD = re.compile(rf"[^\s]*[\w{UNFILLED}][^\s]*")
_MINUTES = re.compile(r"(\d+) minutes?\b")


class PlannedTime(NamedTuple):
    """Words that the lecturer says, and seconds of the class."""

    words: int
    class_seconds: int

    @property
    def speaking_seconds(self) -> float:
        return 60 * self.words / WORDS_A_MINUTE

    @property
    def seconds(self) -> float:
        return self.speaking_seconds + self.class_seconds


def planned_time(stop: Stop) -> PlannedTime:
    """Returns the planned time of a stop."""
    words = len(_WORD.findall(blank(stop.line))) + len(_WORD.findall(stop.notes))
    asked = sum(line.startswith(ASK) for line in stop.notes.splitlines())
    if task := _TASK.match(stop.line):
        own = 60 * int(task[1])
    elif "?" in stop.line:
        own = PREDICTION_SECONDS if stop.view.guess else QUESTION_SECONDS
    else:
        own = 0
    return PlannedTime(words, own + QUESTION_SECONDS * asked)


def total_time(talk: Talk) -> PlannedTime:
    """Returns the planned time of all stops."""
    times = [planned_time(stop) for stop in talk.stops]
    return PlannedTime(sum(time.words for time in times), sum(time.class_seconds for time in times))


def planned_ends(talk: Talk) -> list[int]:
    """Returns the planned end of each stop, in seconds after the first one begins; none if a stop has no notes."""
    if not all(stop.notes for stop in talk.stops):
        return []
    return [round(end) for end in accumulate(planned_time(stop).seconds for stop in talk.stops)]


def advertised_minutes(talk: Talk) -> int | None:
    """Returns the minutes that a title states, or None."""
    found = _MINUTES.search(talk.title)
    return int(found[1]) if found else None
