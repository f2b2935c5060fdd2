"""Rooms: what a class is asked and what it bets; over the routes, as a browser asks them."""

import asyncio

import pytest

from tests.support.room_helpers import NEXT_QUESTION, follow, open_first_room, request_json, until
from viz.classroom.rooms import access
from viz.classroom.rooms import room as rooms
from viz.classroom.rooms.room import Room


async def test_votes_are_hidden_until_the_answer():
    made, path, secret = await open_first_room()
    assert (await request_json(made.router, f"{path}/ask", NEXT_QUESTION, secret))[0] == 204
    for voter, word in (("a" * 8, "elle"), ("b" * 8, "il"), ("c" * 8, "il"), ("a" * 8, "il"), ("d" * 8, " chat ")):
        assert (await request_json(made.router, f"{path}/vote", {"voter": voter, "number": 1, "word": word}))[0] == 204
    before = (await request_json(made.router, path))[1]["question"]
    assert (await request_json(made.router, f"{path}/reveal", {"answer": "il"}, secret))[0] == 204
    late = await request_json(made.router, f"{path}/vote", {"voter": "e" * 8, "number": 1, "word": "il"})
    after = (await request_json(made.router, path))[1]
    assert before["voted"] == 4 and not {"answer", "votes", "model"} & set(before)  # nobody sees what the others chose
    assert late == (400, "The answer is already shown. Wait for the next question.")
    assert after["question"]["votes"] == {"il": 3, "chat": 1} and after["question"]["model"] == [0.45, 0.44]
    assert after["score"] == {"asked": 1, "people": 0.75, "model": 0.45}


def test_a_closed_question_is_hidden():
    room = Room("ABCDEF", "", "/", 0.0).asks(*NEXT_QUESTION.values(), 1.0).votes("a" * 8, 1, "il")
    for closed in (room.closes(2.0), room.reveals("il", 2.0).closes(3.0)):
        assert closed.describe()["question"] is None and closed.score.questions == closed.version - 3
        with pytest.raises(ValueError, match="This question is over"):
            closed.votes("b" * 8, 1, "il")
        with pytest.raises(ValueError, match="No question is open"):
            closed.reveals("il", 4.0)
        assert closed.asks(*NEXT_QUESTION.values(), 5.0).describe()["question"]["number"] == 2


def test_a_question_has_a_limit_of_votes(monkeypatch):
    monkeypatch.setattr(rooms, "MAX_VOTES", 40)
    made = Room("KX234Z", "seal", "/", 1.0).asks(*NEXT_QUESTION.values(), 2.0)
    for n in range(40):
        made = made.votes(f"voter{n:03}", 1, f"word {n}")
    with pytest.raises(ValueError, match="limit of 40 votes"):
        made.votes("one more voter", 1, "il")
    made = made.votes("voter000", 1, "il").votes("voter001", 1, "il").reveals("il", 3.0)
    told = made.describe()["question"]
    assert told["voted"] == 40 == told["others"] + sum(told["votes"].values())
    assert len(told["votes"]) == rooms.MAX_WORDS_LISTED - 1  # nobody said elle
    assert next(iter(told["votes"].items())) == ("il", 2)


def test_a_rare_answer_is_counted():
    made = Room("KX234Z", "seal", "/", 1.0).asks(*NEXT_QUESTION.values(), 2.0)
    for n in range(80):
        made = made.votes(f"voter{n:03}", 1, f"word {n // 2}")
    made = made.votes("the only one", 1, "elle").reveals("elle", 3.0)
    told = made.describe()["question"]
    assert told["votes"]["elle"] == 1 and made.score.people == told["votes"]["elle"] / told["voted"]
    assert told["voted"] == told["others"] + sum(told["votes"].values())


async def test_one_address_cannot_fill_a_room(monkeypatch):
    monkeypatch.setattr(access, "MAX_STREAMS", 2)
    monkeypatch.setattr(access, "MAX_VOTERS", 2)
    made, path, secret = await open_first_room()
    await request_json(made.router, f"{path}/ask", NEXT_QUESTION, secret)
    events = [[], []]
    tasks = [asyncio.create_task(follow(made, path, each)) for each in events]
    await until(lambda: all(events))
    refused = await request_json(made.router, f"{path}/events", who="10.0.0.2")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    words = ((1, ""), (2, "il"), (3, "il"), (4, "il"), (2, "elle"))
    said = [{"voter": f"voter{n:03}", "number": 1, "word": word} for n, word in words]
    votes = [(await request_json(made.router, f"{path}/vote", each))[0] for each in said]
    votes.append((await request_json(made.router, f"{path}/vote", said[3], who="10.0.0.3"))[0])
    assert refused == (429, access.CROWDED) and votes == [400, 204, 204, 429, 204, 204] and not made.crowd._streams
