"""The presenter view by way of the room: what it and the screen receive, and that followers receive nothing of it."""

import asyncio
import json

import pytest

from tests.support.room_helpers import NEXT_QUESTION, follow, open_first_room, request_json, respond, until
from viz.classroom import talk
from viz.classroom.rooms import presenter_commands, stream
from viz.classroom.rooms.access import NOT_YOURS
from viz.classroom.rooms.presenter_commands import BAD_SCREEN, FRESH, LONG_NOTES, MAX_COMMANDS, MAX_SCREEN
from viz.classroom.rooms.room import Room
from viz.state import hosts

SCREEN = {"number": 2, "talk": {"title": "Masks", "now": {"line": "Look.", "notes": "PRIVATE NOTES"}}}


class Views:
    """A room with the streams of a screen, a presenter view and a follower."""

    async def begin(self, *names):
        self.rooms, self.path, self.secret = await open_first_room()
        where = {
            "screen": (self.path, self.secret),
            "phone": (f"{self.path}/presenter", self.secret),
            "follower": (self.path,),
        }
        self.events = {name: [] for name in names or where}
        self.tasks = {}
        for name, seen in self.events.items():
            path, *secret = where[name]
            self.tasks[name] = asyncio.create_task(follow(self.rooms, path, seen, *secret))
            await until(lambda seen=seen: seen)
        return self

    async def post(self, what, **values):
        return await request_json(self.rooms.router, f"{self.path}/{what}", values, self.secret)

    async def end(self, *names):
        ended = [self.tasks.pop(name) for name in names or list(self.tasks)]
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)


async def test_the_screen_and_the_phone_reach_each_other():
    views = await Views().begin()
    screen, phone = views.events["screen"], views.events["phone"]
    assert screen[0]["newest"] == 0 and phone[0]["screen"] is None
    for action in ("hello", "next"):
        assert await views.post("act", action=action) == (204, "")
    assert await views.post("act", action="notes", stop=2, text="Ask.\nWait.") == (204, "")
    await until(lambda: screen[-1]["newest"] == 3)
    assert [(each["number"], each["action"]) for each in screen[-1]["commands"]] == [(1, "hello"), (2, "next"), (3, "notes")]
    assert screen[-1]["commands"][2]["text"] == "Ask.\nWait."
    assert await views.post("screen", state=SCREEN) == (204, "")
    await until(lambda: phone[-1]["screen"] == SCREEN)
    assert await views.post("ask", **NEXT_QUESTION) == (204, "")
    vote = {"voter": "a" * 8, "number": 1, "word": "il", "sure": 1}
    assert (await request_json(views.rooms.router, f"{views.path}/vote", vote))[0] == 204
    await until(lambda: phone[-1]["question"] and phone[-1]["question"]["voted"] == 1 and phone[-1]["followers"] == 1)
    await views.end()


async def test_followers_receive_nothing_of_it():
    views = await Views().begin()
    seen = views.events["follower"]
    before = await request_json(views.rooms.router, views.path)
    for number in range(20):
        await views.post("act", action="notes", stop=2, text=f"PRIVATE {number}")
        await views.post("screen", state=SCREEN | {"number": number})
    phone, screen = views.events["phone"], views.events["screen"]
    await until(lambda: phone[-1]["screen"] == SCREEN | {"number": 19} and screen[-1]["newest"] == 20)
    assert await request_json(views.rooms.router, views.path) == before
    assert len(seen) == 1  # not even an equal one
    await views.post("show", blank=True)  # an event that a follower receives
    await until(lambda: len(seen) == 2)
    page = (await respond(views.rooms.router, f"{views.path}/page"))[2].decode()
    for text in (json.dumps(seen), json.dumps(before), page):
        assert "PRIVATE" not in text and "commands" not in text and '"screen"' not in text
    assert seen[1]["version"] == seen[0]["version"] + 1  # the number of commands does not show either
    await views.end()


async def test_a_screen_that_connects_late_gets_fresh_commands_only(monkeypatch):
    room = Room("KX234Z", "seal", "/", 0.0)
    for second in range(MAX_COMMANDS + 5):
        room = room.takes_command({"action": "next"}, second / 10)
    assert len(room.commands) == MAX_COMMANDS
    late = room.describe_for_screen(FRESH + 2.0)
    assert late["newest"] == 25 and [each["number"] for each in late["commands"]] == [21, 22, 23, 24, 25]
    assert room.describe_for_screen(FRESH * 3)["commands"] == [] and room.describe_for_screen(FRESH * 3)["newest"] == 25
    room = room.takes_command({"action": "black"}, 100.0)
    assert [each["number"] for each in room.commands] == [26]  # a number is given once


def test_private_fields_are_packed_and_keep_the_version():
    room = Room("KX234Z", "seal", "/", 1.0)
    changed = room.takes_screen({"state": SCREEN}).takes_command({"action": "notes", "stop": 1, "text": "é"}, 2.0)
    assert Room.unpacked(changed.packed()) == changed and changed.version == room.version
    assert changed.describe() == room.describe() and changed.is_private_change(room)
    assert (changed.moved, changed.heard) == (room.moved, room.heard)
    assert not changed.shows({"blank": True}, 3.0).is_private_change(changed)


def test_notes_are_as_long_as_a_playlist_takes_them():
    assert (presenter_commands.MAX_NOTES, presenter_commands.MAX_STOPS) == (talk.MAX_NOTES, talk.MAX_STOPS)


REFUSED = [
    ("screen", {}, BAD_SCREEN),
    ("screen", {"state": [1]}, BAD_SCREEN),
    ("screen", {"state": {"notes": "x" * MAX_SCREEN}}, BAD_SCREEN),
    ("screen", {"state": {"begun": float("nan")}}, BAD_SCREEN),
    ("act", {"action": "notes", "stop": 1, "text": "x" * 2001}, LONG_NOTES),
    ("act", {"action": "notes", "stop": 1, "text": "\ud83d"}, LONG_NOTES),
    ("act", {"action": "notes", "stop": 0, "text": ""}, "stop is not the number of a stop; expected 1 to 60."),
    ("act", {"action": "notes", "stop": True, "text": ""}, "stop is not the number of a stop; expected 1 to 60."),
    ("act", {"action": ["next"]}, "action is unknown; expected "),
    ("act", {"action": "next", "go": 1}, "'go' is unknown; expected action, stop, text."),
]


@pytest.mark.parametrize(("what", "values", "sentence"), REFUSED)
async def test_a_bad_message_changes_nothing(what, values, sentence):
    rooms, path, secret = await open_first_room()
    before = (await rooms.store.get(path[-6:])).packed()
    status, text = await request_json(rooms.router, f"{path}/{what}", values, secret)
    assert status == 400 and text.startswith(sentence) and "\n" not in text
    assert (await rooms.store.get(path[-6:])).packed() == before


async def test_only_the_secret_opens_the_presenter_view():
    rooms, path, secret = await open_first_room()
    posts = {"screen": {"state": SCREEN}, "act": {"action": "next"}}
    for wrong in (None, secret + "x"):
        for what, values in posts.items():
            assert await request_json(rooms.router, f"{path}/{what}", values, wrong) == (403, NOT_YOURS)
        for what in ("presenter/events", "presenter.svg"):
            assert await request_json(rooms.router, f"{path}/{what}", secret=wrong) == (403, NOT_YOURS)
    assert (await rooms.store.get(path[-6:])).commands == ()


async def test_the_qr_code_has_the_secret_in_its_fragment(monkeypatch):
    drawn = []
    monkeypatch.setattr("viz.classroom.rooms.room_server.svg", lambda address: drawn.append(address) or b"<svg/>")
    rooms, path, secret = await open_first_room()
    status, headers, _ = await respond(rooms.router, f"{path}/presenter.svg", secret=secret)
    assert status == 200 and headers["cache-control"] == "no-store"
    assert drawn == [f"http://lab:1/presenter#{path[-6:]}.{secret}"]
    alone = await respond(rooms.router, f"{path}/presenter.svg", secret=secret, host=b"127.0.0.1:8501")
    assert (alone[0], alone[2].decode()) == (409, hosts.sharing_help())


async def test_a_phone_alone_is_not_the_lecturer(monkeypatch):
    monkeypatch.setattr(stream, "GRACE", 0.01)
    monkeypatch.setattr(stream, "SILENCE", 3600.0)
    views = await Views().begin()
    assert views.events["follower"][-1]["away"] is False
    await views.end("screen")
    await until(lambda: views.events["follower"][-1]["away"] and views.events["phone"][-1]["away"])
    await views.post("act", action="next")
    await views.post("screen", state=SCREEN)
    await until(lambda: views.events["phone"][-1]["screen"])
    assert (await views.rooms.store.get(views.path[-6:])).away
    await views.end()


async def test_a_phone_hears_that_the_room_has_ended():
    views = await Views().begin("phone")
    await views.post("end")
    await asyncio.wait_for(views.tasks["phone"], 30)
    assert views.events["phone"][-1] == {}
