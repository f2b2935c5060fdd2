"""Questions of a room: their kinds, confidence and calibration, rounds of one question, and the answers as CSV."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.room_helpers import NEXT_QUESTION, open_first_room, request_json, respond
from viz.classroom.rooms.access import NOT_YOURS
from viz.classroom.rooms.room import MAX_PAST, Room
from viz.classroom.rooms.room_question import STEPS, grouped_numbers, is_right, number_text

ROOM = Room("ABCDEF", "", "/", 0.0)
CHOICE = ("choice", "Which?", ["a", "b", "c"], [])


def voted(room, *votes):
    for n, (word, sure) in enumerate(votes):
        room = room.votes(f"voter{n:03}", room.question.number, word, sure, 5.0)
    return room


@pytest.mark.parametrize(
    ("kind", "options", "columns", "word", "answer"),
    [
        ("choice", ["a", "b"], 0, "b", "a"),
        ("choice", ["a", "b"], 0, "b", ""),
        ("token", ["the (1st)", "the (2nd)"], 0, "the (1st)", "the (2nd)"),
        ("grid", [f"cross {n // 4 + 1}.{n % 4 + 1}" for n in range(8)], 4, "cross 2.1", "cross 1.2"),
        ("number", [], 0, "0,5", "0.58"),
    ],
)
def test_each_kind_is_asked_voted_and_answered(kind, options, columns, word, answer):
    room = voted(ROOM.asks(kind, "Which?", options, [], 1.0, columns), (word, 1), (answer or word, 3))
    assert not {"answer", "votes", "sure", "rows"} & set(room.describe()["question"])  # locked until the lecturer shows it
    shown = room.reveals(answer, 9.0)
    told = shown.describe()["question"]
    assert told["voted"] == 2 == sum(count for count, _ in told["sure"])
    assert told["sure"] == [[1, 0], [0, 0], [1, int(bool(answer))]]
    assert sum(row[1] for row in told["rows"]) == 2 if kind == "number" else sum(told["votes"].values()) == 2
    assert shown.score == ROOM.score  # the model was not asked
    assert Room.unpacked(shown.packed()) == shown


@pytest.mark.parametrize(
    "said",
    [
        ("choice", "Which?", ["a"], []),
        ("choice", "Which?", list("abcdefghi"), []),
        ("choice", "Which?", ["a", "b"], [0.5]),
        ("number", "How many?", ["1", "2"], []),
        ("grid", "Which?", ["1.1", "1.2", "2.1"], [], 1.0, 2),
        ("token", "Which?", ["a", "b"], [], 1.0, 2),
        ("other", "Which?", ["a", "b"], []),
        (*CHOICE, 1.0, 0, 1),
    ],
)
def test_a_malformed_question_is_refused(said):
    with pytest.raises(ValueError, match=r"\.$"):
        ROOM.asks(*said, *([1.0] if len(said) == 4 else []))


def test_a_vote_names_an_option_and_a_confidence():
    room = ROOM.asks(*CHOICE, 1.0)
    for word, sure in (("d", 1), (None, 1), ("a", 0), ("a", STEPS + 1), ("a", True), ("a", None)):
        with pytest.raises(ValueError, match="Reload the page"):
            voted(room, (word, sure))
    with pytest.raises(ValueError, match="not a number"):
        voted(ROOM.asks("number", "How many?", [], [], 1.0), ("many", 1))


def test_a_number_is_right_if_it_rounds_to_the_answer():
    assert number_text("0,580", as_typed=True) == "0.580" and number_text("1e3") == "1000" and number_text("-0") == "0"
    assert is_right("number", "0.584", "0.58") and not is_right("number", "0.59", "0.58") and is_right("number", "3", "3")


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60), st.floats(-1e6, 1e6))
def test_groups_of_numbers_hold_each_vote_once(values, answer):
    counts, answer = {}, number_text(repr(answer))
    for value in values:
        counts[number_text(repr(value))] = counts.get(number_text(repr(value)), 0) + 1
    rows = grouped_numbers(counts, {}, answer)
    assert sum(row[1] for row in rows) == len(values) and len(rows) <= 10
    assert sum(row[4] for row in rows) == 1


def test_a_second_round_shows_the_first_one():
    first = voted(ROOM.asks(*CHOICE, 1.0), ("a", 1), ("b", 3), ("b", 2)).closes(3.0)  # without an answer
    other = first.asks("number", "How many?", [], [], 4.0).closes(5.0)
    again = voted(other.asks(*CHOICE, 6.0, again=1), ("b", 3))
    assert again.question.round == 2 and "before" not in again.describe()["question"]
    told = again.reveals("b", 7.0).describe()["question"]
    assert told["before"] == {"voted": 3, "votes": {"b": 2, "a": 1}, "others": 0} and told["votes"] == {"b": 1}
    third = again.closes(8.0).asks(*CHOICE, 9.0, again=1).reveals("", 10.0)
    assert third.question.round == 3 and third.describe()["question"]["before"]["votes"] == {"b": 1}
    with pytest.raises(ValueError, match="again is not"):
        other.asks("choice", "Another?", ["a", "b"], [], 6.0, again=1)


def test_the_score_counts_a_question_once():
    computed = tuple(NEXT_QUESTION.values())
    room = voted(ROOM.asks(*computed, 1.0), ("il", 1)).reveals("il", 2.0)
    again = room.closes(3.0).asks(*computed, 4.0, again=1).reveals("il", 5.0)
    assert again.score == room.score and room.score.questions == 1
    unseen = ROOM.asks(*computed, 1.0).closes(2.0).asks(*computed, 3.0, again=1).reveals("il", 4.0)
    assert unseen.score.questions == 1


def test_a_room_stores_a_bounded_number_of_questions():
    room = ROOM
    for n in range(MAX_PAST + 5):
        room = room.asks(*CHOICE, float(n))
    assert len(room.past) == MAX_PAST and room.question.number == MAX_PAST + 5


async def test_the_answers_are_a_table_for_the_lecturer_only():
    made, path, secret = await open_first_room()
    question = dict(zip(("kind", "text", "options"), ("choice", "=Which?", ["a", "b"]), strict=True))
    for again, answer in ((None, None), (1, "b")):
        await request_json(made.router, f"{path}/ask", question | {"again": again}, secret)
        vote = {"voter": "secret-voter", "number": 1 if again is None else 2, "word": "ab"[again or 0], "sure": 2}
        assert (await request_json(made.router, f"{path}/vote", vote))[0] == 204
        if answer:
            await request_json(made.router, f"{path}/reveal", {"answer": answer}, secret)
    assert await request_json(made.router, f"{path}/answers.csv") == (403, NOT_YOURS)
    status, headers, body = await respond(made.router, f"{path}/answers.csv", secret=secret)
    rows = list(csv.DictReader(io.StringIO(body.decode("utf-8-sig"))))
    assert status == 200 and headers["content-type"].startswith("text/csv") and b"secret-voter" not in body
    assert [(row["question"], row["round"], row["answer"], row["right"]) for row in rows] == [
        ("1", "1", "a", "0"),
        ("1", "2", "b", "1"),
    ]
    assert rows[0]["text"] == "'=Which?" and rows[0]["confidence"] == "2" and float(rows[0]["seconds"]) >= 0
