"""Sends requests to the routes of rooms as a browser does, without a server."""

from __future__ import annotations

import asyncio
import inspect
import json
from concurrent.futures import ThreadPoolExecutor

from viz.classroom.rooms.room_server import Rooms
from viz.classroom.rooms.store import MemoryStore

NEXT_QUESTION = {"kind": "next", "text": "What comes next?", "options": ["il", "elle"], "model": [0.45, 0.44]}


def run(coroutine):
    """Runs a coroutine in another thread, since this one may have a browser's event loop."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(coroutine)).result()


async def exchange(app, method, path, headers, body, who="10.0.0.1"):
    """Returns the messages of one response; a stream ends after its first event."""
    waiting, messages, left = [{"type": "http.request", "body": body}], [], asyncio.Event()

    async def receive():
        if not waiting:
            await left.wait()
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message):
        messages.append(message)
        if message["type"] == "http.response.body":
            left.set()

    scope = {"type": "http", "scheme": "http", "method": method, "path": path, "headers": headers, "query_string": b""}
    await app(scope | {"client": (who, 1), "root_path": ""}, receive, send)
    return messages


async def respond(app, path, content=None, secret=None, who="10.0.0.1", kind="application/json", more=(), host=b"lab:1"):
    """Returns status, headers and body of one request."""
    method, body = ("GET", b"") if content is None else ("POST", json.dumps(content).encode())
    own = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    headers = [(b"content-type", kind.encode()), (b"host", host), *own, *more]
    messages = await exchange(app, method, path, headers, body, who)
    response_headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
    return messages[0]["status"], response_headers, b"".join(message.get("body", b"") for message in messages)


async def request_json(app, path, *args, **named):
    """Returns status and body of one request; a JSON object is parsed."""
    status, _, body = await respond(app, path, *args, **named)
    text = body.decode()
    return status, json.loads(text) if text[:1] == "{" else text


async def open_room(app, address="/heads?layer=3"):
    status, content = await request_json(app, "/rooms", {"address": address})
    assert status == 201
    return f"/rooms/{content['code']}", content["secret"]


async def open_first_room(store=MemoryStore):
    """Returns rooms in a new store, and path and secret of the first one."""
    made = Rooms(store())
    return made, *await open_room(made.router)


def events_of(path, secret=None):
    """Returns the ASGI scope of a request for a room's event stream."""
    headers = [(b"authorization", f"Bearer {secret}".encode())] if secret else []
    scope = {"type": "http", "method": "GET", "path": f"{path}/events", "headers": headers, "client": ("10.0.0.2", 1)}
    return scope | {"query_string": b"", "root_path": ""}


async def follow(rooms, path, events, secret=None):
    """Follows as a browser does: appends each event's data, until it is cancelled or the room ends."""
    gone = asyncio.Event()

    async def receive():
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        text = message.get("body", b"").decode()
        events.extend(json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: "))

    await rooms.router(events_of(path, secret), receive, send)


async def until(condition):
    """Waits up to a minute for a condition; the AssertionError names it."""
    try:
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"This did not become true: {_source(condition)}") from None


def _source(holds):
    try:
        return " ".join(inspect.getsource(holds).split())
    except OSError:
        return repr(holds)
