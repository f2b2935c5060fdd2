"""Rooms: who may move one, what its followers are sent, what a class bets; over the routes, as a browser asks them."""

from __future__ import annotations

import asyncio
import json

import pytest
from room_helpers import ask, opened, run, until

from viz.rooms import asking, stream
from viz.rooms import room as rooms
from viz.rooms.asking import GONE, NOT_YOURS, ROOM_FULL, TOO_OFTEN, WRONG_A_MINUTE
from viz.rooms.room import Room, code_of, new_code
from viz.rooms.routes import Rooms
from viz.rooms.store import MAX_FOLLOWERS, Full, Gone, MemoryStore

ASKED = {"kind": "next", "text": "What comes next?", "options": ["il", "elle"], "model": [0.45, 0.44]}


async def following(rooms: Rooms, path: str, events: list, secret=None):
    """Follows as a browser does: appends each event's data, until it is cancelled or the room ends."""
    headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"{path}/events",
        "headers": headers,
        "query_string": b"",
        "root_path": "",
    }
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        text = message.get("body", b"").decode()
        events.extend(json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))

    await rooms.router(scope | {"client": ("10.0.0.2", 1)}, receive, send)


def test_a_follower_is_sent_what_is_shown_at_once_and_at_every_move():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        events, counted = [], []
        tasks = [
            asyncio.create_task(following(made, path, events)),
            asyncio.create_task(following(made, path, counted, secret)),
        ]
        await until(lambda: events and counted and counted[-1]["followers"] == 1)
        assert events[0]["address"] == "/heads?layer=3"
        for step in range(5):  # faster than events go out: the last one always comes
            assert (await ask(made.router, f"{path}/show", {"address": f"/?step={step}"}, secret))[0] == 204
        await until(lambda: events[-1]["address"] == "/?step=4")
        assert all("followers" not in event for event in events)
        tasks[0].cancel()
        await until(lambda: counted[-1]["followers"] == 0)
        assert (await ask(made.router, f"{path}/end", {}, secret))[0] == 204
        await asyncio.wait_for(tasks[1], 30)
        return counted[-1]

    assert run(story()) == {}


def test_only_the_secret_moves_a_room_and_nothing_of_it_is_kept():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        assert secret not in (await made.store.get(path[-6:])).packed()
        for move, said in (("show", {"blank": True}), ("ask", ASKED), ("reveal", {"answer": "il"}), ("end", {})):
            assert await ask(made.router, f"{path}/{move}", said) == (403, NOT_YOURS)
            assert await ask(made.router, f"{path}/{move}", said, secret + "x") == (403, NOT_YOURS)
        return await ask(made.router, path)

    status, told = run(story())
    assert status == 200 and told["version"] == 1 and not told["blank"] and told["question"] is None


@pytest.mark.parametrize("who", ["10.9.9.9", "2001:db8:0:1::{:x}"])  # who has one IPv6 address has as many as may be
def test_codes_are_not_found_by_trying(who):
    async def story():
        made = Rooms(MemoryStore())
        path, _ = await opened(made.router)
        tried = [await ask(made.router, f"/rooms/{new_code()}", who=who.format(n)) for n in range(WRONG_A_MINUTE)]
        last = await ask(made.router, path, who=who.format(WRONG_A_MINUTE))
        return tried, last, await ask(made.router, path)

    tried, last, other = run(story())
    assert set(tried) == {(404, GONE)}
    assert last == (429, TOO_OFTEN)  # even the right one: nothing is learned any more
    assert other[0] == 200
    assert len(rooms.LETTERS) ** rooms.LENGTH > 8e8


def test_the_class_bets_beside_the_model_and_both_are_scored():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        assert (await ask(made.router, f"{path}/ask", ASKED, secret))[0] == 204
        for voter, word in (("a" * 8, "elle"), ("b" * 8, "il"), ("c" * 8, "il"), ("a" * 8, "il"), ("d" * 8, " chat ")):
            assert (await ask(made.router, f"{path}/vote", {"voter": voter, "number": 1, "word": word}))[0] == 204
        before = (await ask(made.router, path))[1]["question"]
        assert (await ask(made.router, f"{path}/reveal", {"answer": "il"}, secret))[0] == 204
        late = await ask(made.router, f"{path}/vote", {"voter": "e" * 8, "number": 1, "word": "il"})
        return before, late, (await ask(made.router, path))[1]

    before, late, after = run(story())
    assert before["voted"] == 4 and not {"answer", "votes", "model"} & set(before)  # nobody sees what the others chose
    assert late == (400, "The answer is known by now; wait for the next question.")
    assert after["question"]["votes"] == {"il": 3, "chat": 1} and after["question"]["model"] == [0.45, 0.44]
    assert after["score"] == {"asked": 1, "people": 0.75, "model": 0.45}


def test_a_question_that_is_closed_stands_on_no_screen_and_the_next_one_is_another():
    room = Room("ABCDEF", "", "/", 0.0).asks(*ASKED.values(), 1.0).votes("a" * 8, 1, "il")
    for closed in (room.closes(2.0), room.reveals("il", 2.0).closes(3.0)):
        assert closed.told()["question"] is None and closed.score.asked == closed.version - 3
        with pytest.raises(ValueError, match="This question is over"):
            closed.votes("b" * 8, 1, "il")
        with pytest.raises(ValueError, match="No question is open"):
            closed.reveals("il", 4.0)
        assert closed.asks(*ASKED.values(), 5.0).told()["question"]["number"] == 2


@pytest.mark.parametrize(
    ("move", "said"),
    [
        ("show", {"address": "http://elsewhere.example"}),
        ("show", {"address": "//elsewhere.example"}),
        ("show", {"address": "/.//elsewhere.example/x"}),
        ("show", {"address": "/heads//elsewhere.example"}),
        ("show", {"address": "/x/%2E./heads"}),
        ("show", {"address": "/.?step=1"}),
        ("show", {"address": "/" + "x" * 9000}),
        ("show", {"pointer": 3}),
        ("show", {"nonsense": 1}),
        ("ask", ASKED | {"options": ["il"], "model": [1.0]}),
        ("ask", ASKED | {"options": ["il", "il"]}),
        ("ask", ASKED | {"model": [0.5]}),
        ("ask", ASKED | {"model": [float("1e9"), 0.1]}),
        ("ask", ASKED | {"text": ""}),
        ("reveal", {"answer": "il"}),
        ("vote", {"voter": "a" * 8, "number": 1, "word": "il"}),
    ],
)
def test_what_a_room_cannot_take_is_refused_in_one_sentence_and_changes_nothing(move, said):
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        answer = await ask(made.router, f"{path}/{move}", said, secret)
        return answer, (await ask(made.router, path))[1]["version"]

    (status, sentence), version = run(story())
    assert status == 400 and version == 1
    assert "\n" not in sentence and sentence.endswith(".")


@pytest.mark.parametrize(("said", "kind", "status"), [([1], "application/json", 400), ({}, "text/plain", 415)])
def test_a_form_of_another_page_opens_no_room(said, kind, status):
    assert run(ask(Rooms(MemoryStore()).router, "/rooms", said, kind=kind))[0] == status


def test_a_room_ends_after_hours_of_silence_and_following_is_no_move():
    async def story():
        clock = [0.0]
        store = MemoryStore(lambda: clock[0])
        room, _ = await store.open("/")
        clock[0] = rooms.SILENCE - 1
        async with store.follow(room.code):
            await store.get(room.code)
        clock[0] = rooms.SILENCE + 1
        with pytest.raises(Gone):
            await store.get(room.code)
        return True

    assert run(story())


def test_a_full_room_says_so_and_takes_who_comes_after_one_has_left():
    async def story():
        made = Rooms(MemoryStore())
        path, _ = await opened(made.router)
        made.store._followers[path[-6:]] = MAX_FOLLOWERS
        answer = await ask(made.router, f"{path}/events")
        made.store._followers[path[-6:]] = MAX_FOLLOWERS - 1
        async with made.store.follow(path[-6:]):
            with pytest.raises(Full):
                async with made.store.follow(path[-6:]):
                    pass
        return answer

    assert run(story()) == (503, ROOM_FULL)


def test_a_code_is_understood_as_people_type_it():
    assert code_of(" kx-23 4z ") == "KX234Z"
    for typed in ("", "KX234", "KX2345Z", "KX2O4Z", "<b>abc"):
        with pytest.raises(ValueError, match="letters and digits"):
            code_of(typed)


def test_a_room_is_packed_and_unpacked_equal():
    made = Room("KX234Z", "seal", "/", 1.0).asks(*ASKED.values(), 2.0).votes("a" * 8, 1, "il").reveals("il", 3.0)
    assert Room.unpacked(made.packed()) == made
    for other in (made.packed().replace('"schema": ', '"schema": 1'), '{"code": "KX234Z"}'):
        with pytest.raises(ValueError, match="another version"):
            Room.unpacked(other)


@pytest.mark.parametrize(("origin", "status"), [("http://lab:1", 201), ("http://elsewhere.example", 403), ("null", 403)])
def test_rooms_are_mounted_beside_the_pages_and_a_page_elsewhere_asks_for_nothing(origin, status):
    passed = []

    async def pages(scope, receive, send):
        passed.append(scope["path"])

    async def story():
        app = Rooms(MemoryStore()).over(pages)
        for path in ("/", "/roomsy", "/heads"):
            await app({"type": "http", "path": path, "headers": []}, None, None)
        return await ask(app, "/rooms", {"address": "/"}, more=[(b"origin", origin.encode())])

    assert run(story())[0] == status
    assert passed == ["/", "/roomsy", "/heads"]


def test_a_class_that_votes_at_once_is_told_of_it_a_few_times_and_not_at_every_vote():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        await ask(made.router, f"{path}/ask", ASKED, secret)
        events = [[] for _ in range(150)]
        tasks = [asyncio.create_task(following(made, path, each)) for each in events]
        await until(lambda: all(events))
        before = sum(map(len, events))
        said = ({"voter": f"voter{n:03}", "number": 1, "word": "il"} for n in range(150))
        await asyncio.gather(*(ask(made.router, f"{path}/vote", each) for each in said))
        await until(lambda: all(each[-1]["question"]["voted"] == 150 for each in events))
        for task in tasks:
            task.cancel()
        return sum(map(len, events)) - before

    assert run(story()) <= 4 * 150  # not 150 times 150


def test_who_is_gone_is_counted_no_more_however_it_left(monkeypatch):
    monkeypatch.setattr(stream, "STUCK", 0.01)

    async def story():
        made = Rooms(MemoryStore())
        path, _ = await opened(made.router)
        taken = asyncio.Event()

        async def leaves():
            await taken.wait()
            return {"type": "http.disconnect"}

        async def takes_nothing(message):
            taken.set()
            await asyncio.Event().wait()

        async def stays():
            await asyncio.Event().wait()

        async def takes(message):
            if message["type"] == "http.response.body":
                taken.set()

        async def stuck(message):
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        scope = {
            "type": "http",
            "method": "GET",
            "path": f"{path}/events",
            "headers": [],
            "query_string": b"",
            "root_path": "",
        }
        for receive, send in ((leaves, takes), (stays, stuck), (leaves, takes_nothing)):
            taken.clear()
            await made.router(scope | {"client": ("10.0.0.2", 1)}, receive, send)
            assert await made.store.followers(path[-6:]) == 0
        return True

    assert run(story())


def test_two_pages_with_the_secret_both_show_and_are_no_followers():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        seen = [[], []]
        tasks = [asyncio.create_task(following(made, path, each, secret)) for each in seen]
        await until(lambda: all(seen))
        for n in range(2):
            assert (await ask(made.router, f"{path}/show", {"pointer": f"map|cell {n}"}, secret, who=f"10.0.0.{n}"))[
                0
            ] == 204
            await until(lambda n=n: all(each[-1]["pointer"] == f"map|cell {n}" for each in seen))
        for task in tasks:
            task.cancel()
        return {event["followers"] for each in seen for event in each}

    assert run(story()) == {0}


def test_who_shares_an_address_with_a_guesser_keeps_the_room_and_the_lecturer_theirs():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        other, _ = await opened(made.router)
        await ask(made.router, path, who="10.9.9.9")
        for _ in range(WRONG_A_MINUTE):
            await ask(made.router, f"/rooms/{new_code()}", who="10.9.9.9")
        asked = (path, f"/rooms/{path[-6:].lower()}", other)
        known = [(await ask(made.router, each, who="10.9.9.9"))[0] for each in asked]
        shown = await ask(made.router, f"{path}/show", {"blank": True}, secret, who="10.9.9.9")
        made.door._met.clear()
        return known, shown[0], (await ask(made.router, f"{path}/show", {"blank": False}, secret, who="10.9.9.9"))[0]

    assert run(story()) == ([200, 200, 429], 204, 204)


def test_a_question_takes_no_more_votes_than_a_class_has_and_tells_the_most_frequent_words(monkeypatch):
    monkeypatch.setattr(rooms, "MAX_VOTES", 40)
    made = Room("KX234Z", "seal", "/", 1.0).asks(*ASKED.values(), 2.0)
    for n in range(40):
        made = made.votes(f"voter{n:03}", 1, f"word {n}")
    with pytest.raises(ValueError, match="40 have voted already"):
        made.votes("one more voter", 1, "il")
    made = made.votes("voter000", 1, "il").votes("voter001", 1, "il").reveals("il", 3.0)
    told = made.told()["question"]
    assert told["voted"] == 40 == told["others"] + sum(told["votes"].values())
    assert len(told["votes"]) == rooms.MAX_TOLD - 1 and next(iter(told["votes"].items())) == ("il", 2)  # nobody said elle


def test_a_rare_answer_is_told_whatever_the_class_typed_beside_it():
    made = Room("KX234Z", "seal", "/", 1.0).asks(*ASKED.values(), 2.0)
    for n in range(80):
        made = made.votes(f"voter{n:03}", 1, f"word {n // 2}")
    made = made.votes("the only one", 1, "elle").reveals("elle", 3.0)
    told = made.told()["question"]
    assert told["votes"]["elle"] == 1 and made.score.people == told["votes"]["elle"] / told["voted"]
    assert told["voted"] == told["others"] + sum(told["votes"].values())


def test_a_server_that_stops_ends_all_streams_whole():
    async def story():
        made, sent = Rooms(MemoryStore()), []
        path, _ = await opened(made.router)

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": f"{path}/events",
            "headers": [],
            "query_string": b"",
            "root_path": "",
        }
        following = asyncio.create_task(made.router(scope | {"client": ("10.0.0.2", 1)}, receive, send))
        await until(lambda: len(sent) > 1)
        made.closing.set()
        await following
        return sent[-1], await made.store.followers(path[-6:])

    assert run(story()) == ({"type": "http.response.body", "body": b""}, 0)


def test_a_hall_that_comes_wakes_its_lecturer_a_few_times_and_nobody_else():
    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        asked, get, counted = [], made.store.get, []

        async def watched(code):
            asked.append(code)
            return await get(code)

        made.store.get = watched
        events = [[] for _ in range(120)]
        tasks = [asyncio.create_task(following(made, path, counted, secret))]
        await until(lambda: counted)
        tasks += [asyncio.create_task(following(made, path, each)) for each in events]
        await until(lambda: all(events) and counted[-1]["followers"] == 120)
        assert [len(each) for each in events] == [1] * 120 and len(counted) <= 8
        for task in tasks[1:]:
            task.cancel()
        await until(lambda: counted[-1]["followers"] == 0)
        tasks[0].cancel()
        return len(asked)

    assert run(story()) <= 4 * 120 + 20  # at the door, on entering, at once: not at each one of the others


def test_what_followers_are_sent_is_written_once_for_all(monkeypatch):
    told, tell = [], Room.told
    monkeypatch.setattr(Room, "told", lambda room: told.append(room.version) or tell(room))

    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        events = [[] for _ in range(20)]
        tasks = [asyncio.create_task(following(made, path, each)) for each in events]
        await until(lambda: all(events))
        await ask(made.router, f"{path}/show", {"blank": True}, secret)
        await until(lambda: all(each[-1]["blank"] for each in events))
        for task in tasks:
            task.cancel()

    run(story())
    assert told == [1, 2]


class Slow(MemoryStore):
    """Answers as one over a network does: later, and others come between."""

    async def get(self, code):
        return await asyncio.create_task(super().get(code))

    async def open(self, address):
        return await asyncio.create_task(super().open(address))


def test_of_many_tries_at_once_no_more_are_answered_than_one_after_the_other_and_a_class_is_one_try():
    async def story():
        made = Rooms(Slow())
        path, _ = await opened(made.router)
        tried = await asyncio.gather(*(ask(made.router, f"/rooms/{new_code()}", who="10.9.9.9") for _ in range(200)))
        hall = await asyncio.gather(*(ask(made.router, path, who="10.8.8.8") for _ in range(200)))
        again = [(await ask(made.router, path, who="10.7.7.7"))[0] for _ in range(2 * WRONG_A_MINUTE)]
        return [sum(answer[0] == 404 for answer in tried), {answer[0] for answer in hall}, set(again)]

    assert run(story()) == [WRONG_A_MINUTE, {200}, {200}]


def test_one_address_has_no_more_rooms_than_a_school_needs(monkeypatch):
    monkeypatch.setattr(asking, "MAX_ALIVE", 3)

    async def story():
        made = Rooms(Slow())
        answers = await asyncio.gather(*(ask(made.router, "/rooms", {"address": "/"}) for _ in range(6)))
        rooms = [told for status, told in answers if status == 201]
        other = (await ask(made.router, "/rooms", {"address": "/"}, who="10.0.0.2"))[0]
        await ask(made.router, f"/rooms/{rooms[0]['code']}/end", {}, rooms[0]["secret"])
        return len(rooms), {answer[0] for answer in answers}, other, (await ask(made.router, "/rooms", {"address": "/"}))[0]

    assert run(story()) == (3, {201, 429}, 201, 201)


def test_nobody_fills_a_room_alone_and_who_leaves_makes_place(monkeypatch):
    monkeypatch.setattr(asking, "MAX_STREAMS", 2)
    monkeypatch.setattr(asking, "MAX_VOTERS", 2)

    async def story():
        made = Rooms(MemoryStore())
        path, secret = await opened(made.router)
        await ask(made.router, f"{path}/ask", ASKED, secret)
        events = [[], []]
        tasks = [asyncio.create_task(following(made, path, each)) for each in events]
        await until(lambda: all(events))
        refused = await ask(made.router, f"{path}/events", who="10.0.0.2")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        words = ((1, ""), (2, "il"), (3, "il"), (4, "il"), (2, "elle"))
        said = [{"voter": f"voter{n:03}", "number": 1, "word": word} for n, word in words]
        votes = [(await ask(made.router, f"{path}/vote", each))[0] for each in said]
        votes.append((await ask(made.router, f"{path}/vote", said[3], who="10.0.0.3"))[0])
        return refused, votes, made.crowd._streams

    refused, votes, streams = run(story())
    assert refused == (429, asking.CROWDED) and votes == [400, 204, 204, 429, 204, 204] and not streams
