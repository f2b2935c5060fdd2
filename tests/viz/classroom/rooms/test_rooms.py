"""Rooms: who may open and move one, what is refused, questions and votes, and when it ends; over the routes."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.room_helpers import NEXT_QUESTION, follow, open_first_room, open_room, request_json, run, until
from viz.classroom.rooms import access
from viz.classroom.rooms import room as rooms
from viz.classroom.rooms.access import GONE, NOT_YOURS, TOO_OFTEN, WRONG_A_MINUTE
from viz.classroom.rooms.room import Room, code_of, new_code
from viz.classroom.rooms.room_question import MAX_WORDS_LISTED
from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MemoryStore


async def test_only_the_secret_moves_a_room():
    made, path, secret = await open_first_room()
    assert secret not in (await made.store.get(path[-6:])).packed()
    moves = {"show": {"blank": True}, "here": {}, "ask": NEXT_QUESTION, "reveal": {"answer": "il"}, "end": {}}
    for move, said in moves.items():
        assert await request_json(made.router, f"{path}/{move}", said) == (403, NOT_YOURS)
        assert await request_json(made.router, f"{path}/{move}", said, secret + "x") == (403, NOT_YOURS)
    status, told = await request_json(made.router, path)
    assert status == 200 and told["version"] == 1 and not told["blank"] and told["question"] is None


@pytest.mark.parametrize("who", ["10.9.9.9", "2001:db8:0:1::{:x}"])  # who has one IPv6 address has as many as may be
async def test_codes_are_not_found_by_trying(who):
    made, path, _ = await open_first_room()
    tried = [await request_json(made.router, f"/rooms/{new_code()}", who=who.format(n)) for n in range(WRONG_A_MINUTE)]
    last = await request_json(made.router, path, who=who.format(WRONG_A_MINUTE))
    tried, last, other = tried, last, await request_json(made.router, path)
    assert set(tried) == {(404, GONE)}
    assert last == (429, TOO_OFTEN)  # even the right one: nothing is learned any more
    assert other[0] == 200
    assert len(rooms.LETTERS) ** rooms.LENGTH > 8e8


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=5), each, max_size=3),
)
ADDRESSES = ("http://elsewhere.example", "//elsewhere.example", "/.//elsewhere.example/x", "/heads//elsewhere.example")
REFUSED = [
    *(("show", {"address": address}) for address in (*ADDRESSES, "/x/%2E./heads", "/.?step=1", "/" + "x" * 9000)),
    *(("show", said) for said in ({"pointer": 3}, {"pointer": "\ud83d"}, {"nonsense": 1}, {"\ud83d": 1})),
    ("ask", NEXT_QUESTION | {"text": ""}),
    ("ask", NEXT_QUESTION | {"text": "What? \ud83d"}),
    ("ask", NEXT_QUESTION | {"options": ["il"], "model": [1.0]}),
    ("ask", NEXT_QUESTION | {"options": ["il", "il"]}),
    ("ask", NEXT_QUESTION | {"model": [True, 0.1]}),
    ("ask", NEXT_QUESTION | {"model": [1e9, 0.1]}),
    ("reveal", {"answer": "il"}),
    *(("vote", {"voter": voter, "number": 1, "word": "il", "sure": 1}) for voter in ("a" * 8, "\ud83d" * 8)),
]


def refused(move, said, question=False):
    async def story():
        made, path, secret = await open_first_room()
        if question:
            await request_json(made.router, f"{path}/ask", NEXT_QUESTION, secret)
        before = (await request_json(made.router, path))[1]
        answer = await request_json(made.router, f"{path}/{move}", said, secret)
        return *answer, before == (await request_json(made.router, path))[1]

    return run(story())


@pytest.mark.parametrize(("move", "said"), REFUSED)
def test_a_bad_message_changes_nothing(move, said):
    status, sentence, same = refused(move, said)
    assert status == 400 and same and "\n" not in sentence and sentence.endswith(".")


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.sampled_from(("show", "ask", "reveal", "vote")),
    st.dictionaries(
        st.sampled_from(
            ("address", "voter", "number", "word", "sure", "text", "options", "model", "kind", "answer", "columns", "again")
        ),
        JSON | st.sampled_from(("next", "number", "grid", "choice", "a" * 8, 1, 2, "il", ["il", "elle"])),
    ),
)
def test_any_message_is_taken_or_one_sentence(move, said):
    status, sentence, same = refused(move, said, question=True)
    assert status == 204 or (status == 400 and same and "\n" not in sentence and sentence.endswith("."))


@pytest.mark.parametrize(("said", "kind", "status"), [([1], "application/json", 400), ({}, "text/plain", 415)])
def test_a_form_of_another_page_opens_no_room(said, kind, status):
    assert run(request_json(Rooms(MemoryStore()).router, "/rooms", said, kind=kind))[0] == status


def test_a_code_is_understood_as_people_type_it():
    assert code_of(" kx-23 4z ") == "KX234Z"
    for typed in ("", "KX234", "KX2345Z", "KX2O4Z", "<b>abc"):
        with pytest.raises(ValueError, match="letters and digits"):
            code_of(typed)


def test_a_room_is_packed_and_unpacked_equal():
    made = (
        Room("KX234Z", "seal", "/", 1.0)
        .asks(*NEXT_QUESTION.values(), 2.0)
        .votes("a" * 8, 1, "il", 2, 2.5)
        .reveals("il", 3.0)
    )
    assert Room.unpacked(made.packed()) == made
    for other in (made.packed().replace('"schema": ', '"schema": 1'), '{"code": "KX234Z"}'):
        with pytest.raises(ValueError, match="another version"):
            Room.unpacked(other)


@pytest.mark.parametrize(
    ("origin", "status"),
    [("http://lab:1", 201), ("http://elsewhere.example", 403), ("https://lab:1", 403), ("x://lab:1", 403), ("null", 403)],
)
async def test_a_foreign_origin_is_refused(origin, status):
    passed = []

    async def pages(scope, receive, send):
        passed.append(scope["path"])

    app = Rooms(MemoryStore()).over(pages)
    for path in ("/", "/roomsy", "/heads"):
        await app({"type": "http", "path": path, "headers": []}, None, None)
    assert (await request_json(app, "/rooms", {"address": "/"}, more=[(b"origin", origin.encode())]))[0] == status
    assert passed == ["/", "/roomsy", "/heads"]


async def test_a_guesser_locks_out_nobody_who_was_in():
    made, path, secret = await open_first_room()
    other, _ = await open_room(made.router)
    await request_json(made.router, path, who="10.9.9.9")
    for _ in range(WRONG_A_MINUTE):
        await request_json(made.router, f"/rooms/{new_code()}", who="10.9.9.9")
    asked = (path, f"/rooms/{path[-6:].lower()}", other)
    known = [(await request_json(made.router, each, who="10.9.9.9"))[0] for each in asked]
    shown = await request_json(made.router, f"{path}/show", {"blank": True}, secret, who="10.9.9.9")
    made.door._met.clear()
    later = await request_json(made.router, f"{path}/show", {"blank": False}, secret, who="10.9.9.9")
    assert (known, shown[0], later[0]) == ([200, 200, 429], 204, 204)


class Slow(MemoryStore):
    """Answers as one over a network does: later, and others come between."""

    async def get(self, code):
        return await asyncio.create_task(super().get(code))

    async def open(self, address):
        return await asyncio.create_task(super().open(address))


async def test_concurrent_guesses_share_the_limit():
    made, path, _ = await open_first_room(Slow)
    tried = await asyncio.gather(*(request_json(made.router, f"/rooms/{new_code()}", who="10.9.9.9") for _ in range(200)))
    hall = await asyncio.gather(*(request_json(made.router, path, who="10.8.8.8") for _ in range(200)))
    again = [(await request_json(made.router, path, who="10.7.7.7"))[0] for _ in range(2 * WRONG_A_MINUTE)]
    assert sum(answer[0] == 404 for answer in tried) == WRONG_A_MINUTE
    assert {answer[0] for answer in hall} == set(again) == {200}


async def test_one_address_has_a_limit_of_rooms(monkeypatch):
    monkeypatch.setattr(access, "MAX_ALIVE", 3)
    made = Rooms(Slow())
    answers = await asyncio.gather(*(request_json(made.router, "/rooms", {"address": "/"}) for _ in range(6)))
    rooms = [told for status, told in answers if status == 201]
    other = (await request_json(made.router, "/rooms", {"address": "/"}, who="10.0.0.2"))[0]
    await request_json(made.router, f"/rooms/{rooms[0]['code']}/end", {}, rooms[0]["secret"])
    again = (await request_json(made.router, "/rooms", {"address": "/"}))[0]
    assert (len(rooms), {answer[0] for answer in answers}, other, again) == (3, {201, 429}, 201, 201)


async def test_votes_are_hidden_until_the_answer():
    made, path, secret = await open_first_room()
    assert (await request_json(made.router, f"{path}/ask", NEXT_QUESTION, secret))[0] == 204
    for voter, word in (("a" * 8, "elle"), ("b" * 8, "il"), ("c" * 8, "il"), ("a" * 8, "il"), ("d" * 8, " chat ")):
        vote = {"voter": voter, "number": 1, "word": word, "sure": 2}
        assert (await request_json(made.router, f"{path}/vote", vote))[0] == 204
    before = (await request_json(made.router, path))[1]["question"]
    assert (await request_json(made.router, f"{path}/reveal", {"answer": "il"}, secret))[0] == 204
    late = await request_json(made.router, f"{path}/vote", {"voter": "e" * 8, "number": 1, "word": "il", "sure": 1})
    after = (await request_json(made.router, path))[1]
    assert before["voted"] == 4 and not {"answer", "votes", "model"} & set(before)  # nobody sees what the others chose
    assert late == (400, "The answer is already shown. Wait for the next question.")
    assert after["question"]["votes"] == {"il": 3, "chat": 1} and after["question"]["model"] == [0.45, 0.44]
    assert after["score"] == {"asked": 1, "people": 0.75, "model": 0.45}


def test_a_closed_question_is_hidden():
    room = Room("ABCDEF", "", "/", 0.0).asks(*NEXT_QUESTION.values(), 1.0).votes("a" * 8, 1, "il", 3, 1.5)
    for closed in (room.closes(2.0), room.reveals("il", 2.0).closes(3.0)):
        assert closed.describe()["question"] is None and closed.score.questions == closed.version - 3
        with pytest.raises(ValueError, match="This question is over"):
            closed.votes("b" * 8, 1, "il", 3, 2.0)
        with pytest.raises(ValueError, match="No question is open"):
            closed.reveals("il", 4.0)
        assert closed.asks(*NEXT_QUESTION.values(), 5.0).describe()["question"]["number"] == 2


def test_a_question_has_a_limit_of_votes(monkeypatch):
    monkeypatch.setattr(rooms, "MAX_VOTES", 40)
    made = Room("KX234Z", "seal", "/", 1.0).asks(*NEXT_QUESTION.values(), 2.0)
    for n in range(40):
        made = made.votes(f"voter{n:03}", 1, f"word {n}", 1, 2.0)
    with pytest.raises(ValueError, match="limit of 40 votes"):
        made.votes("one more voter", 1, "il", 1, 2.0)
    made = made.votes("voter000", 1, "il", 1, 2.0).votes("voter001", 1, "il", 1, 2.0).reveals("il", 3.0)
    told = made.describe()["question"]
    assert told["voted"] == 40 == told["others"] + sum(told["votes"].values())
    assert len(told["votes"]) == MAX_WORDS_LISTED - 1  # nobody said elle
    assert next(iter(told["votes"].items())) == ("il", 2)


def test_a_rare_answer_is_counted():
    made = Room("KX234Z", "seal", "/", 1.0).asks(*NEXT_QUESTION.values(), 2.0)
    for n in range(80):
        made = made.votes(f"voter{n:03}", 1, f"word {n // 2}", 1, 2.0)
    made = made.votes("the only one", 1, "elle", 1, 2.0).reveals("elle", 3.0)
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
    said = [{"voter": f"voter{n:03}", "number": 1, "word": word, "sure": 1} for n, word in words]
    votes = [(await request_json(made.router, f"{path}/vote", each))[0] for each in said]
    votes.append((await request_json(made.router, f"{path}/vote", said[3], who="10.0.0.3"))[0])
    assert refused == (429, access.CROWDED) and votes == [400, 204, 204, 429, 204, 204] and not made.crowd._streams
