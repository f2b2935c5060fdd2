"""Rooms: what their followers are sent, and how many follow; over the routes, as a browser asks them."""

import asyncio

import pytest

from tests.support.room_helpers import events_of, follow, open_first_room, open_room, request_json, until
from viz.classroom.rooms import stream
from viz.classroom.rooms.access import ROOM_FULL
from viz.classroom.rooms.routes import Rooms
from viz.classroom.rooms.store import MAX_FOLLOWERS, Full, MemoryStore


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
    made.store._followers[path[-6:]] = MAX_FOLLOWERS - 1
    async with made.store.follow(path[-6:]):
        with pytest.raises(Full):
            async with made.store.follow(path[-6:]):
                pass
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
