"""Planned time of a stop: words of line and notes, and questions to the class."""

import pytest

from viz.classroom.talk import Stop, Talk
from viz.classroom.talk_time import PlannedTime, advertised_minutes, planned_ends, planned_time, total_time


@pytest.mark.parametrize(
    ("stop", "planned"),
    [
        (Stop("heads", "", "Two words."), PlannedTime(2, 0)),
        (Stop("heads", "", "il has {probability of il}. Why – or why not?"), PlannedTime(7, 30)),
        (Stop("translate", "guess=first", "What comes next?"), PlannedTime(3, 60)),
        (Stop("heads", "", "A line", "Say this.\nAsk: Who knows?\nAsk: Who else?"), PlannedTime(10, 60)),
        (Stop("heads", "", "Your turn, 8 minutes: find a head. Which?", "Ask: Who has it?"), PlannedTime(12, 510)),
        (Stop("heads", ""), PlannedTime(0, 0)),
    ],
)
def test_words_are_said_and_questions_wait(stop, planned):
    assert planned_time(stop) == planned


def test_a_talk_is_planned_once_all_stops_have_notes():
    stop = Stop("heads", "", "Why?", "word " * 129)
    talk = Talk("A lesson of 45 minutes", (stop, stop))
    assert total_time(talk) == PlannedTime(260, 60) and total_time(talk).seconds == 180
    assert planned_ends(talk) == [90, 180] and planned_ends(talk.with_notes(2, "")) == []
    assert (advertised_minutes(talk), advertised_minutes(Talk("Masks"))) == (45, None)
