"""Rooms: what their followers are sent, how many follow, and whether the lecturer is away; over the routes."""

import asyncio
import time

import pytest

from tests.support.room_helpers import events_of, follow, open_first_room, open_room, request_json, until
from viz.classroom.rooms import stream
from viz.classroom.rooms.access import ROOM_FULL
from viz.classroom.rooms.room import Room
from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MAX_FOLLOWERS, MemoryStore
from viz.classroom.rooms.stream import SILENCE


async def test_a_follower_is_sent_every_move():
    made, path, secret = await open_first_room()
    events, counted = [], []
    tasks = [asyncio.create_task(follow(made, path, events)), asyncio.create_task(follow(made, path, counted, secret))]
    await until(lambda: events and counted and counted[-1]["followers"] == 1)
    assert events[0]["address"] == "/heads?layer=3"
    for step in range(5):  # faster than events go out: the last one always comes
        assert (await request_json(made.router, f"{path}/show", {"address": f"/?step={step}"}, secret))[0] == 204
    await until(lambda: events[-1]["address"] == "/?step=4")
    assert all("followers" not in event for event in events)
    tasks[0].cancel()
    await until(lambda: counted[-1]["followers"] == 0)
    assert (await request_json(made.router, f"{path}/end", {}, secret))[0] == 204
    await asyncio.wait_for(tasks[1], 30)
    assert counted[-1] == {}


async def test_a_full_room_says_so():
    made, path, _ = await open_first_room()
    made.store._followers[path[-6:]] = MAX_FOLLOWERS
    answer = await request_json(made.router, f"{path}/events")
    assert answer == (503, ROOM_FULL)


async def test_who_is_gone_is_counted_no_more_however_it_left(monkeypatch):
    monkeypatch.setattr(stream, "STUCK", 0.01)
    made, path, _ = await open_first_room()
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

    for receive, send in ((leaves, takes), (stays, stuck), (leaves, takes_nothing)):
        taken.clear()
        await made.router(events_of(path), receive, send)
        assert await made.store.followers(path[-6:]) == 0


async def test_a_server_that_stops_ends_all_streams_whole():
    made, sent = Rooms(MemoryStore()), []
    path, _ = await open_room(made.router)

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    follower = asyncio.create_task(made.router(events_of(path), receive, send))
    await until(lambda: len(sent) > 1)
    made.closing.set()
    await follower
    assert (sent[-1], await made.store.followers(path[-6:])) == ({"type": "http.response.body", "body": b""}, 0)


async def test_arrivals_wake_the_lecturer_only():
    made, path, secret = await open_first_room()
    asked, get, counted = [], made.store.get, []

    async def watched(code):
        asked.append(code)
        return await get(code)

    made.store.get = watched
    events = [[] for _ in range(120)]
    tasks = [asyncio.create_task(follow(made, path, counted, secret))]
    await until(lambda: counted)
    tasks += [asyncio.create_task(follow(made, path, each)) for each in events]
    await until(lambda: all(events) and counted[-1]["followers"] == 120)
    assert [len(each) for each in events] == [1] * 120 and len(counted) <= 8
    for task in tasks[1:]:
        task.cancel()
    await until(lambda: counted[-1]["followers"] == 0)
    tasks[0].cancel()
    assert len(asked) <= 4 * 120 + 20  # at the door, on entering, at once: not at each one of the others


class Lecture:
    """A room with a lecturer's stream and a follower's. Its clock stands still, but for `late` seconds."""

    async def begin(self):
        self.rooms, self.late, self.events = Rooms(MemoryStore()), 0.0, []
        self.path, self.secret = await open_room(self.rooms.router)
        began = time.time()
        self.rooms.presence.now = lambda: began + self.late
        self.lecturer = await self.connect(self.secret)
        self.phone = await self.connect(None, self.events)
        return self

    async def connect(self, secret, events=None):
        seen = [] if events is None else events
        stream = asyncio.create_task(follow(self.rooms, self.path, seen, secret))
        await until(lambda: seen)
        return stream

    async def is_away(self, away):
        await until(lambda: self.events[-1]["away"] is away)

    async def does(self, what, **said):
        assert (await request_json(self.rooms.router, f"{self.path}/{what}", said, self.secret))[0] == 204

    async def end(self, *streams):
        for each in streams:
            each.cancel()
        await asyncio.gather(*streams, return_exceptions=True)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(stream, "LOOK", 0.01)
    monkeypatch.setattr(stream, "GRACE", 0.01)


async def test_followers_hear_that_the_lecturer_left(quick):
    lecture = await Lecture().begin()
    assert lecture.events[-1]["away"] is False
    await lecture.end(lecture.lecturer)
    await lecture.is_away(True)
    lecture.lecturer = await lecture.connect(lecture.secret)
    await lecture.is_away(False)
    await lecture.end(lecture.lecturer, lecture.phone)
    assert [event["away"] for event in lecture.events] == [False, True, False]


async def test_a_lecturer_who_gives_no_sign_is_away(quick):
    lecture = await Lecture().begin()
    lecture.late += SILENCE - 5
    await lecture.does("here")
    lecture.late += 6
    assert not (await lecture.rooms.store.get(lecture.path[-6:])).away
    lecture.late += SILENCE  # the stream is still open, but nobody reads it
    await lecture.is_away(True)
    await lecture.does("here")
    await lecture.is_away(False)
    await lecture.end(lecture.lecturer, lecture.phone)


async def test_a_page_that_is_loaded_again_was_never_away(monkeypatch):
    monkeypatch.setattr(stream, "GRACE", 0.2)
    lecture = await Lecture().begin()
    for _ in range(3):
        await lecture.end(lecture.lecturer)
        lecture.lecturer = await lecture.connect(lecture.secret)
    other = await lecture.connect(lecture.secret)  # a second window, and the first is closed
    await lecture.end(lecture.lecturer)
    await until(lambda: len(lecture.rooms.presence._tasks) == 1)  # it looks; no end of a stream is waited for
    room = await lecture.rooms.store.get(lecture.path[-6:])
    await lecture.end(other, lecture.phone)
    assert (room.away, [event["away"] for event in lecture.events]) == (False, [False])


async def test_who_joins_late_hears_at_once_that_nobody_is_there():
    lecture = await Lecture().begin()
    await lecture.end(lecture.lecturer, lecture.phone)
    lecture.late += SILENCE + 1
    lecture.events.clear()
    await lecture.end(await lecture.connect(None, lecture.events))
    assert (lecture.events[0]["away"], len(lecture.rooms.presence._looking)) == (True, 0)


def test_signs_change_a_room_only_after_absence():
    room = Room("ABCDEF", "", "/", 100.0)
    heard = room.hears(110.0)
    assert heard.version == room.version and heard.misses(109.0) == heard
    missed = heard.misses(110.0)
    assert missed.describe()["away"] and missed.version == room.version + 1 and missed.misses(200.0) == missed
    for back in (missed.hears(120.0), missed.shows({}, 120.0), missed.closes(120.0)):
        assert not back.describe()["away"] and back.version == missed.version + 1


async def test_a_repeated_move_is_no_event():
    made, path, secret = await open_first_room()
    events = []
    phone = asyncio.create_task(follow(made, path, events))
    await until(lambda: events)
    for shown in ({"address": "/heads?layer=3", "blank": False}, {"pointer": ""}, {"blank": True}, {"blank": True}):
        assert (await request_json(made.router, f"{path}/show", shown, secret))[0] == 204
    await until(lambda: events[-1]["blank"])
    phone.cancel()
    assert [event["version"] for event in events] == [1, 2]
